//! Databases with damage of every kind, and what a repair saves.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::*;
use crate::db::api::Db;
use crate::file::storage::{Disk, Storage};
use crate::fingerprint::Sketch;
use crate::{DocId, Entry, Error, Key, Layout, OnDuplicate, Snapshot, Source, VerifyLevel};

mod random;

/// Everything that a database says.
#[derive(Debug, Clone, PartialEq)]
struct Contents<F> {
    entries: Vec<Entry<F>>,
    documents: Vec<(Option<String>, Document<F>)>,
}

fn contents<F: Fingerprint>(snapshot: &Snapshot<F>) -> Contents<F> {
    let documents = match snapshot.documents() {
        Ok(documents) => documents.map(Result::unwrap).collect(),
        Err(_) => Vec::new(),
    };
    Contents { entries: snapshot.iter().map(Result::unwrap).collect(), documents }
}

fn fingerprint<F: Fingerprint>(i: u64) -> F {
    let spread = |i: u64| (i / 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 1 << (i % 3 * 20);
    let words = (0..F::BITS.div_ceil(64)).map(|n| spread(i ^ 77).rotate_left(7 * n) ^ spread(i));
    F::read_le(&words.flat_map(u64::to_le_bytes).collect::<Vec<_>>()).unwrap()
}

/// Creates a database with two segments, removals, duplicates and a log.
fn create<F: Fingerprint>(options: Options<F>, ids: Ids, path: &Path) -> Contents<F> {
    let options = options.ids(ids).background(false).memtable_entries(100_000);
    let db: Db<F> = options.create(path).unwrap();
    let names: Vec<String> = (0..3000).map(|i| format!("https://example.org/{i}")).collect();
    let key = |i: u64| match ids {
        Ids::Names => Key::from(names[usize::try_from(i).unwrap()].as_str()),
        _ => Key::from(DocId(i)),
    };
    let insert = |range: std::ops::Range<u64>| {
        let batch: Vec<_> = range.map(|i| (fingerprint::<F>(i), key(i))).collect();
        let _ = db.write(&batch).run().unwrap();
    };
    insert(0..2000);
    db.flush().unwrap();
    insert(2000..2300);
    for i in (0..2000).step_by(23) {
        match ids {
            Ids::User => assert!(db.remove_entry(fingerprint(i), DocId(i)).unwrap()),
            _ => assert!(db.remove(key(i)).unwrap()),
        }
    }
    if ids != Ids::User {
        for i in (1..2000).step_by(69) {
            assert!(db.touch(key(i), i).unwrap());
        }
        let moved: Vec<_> =
            (2..2000).step_by(69).map(|i| (fingerprint(i + 5000), key(i))).collect();
        let _ = db.write(&moved).run().unwrap();
        let copies: Vec<_> = (2600..2620).map(|i| (fingerprint(i - 1000), key(i))).collect();
        let remember = db.write(&copies).unless_near(0).or_update(OnDuplicate::Remember);
        let _ = remember.run().unwrap();
    }
    db.flush().unwrap();
    insert(2700..2800);
    let found = contents(&db.snapshot());
    drop(db);
    found
}

/// The files of a folder, by name.
fn files(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = path.read_dir().unwrap().map(|file| file.unwrap().path());
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    files.map(|path| (name(&path), std::fs::read(&path).unwrap())).collect()
}

/// Repairs a copy of the database with one file changed (or removed, if `damage` says so).
fn repaired<F: Fingerprint>(
    options: Options<F>,
    files: &BTreeMap<String, Vec<u8>>,
    name: &str,
    damage: impl Fn(&mut Vec<u8>) -> bool,
) -> (BuildReport, Contents<F>) {
    let folder = tempfile::tempdir().unwrap();
    let (broken, fixed) = (folder.path().join("broken"), folder.path().join("fixed"));
    std::fs::create_dir(&broken).unwrap();
    for (other, bytes) in files {
        let mut bytes = bytes.clone();
        if other != name || damage(&mut bytes) {
            std::fs::write(broken.join(other), bytes).unwrap();
        }
    }
    let before = self::files(&broken);
    let report = options.clone().build(&fixed, Source::damaged(&broken)).unwrap();
    assert!(before == self::files(&broken), "the damaged database was changed");
    let db = options.open_read_only(&fixed).unwrap();
    assert_eq!(db.snapshot().verify(VerifyLevel::Deep).unwrap().errors.len(), 0);
    (report, contents(&db.snapshot()))
}

/// Returns the settings to test, each with the kinds of files that no other file replaces.
fn all_64() -> Vec<(Options<u64>, Ids, &'static [&'static str])> {
    let layout = |name| Db::options().layout(Layout::preset(name, 64).unwrap());
    vec![
        (layout("half-2"), Ids::User, &["ids", "del"]),
        (layout("ring-4"), Ids::User, &["ids", "del"]),
        (layout("single"), Ids::User, &["t00", "ids", "del"]),
        (layout("half-2").filter_bits(10), Ids::Unique, &["docs"]),
        (layout("single"), Ids::Names, &["docs"]),
    ]
}

