//! Unusual situations, each set up on purpose.

use std::path::Path;
use std::sync::Arc;

use fpdb::storage::{Sim, Storage};
use fpdb::{Db, DocId, ErrorKind, Ids, Key, Match, Options, Outcome, QueryOptions};

use crate::common::{Oracle, Rng, assert_answers, assert_entries, entry};

fn options(sim: &Arc<Sim>) -> Options<u64> {
    Db::options().storage(sim.clone()).background(false)
}

fn create(sim: &Arc<Sim>) -> Db {
    options(sim).create("sim").unwrap()
}

fn check(db: &Db, oracle: &Oracle<u64>) {
    let snapshot = db.snapshot();
    assert_entries(&snapshot, oracle);
    assert_eq!(db.stats().entries, oracle.0.len() as u64);
    for e in &oracle.0 {
        assert_answers(&snapshot, oracle, e.fingerprint, 4);
    }
    let report = snapshot.verify(fpdb::VerifyLevel::Deep).unwrap();
    assert!(report.errors.is_empty(), "{:?}", report.errors);
}

#[test]
fn entry_can_be_inserted_and_removed_again_over_many_segments() {
    let sim = Sim::new();
    let db = create(&sim);
    let mut oracle = Oracle::default();
    for round in 0..7 {
        // Entry 1 is in each segment, entry 2 in every second one, entry 3 in one segment only.
        if round % 2 == 0 {
            db.insert(0xff, 1).unwrap();
            oracle.0.insert(entry(0xff, 1));
        } else {
            assert!(db.remove_entry(0xff, 1).unwrap());
            oracle.0.remove(&entry(0xff, 1));
        }
        db.insert(0xff, 3).unwrap();
        assert!(db.remove_entry(0xff, 3).unwrap());
        if round == 3 {
            assert!(db.remove_entry(0xfe, 2).unwrap());
        }
        db.insert(0xfe, 2).unwrap();
        oracle.0.insert(entry(0xfe, 2));
        check(&db, &oracle);
        db.flush().unwrap();
        check(&db, &oracle);
    }
    assert!(db.stats().bytes_compacted > 0);
    assert_eq!(db.compact().unwrap().segments_after, 1);
    check(&db, &oracle);
    assert_eq!(db.stats().removed, 0);
}

#[test]
fn entry_in_an_older_segment_can_be_removed() {
    let sim = Sim::new();
    let db = create(&sim);
    db.write(&[(7, Key::from(1)), (7, Key::from(2)), (8, Key::from(1))]).run().unwrap();
    db.flush().unwrap();
    db.insert(9, 1).unwrap();
    db.flush().unwrap();
    assert!(db.remove_entry(7, 1).unwrap());
    assert!(!db.remove_entry(7, 1).unwrap());
    let oracle = Oracle([entry(7, 2), entry(8, 1), entry(9, 1)].into());
    check(&db, &oracle);
    db.flush().unwrap();
    check(&db, &oracle);
    assert!(!db.remove_entry(7, 1).unwrap());
    drop(db);
    check(&options(&sim).open("sim").unwrap(), &oracle);
}

/// With a memtable of 4 entries, the policy keeps merging the newest segments, while the oldest
/// one, to which the tombstones apply, is left out.
#[test]
fn tombstones_for_older_segments_survive_the_merge_of_a_run() {
    let sim = Sim::new();
    let db = options(&sim).memtable_entries(4).create("sim").unwrap();
    let mut oracle: Oracle<u64> = Oracle::default();
    let old: Vec<_> = (0..400u64).map(|i| entry(i << 20, i)).collect();
    assert_eq!(db.bulk_load(old.iter().copied().map(Ok)).unwrap().inserted, 400);
    oracle.0.extend(&old);
    let oldest = db.stats().segments[0].id;
    for i in 0..40u64 {
        assert!(db.remove_entry(i << 20, i).unwrap());
        db.insert(i << 20 | 1, i).unwrap();
        oracle.0.remove(&entry(i << 20, i));
        oracle.0.insert(entry(i << 20 | 1, i));
        if i % 3 == 0 {
            // Inserted again, in a segment other than its tombstone's.
            db.insert((i / 2) << 20, i / 2).unwrap();
            oracle.0.insert(entry((i / 2) << 20, i / 2));
        }
    }
    let stats = db.stats();
    assert_eq!(stats.segments[0].id, oldest, "the oldest segment was merged");
    assert!(stats.segments.len() < 8 && stats.removed > 0, "{stats:?}");
    check(&db, &oracle);
    db.compact().unwrap();
    check(&db, &oracle);
}

#[test]
fn empty_database_can_be_flushed_compacted_verified_and_reopened() {
    let sim = Sim::new();
    let db = create(&sim);
    for _ in 0..2 {
        db.flush().unwrap();
        let report = db.compact().unwrap();
        assert_eq!((report.segments_before, report.segments_after), (0, 0));
        check(&db, &Oracle::default());
        assert_eq!(db.bulk_load([]).unwrap().inserted, 0);
        assert_eq!(db.write::<u64>(&[]).run().unwrap(), []);
        assert_eq!(db.write::<u64>(&[]).unless_near(3).run().unwrap(), []);
    }
    db.close().unwrap();
    check(&options(&sim).open("sim").unwrap(), &Oracle::default());
}

