//! Makes each read of an open file fail, once or from then on, while a database is opened, queried,
//! verified, written to, flushed, compacted and copied.

use std::collections::BTreeSet;
use std::sync::Arc;

use fpdb::storage::{CrashLimits, Fault, Sim};
use fpdb::{Db, Entry, Error, ErrorKind, Fingerprint, Ids, Outcome, Snapshot};

use super::oracle::{Verdict, check_files, check_queries, contents, open, text};
use super::script::{COPY, DISTANCE, Doc, ROOT, Random, Scribe, Setup, Step, key_of, name_of};
use super::{NAMES, SKETCHES, UNIQUE, USER, WIDE};

/// A database to start from: three segments with removals, and a log.
pub(super) struct Start<F> {
    pub(super) setup: Setup<F>,
    sim: Arc<Sim>,
    docs: BTreeSet<Doc<F>>,
    /// Documents to insert.
    more: Vec<Doc<F>>,
}

impl<F: Fingerprint> Start<F> {
    fn new(setup: Setup<F>) -> Verdict<Self> {
        let setup = setup.memtable(1000);
        let sim = Sim::new();
        let db = open(&setup, &sim, ROOT, false).map_err(text("create"))?;
        let mut scribe = Scribe::new(&setup, super::seed(), 0);
        let docs: Vec<Doc<F>> = scribe
            .script(&"b".repeat(150))
            .into_iter()
            .flat_map(|step| match step {
                Step::Insert(docs) => docs,
                _ => Vec::new(),
            })
            .collect();
        let (docs, more) = docs.split_at(400);
        let mut expected = BTreeSet::new();
        for part in [&docs[..250], &docs[250..380], &docs[380..]] {
            for &doc in part {
                insert(&setup, &db, doc).map_err(text("insert"))?;
                expected.insert(doc);
            }
            for &doc in docs[..part.len()].iter().step_by(11).filter(|_| part.len() < 250) {
                let id = id_of(&setup, &db.snapshot(), doc).map_err(text("ids"))?;
                db.remove_entry(doc.0, id).map_err(text("remove"))?;
                expected.remove(&doc);
            }
            if part.len() > 20 {
                db.flush().map_err(text("flush"))?;
            }
        }
        sim.fail_at(sim.calls(), Fault::Error, true);
        drop(db);
        sim.fail_no_more();
        Ok(Self { setup, sim, docs: expected, more: more.to_vec() })
    }

    fn copy_of_files(&self) -> Arc<Sim> {
        let mut states = self.sim.crash_states(self.sim.operations(), CrashLimits::default());
        states.next().unwrap_or_else(|| unreachable!("there is always a state"))
    }
}

fn insert<F: Fingerprint>(setup: &Setup<F>, db: &Db<F>, doc: Doc<F>) -> fpdb::Result<()> {
    match setup.ids {
        Ids::Names => db.insert(doc.0, &*name_of(doc.1)),
        _ => db.insert(doc.0, doc.1),
    }
    .map(drop)
}

/// Returns the number in a document's name, or its id.
fn key<F: Fingerprint>(
    setup: &Setup<F>,
    snapshot: &Snapshot<F>,
    id: fpdb::DocId,
) -> fpdb::Result<u64> {
    match setup.ids {
        Ids::Names => Ok(snapshot.name(id)?.as_deref().and_then(key_of).unwrap_or(u64::MAX)),
        _ => Ok(id.0),
    }
}

fn id_of<F: Fingerprint>(
    setup: &Setup<F>,
    snapshot: &Snapshot<F>,
    doc: Doc<F>,
) -> fpdb::Result<fpdb::DocId> {
    for id in snapshot.ids(doc.0)? {
        if key(setup, snapshot, id)? == doc.1 {
            return Ok(id);
        }
    }
    Ok(fpdb::DocId(u64::MAX))
}

/// The read that fails, and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case {
    /// Whether files are read to memory before the first query.
    is_warm: bool,
    read: usize,
    fault: Fault,
    persistent: bool,
}

impl Case {
    /// Returns whether a read failed among those with the numbers `from..to`.
    fn hits(self, from: usize, to: usize) -> bool {
        self.read < to && (self.persistent || from <= self.read)
    }
}

/// A process that uses the database while reads fail.
pub(super) struct Life<'a, F> {
    pub(super) start: &'a Start<F>,
    case: Case,
    sim: Arc<Sim>,
    pub(super) docs: BTreeSet<Doc<F>>,
    pub(super) random: Random,
    failures: usize,
}

