//! A full disk while documents are updated and expire, and what is still possible on one.

use std::sync::Arc;

use fpdb::storage::{Fault, Sim};
use fpdb::{Db, ErrorKind, Ids, OnDuplicate, Options, Result, Stamped};

use crate::common::documents::{Model, assert_documents, stamped};
use crate::full_disk::assert_no_orphans;

const DISTANCE: u32 = 3;

fn options(sim: &Arc<Sim>) -> Options<u64> {
    Db::options().storage(sim.clone()).memtable_entries(32).background(false)
}

/// Returns fingerprints that are far from one another.
fn far(n: u64) -> u64 {
    (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn key(ids: Ids, n: u64) -> Vec<u8> {
    match ids {
        Ids::Names => format!("https://a.example/{n:04}").into_bytes(),
        _ => n.to_be_bytes().to_vec(),
    }
}

/// A database with two segments and with documents in memory, and its model. The stamps of the
/// documents are their numbers.
struct Start {
    ids: Ids,
    sim: Arc<Sim>,
    db: Db,
    model: Model<u64>,
}

impl Start {
    fn new(ids: Ids) -> Self {
        let sim = Sim::new();
        let db = options(&sim).ids(ids).max_distance(DISTANCE).create("sim").unwrap();
        let mut start = Self { ids, sim, db, model: Model::new(ids) };
        for (from, to) in [(0, 60), (60, 70), (70, 95)] {
            start.upsert((from..to).map(|n| (far(n), n, n))).unwrap();
            if to < 95 {
                start.db.flush().unwrap();
            }
        }
        start
    }

    /// Updates documents with these fingerprints, keys and stamps. The model does the same.
    fn upsert(&mut self, documents: impl Iterator<Item = (u64, u64, u64)>) -> Result<()> {
        let documents: Vec<(u64, Vec<u8>, u64)> =
            documents.map(|(f, n, stamp)| (f, key(self.ids, n), stamp)).collect();
        for (f, key, stamp) in &documents {
            let _ = self.model.upsert(key, *f, Some(*stamp), DISTANCE, OnDuplicate::Remember);
        }
        let documents: Vec<(u64, Stamped<'_>)> = documents
            .iter()
            .map(|(f, key, stamp)| (*f, stamped(key, Some(*stamp), self.ids)))
            .collect();
        let write = self.db.write(&documents).unless_near(DISTANCE);
        write.or_update(OnDuplicate::Remember).run().map(drop)
    }

    /// Some are unchanged, some duplicates, some updates, and some new.
    fn upsert_many(&mut self) -> Result<()> {
        self.upsert((40..130).map(|n| match n % 4 {
            0 => (far(n), n, 200),
            1 => (far(n - 1) ^ 1, n, 201),
            _ => (!far(n), n, 202),
        }))
    }

    fn expire(&mut self) -> Result<()> {
        let expected = self.model.expire(80);
        let report = self.db.expire(80)?;
        assert_eq!(report.removed, expected);
        Ok(())
    }
}

/// An operation, with its name.
type Operation = (&'static str, fn(&mut Start) -> Result<()>);

const OPERATIONS: [Operation; 2] =
    [("upsert batch", Start::upsert_many), ("expire", Start::expire)];

fn full_disk_leaves_the_state_before_or_after(ids: Ids, fault: Fault, persistent: bool) {
    for (name, operation) in OPERATIONS {
        let mut failures = 0;
        for call in 0.. {
            let what = format!("{name}, {ids}, {fault:?} from call {call} on");
            let mut start = Start::new(ids);
            let before = start.model.clone();
            let at = start.sim.calls() + call;
            start.sim.fail_at(at, fault, persistent);
            let result = operation(&mut start);
            let reached = start.sim.calls() > at;
            start.sim.fail_no_more();
            let Start { sim, db, model: after, .. } = start;
            if let Err(error) = &result {
                failures += 1;
                let kind = if fault == Fault::NoSpace { ErrorKind::NoSpace } else { ErrorKind::Io };
                assert!([kind, ErrorKind::Poisoned].contains(&error.kind()), "{what}: {error:?}");
            }
            let seen = db.snapshot();
            let is_done = |first: Option<Option<u64>>| {
                first == after.documents.values().next().map(|known| known.stamp)
                    && seen.len() == after.entries().count() as u64
            };
            let first = seen.documents().unwrap().next().map(|found| found.unwrap().1.stamp);
            let done = is_done(first);
            assert!(done || result.is_err(), "{what}");
            assert_documents(&seen, if done { &after } else { &before });
            drop((seen, db));
            let db = options(&sim).open("sim").unwrap_or_else(|e| panic!("{what}: {e}"));
            let durable = db.snapshot().len() == after.entries().count() as u64;
            assert!(durable || result.is_err(), "{what}: acknowledged and lost");
            assert_documents(&db.snapshot(), if durable { &after } else { &before });
            assert!(db.verify(fpdb::VerifyLevel::Full).unwrap().errors.is_empty(), "{what}");
            db.close().unwrap();
            assert_no_orphans(&sim, &what);
            if !reached {
                break;
            }
        }
        assert!(failures > 0, "{name} never failed");
    }
}

#[test]
fn full_disk_in_an_update_or_an_expiry_leaves_the_state_before_or_after_it() {
    for ids in [Ids::Names, Ids::Unique] {
        full_disk_leaves_the_state_before_or_after(ids, Fault::NoSpace, true);
    }
    full_disk_leaves_the_state_before_or_after(Ids::Names, Fault::ShortWrite, false);
}

/// Inserts until the disk is full, with names of this length. Returns the names.
fn fill(db: &Db, len: usize) -> Vec<String> {
    let mut names = Vec::new();
    loop {
        let more = names.len()..names.len() + if len == 20 { 64 } else { 8 };
        let batch: Vec<String> = more.map(|n| format!("{n:0len$}")).collect();
        let numbered = (names.len() as u64..).zip(&batch);
        let documents: Vec<(u64, Stamped<'_>)> =
            numbered.map(|(n, name)| (far(n), Stamped::new(name, n))).collect();
        match db.write(&documents).run() {
            Ok(_) => names.extend(batch),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
                return names;
            }
        }
    }
}

#[test]
fn full_disk_has_room_to_remove_documents_and_to_let_many_expire() {
    for len in [20, 60_000] {
        let sim = Sim::new();
        sim.limit_space(if len == 20 { 4 << 20 } else { 12 << 20 });
        let options = || options(&sim).memtable_entries(4096);
        let db = options().ids(Ids::Names).create("sim").unwrap();
        let names = fill(&db, len);
        assert!(names.len() > 20, "only {} names", names.len());
        assert!(db.remove(&names[1]).unwrap());
        assert!(
            db.remove_entry(far(2), db.get(&names[2]).unwrap().map(|found| found.id).unwrap())
                .unwrap()
        );
        assert!(db.remove(db.get(&names[3]).unwrap().map(|found| found.id).unwrap()).unwrap());
        let old = if len == 20 { 1100 } else { 6 };
        assert_eq!(db.expire(old).unwrap().removed, old - 3);
        let left = names.len() as u64 - old;
        assert_eq!(db.stats().documents, left);
        db.close().unwrap();
        let db = options().open("sim").unwrap();
        assert_eq!((db.stats().documents, db.snapshot().len()), (left, left));
        assert!(db.remove(&names[usize::try_from(old).unwrap()]).unwrap());
    }
}
