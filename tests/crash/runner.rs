//! Runs a workload, checks the result of each call, and records the history.

use std::collections::BTreeSet;
use std::sync::Arc;

use fpdb::storage::{Fault, Sim};
use fpdb::{Db, DocId, Durability, Entry, ErrorKind, Fingerprint, Ids, Outcome};

use super::common::documents::Model;
use super::documents::with_next_id;
use super::history::{History, State};
use super::oracle::{self, Verdict, contents, text, unexplained};
use super::script::{COPY, DISTANCE, Doc, ROOT, Random, Setup, Step};

/// A process that uses a database.
#[derive(Debug)]
pub(crate) struct Runner<'a, F: Fingerprint> {
    pub(super) setup: &'a Setup<F>,
    pub(crate) sim: Arc<Sim>,
    pub(crate) history: History<F>,
    db: Option<Db<F>>,
    /// Whether calls may fail because faults are injected.
    tolerant: bool,
    /// Whether the open handle has reported that it accepts no more writes.
    poisoned: bool,
    pub(crate) failures: usize,
    /// The number of operations before each open of the database.
    pub(crate) opens: Vec<usize>,
    random: Random,
}

impl<'a, F: Fingerprint> Runner<'a, F> {
    pub(crate) fn new(setup: &'a Setup<F>, sim: Arc<Sim>, history: History<F>) -> Self {
        let random = Random(7);
        let (db, tolerant, poisoned) = (None, false, false);
        let opens = Vec::new();
        Self { setup, sim, history, db, tolerant, poisoned, failures: 0, opens, random }
    }

    /// Accepts that calls fail, and checks what must hold after a failure.
    pub(crate) fn tolerant(self) -> Self {
        Self { tolerant: true, ..self }
    }

    pub(crate) fn run(mut self, script: &[Step<F>]) -> Verdict<Self> {
        self.open()?;
        for (n, step) in script.iter().enumerate() {
            self.step(step).map_err(|e| format!("step {n}, {step:?}: {e}"))?;
        }
        Ok(self)
    }

    /// Ends the process.
    pub(crate) fn end(&mut self) {
        self.db = None;
    }

    /// Opens the database if it is not open. Returns false if that failed and is allowed to.
    pub(crate) fn open(&mut self) -> Verdict<bool> {
        if self.db.is_some() {
            return Ok(true);
        }
        self.opens.push(self.sim.operations());
        let is_created = self.history.is_created(self.sim.operations());
        let db = match oracle::open(self.setup, &self.sim, ROOT, is_created) {
            Ok(db) => db,
            Err(error) if self.tolerant && is_of_the_disk(&error) => {
                self.failures += 1;
                return Ok(false);
            }
            Err(error) => return Err(text("open")(error)),
        };
        let found = match with_next_id(self.setup, &db, contents(self.setup, &db)?) {
            // The free space could not be read. The next attempt opens the database again.
            Err(problem) if self.tolerant && problem.contains("injected fault") => {
                self.failures += 1;
                return Ok(false);
            }
            found => found?,
        };
        if !self.history.reopened(&found, self.sim.operations()) {
            return Err(unexplained(&found, &[self.history.current()]));
        }
        (self.db, self.poisoned) = (Some(db), false);
        Ok(true)
    }

