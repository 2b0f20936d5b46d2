//! Many threads and processes use one database.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use fpdb::storage::{Disk, Sim, Storage};
use fpdb::{
    Db, DocId, Durability, Entry, ErrorKind, Fingerprint, Ids, Key, Match, Options, Outcome,
    Snapshot,
};

use crate::common::{Oracle, Rng, assert_answers, assert_entries, entry};
use crate::counting::{Counting, READ_OF_THE_MANIFEST};

const THREADS: u64 = 8;
const DISTANCE: u32 = 3;

fn options(storage: &Arc<impl Storage + 'static>) -> Options<u64> {
    Db::options().storage(storage.clone()).memtable_entries(48)
}

fn entries(snapshot: &Snapshot) -> Vec<Entry> {
    snapshot.iter().map(Result::unwrap).collect()
}

/// Returns fingerprints, many of them near others, in a different order for each thread.
fn overlapping(thread: u64, count: u64) -> Vec<u64> {
    let mut shared = Rng::new(77);
    let centres: Vec<u64> = (0..60).map(|_| shared.fingerprint()).collect();
    let mut rng = Rng::new(thread);
    let near = |rng: &mut Rng| {
        let weight = rng.below(6);
        {
            let centre = rng.pick(&centres);
            rng.near(centre, u32::try_from(weight).unwrap())
        }
    };
    (0..count).map(|_| near(&mut rng)).collect()
}

fn threads_never_insert_near_duplicates(durability: Durability) {
    let sim = Sim::new();
    let db = options(&sim).durability(durability).max_distance(DISTANCE).create("sim").unwrap();
    let verdicts: Vec<(u64, DocId, Outcome)> = thread::scope(|scope| {
        let insert = |thread: u64| {
            let db = db.clone();
            move || {
                let one = |(i, f): (u64, u64)| {
                    let id = DocId(thread << 32 | i);
                    (f, id, db.insert_if_novel(f, id).unwrap())
                };
                (0..).zip(overlapping(thread, 250)).map(one).collect::<Vec<_>>()
            }
        };
        let threads: Vec<_> = (0..THREADS).map(|t| scope.spawn(insert(t))).collect();
        threads.into_iter().flat_map(|t| t.join().unwrap()).collect()
    });
    assert!(db.stats().segments.len() < 20 && db.stats().generation > 10, "{:?}", db.stats());
    let live = entries(&db.snapshot());
    for (i, a) in live.iter().enumerate() {
        for b in &live[i + 1..] {
            let distance = a.fingerprint.distance(b.fingerprint);
            assert!(distance > DISTANCE, "{a:?} and {b:?} are within {distance}");
        }
    }
    let by_id: BTreeMap<DocId, u64> = live.iter().map(|e| (e.id, e.fingerprint)).collect();
    assert_eq!(by_id.len(), live.len());
    let mut inserted = 0;
    for (fingerprint, id, verdict) in verdicts {
        match verdict {
            Outcome::Inserted(given) => {
                inserted += 1;
                assert_eq!((given, by_id.get(&id)), (id, Some(&fingerprint)));
            }
            Outcome::Duplicate(m) => {
                let Match { distance, fingerprint: of, id } = m;
                assert_eq!(by_id.get(&id), Some(&of), "{m:?} is not there");
                assert_eq!((distance <= DISTANCE, distance), (true, of.distance(fingerprint)));
            }
            _ => panic!("{id} occurs once"),
        }
    }
    assert_eq!(inserted, live.len());
}

#[test]
fn threads_never_insert_near_duplicates_with_synced_commits() {
    threads_never_insert_near_duplicates(Durability::Sync);
}

#[test]
fn threads_never_insert_near_duplicates_with_buffered_commits() {
    threads_never_insert_near_duplicates(Durability::Buffered);
}