fn kind_of(name: &str) -> &str {
    name.rsplit('.').next().unwrap()
}

/// Whether a repair can need the file, if no other is damaged.
fn is_needed(name: &str) -> bool {
    !["MANIFEST.copy", "LOCK"].contains(&name)
}

#[test]
fn each_file_that_others_replace_is_repaired_completely() {
    let check = |(options, ids, irreplaceable): (Options<u64>, Ids, &[&str])| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        let expected = create(options.clone(), ids, &path);
        let files = files(&path);
        assert!(files.len() >= 7, "{:?}", files.keys());
        for name in files.keys().filter(|name| is_needed(name) && kind_of(name) != "log") {
            let is_replaced = !irreplaceable.contains(&kind_of(name));
            for how in 0..3 {
                let (report, found) = repaired(options.clone(), &files, name, |bytes| {
                    match how {
                        0 => return false,
                        1 => bytes[16..].fill(0x55),
                        _ => bytes.truncate(bytes.len() / 2),
                    }
                    true
                });
                assert!(!report.damage.is_empty(), "{name}");
                let is_lossless = report.losses.is_empty();
                assert!(is_lossless || !is_replaced, "{name} {:?}", report.losses);
                // Of a file that was cut off, all that is needed may be left.
                assert!(!is_lossless || is_replaced || how == 2, "{name}");
                if is_lossless {
                    assert!(found == expected, "{name}, damage {how}, {ids}");
                }
            }
        }
    };
    all_64().into_iter().for_each(check);
}

#[test]
fn bands_are_repaired_from_documents() {
    for ids in [Ids::Unique, Ids::Names] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        let options = Options::sketches();
        let expected: Contents<Sketch> = create(options.clone(), ids, &path);
        let files = files(&path);
        let of_kind = |kind: &str| files.keys().filter(|name| kind_of(name) == kind).count();
        assert_eq!([of_kind("b00"), of_kind("b07"), of_kind("docs")], [2; 3]);
        for name in files.keys().filter(|name| ["b00", "b07", "docs"].contains(&kind_of(name))) {
            for at in [None, Some(17), Some(100)] {
                let (report, found) = repaired(options.clone(), &files, name, |bytes| {
                    at.is_some_and(|at: usize| {
                        bytes[at] ^= 0x10;
                        true
                    })
                });
                assert!(!report.damage.is_empty(), "{name}");
                let is_replaced = kind_of(name) != "docs";
                assert!(report.losses.is_empty() || !is_replaced, "{name} {:?}", report.losses);
                assert!(!report.losses.is_empty() || found == expected, "{name}, {at:?}, {ids}");
                assert!(at.is_some() || report.losses.is_empty() == is_replaced, "{name}");
            }
        }
    }
}

/// Whatever is damaged, what a repair does not report as lost is there, and nothing else is.
#[test]
fn every_damaged_page_loses_at_most_what_the_report_says() {
    for (options, ids, _) in all_64() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        let expected = create(options.clone(), ids, &path);
        let files = files(&path);
        for (name, bytes) in files.iter().filter(|(name, _)| is_needed(name)) {
            for at in (100..bytes.len()).step_by(4096) {
                let flip = |bytes: &mut Vec<u8>| {
                    bytes[at] ^= 0x10;
                    true
                };
                let (report, found) = repaired(options.clone(), &files, name, flip);
                check_losses(&report, &expected, &found, &format!("{name} at {at}, {ids}"));
            }
        }
    }
}

fn count(report: &BuildReport, kinds: &[LossKind]) -> u64 {
    let of_kinds = report.losses.iter().filter(|loss| kinds.contains(&loss.kind));
    of_kinds.map(|loss| loss.count.unwrap_or(1)).sum()
}

fn check_losses(
    report: &BuildReport,
    expected: &Contents<u64>,
    found: &Contents<u64>,
    context: &str,
) {
    assert!(!report.damage.is_empty(), "{context}");
    if report.losses.is_empty() {
        let is_same = found == expected;
        let (found, expected) = (found.entries.len(), expected.entries.len());
        assert!(is_same, "{context}: {found} of {expected}, {:?}", report.damage);
        return;
    }
    if found.documents.is_empty() && count(report, &[LossKind::Log]) == 0 {
        assert_eq!(report.read, expected.entries.len() as u64, "{context}");
    }
    let lost = |a: &Contents<u64>, b: &Contents<u64>| {
        a.entries.iter().filter(|entry| b.entries.binary_search(entry).is_err()).count() as u64
    };
    let log = count(report, &[LossKind::Log]) > 0;
    let missing = lost(expected, found);
    assert!(
        missing <= count(report, &[LossKind::Entries]) || log,
        "{context}: {missing} missing, {:?}",
        report.losses
    );
    let added = lost(found, expected);
    let may_be_added = [LossKind::Removals, LossKind::Documents];
    assert!(added <= count(report, &may_be_added) || log, "{context}: {added} added");
}

