//! Whose folder it is: a handle changes nothing in a folder, and removes no file, that is not its
//! own any more.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use std::{fs, thread};

use fpdb::storage::{Sim, Storage};
use fpdb::{Db, DocId, Entry, ErrorKind};

use crate::counting::{Counting, FOLDER};

fn insert(db: &Db, documents: std::ops::Range<u64>) {
    for i in documents {
        db.insert(i.wrapping_mul(0x9e37_79b9_7f4a_7c15), i).unwrap();
    }
}

/// Creates a database with these documents, which it flushes twice.
fn create(path: &Path, documents: std::ops::Range<u64>) -> Db {
    let db = Db::options().background(false).create(path).unwrap();
    let middle = u64::midpoint(documents.start, documents.end);
    insert(&db, documents.start..middle);
    db.flush().unwrap();
    insert(&db, middle..documents.end);
    db.flush().unwrap();
    db
}

/// Creates a database with these documents in one segment.
fn create_and_flush(path: &Path, documents: std::ops::Range<u64>) -> Db {
    let db = Db::options().background(false).create(path).unwrap();
    insert(&db, documents);
    db.flush().unwrap();
    db
}

fn contents(path: &Path) -> BTreeMap<std::ffi::OsString, Vec<u8>> {
    let files = fs::read_dir(path).unwrap().map(Result::unwrap);
    files.map(|file| (file.file_name(), fs::read(file.path()).unwrap())).collect()
}

/// Expects these files and no others. Names the file that differs.
fn expect_contents(path: &Path, expected: &BTreeMap<std::ffi::OsString, Vec<u8>>, context: &str) {
    let found = contents(path);
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{context}");
    let changed = expected.iter().find(|(name, bytes)| found[*name] != **bytes);
    assert_eq!(changed.map(|(name, _)| name), None, "{context}");
}

/// Copies all files over the files of another folder, as `cp -r` does.
fn copy_over(from: &Path, to: &Path) {
    for (name, bytes) in contents(from) {
        fs::write(to.join(name), bytes).unwrap();
    }
}

/// Expects that a database has exactly these documents, and is sound.
fn expect_documents(path: &Path, documents: u64) {
    let db = Db::open(path).unwrap();
    assert_eq!(db.snapshot().len(), documents);
    assert!(db.verify(fpdb::VerifyLevel::Full).unwrap().errors.is_empty());
}

#[test]
fn snapshot_of_a_closed_database_removes_nothing_of_the_next_one() {
    for in_place in [false, true] {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("db");
        let db = create_and_flush(&path, 0..20);
        let snapshot = db.snapshot();
        insert(&db, 20..25);
        assert_eq!(db.compact().unwrap().segments_before, 2);
        db.close().unwrap();
        if in_place {
            contents(&path).keys().for_each(|name| fs::remove_file(path.join(name)).unwrap());
        } else {
            fs::remove_dir_all(&path).unwrap();
        }
        create_and_flush(&path, 0..30).close().unwrap();
        let before = contents(&path);
        assert_eq!(snapshot.len(), 20);
        drop(snapshot);
        expect_contents(&path, &before, &format!("in place: {in_place}"));
        expect_documents(&path, 30);
    }
}

/// Files that are read to memory stay readable as well.
#[test]
fn files_of_compacted_segments_are_removed_at_once_and_snapshots_go_on_reading() {
    for is_warm in [false, true] {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("db");
        create_and_flush(&path, 0..2000).close().unwrap();
        let db = Db::options().background(false).open(&path).unwrap();
        if is_warm {
            db.warm().unwrap();
        }
        let snapshot = db.snapshot();
        insert(&db, 2000..2005);
        assert_eq!(db.compact().unwrap().segments_before, 2);
        let segments = db.stats().segments;
        let named = segments.iter().map(|s| s.files.len()).sum::<usize>();
        // And the manifest, its copy, the lock file and the log.
        assert_eq!((segments.len(), contents(&path).len()), (1, named + 4));
        for i in 0..2000u64 {
            let found = snapshot.query(i.wrapping_mul(0x9e37_79b9_7f4a_7c15), 0).unwrap();
            assert_eq!(found.len(), 1, "{i}");
        }
    }
}