/// The second search sees what was inserted since the first. The entries of a bulk load do not pass
/// through the memtable.
#[test]
fn insert_that_waits_for_a_bulk_load_sees_its_entries() {
    let sim = Sim::new();
    let db = options(&sim).create("sim").unwrap();
    for round in 0..12u64 {
        let loaded = entry(round, 1);
        thread::scope(|scope| {
            let (started, starts) = mpsc::channel();
            let held = db
                .write(&[(u64::MAX, Key::from(9))])
                .unless_near(3)
                .before_commit(|_| {
                    // The writer's lock is held here, and both wait for it.
                    for load in [true, false] {
                        let (db, started) = (&db, started.clone());
                        scope.spawn(move || {
                            started.send(()).unwrap();
                            match load {
                                true => drop(db.bulk_load([Ok(loaded)]).unwrap()),
                                false => drop(db.insert(loaded.fingerprint, loaded.id).unwrap()),
                            }
                        });
                        starts.recv().unwrap();
                        thread::sleep(Duration::from_millis(5));
                    }
                    Ok(())
                })
                .run();
            held.unwrap();
        });
        assert_eq!(db.stats().entries, round + 2, "entry {round} is there twice");
    }
    db.compact().unwrap();
    assert_eq!(db.stats().entries, 13);
}

/// A batch is one commit: readers see all or nothing of it, and see commits in their order.
#[test]
fn snapshots_see_complete_batches_and_prefixes_of_the_commits() {
    for durability in [Durability::Sync, Durability::Buffered] {
        const BATCH: u64 = 7;
        let sim = Sim::new();
        let db = options(&sim).durability(durability).create("sim").unwrap();
        let (done, acknowledged) = (AtomicBool::new(false), AtomicU64::new(0));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut last = 0;
                    while !done.load(Ordering::Acquire) {
                        let least = acknowledged.load(Ordering::Acquire);
                        let snapshot = db.snapshot();
                        let seen = entries(&snapshot);
                        let batches = seen.len() as u64 / BATCH;
                        assert_eq!(seen.len() as u64 % BATCH, 0, "a part of a batch");
                        assert_eq!(snapshot.len(), seen.len() as u64);
                        let expected: Vec<Entry> = (0..batches)
                            .flat_map(|b| (0..BATCH).map(move |i| entry(b << 8 | i, b)))
                            .collect();
                        assert_eq!(seen, expected, "not a prefix of the commits");
                        assert!(batches >= least.max(last), "{batches} < {least} or {last}");
                        last = batches;
                        if let Some(b) = batches.checked_sub(1) {
                            assert_eq!(snapshot.ids(b << 8).unwrap(), [DocId(b)]);
                        }
                    }
                });
            }
            for b in 0..150 {
                let keys: Vec<(u64, Key<'_>)> =
                    (0..BATCH).map(|i| (b << 8 | i, Key::from(b))).collect();
                db.write(&keys).run().unwrap();
                acknowledged.store(b + 1, Ordering::Release);
            }
            done.store(true, Ordering::Release);
        });
    }
}

/// All threads share fingerprints, but each has its own entries under them and knows what it did.
/// A snapshot may know the name of a newer document, but never has another name for an id.
#[test]
fn snapshot_keeps_the_names_of_its_documents_and_shows_no_newer_document() {
    let db = Db::options().ids(Ids::Names).storage(Sim::new()).background(false);
    let db = db.create("sim").unwrap();
    let older = db.insert(7, "older").unwrap();
    let snapshot = db.snapshot();
    let newer = db.insert(7, "newer").unwrap();
    let check = || {
        assert_eq!(snapshot.ids(7).unwrap(), [older]);
        assert_eq!(snapshot.query(6, 3).unwrap().len(), 1);
        assert_eq!(snapshot.name(older).unwrap().as_deref(), Some("older"));
        let name = snapshot.name(newer).unwrap();
        assert!(name.is_none_or(|name| name == "newer"));
        assert_eq!(snapshot.name(DocId(newer.0 + 1)).unwrap(), None);
    };
    check();
    assert!(db.remove_entry(7, older).unwrap() && db.remove_entry(7, newer).unwrap());
    check();
    db.flush().unwrap();
    let _ = db.compact().unwrap();
    check();
    assert!(db.snapshot().is_empty());
    assert_eq!(db.snapshot().name(older).unwrap(), None);
}