#[test]
fn growing_damage_loses_no_more_than_it_hits() {
    let options = Db::options().layout(Layout::preset("half-2", 64).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let expected = create(options.clone(), Ids::User, &path);
    let mut files = files(&path);
    let mut random = fastrand::Rng::with_seed(1);
    let mut pages: Vec<(String, usize)> = files
        .iter()
        .filter(|(name, _)| is_needed(name) && kind_of(name) != "log")
        .flat_map(|(name, bytes)| (0..bytes.len().div_ceil(4096)).map(|page| (name.clone(), page)))
        .collect();
    random.shuffle(&mut pages);
    for (name, page) in &pages {
        files.get_mut(name).unwrap()[page * 4096 + 70] ^= 1;
        let (report, found) = repaired(options.clone(), &files, "none", |_| true);
        check_losses(&report, &expected, &found, &format!("{name} page {page}"));
    }
}

#[test]
fn a_file_that_was_cut_off_keeps_what_is_left_of_it() {
    let layout = Layout::preset("half-2", 64).unwrap();
    for (ids, kind, losses) in
        [(Ids::Unique, "docs", LossKind::Documents), (Ids::Names, "docs", LossKind::Names)]
    {
        let folder = tempfile::tempdir().unwrap();
        let options = Db::options().layout(layout.clone());
        let expected = create(options.clone(), ids, &folder.path().join("db"));
        let files = files(&folder.path().join("db"));
        let name = files.keys().find(|name| kind_of(name) == kind).unwrap();
        let (report, found) = repaired(options, &files, name, |bytes| {
            bytes.truncate(bytes.len() / 2);
            true
        });
        let lost = count(&report, &[losses]);
        assert!((1..1300).contains(&lost), "{ids}: {:?}", report.losses);
        check_losses(&report, &expected, &found, &format!("{ids}"));
    }
}

/// What each segment's spare says is enough to find all segments.
#[test]
fn without_the_manifest_and_its_copy_nothing_is_lost() {
    fn check<F: Fingerprint>(options: &Options<F>, ids: Ids) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        create(options.clone(), ids, &path);
        let check = |spares: usize| {
            let db = options.clone().open_read_only(&path).unwrap();
            let expected = contents(&db.snapshot());
            let mut files = files(&path);
            assert!(files.remove("MANIFEST").is_some() && files.remove("MANIFEST.copy").is_some());
            let (report, found) = repaired(options.clone(), &files, "none", |_| true);
            assert_eq!((report.damage.len(), &report.losses[..]), (1, &[][..]), "{report:?}");
            assert!(found == expected, "{ids}");
            let lost: Vec<_> = files.keys().filter(|name| kind_of(name) == "spare").collect();
            assert_eq!(lost.len(), spares);
            // The last one cannot be done without.
            for name in lost.into_iter().filter(|_| spares > 1) {
                let (report, found) = repaired(options.clone(), &files, name, |_| false);
                assert!(found == expected || !report.losses.is_empty(), "{name}, {ids}");
            }
        };
        check(2);
        options.clone().open(&path).unwrap().close().unwrap();
        check(3);
        options.clone().open(&path).unwrap().compact().unwrap();
        check(1);
        // No id is given twice.
        let storage = Disk::new(&path);
        let next_doc = Manifest::read(&storage).unwrap().next_doc;
        ["MANIFEST", "MANIFEST.copy"].iter().for_each(|name| storage.remove(name).unwrap());
        assert_eq!(
            manifests::read_manifest(&storage, &mut BuildReport::default()).unwrap().next_doc,
            next_doc
        );
    }
    all_64().into_iter().for_each(|(options, ids, _)| check(&options, ids));
    check(&Options::sketches(), Ids::Names);
}