impl<F: Fingerprint> Life<'_, F> {
    /// Makes a call, which fails only if a read does. Returns `None` if it failed.
    pub(super) fn call<T>(
        &mut self,
        doing: &str,
        call: impl FnOnce(&mut Self) -> fpdb::Result<T>,
    ) -> Verdict<Option<T>> {
        let before = self.sim.reads();
        match call(self) {
            Ok(value) => Ok(Some(value)),
            Err(error) => {
                self.check_error(&error, before).map_err(|e| format!("{doing}: {e}: {error:?}"))?;
                Ok(None)
            }
        }
    }

    /// Checks the error of a call before which there were this many reads.
    fn check_error(&mut self, error: &Error, before: usize) -> Verdict {
        self.failures += 1;
        if !self.case.hits(before, self.sim.reads()) {
            return Err("no read had failed".to_owned());
        }
        match (error.kind(), self.case.fault) {
            (ErrorKind::Io, _) | (ErrorKind::Corruption, Fault::ShortRead) => {}
            _ => return Err("unexpected kind".to_owned()),
        }
        match error.path() {
            Some(path) if path.starts_with(ROOT) && path.extension().is_some() => Ok(()),
            _ => Err("the error does not name the file".to_owned()),
        }
    }

    pub(super) fn expect<T: PartialEq>(doing: &str, found: Option<T>, right: T) -> Verdict {
        match found {
            Some(found) if found != right => Err(format!("{doing}: wrong answer")),
            _ => Ok(()),
        }
    }

    /// Returns the documents within a distance, nearest first.
    fn near(&self, query: F, distance: u32) -> Vec<(u32, F, u64)> {
        let with_distance =
            |&(fingerprint, key): &Doc<F>| (query.distance(fingerprint), fingerprint, key);
        let mut near: Vec<_> = self.docs.iter().map(with_distance).collect();
        near.retain(|found| found.0 <= distance);
        near.sort_unstable();
        near
    }

    fn keyed(
        &self,
        snapshot: &Snapshot<F>,
        matches: &[fpdb::Match<F>],
    ) -> fpdb::Result<Vec<(u32, F, u64)>> {
        let setup = &self.start.setup;
        let keyed = |found: &fpdb::Match<F>| {
            Ok((found.distance, found.fingerprint, key(setup, snapshot, found.id)?))
        };
        let mut keyed = matches.iter().map(keyed).collect::<fpdb::Result<Vec<_>>>()?;
        keyed.sort_unstable();
        Ok(keyed)
    }

    /// Asks everything that can be asked.
    fn query(&mut self, snapshot: &Snapshot<F>) -> Verdict {
        let docs: Vec<Doc<F>> = self.docs.iter().copied().collect();
        let mut queries = Vec::new();
        for _ in 0..3 {
            let doc = docs[self.random.below(docs.len())];
            let most = DISTANCE as usize + 1;
            let (query, distance) = (self.random.near(doc.0, most), self.random.below(most + 1));
            let distance = u32::try_from(distance).unwrap();
            let right = self.near(query, distance);
            let nearest = right.first().map(|found| found.0);
            let found =
                self.call("query", |life| life.keyed(snapshot, &snapshot.query(query, distance)?))?;
            Self::expect("query", found, right)?;
            let found = self.call("nearest", |_| snapshot.nearest(query, distance))?;
            Self::expect("nearest", found.map(|found| found.map(|found| found.distance)), nearest)?;
            let found = self.call("contains", |_| snapshot.contains(doc.0))?;
            Self::expect("contains", found, true)?;
            let found = self.call("contains", |_| snapshot.contains(query))?;
            Self::expect("contains", found, !self.near(query, 0).is_empty())?;
            queries.extend([query, doc.0]);
        }
        let right: Vec<_> = queries.iter().map(|&query| self.near(query, DISTANCE)).collect();
        let found = self.call("query_batch", |life| {
            let found = snapshot.query_batch(&queries, DISTANCE)?;
            found.iter().map(|matches| life.keyed(snapshot, matches)).collect()
        })?;
        Self::expect("query_batch", found, right)?;
        self.find_by_key(snapshot, &docs)?;
        let setup = &self.start.setup;
        let found: Option<BTreeSet<Doc<F>>> = self.call("iter", |_| {
            let entry = |entry: fpdb::Result<Entry<F>>| {
                let entry = entry?;
                Ok((entry.fingerprint, key(setup, snapshot, entry.id)?))
            };
            snapshot.iter().map(entry).collect()
        })?;
        match found.is_none_or(|found| found == self.docs) {
            true => Ok(()),
            false => Err("iter: wrong contents".to_owned()),
        }
    }

    fn verify(&mut self, snapshot: &Snapshot<F>) -> Verdict {
        let before = self.sim.reads();
        let errors = snapshot.verify(fpdb::VerifyLevel::Full).unwrap().errors;
        for error in &errors {
            self.check_error(error, before).map_err(|e| format!("verify: {e}: {error:?}"))?;
        }
        Ok(())
    }

    fn open(&mut self) -> Verdict<Db<F>> {
        let setup = self.start.setup;
        let options = |life: &Self| setup.options(&life.sim).open(ROOT);
        for _ in 0..2 {
            if let Some(db) = self.call("open", |life| options(life))? {
                return Ok(db);
            }
        }
        if !self.case.persistent {
            return Err("the second attempt to open failed, too".to_owned());
        }
        self.sim.fail_no_more();
        options(self).map_err(text("open without faults"))
    }

    fn read_only(&mut self) -> Verdict {
        let setup = self.start.setup;
        let reader =
            self.call("open_read_only", |life| setup.options(&life.sim).open_read_only(ROOT))?;
        let Some(reader) = reader else { return Ok(()) };
        self.call("warm", |_| reader.warm())?;
        self.query(&reader.snapshot())?;
        self.call("refresh", |_| reader.refresh())?;
        self.query(&reader.snapshot())
    }

    /// Inserts and removes. A write that fails changes nothing.
    fn write(&mut self, db: &Db<F>, more: &[Doc<F>]) -> Verdict {
        let setup = &self.start.setup;
        let (novel, plain) = more.split_at(more.len() / 2);
        for &doc in plain {
            if self.call("insert", |_| insert(setup, db, doc))?.is_some() {
                self.docs.insert(doc);
            }
        }
        for &doc in novel {
            let nearest = self.near(doc.0, DISTANCE).first().map(|found| found.0);
            let found = self.call("insert_if_novel", |_| match setup.ids {
                Ids::Names => db.insert_if_novel(doc.0, &*name_of(doc.1)),
                _ => db.insert_if_novel(doc.0, doc.1),
            })?;
            let found = found.map(|outcome| match outcome {
                Outcome::Duplicate(found) | Outcome::Exists(found) => Some(found.distance),
                _ => None,
            });
            if found == Some(None) {
                self.docs.insert(doc);
            }
            Self::expect("insert_if_novel", found, nearest)?;
        }
        let known: Vec<Doc<F>> = self.docs.iter().copied().step_by(37).collect();
        for doc in known {
            let removed = self
                .call("remove", |_| db.remove_entry(doc.0, id_of(setup, &db.snapshot(), doc)?))?;
            if removed == Some(true) {
                self.docs.remove(&doc);
            }
            Self::expect("remove", removed, true)?;
        }
        self.change_by_key(db)
    }

    fn load(&mut self, db: &Db<F>, more: &[Doc<F>]) -> Verdict {
        if self.start.setup.ids != Ids::User {
            return Ok(());
        }
        let entry = |&(fingerprint, key): &Doc<F>| Ok(Entry { fingerprint, id: fpdb::DocId(key) });
        // Half of them are there already.
        let known: Vec<Doc<F>> = self.docs.iter().copied().step_by(9).collect();
        let all = || more.iter().chain(&known).map(entry);
        let before = self.docs.len();
        if let Some(report) = self.call("bulk_load", |_| db.bulk_load(all()))? {
            self.docs.extend(more);
            let inserted = (self.docs.len() - before) as u64;
            Self::expect("bulk_load", Some(report.inserted), inserted)?;
        }
        Ok(())
    }

    /// Uses the database in every way that reads files.
    fn run(&mut self) -> Verdict {
        let db = self.open()?;
        self.read_only()?;
        if self.case.is_warm {
            self.call("warm", |_| db.warm())?;
        }
        self.query(&db.snapshot())?;
        self.call("warm", |_| db.warm())?;
        self.query(&db.snapshot())?;
        let more = self.start.more.clone();
        let (first, rest) = more.split_at(20);
        self.write(&db, first)?;
        self.verify(&db.snapshot())?;
        let copied = self.call("backup", |_| db.backup(COPY))?.is_some();
        let copy = copied.then(|| self.docs.clone());
        self.load(&db, &rest[..10])?;
        self.call("flush", |_| db.flush())?;
        self.query(&db.snapshot())?;
        self.call("compact", |_| db.compact())?;
        self.query(&db.snapshot())?;
        self.verify(&db.snapshot())?;
        if !self.case.persistent {
            self.call("close", |_| db.clone().close())?;
        }
        self.sim.fail_no_more();
        // Without `close`, the same handle goes on.
        let db = if self.case.persistent { db } else { self.open()? };
        self.check_afterwards(db, copy, &rest[10..])
    }

    /// Checks that everything works once no read fails any more.
    fn check_afterwards(
        &mut self,
        db: Db<F>,
        copy: Option<BTreeSet<Doc<F>>>,
        more: &[Doc<F>],
    ) -> Verdict {
        let setup = &self.start.setup;
        let is_right =
            |db: &Db<F>, docs: &BTreeSet<Doc<F>>| match contents(setup, db)?.entries == *docs {
                true => Ok(()),
                false => Err("the contents are wrong afterwards".to_owned()),
            };
        is_right(&db, &self.docs)?;
        // A short read looks like damage, and damaged indexes are not loaded again.
        if self.case.fault == Fault::Error {
            let fresh = setup.options(&self.sim).open_read_only(ROOT).map_err(text("open"))?;
            fresh.warm().map_err(text("warm"))?;
            db.warm().map_err(text("warm"))?;
            let loaded = db.stats().index_loaded_bytes;
            Self::expect("warm", Some(loaded), fresh.stats().index_loaded_bytes)?;
        }
        self.write(&db, more)?;
        is_right(&db, &self.docs)?;
        check_queries(setup, &db, &self.docs.clone(), &mut self.random)?;
        db.flush().map_err(text("flush"))?;
        db.compact().map_err(text("compact"))?;
        is_right(&db, &self.docs)?;
        check_files(&self.sim, &db)?;
        let errors = db.verify(fpdb::VerifyLevel::Full).map_err(text("verify"))?.errors;
        if !errors.is_empty() {
            return Err(format!("verify: {errors:?}"));
        }
        if copy.is_none() {
            db.backup(COPY).map_err(text("repeat the backup"))?;
        }
        drop(db);
        let db = open(setup, &self.sim, COPY, true).map_err(text("open the copy"))?;
        is_right(&db, copy.as_ref().unwrap_or(&self.docs))
    }
}