#[test]
fn threads_that_insert_and_remove_do_not_disturb_each_other() {
    let sim = Sim::new();
    let db = options(&sim).create("sim").unwrap();
    let oracles: Vec<Oracle<u64>> = thread::scope(|scope| {
        let work = |thread: u64| {
            let db = db.clone();
            move || {
                let (mut rng, mut own) = (Rng::new(thread), Oracle::default());
                for step in 0..400 {
                    let e = entry(rng.below(24) << 40, thread << 8 | rng.below(12));
                    if rng.one_in(2) {
                        db.insert(e.fingerprint, e.id).unwrap();
                        own.0.insert(e);
                    } else {
                        let removed = db.remove_entry(e.fingerprint, e.id).unwrap();
                        assert_eq!(removed, own.0.remove(&e), "thread {thread} step {step} {e:?}");
                    }
                    if step % 100 == 99 && thread == 0 {
                        db.compact().unwrap();
                    }
                }
                own
            }
        };
        let threads: Vec<_> = (0..4).map(|t| scope.spawn(work(t))).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    let all = Oracle(oracles.into_iter().flat_map(|oracle| oracle.0).collect());
    assert_entries(&db.snapshot(), &all);
    db.compact().unwrap();
    assert_entries(&db.snapshot(), &all);
    assert_answers(&db.snapshot(), &all, 3 << 40, 4);
    drop(db);
    assert_entries(&options(&sim).open("sim").unwrap().snapshot(), &all);
}

#[test]
fn threads_that_commit_at_the_same_time_share_syncs() {
    const COMMITS: u64 = 40;
    let storage = Counting::new(Sim::new(), Duration::from_millis(1));
    let db = options(&storage).memtable_entries(10_000).create("sim").unwrap();
    let before = storage.syncs();
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let db = db.clone();
            scope.spawn(move || {
                for i in 0..COMMITS {
                    db.insert(thread << 32 | i, i).unwrap();
                }
            });
        }
    });
    let (syncs, commits) = (storage.syncs() - before, THREADS * COMMITS);
    assert!(syncs < commits / 2, "{syncs} syncs for {commits} commits");
    assert_eq!(db.snapshot().len(), commits);
}

/// After a close, writes fail in all clones. Acknowledged writes stay.
#[test]
fn writers_syncs_and_flushes_do_not_deadlock() {
    for durability in [Durability::Sync, Durability::Buffered] {
        let sim = Sim::new();
        let db = options(&sim).durability(durability).create("sim").unwrap();
        let writing = AtomicU64::new(THREADS);
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let (db, writing) = (&db, &writing);
                scope.spawn(move || {
                    (0..200).for_each(|i| {
                        db.insert(i << 8 | thread, DocId(i)).unwrap();
                    });
                    writing.fetch_sub(1, Ordering::Relaxed);
                });
            }
            for call in [Db::sync, Db::flush] {
                let (db, writing) = (&db, &writing);
                scope.spawn(move || {
                    while writing.load(Ordering::Relaxed) > 0 {
                        call(db).unwrap();
                    }
                });
            }
        });
        assert_eq!(entries(&db.snapshot()).len() as u64, THREADS * 200);
    }
}

#[test]
fn writers_are_refused_after_a_close_and_nothing_acknowledged_is_lost() {
    for durability in [Durability::Sync, Durability::Buffered] {
        let sim = Sim::new();
        let db = options(&sim).durability(durability).create("sim").unwrap();
        let acknowledged: Vec<Entry> = thread::scope(|scope| {
            let write = |thread: u64| {
                let db = db.clone();
                move || {
                    let mut acknowledged = Vec::new();
                    for i in 0.. {
                        match db.insert(i, thread) {
                            Ok(id) => acknowledged.push(Entry { fingerprint: i, id }),
                            Err(error) => {
                                assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
                                assert!(error.to_string().contains("closed"), "{error}");
                                break;
                            }
                        }
                    }
                    // Reads still work.
                    assert!(db.snapshot().contains(0).unwrap());
                    acknowledged
                }
            };
            let threads: Vec<_> = (0..4).map(|t| scope.spawn(write(t))).collect();
            while db.snapshot().len() < 300 {
                thread::yield_now();
            }
            db.clone().close().unwrap();
            threads.into_iter().flat_map(|t| t.join().unwrap()).collect()
        });
        assert_eq!(db.flush().unwrap_err().kind(), ErrorKind::Closed);
        assert_eq!(db.close().unwrap_err().kind(), ErrorKind::Closed);
        let db = options(&sim).open("sim").unwrap();
        assert_eq!(db.recovery().commits, 0);
        let found: std::collections::BTreeSet<Entry> =
            entries(&db.snapshot()).into_iter().collect();
        assert!(acknowledged.len() >= 300);
        for e in acknowledged {
            assert!(found.contains(&e), "{e:?} was acknowledged");
        }
    }
}