#[test]
fn lost_names_are_made_up_and_near_duplicates_are_still_found() {
    let options = Db::options().layout(Layout::preset("half-2", 64).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let expected = create(options.clone(), Ids::Names, &path);
    let files = files(&path);
    // The removals in newer files still count.
    for name in files.keys().filter(|name| kind_of(name) == "docs") {
        let (_, found) = repaired(options.clone(), &files, name, |_| false);
        assert!(found.entries == expected.entries, "{name}");
    }
    let name = files.keys().find(|name| kind_of(name) == "docs").unwrap();
    let (report, found) = repaired(options, &files, name, |_| false);
    assert!(count(&report, &[LossKind::Names]) > 0, "{:?}", report.losses);
    assert!(found.entries == expected.entries);
    let made_up = found.documents.iter().filter_map(|(name, _)| name.as_ref());
    let made_up = made_up.filter(|name| name.starts_with("(lost name of id ")).count() as u64;
    assert_eq!(made_up, count(&report, &[LossKind::Names]));
}

#[test]
fn commits_after_a_damaged_one_are_saved() {
    let options = Db::options().background(false);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let db = options.clone().create(&path).unwrap();
    for i in 0..20 {
        db.insert(fingerprint(i), DocId(i)).unwrap();
    }
    let expected = contents(&db.snapshot());
    drop(db);
    let files = files(&path);
    let log = files.keys().find(|name| kind_of(name) == "log").unwrap();
    let (report, found) = repaired(options, &files, log, |bytes| {
        let wanted = fingerprint::<u64>(5).to_le_bytes();
        let at = bytes.windows(8).position(|bytes| bytes == wanted).unwrap();
        bytes[at] ^= 1;
        true
    });
    // The frame of one commit.
    assert_eq!(count(&report, &[LossKind::Log]), 24 + 17 + 4);
    assert_eq!(found.entries.len(), expected.entries.len() - 1);
    assert!(found.entries.iter().all(|entry| expected.entries.contains(entry)));
}

/// A commit that is lost takes an id with it: those of later documents are not the next ones.
#[test]
fn named_documents_after_a_damaged_commit_are_saved() {
    let options = Db::options().ids(Ids::Names).background(false);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let db = options.clone().create(&path).unwrap();
    let names: Vec<String> = (0..20).map(|i| format!("https://example.org/{i}")).collect();
    let write = |i, name: &String| db.write(&[(fingerprint(i), Key::from(&**name))]).run().unwrap();
    (0..).zip(&names).for_each(|(i, name)| drop(write(i, name)));
    // The document whose insertion will be lost, and another one, change later.
    drop((write(105, &names[5]), write(103, &names[3])));
    let mut expected = contents(&db.snapshot());
    drop(db);
    let files = files(&path);
    let log = files.keys().find(|name| kind_of(name) == "log").unwrap();
    for lost in [5, 7] {
        let (report, found) =
            repaired(options.clone(), &files, log, |bytes| damage_first(bytes, fingerprint(lost)));
        assert!(count(&report, &[LossKind::Log]) > 0);
        assert_eq!(report.written, found.documents.len() as u64);
        assert!(report.read >= report.written, "{report:?}");
        if lost == 7 {
            expected.documents.retain(|(name, _)| name.as_deref() != Some(&names[7]));
            expected.entries.retain(|entry| entry.fingerprint != fingerprint(7));
        }
        let of = |contents: &Contents<u64>| {
            let documents = contents.documents.iter();
            documents.map(|(name, it)| (name.clone(), it.fingerprint, it.id)).collect::<Vec<_>>()
        };
        assert_eq!(of(&found), of(&expected));
        assert_eq!(found.entries.len(), expected.entries.len());
    }
}

/// Damages the first occurrence of a fingerprint in a log.
fn damage_first(log: &mut [u8], fingerprint: u64) -> bool {
    let wanted = fingerprint.to_le_bytes();
    let at = log.windows(8).position(|bytes| bytes == wanted).unwrap();
    log[at] ^= 1;
    true
}

#[test]
fn what_a_log_says_last_holds_although_an_earlier_removal_is_lost() {
    for ids in [Ids::User, Ids::Unique, Ids::Names] {
        let options = Db::options().ids(ids).background(false);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        let db = options.clone().create(&path).unwrap();
        let names = ["https://example.org/0", "https://example.org/1"];
        let key = |i: u64| match ids {
            Ids::Names => Key::from(names[usize::try_from(i).unwrap()]),
            _ => Key::from(DocId(i)),
        };
        let insert = |i| drop(db.write(&[(fingerprint::<u64>(i), key(i))]).run().unwrap());
        let remove = |i| match ids {
            Ids::User => assert!(db.remove_entry(fingerprint(i), DocId(i)).unwrap()),
            _ => assert!(db.remove(key(i)).unwrap()),
        };
        (0..2).for_each(insert);
        db.flush().unwrap();
        // The first removal will be lost, and neither later change says that older sources have it.
        remove(1);
        insert(1);
        remove(1);
        let expected = contents(&db.snapshot());
        drop(db);
        let files = files(&path);
        let log = files.keys().rfind(|name| kind_of(name) == "log").unwrap();
        let (report, found) =
            repaired(options, &files, log, |bytes| damage_first(bytes, fingerprint(1)));
        assert!(count(&report, &[LossKind::Log]) > 0, "{ids:?}");
        assert_eq!(found, expected, "{ids:?}");
    }
}

/// The files of a database that is not closed after some inserts, before and after a flush of the
/// first of three.
fn before_and_after_a_flush(path: &Path) -> [BTreeMap<String, Vec<u8>>; 2] {
    let db = Db::options().background(false).create(path).unwrap();
    db.insert(1, DocId(1)).unwrap();
    let before = files(path);
    db.flush().unwrap();
    db.insert(2, DocId(2)).unwrap();
    db.flush().unwrap();
    db.insert(3, DocId(3)).unwrap();
    drop(db);
    [before, files(path)]
}

/// Repairs a database of these files. Returns the report, and how many entries were saved.
fn repaired_files(files: &BTreeMap<String, Vec<u8>>) -> (BuildReport, usize) {
    let (report, found) = repaired(Db::options(), files, "none", |_| true);
    (report, found.entries.len())
}

#[test]
fn of_the_manifest_and_its_copy_the_newer_one_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let [before, after] = before_and_after_a_flush(&folder.path().join("db"));
    for name in ["MANIFEST", "MANIFEST.copy"] {
        let mut files = after.clone();
        files.insert(name.to_owned(), before["MANIFEST"].clone());
        let (report, saved) = repaired_files(&files);
        assert_eq!((saved, report.losses.len()), (3, 0), "{name}");
        assert_eq!((report.read, report.written), (3, 3), "{name}");
        assert_eq!(report.damage.is_empty(), name == "MANIFEST.copy", "{:?}", report.damage);
    }
}