    fn step(&mut self, step: &Step<F>) -> Verdict {
        // Two attempts: the first may meet a fault that occurs once.
        if !self.open()? && !self.open()? {
            return Ok(());
        }
        let Some(db) = self.db.clone() else { return Ok(()) };
        match step {
            Step::Insert(docs) if self.keeps_documents() => self.insert_documents(&db, docs),
            Step::InsertIfNovel(docs) if self.keeps_documents() => {
                self.insert_documents_if_novel(&db, docs)
            }
            Step::Remove(doc) if self.keeps_documents() => self.remove_document(&db, *doc),
            Step::Insert(docs) => self.insert(&db, docs),
            Step::InsertIfNovel(docs) => self.insert_if_novel(&db, docs),
            Step::Remove(doc) => self.remove(&db, *doc),
            Step::Upsert(docs, on_duplicate) => self.upsert(&db, docs, *on_duplicate),
            Step::Touch(key, stamp) => self.touch(&db, *key, *stamp),
            Step::RemoveByKey(key) => self.remove_by_key(&db, *key),
            Step::Expire(before) => self.expire(&db, *before),
            Step::Load(docs) => self.load(&db, docs),
            Step::Flush => self.write(None, true, || db.flush().map(|()| true)),
            Step::Compact => self.write(None, true, || {
                let report = db.compact()?;
                let most = Some(self.setup.segment);
                Ok(report.segments_after <= 1 || report.most_documents == most)
            }),
            Step::Sync => self.write(None, true, || db.sync().map(|()| true)),
            Step::Backup => self.backup(&db),
            Step::Combine(way) => self.combine(&db, *way),
            Step::FailToRebuild(call) => self.fail_to_rebuild(&db, *call),
            Step::Close => {
                self.db = None;
                self.write(None, true, || db.close().map(|()| true))
            }
            Step::Drop => {
                self.db = None;
                Ok(())
            }
            Step::Kill => {
                self.sim.fail_at(self.sim.calls(), Fault::Error, true);
                self.db = None;
                drop(db);
                self.sim.fail_no_more();
                Ok(())
            }
        }?;
        self.check_open_handle()
    }

    /// Runs a call that requests the contents `after`, or no change. The call returns whether its
    /// result was right.
    pub(super) fn write(
        &mut self,
        after: Option<State<F>>,
        makes_durable: bool,
        call: impl FnOnce() -> fpdb::Result<bool>,
    ) -> Verdict {
        let requested = self.sim.operations();
        let after = after.map(Arc::new);
        match call() {
            Ok(_) if self.poisoned => Err("a write was accepted after a failed one".to_owned()),
            Ok(false) => Err("wrong result".to_owned()),
            Ok(true) => {
                if let Some(after) = after {
                    self.history.became(after, requested);
                }
                if makes_durable || self.setup.durability == Durability::Sync {
                    self.history.durable(self.sim.operations());
                }
                Ok(())
            }
            Err(error) if !self.tolerant => Err(text("failed")(error)),
            Err(error) => {
                self.failures += 1;
                if let Some(after) = after.filter(|_| !self.poisoned) {
                    self.history.may_be(after, requested);
                }
                match error.kind() {
                    ErrorKind::Poisoned => self.poisoned = true,
                    _ if is_of_the_disk(&error) && !self.poisoned => {}
                    _ => return Err(text("unexpected error")(error)),
                }
                Ok(())
            }
        }
    }

    /// Checks that answers show what was acknowledged, whatever happened.
    fn check_open_handle(&mut self) -> Verdict {
        let Some(db) = &self.db else { return Ok(()) };
        let found = contents(self.setup, db)?;
        if !found.agrees(self.history.current()) {
            return Err(unexplained(&found, &[self.history.current()]));
        }
        oracle::check_queries(self.setup, db, &found.entries, &mut self.random)
    }

    fn keeps_documents(&self) -> bool {
        self.setup.ids != Ids::User
    }

    fn before(&self) -> BTreeSet<Doc<F>> {
        self.history.current().entries.clone()
    }

    /// Like `write`, for a database that keeps no documents.
    fn write_entries(
        &mut self,
        entries: BTreeSet<Doc<F>>,
        makes_durable: bool,
        call: impl FnOnce() -> fpdb::Result<bool>,
    ) -> Verdict {
        let after = State { entries, documents: Model::default() };
        self.write(Some(after), makes_durable, call)
    }

    fn insert(&mut self, db: &Db<F>, docs: &[Doc<F>]) -> Verdict {
        let mut after = self.before();
        after.extend(docs);
        self.write_entries(after, false, || match docs {
            [(fingerprint, key)] => db.insert(*fingerprint, *key).map(|_| true),
            batch => Ok(db.write(batch).run()?.len() == docs.len()),
        })
    }

