//! Makes each call of a workload fail, once or from then on, in each way.

use fpdb::storage::{CrashLimits, Fault, Sim};
use fpdb::{Durability, ErrorKind, Fingerprint, Ids};

use super::combine::check_combined;
use super::history::History;
use super::matrix::Workload;
use super::oracle::{Verdict, check, open, text};
use super::replay::{self, What};
use super::runner::Runner;
use super::script::{ROOT, Random, Scribe, Setup};
use super::{NAMES, SKETCHES, USER, workload};

/// Every step in which calls can fail, each after others.
const STEPS: &str = "inbnNrfnirclirnxnbrduciN";

/// The same with documents. Shorter, because each case compares more.
const DOCUMENT_STEPS: &str = "inpQrfqtPvec";

/// A case of the test, with everything needed to repeat it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Case {
    /// The first call that may fail.
    pub(crate) call: usize,
    pub(crate) fault: Fault,
    pub(crate) persistent: bool,
}

/// What happened in a case.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The number of failed calls of the database.
    failures: usize,
    /// The number of the first failed call of the storage, if one failed.
    first_failed: Option<usize>,
}

impl Case {
    pub(crate) const FAULTS: [Fault; 5] =
        [Fault::Error, Fault::ShortWrite, Fault::NoSpace, Fault::Quota, Fault::ShortRead];

    /// Runs the workload with the fault, ends the process and opens the database again. Also checks
    /// some of the states that a loss of power could have left on the way.
    pub(crate) fn run<F: Fingerprint>(self, workload: &Workload<F>) -> Verdict<Outcome> {
        self.check(workload).map_err(|e| {
            format!("{e}\n  {self:?}\n{}", replay::command(workload, What::Fault(self)))
        })
    }

    fn check<F: Fingerprint>(self, workload: &Workload<F>) -> Verdict<Outcome> {
        let mut random = Random::of(&[workload.seed, self.call as u64]);
        let sim = Sim::new();
        sim.fail_at(self.call, self.fault, self.persistent);
        let script = Scribe::new(&workload.setup, workload.seed, 0).script(&workload.letters);
        let runner = Runner::new(&workload.setup, sim.clone(), History::of_nothing()).tolerant();
        let mut runner = runner.run(&script)?;
        let failures = runner.failures;
        // Drop may write. If the fault is persistent, that is lost.
        runner.end();
        let first_failed = sim.first_failed();
        sim.fail_no_more();
        let reopening = sim.operations();
        if !runner.open()? {
            return Err("the database does not open without faults".to_owned());
        }
        runner.end();
        let limits = CrashLimits { exhaustive: 16, samples: 3, ..CrashLimits::default() };
        let end = sim.operations();
        let current = runner.history.current();
        check_combined(&workload.setup, &sim, &runner.history, end, current)?;
        for at in reopening..=end {
            for state in sim.crash_states(at, limits) {
                if random.below(12) > 0 {
                    continue;
                }
                let (legal, is_created) = (runner.history.legal(at), runner.history.is_created(at));
                check(&workload.setup, &state, &legal, is_created, &mut random)
                    .map_err(|e| format!("{e}\n  {}", state.describe()))?;
            }
        }
        Ok(Outcome { failures, first_failed })
    }
}

/// Makes every call fail in every way in which it can fail.
fn every_failed_call_is_survived<F: Fingerprint>(workload: &Workload<F>) {
    every_failed_call_from(0, workload);
}

/// Does the same for the calls of the workload's merge, which is its last step.
fn every_failed_call_of_the_merge_is_survived<F: Fingerprint>(workload: &Workload<F>) {
    let run = workload.run().unwrap();
    every_failed_call_from(run.history.combined.as_ref().unwrap().calls, workload);
}

fn every_failed_call_from<F: Fingerprint>(first: usize, workload: &Workload<F>) {
    for fault in Case::FAULTS {
        let (mut cases, mut failures) = (0, 0);
        for persistent in [false, true] {
            let mut call = first;
            loop {
                let case = Case { call, fault, persistent };
                let outcome = case.run(workload).unwrap_or_else(|violation| panic!("{violation}"));
                // Calls that cannot fail in this way are passed over.
                let Some(first_failed) = outcome.first_failed else { break };
                call = first_failed + 1;
                cases += 1;
                failures += outcome.failures;
            }
        }
        println!("{fault:?} in {cases} cases, {failures} failed calls of the database");
        assert!(failures > cases / 2, "few faults were noticed: {failures} of {cases}");
    }
}

#[test]
fn every_failed_call_is_survived_with_user_ids() {
    every_failed_call_is_survived(&workload(USER, STEPS));
}

#[test]
fn every_failed_call_is_survived_with_names() {
    every_failed_call_is_survived(&workload(NAMES, DOCUMENT_STEPS));
}

#[test]
fn every_failed_call_is_survived_with_sketches() {
    every_failed_call_is_survived(&workload(SKETCHES, DOCUMENT_STEPS));
}

#[test]
fn every_failed_call_is_survived_buffered_with_unique_ids() {
    let setup = Setup::new("single", Ids::Unique, Durability::Buffered);
    every_failed_call_is_survived(&workload::<u64>(setup, DOCUMENT_STEPS));
}

#[test]
fn every_failed_call_of_a_merge_is_survived() {
    every_failed_call_of_the_merge_is_survived(&workload(NAMES, "iQuqm"));
}

#[test]
fn every_failed_call_of_a_merge_of_entries_is_survived() {
    every_failed_call_of_the_merge_is_survived(&workload(USER, "iuNm"));
}

/// An insert that neither flushes nor rotates calls the log only.
#[test]
fn after_a_failed_append_or_sync_of_the_log_no_write_is_taken_until_reopened() -> Verdict {
    for durability in [Durability::Sync, Durability::Buffered] {
        for fault in [Fault::Error, Fault::ShortWrite, Fault::NoSpace] {
            for call in 0.. {
                let setup = Setup::<u64>::new("single", Ids::User, durability).memtable(1000);
                let sim = Sim::new();
                let db = open(&setup, &sim, ROOT, false).map_err(text("create"))?;
                db.insert(1, 1).map_err(text("insert"))?;
                db.sync().map_err(text("sync"))?;
                sim.fail_at(sim.calls() + call, fault, false);
                let result = db.insert(2, 2).and_then(|_| db.sync());
                if result.is_ok() {
                    assert!(call >= 2, "an append and a sync can fail");
                    break;
                }
                let full = fault == Fault::NoSpace;
                let expected = if full { ErrorKind::NoSpace } else { ErrorKind::Io };
                assert_eq!(result.unwrap_err().kind(), expected);
                let refused = [
                    db.insert(3, 3).map(drop),
                    db.insert_if_novel(4, 4).map(drop),
                    db.remove_entry(1, 1).map(drop),
                    db.sync(),
                    db.flush(),
                    db.compact().map(drop),
                    db.backup("copy"),
                ];
                let kinds = refused.map(|result| result.unwrap_err().kind());
                assert_eq!(kinds, [ErrorKind::Poisoned; 7], "call {call}, {fault:?}");
                assert_eq!(db.query(1, 0).map_err(text("query"))?.len(), 1);
                drop(db);
                let db = open(&setup, &sim, ROOT, true).map_err(text("reopen"))?;
                assert_eq!(db.query(1, 0).map_err(text("query"))?.len(), 1);
                db.insert(5, 5).map_err(text("insert again"))?;
            }
        }
    }
    Ok(())
}