#[test]
fn files_that_an_old_manifest_does_not_name_are_saved_or_reported_as_lost() {
    let folder = tempfile::tempdir().unwrap();
    let [before, after] = before_and_after_a_flush(&folder.path().join("db"));
    let old = before["MANIFEST"].clone();
    for (with_manifest, with_spares) in [(true, false), (false, false), (true, true), (false, true)]
    {
        let mut files = after.clone();
        files.retain(|name, _| with_spares || kind_of(name) != "spare");
        files.insert("MANIFEST.copy".to_owned(), old.clone());
        files.insert("MANIFEST".to_owned(), old.clone());
        if !with_manifest {
            files.remove("MANIFEST");
        }
        let (report, saved) = repaired_files(&files);
        if with_spares {
            assert_eq!((saved, &report.losses[..]), (3, &[][..]));
            assert!(!report.damage.is_empty());
            continue;
        }
        assert!(count(&report, &[LossKind::Files]) > 2, "{:?}", report.losses);
        let damage = report.damage.iter().map(ToString::to_string).collect::<String>();
        for expected in ["is newer than the manifest", "a log is missing"] {
            assert!(damage.contains(expected), "{damage}");
        }
        assert_eq!(damage.contains("the manifest is missing"), !with_manifest, "{damage}");
    }
}

#[test]
fn log_that_is_missing_or_empty_is_a_loss_of_unknown_size() {
    let folder = tempfile::tempdir().unwrap();
    let [_, files] = before_and_after_a_flush(&folder.path().join("db"));
    let log = files.keys().rfind(|name| kind_of(name) == "log").unwrap();
    for len in [None, Some(0), Some(50), Some(107)] {
        let (report, found) = repaired(Db::options(), &files, log, |bytes| {
            bytes.truncate(len.unwrap_or(0));
            len.is_some()
        });
        assert!(!report.damage.is_empty() && found.entries.len() == 2, "{len:?}");
        let unknown = |loss: &Loss| (loss.kind, loss.count) == (LossKind::Log, None);
        assert!(report.losses.iter().any(unknown), "{len:?}: {:?}", report.losses);
    }
}

#[test]
fn verify_finds_the_log_that_an_old_manifest_does_not_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    Db::options().create(&path).unwrap().close().unwrap();
    let before = files(&path);
    let db = Db::options().background(false).open(&path).unwrap();
    db.insert(1, DocId(1)).unwrap();
    let verified = || Db::options().verify(&path, VerifyLevel::Quick).unwrap().errors;
    assert!(verified().is_empty());
    drop(db);
    std::fs::write(path.join("MANIFEST"), &before["MANIFEST"]).unwrap();
    assert!(Db::options().open_read_only(&path).is_ok() && Db::options().open(&path).is_err());
    assert_eq!(verified().len(), 1);
}

/// All files of a database, and what it says. It was closed if `is_closed`.
fn closed_or_not(
    path: &Path,
    range: std::ops::Range<u64>,
    is_closed: bool,
) -> (BTreeMap<String, Vec<u8>>, Contents<u64>) {
    let db = Db::options().background(false).create(path).unwrap();
    for i in range {
        db.insert(fingerprint(i), DocId(i)).unwrap();
        if i % 40 == 39 {
            db.flush().unwrap();
        }
    }
    let found = contents(&db.snapshot());
    if is_closed {
        db.close().unwrap();
    } else {
        drop(db);
    }
    (files(path), found)
}