    fn insert_if_novel(&mut self, db: &Db<F>, docs: &[Doc<F>]) -> Verdict {
        let mut after = self.before();
        let mut nearest = Vec::new();
        for &doc in docs {
            let near = after.iter().map(|other| doc.0.distance(other.0)).min();
            nearest.push(near.filter(|&distance| distance <= DISTANCE));
            if nearest.last() == Some(&None) {
                after.insert(doc);
            }
        }
        let known: BTreeSet<F> = after.iter().map(|doc| doc.0).collect();
        let is_right = |(&doc, (&near, verdict)): (&Doc<F>, (&Option<u32>, &Outcome<F>))| {
            match (near, verdict) {
                (None, Outcome::Inserted(_)) => true,
                (Some(0), Outcome::Exists(found)) => {
                    (found.fingerprint, found.id) == (doc.0, DocId(doc.1)) && known.contains(&doc.0)
                }
                (Some(near), Outcome::Duplicate(found)) => {
                    // A batch reports an earlier entry, even if another one of the batch is nearer.
                    (found.distance == near || docs.len() > 1 && found.distance <= DISTANCE)
                        && found.distance == doc.0.distance(found.fingerprint)
                        // Together with the contents found after a crash, this checks that it is
                        // still there.
                        && known.contains(&found.fingerprint)
                }
                _ => false,
            }
        };
        self.write_entries(after, false, || {
            let verdicts = match docs {
                [(fingerprint, key)] => vec![db.insert_if_novel(*fingerprint, *key)?],
                batch => db.write(batch).unless_near(DISTANCE).run()?,
            };
            Ok(docs.iter().zip(nearest.iter().zip(&verdicts)).all(is_right))
        })
    }

    fn remove(&mut self, db: &Db<F>, doc: Doc<F>) -> Verdict {
        let mut after = self.before();
        let existed = after.remove(&doc);
        self.write_entries(after, false, || Ok(db.remove_entry(doc.0, DocId(doc.1))? == existed))
    }

    fn load(&mut self, db: &Db<F>, docs: &[Doc<F>]) -> Verdict {
        let mut after = self.before();
        let before = after.len();
        after.extend(docs);
        let (read, inserted) = (docs.len() as u64, (after.len() - before) as u64);
        let entry = |&(fingerprint, key): &Doc<F>| Ok(Entry { fingerprint, id: DocId(key) });
        self.write_entries(after, true, || {
            let report = db.bulk_load(docs.iter().map(entry))?;
            Ok((report.read, report.inserted) == (read, inserted))
        })
    }

    fn backup(&mut self, db: &Db<F>) -> Verdict {
        self.history.begins_backup();
        let mut done = false;
        self.write(None, true, || {
            let result = db.backup(COPY).map(|()| true);
            done = result.is_ok();
            result
        })?;
        if done {
            self.history.backed_up(self.sim.operations());
        }
        Ok(())
    }
}

/// Checks that the copy has all contents, or is unfinished if the backup was not acknowledged. Then
/// the backup can be repeated.
pub(crate) fn check_copy<F: Fingerprint>(
    setup: &Setup<F>,
    state: &Arc<Sim>,
    history: &History<F>,
    at: usize,
) -> Verdict {
    let Some((expected, _)) = history.backup() else { return Ok(()) };
    let db = match setup.options(state).open(COPY) {
        Err(error) if !history.is_copied(at) && is_incomplete(&error) => {
            return repeat_backup(setup, state);
        }
        opened => opened.map_err(text("open the copy"))?,
    };
    if with_next_id(setup, &db, contents(setup, &db)?)?.agrees(expected) {
        Ok(())
    } else {
        Err("the backup does not hold what it should".to_owned())
    }
}

fn is_incomplete(error: &fpdb::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Unfinished)
}

/// Copies what a crash left of the database to where it left an incomplete copy.
fn repeat_backup<F: Fingerprint>(setup: &Setup<F>, state: &Arc<Sim>) -> Verdict {
    // A crash may leave no database yet.
    let Ok(db) = setup.options(state).open_read_only(ROOT) else { return Ok(()) };
    db.backup(COPY).map_err(text("repeat the backup"))?;
    let copy = setup.options(state).open_read_only(COPY).map_err(text("open the new copy"))?;
    match copy.snapshot().len() == db.snapshot().len() {
        true => Ok(()),
        false => Err("the repeated backup does not hold what it should".to_owned()),
    }
}

/// Whether a call failed because an operation of the storage failed.
pub(super) fn is_of_the_disk(error: &fpdb::Error) -> bool {
    matches!(error.kind(), ErrorKind::Io | ErrorKind::NoSpace)
}
