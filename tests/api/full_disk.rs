//! A full disk: what operations check before they begin, and what is still possible. That every
//! failed call is survived is tested in `tests/crash/faults.rs`.

use std::sync::Arc;

use fpdb::storage::{Fault, Sim, Storage};
use fpdb::{Db, Durability, Entry, ErrorKind, Ids, Key, Options, Result};

use crate::common::{Oracle, Rng, assert_entries, entry};

fn options(sim: &Arc<Sim>) -> Options<u64> {
    Db::options().storage(sim.clone()).memtable_entries(32).bulk_memory(512).background(false)
}

fn range(from: u64, to: u64) -> Vec<Entry> {
    (from..to).map(|i| entry(i.wrapping_mul(0x9e37_79b9_7f4a_7c15), i)).collect()
}

fn insert(db: &Db, entries: &[Entry]) -> Result<()> {
    let keys: Vec<(u64, Key<'_>)> =
        entries.iter().map(|e| (e.fingerprint, Key::from(e.id))).collect();
    db.write(&keys).run().map(drop)
}

/// Two segments, tombstones, and a memtable with room for one more entry.
fn make() -> (Arc<Sim>, Db, Oracle<u64>) {
    let sim = Sim::new();
    let db = options(&sim).create("sim").unwrap();
    insert(&db, &range(0, 80)).unwrap();
    db.flush().unwrap();
    let gone = range(5, 6)[0];
    assert!(db.remove_entry(gone.fingerprint, gone.id).unwrap());
    db.flush().unwrap();
    insert(&db, &range(100, 131)).unwrap();
    let mut oracle = Oracle(range(0, 80).into_iter().chain(range(100, 131)).collect());
    oracle.0.remove(&gone);
    (sim, db, oracle)
}

fn bulk_load(db: &Db) -> Result<()> {
    db.bulk_load(range(200, 400).into_iter().map(Ok)).map(drop)
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
fn flush_that_failed_on_a_full_disk_can_be_repeated() {
    let (mut repeated, mut poisoned) = (0, 0);
    for call in 0.. {
        let (sim, db, mut oracle) = make();
        sim.fail_at(sim.calls() + call, Fault::NoSpace, true);
        let result = db.flush();
        sim.fail_no_more();
        let Err(error) = result else { break };
        assert!(matches!(error.kind(), ErrorKind::NoSpace | ErrorKind::Poisoned), "{error}");
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

/// What merges leave free while nothing is in memory: twice the reserve, and the room for a new
/// manifest of few segments.
const LEFT: u64 = (2 << 20) + (1 << 16) + 12 * 512;

/// Returns the figure in the message of a compaction that has no space.
fn needed(db: &Db) -> u64 {
    let error = db.compact().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSpace);
    let text = error.to_string();
    let (_, rest) = text.split_once("needs up to ").expect("the bytes needed");
    rest.split(' ').next().unwrap().parse().unwrap()
}

/// Fills a database with few fingerprints or many, clustered or far apart, and compares the merge
/// of its segments with what was said to be needed. Returns the ratio.
fn check_bound(sim: &Arc<Sim>, db: &Db, rng: &mut Rng, count: u64, kind: u64) -> f64 {
    let fingerprint = |i: u64, rng: &mut Rng| match kind {
        0 => rng.next(),
        1 => (i / 40).wrapping_mul(0x9e37_79b9_7f4a_7c15) | (i % 40),
        2 => i,
        3 => i.reverse_bits(),
        _ => (1 << (i % 64)) | (i / 64),
    };
    let is_named = db.description().ids == Ids::Names;
    for segment in 0..4u64 {
        sim.set_free_space(1 << 30);
        for i in 0..count >> (2 * segment) {
            let f = fingerprint(i * 4 + segment, rng);
            if is_named {
                let name = "n".repeat(1 + usize::try_from(i % 40).unwrap());
                db.insert(f, &*name).unwrap();
            } else {
                let id = if i % 7 == 0 { rng.next() } else { i << 20 };
                db.insert(f, id).unwrap();
                // Several ids for some fingerprints, and tombstones for some entries.
                if i % 5 == 0 {
                    db.insert(f, !id).unwrap();
                }
                if i % 11 == 3 {
                    assert!(db.remove_entry(f, id).unwrap());
                }
            }
        }
        sim.set_free_space(0);
        db.flush().unwrap();
    }
    let needed = needed(db);
    sim.set_free_space(needed + LEFT);
    let report = db.compact().unwrap();
    assert!(report.bytes_after <= needed, "{} > {needed}", report.bytes_after);
    needed as f64 / report.bytes_after as f64
}

#[test]
fn compaction_never_takes_more_space_than_it_requires_before_it_begins() {
    let mut rng = Rng::new(1);
    let mut tightest = f64::MAX;
    for (filter_bits, block_size, ids) in
        [(0, 128, Ids::User), (8, 512, Ids::User), (32, 4096, Ids::User), (8, 512, Ids::Names)]
    {
        for kind in 0..5 {
            let sim = Sim::new();
            let options = options(&sim).memtable_entries(1 << 20).ids(ids);
            let options = options.filter_bits(filter_bits).block_size(block_size);
            let db = options.create("sim").unwrap();
            let count = if kind == 0 { 6000 } else { 1500 };
            tightest = tightest.min(check_bound(&sim, &db, &mut rng, count, kind));
        }
    }
    assert!(tightest < 1.5, "the requirement is far too high: {tightest:.2} times the need");
}

#[test]
fn compaction_that_does_not_fit_merges_fewer_segments() {
    let sim = Sim::new();
    let db = options(&sim).memtable_entries(1 << 20).create("sim").unwrap();
    let add = |i: u64, free: u64| {
        sim.set_free_space(1 << 30);
        insert(&db, &range(i * 1000, i * 1000 + 1000)).unwrap();
        sim.set_free_space(free);
        db.flush().unwrap();
    };
    (0..16).for_each(|i| add(i, 0));
    let stats = db.stats();
    assert_eq!(stats.segments.len(), 16);
    assert!(stats.background_error.is_some_and(|e| e.contains("compaction needs")));
    // Enough for about half of them.
    add(16, stats.bytes_total / 2 + LEFT);
    let segments = db.stats().segments.len();
    assert!((2..=10).contains(&segments), "{segments} segments");
    assert_entries(&db.snapshot(), &Oracle(range(0, 17_000).into_iter().collect()));
    add(17, 1 << 30);
    assert!(db.stats().segments.len() < segments, "{} segments", db.stats().segments.len());
    assert_eq!(db.stats().background_error, None);
}

#[test]
fn inserts_on_a_small_disk_continue_until_it_is_nearly_full() {
    const CAPACITY: u64 = 8 << 20;
    let sim = Sim::new();
    sim.limit_space(CAPACITY);
    let db = options(&sim).memtable_entries(2048).create("sim").unwrap();
    let mut acknowledged = 0;
    let error = loop {
        match insert(&db, &range(acknowledged, acknowledged + 64)) {
            Ok(()) => acknowledged += 64,
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::NoSpace);
    let used = CAPACITY - sim.free_space().unwrap();
    assert!(used * 4 > CAPACITY * 3, "only {used} of {CAPACITY} bytes are used");
    drop(db);
    sim.limit_space(3 * CAPACITY);
    let db = options(&sim).open("sim").unwrap();
    assert!(db.snapshot().len() >= acknowledged);
    assert_eq!(db.compact().unwrap().segments_after, 1);
}

#[test]
fn bulk_load_and_backup_check_for_space_before_they_write() {
    let (sim, db, oracle) = make();
    db.flush().unwrap();
    sim.set_free_space(3000);
    let before = sim.list().unwrap();
    let loading = Db::bulk_load(&db, range(200, 230).into_iter().map(Ok)).unwrap_err();
    assert_eq!(sim.list().unwrap(), before);
    let copying = db.backup("copy").unwrap_err();
    assert_eq!(sim.folder("copy").list().unwrap(), Some(vec![]));
    for (error, what) in [(loading, "a bulk load needs"), (copying, "the backup needs")] {
        assert_eq!(error.kind(), ErrorKind::NoSpace);
        assert!(error.is_retryable() && error.to_string().starts_with(what), "{error}");
    }
    sim.set_free_space(1 << 30);
    bulk_load(&db).unwrap();
    db.backup("copy").unwrap();
    assert_eq!(db.snapshot().len(), oracle.0.len() as u64 + 200);
}

/// The entries are not even read. In the end, a load needs no more than it said.
#[test]
fn bulk_load_that_cannot_fit_is_refused_at_once_and_its_peak_is_known_before() {
    for memory in [64 << 20, 1 << 18] {
        let sim = Sim::new();
        let db = options(&sim).bulk_memory(memory).create("sim").unwrap();
        let entries = || range(0, 50_000);
        let needed = db.bulk_load_space(50_000);
        assert!(needed > 50_000 * 16, "{needed}");
        let mut read = 0;
        let all = entries();
        sim.set_free_space(needed / 2);
        let counted = all.iter().map(|&entry| {
            read += 1;
            Ok(entry)
        });
        let error = db.bulk_load(counted).unwrap_err();
        assert_eq!((error.kind(), read), (ErrorKind::NoSpace, 0));
        let message = format!("a bulk load needs up to {needed} bytes of free disk space");
        assert!(error.to_string().starts_with(&message), "{error}");
        // Room for a flush, and for what is always left free.
        sim.set_free_space(needed + (2 << 20));
        assert_eq!(db.bulk_load(all.iter().copied().map(Ok)).unwrap().inserted, 50_000);
    }
}

#[test]
fn compaction_needs_no_more_space_than_it_says() {
    let sim = Sim::new();
    let db = options(&sim).create("sim").unwrap();
    let _ = db.bulk_load(range(0, 50_000).into_iter().map(Ok)).unwrap();
    assert_eq!(db.compact_space(), 0, "there is nothing to do");
    insert(&db, &range(50_000, 50_100)).unwrap();
    db.flush().unwrap();
    let needed = db.compact_space();
    assert!(needed > 50_000 * 8, "{needed}");
    sim.set_free_space(needed / 2);
    let files = sim.list().unwrap();
    let error = db.compact().unwrap_err();
    assert_eq!((error.kind(), sim.list().unwrap()), (ErrorKind::NoSpace, files), "it has begun");
    assert!(error.to_string().contains(&format!("needs up to {needed} bytes")), "{error}");
    assert!(error.to_string().contains("may use only "), "{error}");
    sim.set_free_space(needed + (4 << 20));
    assert_eq!(db.compact().unwrap().segments_after, 1);
    assert_eq!((db.compact_space(), db.snapshot().len()), (0, 50_100));
}

/// Inserts until the disk is full. Returns how many entries were acknowledged.
fn fill(db: &Db, from: u64) -> u64 {
    for i in (from..).step_by(16) {
        if let Err(error) = insert(db, &range(i, i + 16)) {
            assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
            assert!(error.is_retryable(), "{error}");
            assert!(error.to_string().contains("disk is full"), "{error}");
            return i;
        }
    }
    unreachable!("the disk never got full")
}

#[test]
fn full_disk_has_room_for_removals_close_and_open_and_the_handle_resumes() {
    for (background, durability) in [(false, Durability::Sync), (true, Durability::Buffered)] {
        let sim = Sim::new();
        sim.limit_space(8 << 20);
        let options = || options(&sim).memtable_entries(4096).background(background);
        let options = || options().durability(durability);
        let db = options().create("sim").unwrap();
        let inserted = fill(&db, 0);
        let mut oracle = Oracle(range(0, inserted).into_iter().collect());
        let remove = |db: &Db, oracle: &mut Oracle<u64>, from: u64, to: u64| {
            for gone in range(from, to) {
                assert!(
                    db.remove_entry(gone.fingerprint, gone.id).unwrap_or_else(|e| panic!("{e}"))
                );
                oracle.0.remove(&gone);
            }
        };
        remove(&db, &mut oracle, 0, 1000);
        fill(&db, inserted);
        oracle.0 = db.snapshot().iter().collect::<Result<_>>().unwrap();
        db.close().unwrap();
        // A crash instead of a close: opening flushes what is in the log.
        let db = options().open("sim").unwrap();
        assert_eq!(db.recovery().commits, 0);
        remove(&db, &mut oracle, 1000, 1500);
        drop(db);
        let db = options().open("sim").unwrap();
        assert_eq!(db.recovery().commits, 500);
        assert_entries(&db.snapshot(), &oracle);
        let end = fill(&db, 1 << 30);
        oracle.0.extend(range(1 << 30, end));
        // Space returns.
        sim.limit_space(64 << 20);
        insert(&db, &range(end, end + 5000)).unwrap();
        oracle.0.extend(range(end, end + 5000));
        assert_eq!(db.compact().unwrap().segments_after, 1);
        assert_entries(&db.snapshot(), &oracle);
        db.close().unwrap();
        assert_no_orphans(&sim, "after a full disk");
    }
}
