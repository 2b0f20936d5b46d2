//! Databases of sketches that one segment cannot hold, with a small limit instead of 2^32
//! documents. Databases without that limit, whose answers other tests compare with brute force, are
//! the truth.

use std::collections::BTreeMap;
use std::path::Path;

use fpdb::{
    Db, Document, Durability, Ids, Options, QueryOptions, Sketch, Source, VerifyLevel, Within,
};

/// The most documents of a segment.
const MOST: u64 = 100;

fn whole() -> Options<Sketch> {
    Options::sketches().background(false).memtable_entries(40).durability(Durability::Buffered)
}

fn limited() -> Options<Sketch> {
    whole().segment_documents(MOST)
}

fn random(rng: &mut fastrand::Rng) -> Sketch {
    Sketch::of_parts(std::array::from_fn(|_| rng.u128(..)), 0, [0; 16])
}

/// Returns a sketch with other values of some minima.
fn near(rng: &mut fastrand::Rng, sketch: &Sketch) -> Sketch {
    let mut planes = *sketch.planes();
    (0..rng.u32(..40)).for_each(|_| planes[rng.usize(..6)] ^= 1 << rng.u32(..128));
    Sketch::of_parts(planes, 0, [0; 16])
}

/// Returns how many entries each segment has.
fn sizes(db: &Db<Sketch>) -> Vec<u64> {
    db.stats().segments.iter().map(|segment| segment.entries).collect()
}

fn documents(db: &Db<Sketch>) -> Vec<(Option<String>, Document<Sketch>)> {
    db.snapshot().documents().unwrap().collect::<fpdb::Result<_>>().unwrap()
}

/// Checks that both hold the same and that no segment has too many documents.
fn expect_same(db: &Db<Sketch>, whole: &Db<Sketch>) {
    assert!(sizes(db).iter().all(|&size| size <= MOST), "{:?}", sizes(db));
    assert_eq!(documents(db), documents(whole));
    let errors = db.verify(VerifyLevel::Deep).unwrap().errors;
    assert!(errors.is_empty(), "{errors:?}");
    let counts = |db: &Db<Sketch>| db.snapshot().pairs(Within::Rule).count().unwrap();
    assert_eq!(counts(db), counts(whole));
}

fn expect_same_answers(db: &Db<Sketch>, whole: &Db<Sketch>, query: Sketch) {
    for within in [Within::Rule, Within::Distance(0), Within::Distance(30)] {
        let found = whole.query(query, within).unwrap();
        assert_eq!(db.query(query, within).unwrap(), found, "{within}");
        assert_eq!(db.nearest(query, within).unwrap(), found.first().copied());
        let nearest = QueryOptions::within(within).limit(2);
        let nearest = db.snapshot().query(query, nearest).unwrap();
        assert_eq!(nearest.to_vec(), found[..found.len().min(2)]);
    }
    let ids = |db: &Db<Sketch>| db.snapshot().ids(query).unwrap();
    assert_eq!(ids(db), ids(whole));
}