fn run<F: Fingerprint>(start: &Start<F>, case: Case) -> Verdict<(usize, usize)> {
    let sim = start.copy_of_files();
    sim.fail_read_at(case.read, case.fault, case.persistent);
    let (docs, random) = (start.docs.clone(), Random(super::seed()));
    let mut life = Life { start, case, sim, docs, random, failures: 0 };
    life.run().map_err(|e| format!("{e}\n  {:?}, {case:?}", start.setup))?;
    Ok((life.sim.reads(), life.failures))
}

/// Makes every `step`th read fail in every way.
fn every_failed_read_is_survived<F: Fingerprint>(
    setup: Setup<F>,
    is_warm: bool,
    step: usize,
) -> Verdict {
    let start = Start::new(setup)?;
    let case = Case { is_warm, read: usize::MAX, fault: Fault::Error, persistent: false };
    let (reads, _) = run(&start, case)?;
    let (mut cases, mut failures) = (0, 0);
    for read in (0..reads).step_by(step) {
        for fault in [Fault::Error, Fault::ShortRead] {
            for persistent in [false, true] {
                failures += run(&start, Case { is_warm, read, fault, persistent })?.1;
                cases += 1;
            }
        }
    }
    println!(
        "warm: {is_warm}, {reads} reads, {cases} cases, {failures} failed calls of the database"
    );
    assert!(failures > cases / 2, "few faults were noticed: {failures} of {cases}");
    Ok(())
}

#[test]
fn every_failed_read_is_survived_with_user_ids() -> Verdict {
    every_failed_read_is_survived(USER, false, 1)
}

#[test]
fn every_failed_read_is_survived_with_names() -> Verdict {
    every_failed_read_is_survived(NAMES, false, 1)
}

#[test]
fn every_failed_read_is_survived_with_sketches() -> Verdict {
    every_failed_read_is_survived(SKETCHES, false, 3)
}

#[test]
fn every_failed_read_is_survived_of_files_in_memory_with_wide_fingerprints() -> Verdict {
    every_failed_read_is_survived(WIDE, true, 1)
}

#[test]
fn every_failed_read_is_survived_of_files_in_memory_with_unique_ids() -> Verdict {
    every_failed_read_is_survived(UNIQUE, true, 1)
}
