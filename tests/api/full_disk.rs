//! A disk that is full or fails once, at every call of every operation.

use std::sync::Arc;

use fpdb::storage::{Fault, Sim, Storage};
use fpdb::{Db, Entry, ErrorKind, Key, Options, Result};

use crate::common::{Oracle, assert_entries, entry};

fn options(sim: &Arc<Sim>) -> Options<u64> {
    Db::options().storage(sim.clone()).memtable_entries(32).bulk_memory(512).background(false)
}

fn range(from: u64, to: u64) -> Vec<Entry> {
    (from..to).map(|i| entry(i.wrapping_mul(0x9e37_79b9_7f4a_7c15), i)).collect()
}

fn insert(db: &Db, entries: &[Entry]) -> Result<()> {
    let keys: Vec<(u64, Key<'_>)> =
        entries.iter().map(|e| (e.fingerprint, Key::from(e.id))).collect();
    db.insert_batch(&keys).map(drop)
}

/// Two segments, tombstones, and a memtable with room for one more entry.
fn make() -> (Arc<Sim>, Db, Oracle<u64>) {
    let sim = Sim::new();
    let db = options(&sim).create("sim").unwrap();
    insert(&db, &range(0, 80)).unwrap();
    db.flush().unwrap();
    let gone = range(5, 6)[0];
    assert!(db.remove(gone.fingerprint, gone.id).unwrap());
    db.flush().unwrap();
    insert(&db, &range(100, 131)).unwrap();
    let mut oracle = Oracle(range(0, 80).into_iter().chain(range(100, 131)).collect());
    oracle.0.remove(&gone);
    (sim, db, oracle)
}

/// An operation, and the entries that it adds.
type Operation = (&'static str, fn(&Db) -> Result<()>, Vec<Entry>);

fn operations() -> Vec<Operation> {
    vec![
        ("insert", |db| insert(db, &range(200, 201)), range(200, 201)),
        ("insert of a batch", |db| insert(db, &range(200, 220)), range(200, 220)),
        ("insert that flushes and compacts", insert_more, range(200, 203)),
        ("flush", |db| db.flush(), vec![]),
        ("compact", |db| db.compact().map(drop), vec![]),
        ("bulk load", bulk_load, range(200, 400)),
    ]
}

/// Inserts all entries with one acknowledgement, so that they count as one.
fn insert_more(db: &Db) -> Result<()> {
    insert(db, &range(200, 203))?;
    insert(db, &range(200, 203))
}

fn bulk_load(db: &Db) -> Result<()> {
    db.bulk_load(range(200, 400).into_iter().map(Ok)).map(drop)
}

fn run(fault: Fault, persistent: bool) {
    for (name, operation, added) in operations() {
        let mut failures = 0;
        for call in 0.. {
            let what = format!("{name}, {fault:?} from call {call} on");
            let (sim, db, before) = make();
            let mut after = before.clone();
            after.0.extend(&added);
            let at = sim.calls() + call;
            sim.fail_at(at, fault, persistent);
            let result = operation(&db);
            let reached = sim.calls() > at;
            sim.fail_no_more();
            if let Err(error) = &result {
                failures += 1;
                let (kind, words) = match fault {
                    Fault::NoSpace => (ErrorKind::NoSpace, "disk is full"),
                    _ => (ErrorKind::Io, "injected"),
                };
                // A compaction that poisons the handle before the commit reports no error itself.
                let is_poisoned = error.kind() == ErrorKind::Poisoned && name.contains("compacts");
                assert!(error.kind() == kind || is_poisoned, "{what}: {error:?}");
                assert!(error.to_string().contains(words), "{what}: {error}");
            }
            let expected = |done: bool| if done { &after } else { &before };
            // Reads still work, and see the state before or after the operation.
            let seen = db.snapshot();
            assert_entries(&seen, expected(seen.len() == after.0.len() as u64));
            assert!(result.is_err() || seen.len() == after.0.len() as u64, "{what}");
            // The handle either works or says that it does not.
            let next = insert(&db, &range(500, 501));
            if let Err(error) = &next {
                assert_eq!(error.kind(), ErrorKind::Poisoned, "{what}: {error:?}");
            }
            drop((db, seen));
            let db = options(&sim).open("sim").unwrap_or_else(|e| panic!("{what}: {e}"));
            let found: Vec<Entry> = db
                .snapshot()
                .iter()
                .collect::<Result<_>>()
                .unwrap_or_else(|e| panic!("{what}: {e}"));
            let is_next = |e: &&Entry| e.id.0 == 500;
            let rest = found.iter().filter(|e| !is_next(e));
            let done = rest.clone().count() == after.0.len();
            assert!(rest.eq(&expected(done).0), "{what}: {} entries found", found.len());
            assert!(done || result.is_err(), "{what}: acknowledged and lost");
            assert!(next.is_err() || found.iter().any(|e| is_next(&e)), "{what}: lost the next");
            db.close().unwrap();
            assert_no_orphans(&sim, &what);
            if !reached {
                break;
            }
        }
        assert!(failures > 0, "{name} never failed");
    }
}

/// Checks that every file belongs to a segment or is the manifest or the lock.
fn assert_no_orphans(sim: &Arc<Sim>, what: &str) {
    let stats = options(sim).open_read_only("sim").unwrap().stats();
    let live: Vec<&String> = stats.segments.iter().flat_map(|s| &s.files).map(|(n, _)| n).collect();
    for name in sim.list().unwrap().unwrap() {
        let known = live.contains(&&name) || ["MANIFEST", "LOCK"].contains(&name.as_str());
        assert!(known, "{what}: {name} was left");
    }
}

#[test]
fn full_disk_is_reported_and_loses_nothing_acknowledged() {
    run(Fault::NoSpace, true);
}

#[test]
fn device_that_fails_once_loses_nothing_acknowledged() {
    run(Fault::Error, false);
    run(Fault::ShortWrite, false);
}

#[test]
fn files_of_a_failed_operation_are_removed_at_once() {
    let (sim, db, oracle) = make();
    let before = sim.list().unwrap();
    sim.fail_at(sim.calls() + 12, Fault::NoSpace, true);
    bulk_load(&db).unwrap_err();
    sim.fail_no_more();
    assert_entries(&db.snapshot(), &oracle);
    let runs = |names: &Option<Vec<String>>| {
        names.iter().flatten().filter(|name| name.ends_with(".run")).count()
    };
    assert_eq!((runs(&before), runs(&sim.list().unwrap())), (0, 0));
}

#[test]
fn compaction_checks_for_space_before_it_begins() {
    let (sim, db, oracle) = make();
    db.flush().unwrap();
    let names = sim.list().unwrap();
    sim.set_free_space(100);
    let error = db.compact().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSpace);
    assert!(error.to_string().contains("there are only 100"), "{error}");
    assert_eq!(sim.list().unwrap(), names);
    assert_entries(&db.snapshot(), &oracle);
    sim.set_free_space(1 << 30);
    assert_eq!(db.compact().unwrap().segments_after, 1);
    assert_entries(&db.snapshot(), &oracle);
}

#[test]
fn flush_that_failed_on_a_full_disk_can_be_repeated() {
    let (mut repeated, mut poisoned) = (0, 0);
    for call in 0.. {
        let (sim, db, mut oracle) = make();
        sim.fail_at(sim.calls() + call, Fault::NoSpace, true);
        let result = db.flush();
        sim.fail_no_more();
        if result.is_ok() {
            break;
        }
        match insert(&db, &range(500, 501)) {
            Ok(()) => {
                repeated += 1;
                oracle.0.extend(range(500, 501));
                db.flush().unwrap();
                assert_entries(&db.snapshot(), &oracle);
                assert_eq!(db.compact().unwrap().segments_after, 1);
                db.close().unwrap();
                assert_no_orphans(&sim, &format!("flush, no space from call {call} on"));
            }
            Err(error) => {
                poisoned += 1;
                assert_eq!(error.kind(), ErrorKind::Poisoned);
            }
        }
    }
    // Syncs of the folder and of the old log, and the rename of the manifest, cannot be repeated.
    assert!(repeated > poisoned, "{repeated} repeated, {poisoned} poisoned");
}
