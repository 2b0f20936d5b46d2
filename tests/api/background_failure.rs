//! A flush or compaction that fails in the background is no reason for a write to fail, as long as
//! the write itself can be made durable and kept in memory.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fpdb::storage::{Sim, Storage};
use fpdb::{Db, Durability, ErrorKind, Options};

use crate::counting::Counting;

/// Free space with which writes go on, but nothing is merged.
const ENOUGH_FOR_WRITES: u64 = 2 << 20;

/// Entries per memtable.
const SIZE: u64 = 8;

fn options(storage: Arc<dyn Storage>) -> Options {
    Db::options().storage(storage).memtable_entries(8).index_memory(0)
}

fn insert(db: &Db, ids: std::ops::Range<u64>) {
    for i in ids {
        db.insert(i << 32, i).unwrap_or_else(|e| panic!("entry {i}: {e}"));
    }
}

/// Returns a closed database whose only segment is so damaged that no merge of it succeeds.
fn damaged() -> Arc<Sim> {
    let sim = Sim::new();
    let db = options(sim.clone()).memtable_entries(1000).background(false).create("sim").unwrap();
    insert(&db, 0..SIZE);
    db.close().unwrap();
    let name = sim.list().unwrap().unwrap().into_iter().find(|n| n.ends_with(".t01")).unwrap();
    let mut bytes = sim.contents(&name).unwrap();
    bytes[140] ^= 1;
    sim.set_contents(&name, &bytes);
    sim
}

#[test]
fn inserts_never_fail_because_compaction_does() {
    for background in [true, false] {
        for is_damaged in [true, false] {
            let sim = if is_damaged { damaged() } else { Sim::new() };
            let options = options(sim.clone()).background(background);
            let db = options.open_or_create("sim").unwrap();
            if !is_damaged {
                sim.set_free_space(ENOUGH_FOR_WRITES);
            }
            // More segments than the limit above which writes wait for compaction.
            let before = db.snapshot().len();
            insert(&db, 1000..1000 + 100 * SIZE);
            let stats = db.stats();
            assert!(stats.segments.len() > 32, "{} segments", stats.segments.len());
            let error = stats.background_error.expect("the failure is shown");
            assert!(error.contains(if is_damaged { ".t01" } else { "space" }), "{error}");
            assert_eq!(db.snapshot().len(), before + 100 * SIZE);
            assert_eq!(db.query(1000 << 32, 0).unwrap().len(), 1);
        }
    }
}

#[test]
fn failing_flush_fails_only_writes_that_find_no_room() {
    let storage = Counting::new(Sim::new(), Duration::ZERO);
    let options = options(storage.clone()).durability(Durability::Buffered);
    let db = options.create("sim").unwrap();
    storage.refuse(Some(".t00"));
    // One memtable is frozen, and the other one takes twice its capacity.
    insert(&db, 0..3 * SIZE);
    for _ in 0..3 {
        let error = db.insert(1 << 60, 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoSpace);
        assert!(error.is_retryable());
        assert!(error.to_string().starts_with("a full memtable could not be flushed"), "{error}");
    }
    let failure = db.stats().background_error.expect("the failure is shown");
    assert!(failure.contains("the disk is full"), "{failure}");
    assert_eq!(db.snapshot().len(), 3 * SIZE);
    storage.refuse(None);
    // Without it, a write would succeed after a second.
    db.flush().unwrap();
    insert(&db, 3 * SIZE..10 * SIZE);
    db.flush().unwrap();
    assert_eq!(db.snapshot().len(), 10 * SIZE);
    assert_eq!(db.stats().background_error, None);
}

/// Each try may write much before it fails, and a service may have thousands of commands to refuse.
#[test]
fn flush_that_cannot_succeed_is_tried_at_most_once_a_second_for_all_writes() {
    // Of a flush, and of the log that begins before it.
    for refused in [".t01", ".log"] {
        for background in [true, false] {
            let storage = Counting::new(Sim::new(), Duration::ZERO);
            let options = options(storage.clone()).durability(Durability::Buffered);
            let db = options.background(background).create("sim").unwrap();
            insert(&db, 0..1);
            storage.refuse(Some(refused));
            // The write that begins a flush fails with it, even if the next one finds room again.
            let (mut next, mut failures) = (1, 0);
            while failures < 2 {
                match db.insert(next << 32, next) {
                    Ok(_) => (next, failures) = (next + 1, 0),
                    Err(_) => failures += 1,
                }
            }
            let (start, before) = (Instant::now(), storage.refusals());
            std::thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| {
                        for _ in 0..500 {
                            let error = db.insert(1 << 60, 1).unwrap_err();
                            assert!(error.stops_all_writes() && error.is_retryable(), "{error}");
                            assert_eq!(error.kind(), ErrorKind::NoSpace);
                        }
                    });
                }
            });
            // The clock does not decide whether this passes: it says how many are allowed.
            let (tries, seconds) = (storage.refusals() - before, start.elapsed().as_secs());
            assert!(tries <= seconds + 2, "{tries} tries in {seconds} s");
            assert_eq!(db.snapshot().len(), next);
            storage.refuse(None);
            db.flush().unwrap();
            insert(&db, next..next + SIZE);
            db.close().unwrap();
        }
    }
}

#[test]
fn compaction_that_failed_is_tried_again_without_a_write() {
    let sim = Sim::new();
    let db = options(sim.clone()).create("sim").unwrap();
    sim.set_free_space(ENOUGH_FOR_WRITES);
    for i in 0..8 {
        insert(&db, i * SIZE..(i + 1) * SIZE);
        db.flush().unwrap();
    }
    let wait_for = |what: &str, is_met: &dyn Fn() -> bool| {
        let start = Instant::now();
        while !is_met() {
            assert!(start.elapsed() < Duration::from_secs(60), "{what}");
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    wait_for("a failure", &|| db.stats().background_error.is_some());
    sim.set_free_space(1 << 30);
    wait_for("a merge", &|| db.stats().segments.len() <= 4);
    wait_for("its success", &|| db.stats().background_error.is_none());
}
