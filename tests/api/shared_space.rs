//! A nearly full disk that writes, merges, bulk loads, backups and snapshots share. Whatever is
//! refused, nothing finds the disk full in the middle of the log.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Barrier, Once};

use fpdb::storage::{Sim, Storage};
use fpdb::{Db, Entry, ErrorKind, Ids, Options, Result, Snapshot};

use crate::common::{Oracle, Rng, assert_entries, entry};

fn options(sim: &Arc<Sim>) -> Options<u64> {
    Db::options().storage(sim.clone()).background(false)
}

fn far(n: u64) -> u64 {
    (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn name(n: u64, len: usize) -> String {
    format!("{n:0len$}")
}

/// Inserts documents one by one until there is no space. Returns the number of the next one.
fn fill(db: &Db, from: u64, len: usize) -> u64 {
    for n in from.. {
        if let Err(error) = db.insert(far(n), &*name(n, len)) {
            assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
            return n;
        }
    }
    unreachable!("the disk never got full")
}

/// Makes a database of two segments, the first of them with 400,000 entries, on a disk with this
/// much free space.
fn with_free_space(free: u64) -> (Arc<Sim>, Db) {
    let sim = Sim::new();
    let db = options(&sim).create("sim").unwrap();
    let _ = db.bulk_load((0..400_000).map(|n| Ok(entry(far(n), n)))).unwrap();
    db.insert(far(400_000), 400_000).unwrap();
    db.flush().unwrap();
    sim.limit_space(1 << 40);
    sim.limit_space((1 << 40) - sim.free_space().unwrap() + free);
    (sim, db)
}

/// Inserts entries until there is no space. Returns the number of the next one.
fn fill_with_entries(db: &Db, from: u64) -> u64 {
    for n in (from..).step_by(256) {
        let entries: Vec<(u64, u64)> = (n..n + 256).map(|n| (far(n), n)).collect();
        if let Err(error) = db.write(&entries).run() {
            assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
            return n;
        }
    }
    unreachable!("the disk never got full")
}

/// A write is granted a part of the free space. Then a merge takes most of it, and a snapshot keeps
/// the segments that were merged.
#[test]
fn writes_do_not_use_space_that_a_merge_has_taken_since_it_was_granted() {
    let mut merges = 0;
    for free in [8 << 20, 12 << 20, 13 << 20] {
        let (sim, db) = with_free_space(free);
        let before = db.snapshot();
        db.insert(far(400_001), 400_001).unwrap();
        match db.compact() {
            Ok(_) => merges += 1,
            Err(error) => assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}"),
        }
        let next = fill_with_entries(&db, 400_002);
        assert!(db.remove_entry(far(1), 1).unwrap(), "{free}");
        assert_eq!(before.len(), 400_001);
        drop(before);
        db.close().unwrap();
        let db = options(&sim).open("sim").unwrap();
        assert_eq!(db.snapshot().len(), next - 1, "{free}");
    }
    assert_eq!(merges, 2);
}

#[test]
fn writes_during_a_merge_leave_the_space_that_it_still_needs() {
    let (sim, db) = with_free_space(16 << 20);
    db.close().unwrap();
    let db = options(&sim).background(true).open("sim").unwrap();
    let (begun, wait) = (Barrier::new(2), Barrier::new(2));
    let barriers = Arc::new((begun, wait, Once::new()));
    let merging = db.on_progress({
        let barriers = barriers.clone();
        move |_| {
            let (begun, wait, once) = &*barriers;
            once.call_once(|| {
                begun.wait();
                wait.wait();
            });
            ControlFlow::Continue(())
        }
    });
    let merge = std::thread::spawn(move || merging.compact());
    barriers.0.wait();
    let next = fill_with_entries(&db, 400_001);
    barriers.1.wait();
    merge.join().unwrap().unwrap();
    assert_eq!(db.snapshot().len(), next);
    db.close().unwrap();
}

/// Returns a name that cannot be compressed.
fn random_name(n: u64) -> String {
    let mut rng = Rng::new(n);
    (0..600)
        .map(|_| char::from(rng.pick(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")))
        .collect()
}

/// A removal logs the name. What is in memory may take more than is free, but not after a flush.
#[test]
fn removals_continue_until_even_their_reserve_is_used_up() {
    for (free, least) in [(4 << 20, 4000), (1 << 20, 400)] {
        let sim = Sim::new();
        let db = options(&sim).ids(Ids::Names).create("sim").unwrap();
        let documents: Vec<(u64, String)> = (0..6000).map(|n| (far(n), random_name(n))).collect();
        let _ = db.write(&documents).run().unwrap();
        db.flush().unwrap();
        sim.limit_space(1 << 40);
        sim.limit_space((1 << 40) - sim.free_space().unwrap() + free);
        let refused = |(_, name): &&(u64, String)| db.remove(&**name).is_err();
        let removed = documents.iter().position(|document| refused(&document)).unwrap();
        assert!(removed >= least, "{removed} removals, although {free} bytes were free");
        assert_eq!(db.remove(&*documents[removed].1).unwrap_err().kind(), ErrorKind::NoSpace);
        assert_eq!(db.stats().refused_writes, 2);
        db.close().unwrap();
    }
}

/// What is in memory takes far more there than on disk.
#[test]
fn documents_are_inserted_until_the_disk_is_nearly_full() {
    for (len, least) in [(15, 65), (40, 65), (600, 65)] {
        const CAPACITY: u64 = 5 << 20;
        let sim = Sim::new();
        sim.limit_space(CAPACITY);
        let db = options(&sim).ids(Ids::Names).create("sim").unwrap();
        let documents = fill(&db, 0, len);
        let percent = (CAPACITY - sim.free_space().unwrap()) * 100 / CAPACITY;
        assert!(percent >= least, "only {percent} % are used after {documents} documents");
        let segments = db.stats().segments.len();
        assert!(segments < 60, "{segments} segments: flushes of hardly any documents");
        db.close().unwrap();
        let db = options(&sim).open("sim").unwrap();
        assert_eq!(db.stats().documents, documents);
    }
}

/// A database on a small disk, and what it must contain.
struct Run {
    sim: Arc<Sim>,
    db: Db,
    ids: Ids,
    rng: Rng,
    entries: Oracle<u64>,
    documents: BTreeMap<u64, u64>,
    snapshots: Vec<Snapshot>,
    next: u64,
    refused: u32,
}

impl Run {
    fn new(capacity: u64, ids: Ids, background: bool) -> Option<Self> {
        let sim = Sim::new();
        sim.limit_space(capacity);
        let db = options(&sim).memtable_entries(200).bulk_memory(4096).background(background);
        let db = db.ids(ids).create("sim").ok()?;
        let (entries, documents) = (Oracle::default(), BTreeMap::new());
        let (snapshots, rng) = (Vec::new(), Rng::new(capacity));
        Some(Self { sim, db, ids, rng, entries, documents, snapshots, next: 0, refused: 0 })
    }

    /// Records whether an operation succeeded. It may have no space, but nothing worse.
    fn done<T>(&mut self, what: &str, result: Result<T>) -> bool {
        match result {
            Ok(_) => true,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::NoSpace, "{what}: {error}");
                self.refused += 1;
                false
            }
        }
    }

    fn insert(&mut self, count: u64) {
        let numbers = self.next..self.next + count;
        self.next += count;
        if self.ids == Ids::User {
            let new: Vec<Entry> = numbers.map(|n| entry(far(n), n)).collect();
            let pairs: Vec<(u64, u64)> = new.iter().map(|e| (e.fingerprint, e.id.0)).collect();
            let result = self.db.write(&pairs).run();
            if self.done("insert", result) {
                self.entries.0.extend(new);
            }
            return;
        }
        let new: Vec<(u64, String)> = numbers.clone().map(|n| (far(n), self.name(n))).collect();
        let result = self.db.write(&new).run();
        if self.done("insert", result) {
            self.documents.extend(numbers.map(|n| (n, far(n))));
        }
    }

    /// Names of 20 to 700 bytes.
    fn name(&self, n: u64) -> String {
        name(n, 20 + usize::try_from(n * n % 680).unwrap())
    }

    fn remove(&mut self) {
        let n = self.rng.below(self.next.max(1));
        if self.ids == Ids::User {
            let gone = entry(far(n), n);
            let result = self.db.remove_entry(gone.fingerprint, gone.id);
            if self.done("remove", result) {
                self.entries.0.remove(&gone);
            }
        } else {
            let result = self.db.remove(&*self.name(n));
            if self.done("remove", result) {
                self.documents.remove(&n);
            }
        }
    }

    fn bulk_load(&mut self) {
        let count = self.rng.within(10, 3000);
        let new: Vec<Entry> = (self.next..self.next + count).map(|n| entry(far(n), n)).collect();
        self.next += count;
        let result = self.db.bulk_load(new.iter().copied().map(Ok));
        if self.done("bulk load", result) {
            self.entries.0.extend(new);
        }
    }

    fn backup(&mut self) {
        let result = self.db.backup("copy");
        if self.done("backup", result) {
            let copy = self.sim.folder("copy");
            copy.list().unwrap().unwrap().iter().for_each(|name| copy.remove(name).unwrap());
        }
    }

    fn step(&mut self) {
        match self.rng.below(20) {
            0..=8 => {
                let count = [1, 5, 60][usize::try_from(self.rng.below(3)).unwrap()];
                self.insert(count);
            }
            9..=12 => self.remove(),
            13 => {
                let result = self.db.flush();
                assert!(self.done("flush", result), "there is always space for a flush");
            }
            14 => {
                let result = self.db.compact();
                self.done("compact", result);
            }
            15 => self.snapshots.push(self.db.snapshot()),
            16 | 17 => self.snapshots.clear(),
            18 if self.ids == Ids::User => self.bulk_load(),
            _ => self.backup(),
        }
    }

    fn check(&self) {
        if self.ids == Ids::User {
            return assert_entries(&self.db.snapshot(), &self.entries);
        }
        let snapshot = self.db.snapshot();
        assert_eq!(self.db.stats().documents, self.documents.len() as u64);
        for (&n, &fingerprint) in &self.documents {
            let found = snapshot.get(&*self.name(n)).unwrap();
            assert_eq!(found.map(|found| found.fingerprint), Some(fingerprint));
        }
    }

    /// Closes the database and opens it again, on the same disk.
    fn reopen(&mut self) {
        self.check();
        self.snapshots.clear();
        self.db.clone().close().unwrap();
        self.db = options(&self.sim).open("sim").unwrap();
        self.check();
    }
}

/// Returns in how many runs something was refused.
fn run_on_disks_of_every_size(background: bool, step: u64) -> u32 {
    let mut refusals = 0;
    for ids in [Ids::User, Ids::Names] {
        for capacity in (800 << 10..12 << 20).step_by(usize::try_from(step).unwrap()) {
            let Some(mut run) = Run::new(capacity, ids, background) else { continue };
            for _ in 0..2 {
                (0..120).for_each(|_| run.step());
                run.reopen();
            }
            refusals += u32::from(run.refused > 0);
        }
    }
    refusals
}

/// A call, and its name.
type Call = (&'static str, fn(&Db) -> Result<()>);

const CALLS: [Call; 8] = [
    ("insert", |db| db.insert(far(1000), "new").map(drop)),
    ("insert if novel", |db| db.insert_if_novel(far(1001), "novel").map(drop)),
    ("update", |db| db.upsert_if_novel(far(1002), &*name(7, 30)).map(drop)),
    ("remove", |db| db.remove(&*name(8, 30)).map(drop)),
    ("touch", |db| db.touch(&*name(9, 30), 5).map(drop)),
    ("flush", |db| db.flush()),
    ("compact", |db| db.compact().map(drop)),
    ("backup", |db| db.backup("copy").map(drop)),
];

/// Returns what each name has.
fn contents(db: &Db) -> BTreeMap<String, (u64, Option<u64>)> {
    let snapshot = db.snapshot();
    let documents = snapshot.documents().unwrap().map(Result::unwrap);
    documents
        .map(|(name, document)| (name.unwrap(), (document.fingerprint, document.stamp)))
        .collect()
}

/// Makes each call with each amount of free space, in steps of this many bytes. Returns how many
/// calls were refused and how many succeeded.
fn calls_with_every_amount_of_free_space(step: usize) -> (u32, u32) {
    let (mut refused, mut succeeded) = (0, 0);
    for free in (0..1400 << 10).step_by(step) {
        for (what, call) in CALLS {
            let sim = Sim::new();
            let db = options(&sim).ids(Ids::Names).memtable_entries(40).create("sim").unwrap();
            fill_names(&db, 0..100);
            db.flush().unwrap();
            fill_names(&db, 100..120);
            sim.limit_space(1 << 40);
            sim.limit_space((1 << 40) - sim.free_space().unwrap() + free);
            let before = contents(&db);
            let result = call(&db);
            let after = contents(&db);
            match &result {
                Ok(()) => succeeded += 1,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::NoSpace, "{what} at {free}: {error}");
                    assert!(error.is_retryable(), "{what} at {free}: {error}");
                    assert_eq!(before, after, "{what} at {free} was refused and changed something");
                    refused += 1;
                }
            }
            // With space again, the same handle goes on, and nothing acknowledged is lost.
            sim.limit_space(1 << 40);
            if result.is_err() {
                call(&db).unwrap_or_else(|error| panic!("{what} at {free}, again: {error}"));
            }
            let expected = contents(&db);
            drop(db);
            let db = options(&sim).open("sim").unwrap();
            assert_eq!(contents(&db), expected, "{what} at {free}");
        }
    }
    (refused, succeeded)
}

fn fill_names(db: &Db, numbers: std::ops::Range<u64>) {
    let documents: Vec<(u64, String)> = numbers.map(|n| (far(n), name(n, 30))).collect();
    let _ = db.write(&documents).run().unwrap();
}

#[test]
fn each_call_with_any_amount_of_free_space_succeeds_or_is_refused_and_can_be_repeated() {
    let step = std::env::var("FPDB_SPACE_STEP").map_or(48 << 10, |step| step.parse().unwrap());
    let (refused, succeeded) = calls_with_every_amount_of_free_space(step);
    assert!(refused > 20 && succeeded > 20, "{refused} refused, {succeeded} succeeded");
}

#[test]
fn operations_on_a_disk_of_any_size_succeed_or_are_refused_and_never_end_all_writes() {
    let refusals = run_on_disks_of_every_size(false, 163 << 10);
    assert!(refusals > 10, "{refusals}");
}

#[test]
fn operations_beside_background_merges_succeed_or_are_refused_and_never_end_all_writes() {
    let refusals = run_on_disks_of_every_size(true, 307 << 10);
    assert!(refusals > 5, "{refusals}");
}