#[test]
fn a_database_larger_than_a_segment_answers_like_a_single_segment() {
    let mut rng = fastrand::Rng::with_seed(63);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let (mut db, whole) = (limited().create(&path).unwrap(), whole().in_memory().unwrap());
    let mut centres: Vec<Sketch> = (0..40).map(|_| random(&mut rng)).collect();
    let mut most_segments = 0;
    for step in 1..=4000u64 {
        let at = rng.usize(..centres.len());
        let (sketch, id) = (near(&mut rng, &centres[at]), rng.u64(..800));
        match rng.u32(..10) {
            // Removals outweigh at the end.
            0 if step <= 3000 => expect_same_answers(&db, &whole, sketch),
            0 | 1 => {
                let [removed, expected] = [&db, &whole].map(|db| db.remove(id).unwrap());
                assert_eq!(removed, expected);
            }
            2..5 if step > 3000 => {
                let [removed, expected] = [&db, &whole].map(|db| db.remove(id).unwrap());
                assert_eq!(removed, expected);
            }
            5 => {
                let [ours, expected] =
                    [&db, &whole].map(|db| db.upsert_if_novel(sketch, id).unwrap());
                assert_eq!(ours, expected);
            }
            _ => {
                for db in [&db, &whole] {
                    let _ = db.insert(sketch, id).unwrap();
                }
                centres[at] = sketch;
            }
        }
        if step % 97 == 0 {
            db.flush().unwrap();
        }
        if step % 499 == 0 {
            db.close().unwrap();
            db = limited().open(&path).unwrap();
        }
        if step % 250 == 0 {
            expect_same(&db, &whole);
        }
        if step % 1000 == 0 {
            let report = db.compact().unwrap();
            let fewest = whole.snapshot().len().div_ceil(MOST);
            assert_eq!(report.segments_after as u64, fewest);
            assert_eq!(report.most_documents, Some(MOST).filter(|_| fewest > 1));
            assert!(db.stats().segments.iter().all(|segment| segment.removed == 0));
            expect_same(&db, &whole);
        }
        most_segments = most_segments.max(sizes(&db).len());
    }
    assert!((6..20).contains(&most_segments), "{most_segments} segments");
}

#[test]
fn documents_that_are_replaced_again_and_again_are_not_kept_for_ever() {
    let (db, mut rng) = (limited().in_memory().unwrap(), fastrand::Rng::with_seed(1));
    for _ in 0..4 {
        for id in 0..5 * MOST {
            let _ = db.insert(random(&mut rng), id).unwrap();
            let entries: u64 = sizes(&db).iter().sum();
            // An eighth of them is out of date, and a memtable.
            assert!(entries <= 5 * MOST * 8 / 7 + 80, "{:?}", sizes(&db));
        }
    }
    assert_eq!(db.snapshot().len(), 5 * MOST);
}

#[test]
fn compaction_leaves_full_segments_as_they_are() {
    let (db, mut rng) = (limited().in_memory().unwrap(), fastrand::Rng::with_seed(2));
    let insert = |ids: std::ops::Range<u64>, rng: &mut fastrand::Rng| {
        ids.for_each(|id| {
            let _ = db.insert(random(rng), id).unwrap();
        });
    };
    insert(0..330, &mut rng);
    insert(0..1, &mut rng);
    db.flush().unwrap();
    assert!(db.compact_space() > 0);
    let _ = db.compact().unwrap();
    assert_eq!(sizes(&db), [100, 100, 100, 30]);
    assert_eq!(db.compact_space(), 0);
    let before = db.stats();
    insert(330..340, &mut rng);
    let report = db.compact().unwrap();
    assert_eq!((report.segments_after, report.most_documents), (4, Some(MOST)));
    assert_eq!(sizes(&db), [100, 100, 100, 40]);
    let ids = |stats: &fpdb::Stats| stats.segments.iter().map(|s| s.id).collect::<Vec<_>>();
    let after = db.stats();
    assert_eq!(ids(&after)[..3], ids(&before)[..3]);
    // Nothing is left of a full segment.
    for id in 0..100 {
        assert!(db.remove(id).unwrap());
    }
    assert_eq!(db.compact().unwrap().segments_after, 3);
    assert_eq!(sizes(&db), [100, 100, 40]);
}

/// Fills a database with documents, some of them duplicates of others.
fn fill(path: &Path, ids: Ids, from: u64, rng: &mut fastrand::Rng) {
    let db = whole().ids(ids).create(path).unwrap();
    let mut last = random(rng);
    for number in from..from + 180 {
        last = if rng.u32(..3) == 0 { near(rng, &last) } else { random(rng) };
        match ids {
            Ids::Names => {
                let _ = db.upsert_if_novel(last, format!("https://{number}.example/").as_str());
            }
            _ => {
                let _ = db.insert(last, number).unwrap();
            }
        }
    }
    db.close().unwrap();
}

