//! Unusual situations, each set up on purpose.

use std::sync::Arc;

use fpdb::storage::{Sim, Storage};
use fpdb::{Db, DocId, ErrorKind, Match, Options, Outcome, QueryOptions};

use crate::common::{Oracle, assert_answers, assert_entries, entry};

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