/// The manifest of an empty, a smaller and a larger database, each instead of the manifest, of its
/// copy, and of both.
#[test]
fn manifest_of_another_database_loses_nothing_and_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: String| folder.path().join(name);
    for is_closed in [true, false] {
        let at = path(format!("db {is_closed}"));
        let (mut files, expected) = closed_or_not(&at, 0..100, is_closed);
        files.remove("LOCK");
        for (n, len) in [0, 10, 70, 500].into_iter().enumerate() {
            let other = path(format!("other {n} {is_closed}"));
            let (foreign, _) = closed_or_not(&other, 1000..1000 + len, is_closed);
            for changed in [&["MANIFEST"][..], &["MANIFEST.copy"], &["MANIFEST", "MANIFEST.copy"]] {
                let mut files = files.clone();
                for name in changed {
                    files.insert((*name).to_owned(), foreign["MANIFEST"].clone());
                }
                let (report, found) = repaired(Db::options(), &files, "none", |_| true);
                let context = format!("{is_closed} {len} {changed:?} {report:?}");
                assert!(found == expected, "{context}");
                assert_eq!((report.read, report.written, report.losses.len()), (100, 100, 0));
                let damage = report.damage.iter().map(ToString::to_string).collect::<String>();
                let is_foreign = damage.contains("this is the manifest of another database");
                assert_eq!(
                    (is_foreign, report.damage.len()),
                    match changed[0] {
                        "MANIFEST" => (true, 1),
                        _ => (false, 0),
                    },
                    "{context}"
                );
            }
        }
    }
}

#[test]
fn files_of_another_database_beside_a_complete_one_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (mut files, expected) = closed_or_not(&folder.path().join("db"), 0..50, true);
    let (foreign, _) = closed_or_not(&folder.path().join("other"), 1000..1500, true);
    let mut added = 0;
    for (name, bytes) in foreign {
        let is_new = !files.contains_key(&name);
        added += u64::from(is_new);
        files.entry(name).or_insert(bytes);
    }
    let (report, found) = repaired(Db::options(), &files, "none", |_| true);
    assert!(found == expected && added > 10, "{report:?}");
    assert_eq!(count(&report, &[LossKind::Files]), added, "{report:?}");
}

/// Two copies of a database that both went on have the same id, and other random numbers.
#[test]
fn manifest_of_a_copy_that_went_on_loses_nothing_and_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let [path, copy] = ["db", "copy"].map(|name| folder.path().join(name));
    closed_or_not(&path, 0..50, true);
    std::fs::create_dir(&copy).unwrap();
    for (name, bytes) in files(&path) {
        std::fs::write(copy.join(name), bytes).unwrap();
    }
    let go_on = |path: &Path, flushes: u64| {
        let db = Db::options().background(false).open(path).unwrap();
        for i in 0..flushes {
            db.insert(fingerprint(100 * flushes + i), DocId(i)).unwrap();
            db.flush().unwrap();
        }
        let found = contents(&db.snapshot());
        db.close().unwrap();
        (files(path), found)
    };
    for (ours, theirs) in [(3, 1), (4, 9)] {
        let (right, expected) = go_on(&path, ours);
        let (foreign, _) = go_on(&copy, theirs);
        for lost in ["none", "MANIFEST.copy"] {
            let mut files = right.clone();
            files.insert("MANIFEST".to_owned(), foreign["MANIFEST"].clone());
            files.remove(lost);
            let (report, found) = repaired(Db::options(), &files, "none", |_| true);
            assert!(found == expected, "{ours} {theirs} {lost} {report:?}");
            assert!(!report.damage.is_empty() && report.losses.is_empty(), "{report:?}");
        }
    }
}

