//! Readers never wait. Writers wait for the background thread only when it is far behind.

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use fpdb::storage::{Fault, Sim, Storage};
use fpdb::{Db, Durability, ErrorKind, Options};

use crate::common::entry;
use crate::counting::Counting;

/// Long enough for everything except a deadlock.
const LONG: Duration = Duration::from_secs(60);

fn held_up() -> (Arc<Counting>, Options) {
    let storage = Counting::new(Sim::new(), Duration::ZERO);
    let options = Db::options().storage(storage.clone() as Arc<dyn Storage>);
    (storage, options)
}

/// Returns the answer of a new thread, which must not wait for anything.
fn at_once<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(work()));
    receiver.recv_timeout(LONG).expect("an answer while a writer waits")
}

#[test]
fn readers_do_not_wait_for_a_writer_that_is_syncing() {
    // Block in turn: the sync of a commit, the sync of a full memtable's log, the write of a
    // memtable.
    for (memtable, ending) in [(100, ".log"), (1, ".log"), (1, ".t01"), (1, "MANIFEST.tmp")] {
        let (storage, options) = held_up();
        let db = options.memtable_entries(memtable).background(false).create("sim").unwrap();
        db.insert(0b0111, 1).unwrap();
        storage.hold(Some(ending));
        let writer = thread::spawn({
            let db = db.clone();
            move || (db.insert(0b1111, 2).unwrap(), db.insert(!0, 3).unwrap())
        });
        if memtable == 1 || ending == ".log" {
            storage.wait_for_held_call();
        }
        let found = at_once({
            let db = db.clone();
            move || {
                let snapshot = db.snapshot();
                assert_eq!(snapshot.iter().count() as u64, snapshot.len());
                db.query(0b0111, 3).unwrap()
            }
        });
        assert_eq!(found[0].id.0, 1, "{ending}");
        storage.hold(None);
        writer.join().unwrap();
        assert_eq!(db.query(0b0111, 1).unwrap().len(), 2);
    }
}

/// While one writer's commit is synced, the commits of the others gather.
#[test]
fn failed_sync_is_reported_to_all_that_wait_for_it_or_a_later_one() {
    const WRITERS: u64 = 6;
    for (call, failing) in (0usize..).zip([
        "the first sync",
        "the check of the lock",
        "the check of the log",
        "the next append",
        "the next sync",
    ]) {
        let sim = Sim::new();
        let storage = Counting::new(sim.clone(), Duration::ZERO);
        let options = Db::options().storage(storage.clone() as Arc<dyn Storage>);
        let db = options.background(false).create("sim").unwrap();
        // The log begins.
        db.insert(u64::MAX, u64::MAX >> 1).unwrap();
        storage.hold(Some(".log"));
        let insert = |i: u64| {
            let db = db.clone();
            thread::spawn(move || db.insert(i << 40, i).map(drop).map_err(|e| e.kind()))
        };
        let alone = insert(0);
        storage.wait_for_held_call();
        let others: Vec<_> = (1..WRITERS).map(insert).collect();
        while (db.stats().memtable_entries as u64) < 1 + WRITERS {
            thread::yield_now();
        }
        sim.fail_at(sim.calls() + call, Fault::Error, false);
        storage.hold(None);
        let results = at_once(move || {
            let others = others.into_iter().map(|writer| writer.join().unwrap());
            (alone.join().unwrap(), others.collect::<Vec<_>>())
        });
        let count = |kind| results.1.iter().filter(|result| **result == Err(kind)).count();
        let (failed, refused) = (count(ErrorKind::Io), count(ErrorKind::Poisoned));
        match call {
            0..=2 => assert_eq!((results.0, failed), (Err(ErrorKind::Io), 0), "{failing}"),
            _ => assert_eq!((results.0, failed), (Ok(()), 1), "{failing}"),
        }
        assert_eq!(failed + refused, results.1.len(), "{failing}");
        assert_eq!(db.snapshot().len(), 1 + u64::from(call > 2), "{failing}");
    }
}

#[test]
fn writers_continue_during_a_flush_until_the_next_memtable_is_twice_full() {
    const SIZE: u64 = 8;
    let (storage, options) = held_up();
    let options = options.memtable_entries(8).durability(Durability::Buffered);
    let db = options.create("sim").unwrap();
    storage.hold(Some(".t00"));
    let insert = |from: u64, to: u64| {
        let db = db.clone();
        move || {
            for i in from..to {
                db.insert(i << 32, i).unwrap();
            }
        }
    };
    at_once(insert(0, 3 * SIZE));
    storage.wait_for_held_call();
    assert_eq!(db.stats().segments, []);
    assert_eq!(db.stats().memtable_entries as u64, 3 * SIZE);
    let last = thread::spawn(insert(3 * SIZE, 3 * SIZE + 1));
    thread::sleep(Duration::from_millis(20));
    assert!(!last.is_finished(), "nothing bounds what is in memory");
    storage.hold(None);
    last.join().unwrap();
    assert!(db.stats().stalled >= Duration::from_millis(10), "{:?}", db.stats().stalled);
    assert_eq!(db.snapshot().len(), 3 * SIZE + 1);
}