#[test]
fn database_with_everything_removed_compacts_to_nothing() {
    let sim = Sim::new();
    let db = options(&sim).memtable_entries(16).create("sim").unwrap();
    for i in 0..200u64 {
        db.insert(i % 50, i).unwrap();
    }
    for i in 0..200u64 {
        assert!(db.remove_entry(i % 50, i).unwrap());
    }
    check(&db, &Oracle::default());
    db.compact().unwrap();
    assert_eq!(db.stats().segments, []);
    check(&db, &Oracle::default());
    db.insert(1, 1).unwrap();
    db.compact().unwrap();
    check(&db, &Oracle([entry(1, 1)].into()));
}

#[test]
fn names_of_removed_documents_disappear_and_their_ids_are_never_reused() {
    let sim = Sim::new();
    let named = || options(&sim).memtable_entries(4);
    let mut db = named().ids(Ids::Names).create("sim").unwrap();
    for i in 0..20u64 {
        assert_eq!(db.insert(i, &format!("n{i}")).unwrap(), DocId(i));
    }
    for i in 0..20u64 {
        assert!(db.remove_entry(i, i).unwrap());
    }
    db.compact().unwrap();
    check(&db, &Oracle::default());
    assert_eq!(db.stats().bytes_names, 0);
    assert!((0..20u64).all(|i| db.snapshot().name(DocId(i)).unwrap().is_none()));
    for start in [20u64, 21] {
        let name = format!("again {start}");
        assert_eq!(db.insert(5, &name).unwrap(), DocId(start));
        assert_eq!(db.snapshot().name(DocId(start)).unwrap(), Some(name));
        assert_eq!(db.snapshot().name(DocId(3)).unwrap(), None);
        assert_eq!(db.snapshot().name(DocId(start + 1)).unwrap(), None);
        db.close().unwrap();
        db = named().open("sim").unwrap();
    }
    assert_eq!(db.snapshot().ids(5).unwrap(), [DocId(20), DocId(21)]);
}

/// A flush that failed leaves its memtable frozen, and another memtable accepts the writes.
#[test]
fn limited_query_skips_entries_removed_from_the_frozen_memtable() {
    let sim = Sim::new();
    let db = options(&sim).memtable_entries(4).create("sim").unwrap();
    for id in 1..=4u64 {
        db.insert(7, id).unwrap();
    }
    // The next insert freezes the memtable, which starts a new log and then a segment. A file that
    // has the segment's name, two manifests later, prevents its write.
    let names = sim.list().unwrap().unwrap();
    let number = |name: &String| u64::from_str_radix(name.split('.').next()?, 16).ok();
    let last = names.iter().filter_map(number).max().unwrap();
    sim.set_contents(&format!("{:016x}.t00", ((last >> 24) + 2) << 24), b"in the way");
    assert_eq!(db.insert(1 << 40, 9).unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(db.stats().segments, []);
    db.remove_entry(7, 1).unwrap();
    let one = QueryOptions::within(0).limit(1);
    let expected = Match { distance: 0, fingerprint: 7, id: DocId(2) };
    assert_eq!(db.snapshot().query(7, one).unwrap(), [expected]);
    assert!(db.snapshot().contains(7).unwrap());
    assert_eq!(db.insert_if_novel(7, 9).unwrap(), Outcome::Duplicate(expected));
}

#[test]
fn huge_group_of_equal_fingerprints_is_returned_in_full_and_up_to_a_limit() {
    let sim: Arc<Sim> = Sim::new().folder(Path::new("huge"));
    assert_eq!(sim.root(), Path::new("huge"));
    let db = Db::options().storage(sim).memtable_entries(3000).create("huge").unwrap();
    let mut oracle = Oracle::default();
    let mut rng = Rng::new(7);
    for part in 0..4u64 {
        let ids: Vec<u64> = (0..2500).map(|i| i * 4 + part).collect();
        let documents: Vec<(u64, Key<'_>)> = ids.iter().map(|&id| (42, Key::from(id))).collect();
        db.write(&documents).run().unwrap();
        oracle.0.extend(ids.iter().map(|&id| entry(42, id)));
        db.insert(43, part).unwrap();
        oracle.0.insert(entry(43, part));
    }
    for _ in 0..300 {
        let id = rng.below(10_000);
        assert_eq!(db.remove_entry(42, id).unwrap(), oracle.0.remove(&entry(42, id)));
    }
    assert_answers(&db.snapshot(), &oracle, 42, 3);
    assert_answers(&db.snapshot(), &oracle, 43, 3);
    db.compact().unwrap();
    assert_entries(&db.snapshot(), &oracle);
    assert_answers(&db.snapshot(), &oracle, 42, 3);
    for limit in [1, 127, 1000, 9_000] {
        let found = db.snapshot().query(43, QueryOptions::within(3).limit(limit)).unwrap();
        assert_eq!(found, oracle.query(43, 3)[..limit]);
    }
}