fn refresh_beside_a_writer(storage: &Arc<impl Storage + 'static>) {
    const ENTRIES: u64 = 600;
    let root = storage.root().to_owned();
    let db = options(storage).create(&root).unwrap();
    let acknowledged = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let reader = options(storage).open_read_only(&root).unwrap();
                let mut last = 0;
                while last < ENTRIES {
                    let least = acknowledged.load(Ordering::Acquire);
                    reader.refresh().unwrap();
                    let seen = entries(&reader.snapshot());
                    let expected: Vec<Entry> =
                        (0..seen.len() as u64).map(|i| entry(i << 7, i)).collect();
                    assert_eq!(seen, expected, "not a prefix of the commits");
                    // The last commits may still wait for their sync; see the next line.
                    assert!(seen.len() as u64 + 64 >= least, "{} of {least}", seen.len());
                    assert!(seen.len() as u64 >= last, "a refresh went back");
                    last = seen.len() as u64;
                    if let Some(i) = last.checked_sub(1) {
                        assert_eq!(reader.snapshot().ids(i << 7).unwrap(), [DocId(i)]);
                    }
                }
            });
        }
        for i in 0..ENTRIES {
            db.insert(i << 7, i).unwrap();
            acknowledged.store(i + 1, Ordering::Release);
            if i % 150 == 149 {
                db.compact().unwrap();
            }
        }
    });
}

#[test]
fn reader_refreshes_while_a_writer_writes_in_memory() {
    refresh_beside_a_writer(&Sim::new());
}

#[test]
fn reader_refreshes_while_a_writer_writes_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    refresh_beside_a_writer(&Arc::new(Disk::new(folder.path().join("db"))));
}

/// A full compaction must not block writers: it flushes the memtables that they fill. Without any
/// flush, writers stop at two full memtables. In one of a few attempts they must write more than
/// that (the scheduler may let the compaction end before the writer gets its turn).
#[test]
fn writers_continue_during_a_full_compaction() {
    const ENOUGH: u64 = 200;
    let sim = Sim::new();
    let db = options(&sim).create("sim").unwrap();
    let load = |part: u64, count: u64| {
        let entries = (0..count).map(|i| Ok(entry(i << 20 | part, i)));
        assert_eq!(db.bulk_load(entries).unwrap().inserted, count);
    };
    load(99, 100_000);
    let mut most = 0;
    for attempt in 0..8u64 {
        // Too small for the background thread to merge it with the rest.
        load(attempt, 10_000);
        let oldest = || db.stats().segments.first().map(|s| s.id);
        let (before, mut written) = (oldest(), 0u64);
        thread::scope(|scope| {
            scope.spawn(|| db.compact().unwrap());
            thread::sleep(Duration::from_millis(2));
            while written < ENOUGH {
                db.insert(written << 50 | 7, attempt).unwrap();
                if oldest() != before {
                    break;
                }
                written += 1;
            }
        });
        most = most.max(written);
        if most == ENOUGH {
            return;
        }
        db.compact().unwrap();
    }
    panic!("{most} entries were written, then the compaction was over");
}

#[test]
fn opening_finds_a_database_that_is_created_after_the_manifest_was_looked_for() {
    let sim = Sim::new();
    let storage = Counting::new(sim.clone(), Duration::ZERO);
    storage.hold(Some(READ_OF_THE_MANIFEST));
    let reader = thread::spawn({
        let options = options(&storage);
        move || options.open_read_only("sim").map(|db| db.snapshot().len())
    });
    storage.wait_for_held_call();
    let db = options(&sim).create("sim").unwrap();
    db.insert(7, 7).unwrap();
    storage.hold(None);
    assert_eq!(reader.join().unwrap().unwrap(), 1);
}