/// For each file of an open database: the file of an earlier time, or none, or another one's.
#[test]
fn repair_lists_damage_wherever_opening_fails() {
    let folder = tempfile::tempdir().unwrap();
    let [before, after] = before_and_after_a_flush(&folder.path().join("db"));
    let [_, foreign] = before_and_after_a_flush(&folder.path().join("other"));
    let names: Vec<&String> = before.keys().chain(after.keys()).chain(foreign.keys()).collect();
    let mut refused = 0;
    for name in names.into_iter().filter(|name| *name != "LOCK") {
        for source in [Some(&before), None, Some(&foreign)] {
            let mut files = after.clone();
            files.remove(name);
            let changed = source.and_then(|source| source.get(name));
            files.extend(changed.map(|bytes| (name.clone(), bytes.clone())));
            let path = folder.path().join("damaged");
            std::fs::create_dir(&path).unwrap();
            files.iter().for_each(|(name, b)| std::fs::write(path.join(name), b).unwrap());
            let fixed = folder.path().join("fixed");
            let report = Db::options().build(&fixed, Source::damaged(&path)).unwrap();
            let opened = Db::options().background(false).open(&path);
            let saved = contents(&Db::options().open_read_only(&fixed).unwrap().snapshot());
            let is_complete = saved.entries.len() == 3;
            let what = (name, changed.is_some(), &report, opened.as_ref().err());
            assert!(opened.is_ok() || !report.damage.is_empty(), "{what:?}");
            assert!(is_complete || !report.losses.is_empty(), "{what:?}");
            refused += usize::from(opened.is_err());
            drop(opened);
            std::fs::remove_dir_all(&path).unwrap();
            std::fs::remove_dir_all(&fixed).unwrap();
        }
    }
    assert!(refused > 10, "{refused}");
}

/// Creates a database with many documents in one segment, and after them what `write` does in
/// another.
fn with_two_segments(
    ids: Ids,
    path: &Path,
    write: impl Fn(&Db, bool),
) -> (BTreeMap<String, Vec<u8>>, Contents<u64>) {
    let db = Db::options().ids(ids).background(false).create(path).unwrap();
    write(&db, false);
    let names: Vec<String> = (0..3000).map(|i| format!("https://example.org/{i}")).collect();
    let key = |i: u64| match ids {
        Ids::Names => Key::from(&*names[usize::try_from(i).unwrap()]),
        _ => Key::from(DocId(i)),
    };
    let batch: Vec<_> = (10..3000).map(|i| (fingerprint(i), key(i))).collect();
    let _ = db.write(&batch).run().unwrap();
    db.flush().unwrap();
    write(&db, true);
    db.flush().unwrap();
    let found = contents(&db.snapshot());
    db.close().unwrap();
    (files(path), found)
}

fn docs(files: &BTreeMap<String, Vec<u8>>) -> Vec<&String> {
    let docs: Vec<_> = files.keys().filter(|name| kind_of(name) == "docs").collect();
    assert_eq!(docs.len(), 2, "{:?}", files.keys());
    docs
}

#[test]
fn duplicate_that_became_an_original_is_saved_without_its_newest_record() {
    for ids in [Ids::Names, Ids::Unique] {
        let folder = tempfile::tempdir().unwrap();
        let key = |i: usize| match ids {
            Ids::Names => Key::from(["a", "b"][i]),
            _ => Key::from(DocId(i as u64)),
        };
        let (files, expected) =
            with_two_segments(ids, &folder.path().join("db"), |db, is_second| {
                let batch = match is_second {
                    false => vec![(u64::MAX, key(0)), (u64::MAX - 1, key(1))],
                    true => vec![(u64::MAX << 40, key(1))],
                };
                let write = db.write(&batch).unless_near(3).or_update(OnDuplicate::Remember);
                let _ = write.run().unwrap();
            });
        let (report, found) = repaired(Db::options(), &files, docs(&files)[1], |bytes| {
            bytes[70] ^= 1;
            true
        });
        assert!(found == expected, "{ids}: {:?}", report.losses);
        assert_eq!(count(&report, &[LossKind::Versions]), 1, "{:?}", report.losses);

        // Lost entries of others make no difference. No removal is lost.
        let mut files = files;
        let postings = files.keys().find(|name| kind_of(name) == "ids").unwrap().clone();
        files.get_mut(&postings).unwrap()[4096] ^= 1;
        let (report, found) = repaired(Db::options(), &files, docs(&files)[1], |_| false);
        assert!(count(&report, &[LossKind::Entries]) > 0, "{:?}", report.losses);
        assert_eq!(count(&report, &[LossKind::Removals]), 0, "{:?}", report.losses);
        let is_original = |entry: &&Entry| entry.fingerprint == u64::MAX << 40;
        assert_eq!(found.entries.iter().filter(is_original).count(), 1, "{ids}");
    }
}

#[test]
fn document_that_is_called_as_one_without_a_name_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let name_of = |is_second| if is_second { "(lost name of id 0)" } else { "lost" };
    let (files, _) = with_two_segments(Ids::Names, &folder.path().join("db"), |db, is_second| {
        let _ = db.insert(0xff00 | u64::from(is_second), name_of(is_second)).unwrap();
    });
    let (_, found) = repaired(Db::options(), &files, docs(&files)[0], |_| false);
    let of = |name: &str| {
        let is_it = |(found, _): &&(Option<String>, Document<u64>)| found.as_deref() == Some(name);
        found.documents.iter().find(is_it).map(|(_, document)| document.fingerprint)
    };
    assert_eq!(of("(lost name of id 0)"), Some(0xff01));
    assert_eq!(of("(lost name of id 0, 2)"), Some(0xff00));
}