/// A writer whose folder is replaced, by renaming or in place, while entries are in its log.
#[test]
fn writer_changes_nothing_in_a_folder_that_replaced_its_own() {
    for (in_place, is_flushed) in [(false, false), (false, true), (true, false), (true, true)] {
        let parent = tempfile::tempdir().unwrap();
        let (path, backup) = (parent.path().join("db"), parent.path().join("backup"));
        let db = create(&path, 0..20);
        db.backup(&backup).unwrap();
        insert(&db, 20..40);
        if is_flushed {
            db.compact().unwrap();
        }
        if in_place {
            contents(&path)
                .keys()
                .filter(|name| *name != "LOCK")
                .for_each(|name| fs::remove_file(path.join(name)).unwrap());
            copy_over(&backup, &path);
        } else {
            fs::rename(&path, parent.path().join("old")).unwrap();
            fs::rename(&backup, &path).unwrap();
        }
        let before = contents(&path);
        let errors = [
            db.insert(7, 1000).unwrap_err(),
            db.insert(8, 1001).map(drop).unwrap_err(),
            db.bulk_load([Ok(Entry { fingerprint: 9, id: DocId(1002) })]).map(drop).unwrap_err(),
            db.compact().map(drop).unwrap_err(),
            db.clone().close().unwrap_err(),
        ];
        let kinds = errors.each_ref().map(fpdb::Error::kind);
        assert_eq!(kinds[0], ErrorKind::Replaced, "{:?}", errors[0]);
        assert!(kinds[1..].iter().all(|&kind| kind == ErrorKind::Poisoned), "{kinds:?}");
        drop(db);
        expect_contents(&path, &before, &format!("in place: {in_place}"));
        expect_documents(&path, 20);
    }
}

#[test]
fn commit_after_the_lock_file_was_replaced_is_not_acknowledged() {
    let sim = Sim::new();
    let options = || Db::options().storage(sim.clone()).background(false);
    let first = options().create("sim").unwrap();
    first.insert(1, 1).unwrap();
    sim.remove("LOCK").unwrap();
    let second = options().open("sim").unwrap();
    assert!(second.snapshot().contains(1).unwrap(), "it was acknowledged before");
    second.insert(2, 2).unwrap();
    let error = first.insert(3, 3).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Replaced, "{error}");
    assert_eq!(first.insert(4, 4).unwrap_err().kind(), ErrorKind::Poisoned);
    drop(first);
    second.insert(5, 5).unwrap();
    second.close().unwrap();
    let found: Vec<u64> = [1, 2, 3, 4, 5]
        .into_iter()
        .filter(|&f| options().open("sim").unwrap().snapshot().contains(f).unwrap())
        .collect();
    assert_eq!(found, [1, 2, 5]);
}

/// The commit comes while a flush creates the next log, so the flush syncs it with the end of the
/// old log.
#[test]
fn commit_that_a_flush_syncs_after_the_lock_file_was_replaced_is_not_acknowledged() {
    let sim = Sim::new();
    let storage = Counting::new(sim.clone(), Duration::ZERO);
    let options = || Db::options().background(false);
    let first = options().storage(storage.clone() as Arc<dyn Storage>).create("sim").unwrap();
    first.insert(1, 1).unwrap();
    storage.hold(Some(FOLDER));
    let flush = thread::spawn({
        let first = first.clone();
        move || first.flush()
    });
    storage.wait_for_held_call();
    let late = thread::spawn({
        let first = first.clone();
        move || first.insert(2, 2)
    });
    while first.stats().memtable_entries < 2 {
        thread::yield_now();
    }
    sim.remove("LOCK").unwrap();
    let second = options().storage(sim.clone()).open("sim").unwrap();
    storage.hold(None);
    assert_eq!(flush.join().unwrap().unwrap_err().kind(), ErrorKind::Replaced);
    assert_eq!(late.join().unwrap().unwrap_err().kind(), ErrorKind::Poisoned);
    assert!(!first.snapshot().contains(2).unwrap(), "it is not visible either");
    assert_eq!(second.snapshot().len(), 1);
}