#[test]
fn new_databases_have_as_many_segments_as_they_need() {
    let mut rng = fastrand::Rng::with_seed(3);
    for ids in [Ids::Unique, Ids::Names] {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fill(&path("a"), ids, 0, &mut rng);
        fill(&path("b"), ids, 100, &mut rng);
        let _ = whole().build(path("whole"), Source::databases([path("a"), path("b")])).unwrap();
        let whole = Options::sketches().open(path("whole")).unwrap();
        let all = documents(&whole);
        let expect_divided = |name: &str, source: Source<'_, Sketch>| {
            let report = limited().ids(ids).build(path(name), source).unwrap();
            assert_eq!((report.read, report.written), (report.read, all.len() as u64), "{name}");
            let db = limited().open(path(name)).unwrap();
            expect_same(&db, &whole);
            let sizes = sizes(&db);
            let originals: u64 = sizes.iter().sum();
            assert_eq!(originals, whole.snapshot().len());
            assert_eq!(sizes.len() as u64, originals.div_ceil(MOST), "{sizes:?}");
            assert!(sizes.len() > 1 && sizes[..sizes.len() - 1].iter().all(|&n| n == MOST));
            for (_, document) in all.iter().step_by(7) {
                expect_same_answers(&db, &whole, document.fingerprint);
            }
            assert_eq!(db.snapshot().next_id(), whole.snapshot().next_id());
            db.close().unwrap();
        };
        expect_divided("merged", Source::databases([path("a"), path("b")]));
        expect_divided("repaired", Source::damaged(path("merged")));
        let next_id = whole.snapshot().next_id().filter(|_| ids == Ids::Names);
        let given = all.iter().cloned().map(Ok);
        expect_divided("given", Source::documents(next_id, all.len() as u64, given));
    }
}

/// Returns the files in a folder, without the lock.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = folder.read_dir().unwrap().map(|file| file.unwrap());
    let files = files.filter(|file| !file.file_name().to_string_lossy().ends_with("LOCK"));
    files
        .map(|file| {
            let name = file.file_name().into_string().unwrap();
            (name, std::fs::read(file.path()).unwrap())
        })
        .collect()
}

#[test]
fn a_merge_that_ended_between_two_of_its_segments_is_repaired_without_a_manifest() {
    let mut rng = fastrand::Rng::with_seed(5);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let db = limited().create(&path).unwrap();
    // Some documents are replaced, and some are removed.
    for round in 0..3 {
        for id in (0..330).filter(|id| round == 0 || id % 7 == round) {
            let _ = db.insert(random(&mut rng), id).unwrap();
        }
        for id in (0..330).filter(|id| id % 41 == round) {
            assert!(db.remove(id).unwrap());
        }
        db.flush().unwrap();
    }
    let expected = documents(&db);
    let before = files(&path);
    let report = db.compact().unwrap();
    assert!(report.segments_after >= 3, "{report:?}");
    assert_eq!(documents(&db), expected);
    let after = files(&path);
    db.close().unwrap();
    let written = after.into_iter().filter(|(name, _)| !before.contains_key(name));
    let (spares, others): (Vec<_>, Vec<_>) = written.partition(|(name, _)| name.ends_with("spare"));
    assert!(spares.len() >= 3, "{}", spares.len());
    // All segments are written before the first spare.
    for finished in 0..=spares.len() {
        let broken = folder.path().join(format!("broken-{finished}"));
        let repaired = folder.path().join(format!("repaired-{finished}"));
        std::fs::create_dir(&broken).unwrap();
        let written = others.iter().chain(&spares[..finished]);
        let before = before.iter().filter(|(name, _)| *name != "MANIFEST");
        for (name, bytes) in before.chain(written.map(|(name, bytes)| (name, bytes))) {
            std::fs::write(broken.join(name), bytes).unwrap();
        }
        let report = limited().build(&repaired, Source::damaged(&broken)).unwrap();
        assert!(report.losses.is_empty(), "{finished} spares: {:?}", report.losses);
        assert_eq!(documents(&limited().open(&repaired).unwrap()), expected, "{finished} spares");
    }
}