#[test]
fn newest_readable_record_wins_over_older_entries_whose_removals_are_lost() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (u64::MAX << 8, 0b1);
    let (mut files, _) =
        with_two_segments(Ids::Names, &folder.path().join("db"), |db, is_second| {
            let (fingerprint, stamp) = if is_second { (new, 2) } else { (old, 1) };
            let _ = db.insert(fingerprint, crate::Stamped::new("a", stamp)).unwrap();
        });
    let removals = files.keys().find(|name| kind_of(name) == "del").unwrap().clone();
    files.remove(&removals).unwrap();
    let (_, found) = repaired(Db::options(), &files, docs(&files)[0], |bytes| {
        // A page of other names.
        bytes[3 * 4096] ^= 1;
        true
    });
    let (_, document) =
        found.documents.iter().find(|(name, _)| name.as_deref() == Some("a")).unwrap();
    assert_eq!((document.fingerprint, document.stamp), (new, Some(2)));
}

#[test]
fn verification_lists_the_damage_of_every_file_of_a_database_that_cannot_be_opened() {
    let options = Db::options().layout(Layout::preset("half-2", 64).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    create(options.clone(), Ids::Names, &path);
    let files = files(&path);
    for (name, bytes) in files.iter().filter(|(name, _)| is_needed(name)) {
        let mut bytes = bytes.clone();
        bytes[70] ^= 1;
        bytes[20] ^= 1;
        std::fs::write(path.join(name), bytes).unwrap();
    }
    for level in [VerifyLevel::Quick, VerifyLevel::Full, VerifyLevel::Deep] {
        let report = options.clone().verify(&path, level).unwrap();
        for name in files.keys().filter(|name| is_needed(name)) {
            let is_it = |error: &Error| error.path().is_some_and(|path| path.ends_with(name));
            assert!(report.errors.iter().any(is_it), "{name} {:?}", report.errors);
        }
        assert!(report.files > 4 && report.bytes > 0);
    }
    std::fs::remove_file(path.join("MANIFEST.copy")).unwrap();
    options.verify(&path, VerifyLevel::Full).unwrap_err();
}

/// Whether the copy of the manifest is whole, missing, damaged, old or foreign, all is sound.
#[test]
fn verify_remarks_on_a_copy_of_the_manifest_that_cannot_replace_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let [before, after] = before_and_after_a_flush(&path);
    let (foreign, _) = closed_or_not(&folder.path().join("other"), 0..3, true);
    let whole = &after["MANIFEST"];
    let cases: [(Option<&[u8]>, Option<&str>); 6] = [
        (Some(whole), None),
        (None, Some("is missing")),
        (Some(&whole[..50]), Some("is damaged")),
        (Some(b""), Some("is damaged")),
        (Some(&before["MANIFEST"]), Some("is earlier or later than the manifest")),
        (Some(&foreign["MANIFEST"]), Some("is that of another database")),
    ];
    for (copy, expected) in cases {
        let name = path.join("MANIFEST.copy");
        match copy {
            Some(bytes) => std::fs::write(&name, bytes).unwrap(),
            None => std::fs::remove_file(&name).unwrap(),
        }
        for level in [VerifyLevel::Quick, VerifyLevel::Deep] {
            let report = Db::options().verify(&path, level).unwrap();
            assert_eq!(report.errors.len(), 0, "{expected:?} {:?}", report.errors);
            assert_eq!(report.remarks.len(), usize::from(expected.is_some()), "{expected:?}");
            for remark in report.remarks {
                assert!(remark.to_string().contains(expected.unwrap()), "{remark}");
                assert_eq!(remark.path(), Some(&*name));
            }
        }
    }
}

#[test]
fn header_page_checksums_and_footer_are_not_needed() {
    for (options, ids, _) in all_64() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        let expected = create(options.clone(), ids, &path);
        let files = files(&path);
        let is_paged =
            |name: &str| is_needed(name) && !["MANIFEST", "log"].contains(&kind_of(name));
        for (name, bytes) in files.iter().filter(|(name, _)| is_paged(name)) {
            let trailer = bytes[bytes.len() - 24..].first_chunk().unwrap();
            let sums = usize::try_from(u64::from_le_bytes(*trailer)).unwrap();
            for at in [3, 60, sums, bytes.len() - 30, bytes.len() - 20, bytes.len() - 1] {
                let (report, found) = repaired(options.clone(), &files, name, |bytes| {
                    bytes[at] ^= 0x20;
                    true
                });
                assert_eq!(report.damage.len(), 1, "{name} at {at}: {:?}", report.damage);
                assert!(found == expected && report.losses.is_empty(), "{name} at {at}");
            }
        }
    }
}