#[test]
fn calls_keep_segments_few_without_a_background_thread() {
    let db = Db::options().storage(Sim::new()).background(false).create("sim").unwrap();
    for i in 0..60u64 {
        db.insert(i << 40, i).unwrap();
        db.flush().unwrap();
        assert_eq!(db.bulk_load([Ok(entry(i << 40 | 1, i))]).unwrap().inserted, 1);
        assert!(db.stats().segments.len() <= 6, "{} after {i}", db.stats().segments.len());
    }
    let stats = db.stats();
    assert_eq!(stats.entries, 120);
    let written = (stats.bytes_flushed + stats.bytes_compacted) as f64;
    assert_eq!(stats.write_amplification, written / stats.bytes_flushed as f64);
    assert!(stats.bytes_compacted > stats.bytes_flushed, "{stats:?}");
}

#[test]
fn closed_database_can_be_opened_while_clones_of_the_handle_exist() {
    let folder = tempfile::tempdir().unwrap();
    let first = Db::options().create(folder.path()).unwrap();
    first.insert(7, 1).unwrap();
    let clone = first.clone();
    first.close().unwrap();
    let second = Db::open(folder.path()).unwrap();
    second.insert(8, 2).unwrap();
    second.compact().unwrap();
    let refused = [
        clone.insert(9, 3).unwrap_err(),
        clone.flush().unwrap_err(),
        clone.compact().unwrap_err(),
        clone.bulk_load([Ok(entry(9, 3))]).unwrap_err(),
    ];
    for error in refused {
        assert_eq!(error.kind(), ErrorKind::Closed);
        assert!(error.to_string().contains("closed"), "{error}");
    }
    // The files that it has open stay as they were.
    assert_eq!(clone.query(7, 0).unwrap().len(), 1);
    assert!(!clone.snapshot().contains(8).unwrap());
    drop(clone);
    assert_eq!(Db::open(folder.path()).unwrap_err().kind(), ErrorKind::Locked);
    assert_eq!(second.snapshot().len(), 2);
}

/// A call that compacts, because there is no background thread, while another thread closes.
#[test]
fn folder_stays_locked_until_a_merge_beside_the_close_has_ended() {
    let sim = Sim::new();
    let storage = Counting::new(sim.clone(), Duration::ZERO);
    let options = || Db::options().storage(storage.clone() as Arc<dyn Storage>).background(false);
    let db = options().create("sim").unwrap();
    // Enough free space for writes, but not for a merge.
    sim.set_free_space(2 << 20);
    for i in 0..2u64 {
        db.insert(i << 40, i).unwrap();
        db.flush().unwrap();
    }
    let files = sim.list().unwrap().unwrap();
    assert_eq!(db.stats().segments.len(), 2);
    sim.set_free_space(1 << 30);
    storage.hold(Some(".t00"));
    let merging = thread::spawn({
        let db = db.clone();
        move || db.flush()
    });
    storage.wait_for_held_call();
    at_once(move || db.close().unwrap());
    assert_eq!(options().open("sim").unwrap_err().kind(), ErrorKind::Locked);
    storage.hold(None);
    // There was nothing to flush. The merge was refused, and its files were removed.
    merging.join().unwrap().unwrap();
    let left = sim.list().unwrap().unwrap();
    assert!(left.iter().all(|name| files.contains(name)), "{left:?} of {files:?}");
    let db = options().open("sim").unwrap();
    assert_eq!((db.recovery().orphans, db.stats().segments.len()), (0, 2));
    assert_eq!(db.snapshot().len(), 2);
}

#[test]
fn opening_after_a_clean_close_syncs_the_folder_only_and_closing_then_writes_nothing() {
    let sim = Sim::new();
    let options = || Db::options().storage(sim.clone()).background(false);
    let db = options().create("sim").unwrap();
    db.insert(7, 7).unwrap();
    db.close().unwrap();
    let before = sim.record().len();
    let db = options().open("sim").unwrap();
    assert_eq!(db.query(7, 0).unwrap().len(), 1);
    assert!(db.insert_if_novel(7, 9).unwrap().is_duplicate());
    db.close().unwrap();
    assert_eq!(sim.record()[before..], ["sync_dir"]);
    let db = options().open("sim").unwrap();
    db.insert(8, 8).unwrap();
    drop(db);
    assert_eq!(options().open("sim").unwrap().recovery().commits, 1);
}