/// Every manifest that was ever in force is put back after every later step.
#[test]
fn older_manifest_loses_nothing_in_any_state() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("db");
    let manifest = path.join("MANIFEST");
    let open = || Db::options().background(false).memtable_entries(16).open(&path).unwrap();
    Db::options().background(false).create(&path).unwrap().close().unwrap();
    type Step = fn(&Db);
    let steps: [(&str, Step); 7] = [
        ("insert and close", |db| insert(db, 0..5)),
        ("flush", |db| {
            insert(db, 100..110);
            db.flush().unwrap();
        }),
        ("bulk load", |db| {
            let entries = (200..230u64).map(|i| Ok(Entry { fingerprint: i << 32, id: DocId(i) }));
            assert_eq!(db.bulk_load(entries).unwrap().inserted, 30);
        }),
        ("compact", |db| assert_eq!(db.compact().unwrap().segments_after, 1)),
        ("rotate", |db| insert(db, 300..340)),
        ("remove", |db| assert!(db.remove_entry(200 << 32, 200).unwrap())),
        ("nothing", |_| ()),
    ];
    let mut older: Vec<Vec<u8>> = vec![fs::read(&manifest).unwrap()];
    let mut refused = 0;
    for (name, step) in steps {
        // First as if the process was killed after the step.
        for clean in [false, true] {
            let db = open();
            older.push(fs::read(&manifest).unwrap());
            if !clean {
                step(&db);
            }
            older.push(fs::read(&manifest).unwrap());
            if clean {
                db.close().unwrap()
            } else {
                drop(db)
            }
            let sound = contents(&path);
            let live = Db::open_read_only(&path).unwrap().snapshot().len();
            for (generation, bytes) in older.iter().enumerate() {
                fs::write(&manifest, bytes).unwrap();
                match Db::options().background(false).open(&path) {
                    // What it does not name is still in a log that it names.
                    Ok(db) => assert_eq!(db.snapshot().len(), live, "{name}, {generation}"),
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
                        assert!(contents(&path).keys().eq(sound.keys()), "{name}, {generation}");
                        refused += 1;
                    }
                }
                contents(&path).keys().for_each(|name| fs::remove_file(path.join(name)).unwrap());
                for (name, bytes) in &sound {
                    fs::write(path.join(name), bytes).unwrap();
                }
            }
            older.push(fs::read(&manifest).unwrap());
        }
    }
    assert!(refused > 100, "{refused}");
}

/// A copy of a database that went on, in the place of the original's.
#[test]
fn manifest_of_a_copy_loses_nothing() {
    let parent = tempfile::tempdir().unwrap();
    let [path, copy] = ["db", "copy"].map(|name| parent.path().join(name));
    let db = create(&path, 0..20);
    db.backup(&copy).unwrap();
    insert(&db, 20..40);
    db.close().unwrap();
    for round in 0..5 {
        // It has no files of its own. First it has never been opened.
        if round > 0 {
            Db::open(&copy).unwrap().close().unwrap();
        }
        let before = contents(&path);
        let ours = fs::read(path.join("MANIFEST")).unwrap();
        fs::copy(copy.join("MANIFEST"), path.join("MANIFEST")).unwrap();
        let error = Db::open(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption, "{round}: {error}");
        fs::write(path.join("MANIFEST"), ours).unwrap();
        expect_contents(&path, &before, &format!("round {round}"));
    }
    expect_documents(&path, 40);
}

/// The readers notice it as well, because `verify` would call what is left sound.
#[test]
fn older_manifest_is_refused_by_readers() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("db");
    create(&path, 0..20).close().unwrap();
    let manifest = path.join("MANIFEST");
    let older = fs::read(&manifest).unwrap();
    let db = Db::open(&path).unwrap();
    insert(&db, 20..40);
    db.close().unwrap();
    let reader = Db::open_read_only(&path).unwrap();
    fs::write(&manifest, older).unwrap();
    let error = Db::open_read_only(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    assert!(error.to_string().contains("from an earlier time"), "{error}");
    assert_eq!(reader.refresh().unwrap_err().kind(), ErrorKind::Corruption);
    assert_eq!(reader.snapshot().len(), 40, "it stays as it was");
}

/// A file in the place of one that a writer is about to create.
#[test]
fn failed_writer_removes_only_what_it_created() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("db");
    let db = create(&path, 0..20);
    insert(&db, 20..40);
    let last = |extension: &str| {
        let names = contents(&path).into_keys().filter_map(|name| name.into_string().ok());
        names.filter(|name| name.ends_with(extension)).max()
    };
    let log = u64::from_str_radix(last(".log").unwrap().trim_end_matches(".log"), 16).unwrap();
    let manifest_in_force = (log >> 24) + 1;
    // Whatever numbers the next files get.
    let taken: Vec<_> = (manifest_in_force..manifest_in_force + 3)
        .flat_map(|generation| (0..4).map(move |n| (generation << 24) + n))
        .flat_map(|number| ["log", "ids", "t01"].map(|kind| format!("{number:016x}.{kind}")))
        .filter(|name| !path.join(name).exists())
        .collect();
    for name in &taken {
        fs::write(path.join(name), "somebody else's").unwrap();
    }
    assert!(db.flush().is_err());
    assert!(db.bulk_load([Ok(Entry { fingerprint: 9, id: DocId(1002) })]).is_err());
    assert!(db.compact().is_err());
    for name in &taken {
        assert_eq!(fs::read(path.join(name)).unwrap(), b"somebody else's", "{name}");
    }
}

#[cfg(unix)]
#[test]
fn links_and_pipes_in_the_folder_are_not_followed() {
    use std::os::unix::fs::symlink;
    let parent = tempfile::tempdir().unwrap();
    let sound = parent.path().join("sound");
    let db = create(&sound, 0..20);
    insert(&db, 20..30);
    drop(db);
    let outside = parent.path().join("outside");
    for name in contents(&sound).into_keys() {
        for kind in ["pipe", "endless device", "missing file"] {
            let path = parent.path().join("db");
            fs::create_dir(&path).unwrap();
            copy_over(&sound, &path);
            let file = path.join(&name);
            fs::remove_file(&file).unwrap();
            match kind {
                "pipe" => {
                    let made = std::process::Command::new("mkfifo").arg(&file).status();
                    assert!(made.unwrap().success());
                }
                "endless device" => symlink("/dev/zero", &file).unwrap(),
                _ => symlink(&outside, &file).unwrap(),
            }
            match Db::open(&path) {
                // Only a repair reads these.
                Ok(db) => {
                    assert!(
                        name == "MANIFEST.copy"
                            || Path::new(&name).extension().is_some_and(|e| e == "spare"),
                        "{name:?}, {kind}"
                    );
                    insert(&db, 30..31);
                    db.close().unwrap();
                    // A compaction may have removed the segment of a spare.
                    let is_replaced = fs::symlink_metadata(&file).is_ok_and(|m| m.is_file());
                    assert_eq!(is_replaced, name == "MANIFEST.copy", "{kind}");
                }
                Err(e) => assert_eq!(e.kind(), ErrorKind::Corruption, "{name:?}, {kind}: {e}"),
            }
            assert!(!outside.exists(), "{name:?}, {kind}");
            fs::remove_dir_all(&path).unwrap();
        }
    }
}

#[test]
fn manifest_or_log_that_is_too_long_is_not_read() {
    for (ending, len) in [("MANIFEST", 3 << 30), (".log", (4 << 30) + 1)] {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("db");
        drop(create(&path, 0..20));
        let mut names = contents(&path).into_keys().map(|name| name.into_string().unwrap());
        let name = names.find(|name| name.ends_with(ending)).unwrap();
        let file = fs::OpenOptions::new().write(true).open(path.join(name)).unwrap();
        file.set_len(len).unwrap();
        for error in [Db::open(&path).unwrap_err(), Db::open_read_only(&path).unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
            assert!(error.to_string().contains(&format!("{len} bytes")), "{error}");
        }
    }
}

/// Such a writer does not begin anything either: its log is there, so only the manifest differs.
#[test]
fn writer_begins_no_file_if_its_manifest_was_replaced() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("db");
    let older = {
        create(&path, 0..20).close().unwrap();
        fs::read(path.join("MANIFEST")).unwrap()
    };
    let works: [fn(&Db) -> fpdb::Result<()>; 4] = [
        Db::flush,
        |db| db.compact().map(drop),
        |db| db.bulk_load([Ok(Entry { fingerprint: 9, id: DocId(1002) })]).map(drop),
        |db| db.clone().close(),
    ];
    for work in works {
        let db = Db::options().background(false).open(&path).unwrap();
        db.insert(7, 1000).unwrap();
        let ours = fs::read(path.join("MANIFEST")).unwrap();
        fs::write(path.join("MANIFEST"), &older).unwrap();
        let before = contents(&path);
        assert_eq!(work(&db).unwrap_err().kind(), ErrorKind::Replaced);
        drop(db);
        expect_contents(&path, &before, "");
        fs::write(path.join("MANIFEST"), ours).unwrap();
    }
    expect_documents(&path, 21);
}

/// The variable that makes a test process change its working directory, with the folder to work in.
const MOVING: &str = "FPDB_TEST_CHANGE_DIRECTORY";

/// Not a test by itself: the process that changes its directory runs it.
#[test]
fn changing_directory() {
    let Some(parent) = std::env::var_os(MOVING) else { return };
    std::env::set_current_dir(parent).unwrap();
    let db = create_and_flush(Path::new("db"), 0..20);
    let reader = Db::open_read_only("db").unwrap();
    std::env::set_current_dir("/").unwrap();
    insert(&db, 20..30);
    assert!(reader.refresh().unwrap());
    db.close().unwrap();
}

#[test]
fn program_may_change_its_directory_while_a_database_is_open() {
    let parent = tempfile::tempdir().unwrap();
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "ownership::changing_directory"])
        .env(MOVING, parent.path())
        .status();
    assert!(status.unwrap().success());
    expect_documents(&parent.path().join("db"), 30);
}

/// The first writer is in the middle of a flush when the second one opens the database.
#[test]
fn writer_that_lost_its_lock_removes_no_file_of_the_next_one() {
    let sim = Sim::new();
    let storage = Counting::new(sim.clone(), Duration::ZERO);
    let options = || Db::options().background(false);
    let held = options().storage(storage.clone() as Arc<dyn Storage>).create("sim").unwrap();
    for (round, held_up) in (0u64..).zip([".t00", ".t01", ".ids"]) {
        let first = options().storage(storage.clone() as Arc<dyn Storage>).open("sim");
        let first = first.unwrap_or_else(|_| held.clone());
        insert(&first, 30 * round..30 * round + 30);
        storage.hold(Some(held_up));
        let flush = thread::spawn(move || first.flush());
        storage.wait_for_held_call();
        sim.remove("LOCK").unwrap();
        let second = options().storage(sim.clone()).open("sim").unwrap();
        let before = sim.list().unwrap().unwrap();
        storage.hold(None);
        assert!(flush.join().unwrap().is_err());
        // It may have created one more, but does not know any more whether that is its own.
        let after = sim.list().unwrap().unwrap();
        assert!(before.iter().all(|name| after.contains(name)), "{held_up}: {after:?}");
        assert_eq!(second.snapshot().len(), 30 * round + 30);
        assert!(second.verify(fpdb::VerifyLevel::Full).unwrap().errors.is_empty());
        second.close().unwrap();
        drop(options().storage(sim.clone()).open("sim").unwrap());
    }
}
