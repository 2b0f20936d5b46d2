//! The crash matrix: every state after a crash at every operation of a workload, and after a second
//! crash at every operation of the recovery and of the steps after it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fpdb::Fingerprint;
use fpdb::storage::{CrashLimits, Sim};

use super::history::History;
use super::oracle::{Verdict, check};
use super::runner::{Runner, copied};
use super::script::{Random, Scribe, Setup};

/// The steps that run on a recovered database.
const LIFE: &str = "nirbf";
const FIRST_KEY_OF_LIFE: u64 = 1 << 40;

/// A workload to run.
#[derive(Debug, Clone)]
pub(crate) struct Workload<F> {
    pub(crate) setup: Setup<F>,
    pub(crate) letters: String,
    pub(crate) seed: u64,
}

impl<F: Fingerprint> Workload<F> {
    pub(crate) fn run(&self) -> Verdict<Runner<'_, F>> {
        let script = Scribe::new(&self.setup, self.seed, 0).script(&self.letters);
        let runner = Runner::new(&self.setup, Sim::new(), History::of_nothing());
        runner.run(&script).map_err(|e| format!("{e}\n{self:?}"))
    }
}

/// Returns the number of states after each operation.
fn count(sim: &Sim, limits: CrashLimits) -> usize {
    (0..=sim.operations()).map(|at| sim.crash_states(at, limits).count()).sum()
}

/// Returns the widest limits with about this many states at most, and the number of states.
fn widest_limits(sim: &Sim, states: usize, seed: u64) -> (CrashLimits, usize) {
    let mut limits = CrashLimits { exhaustive: 16, samples: 2, seed, ..CrashLimits::default() };
    let mut possible = count(sim, limits);
    while limits.exhaustive < CrashLimits::default().exhaustive && possible < states / 2 {
        limits = CrashLimits {
            exhaustive: limits.exhaustive * 4,
            samples: limits.samples * 2,
            ..limits
        };
        possible = count(sim, limits);
    }
    (limits, possible)
}

/// The number of states that all tests have checked.
static CHECKED: AtomicUsize = AtomicUsize::new(0);

/// Checks about this many states of a workload's run. Returns their number.
pub(crate) fn explore<F: Fingerprint>(workload: &Workload<F>, states: usize) -> Verdict<usize> {
    let mut runner = workload.run()?;
    runner.end();
    let (sim, history) = (&runner.sim, &runner.history);
    let (limits, possible) = widest_limits(sim, states / 2, workload.seed);
    let first = possible.min(states / 2);
    let share = first as f64 / possible as f64;
    // The average number of states after a second crash, per state.
    let second = (states - first) as f64 / first.max(1) as f64;
    let (mut checked, mut owed) = (0, 0.0);
    let mut random = Random(workload.seed);
    for at in 0..=sim.operations() {
        for state in sim.crash_states(at, limits) {
            if !random.chance(share) {
                continue;
            }
            owed += second;
            let live = owed > 0.0 && random.chance(0.2);
            let more = visit(workload, history, at, &state, live, limits, &mut random);
            let more = more.map_err(|e| {
                format!("{e}\n  {}\n  operation {at}, {workload:?}", state.describe())
            })?;
            checked += 1 + more;
            owed -= more as f64;
        }
    }
    let total = CHECKED.fetch_add(checked, Ordering::Relaxed) + checked;
    println!(
        "{checked} states checked, {first} of {possible} after {} operations and the others after \
         second crashes; {total} in all",
        sim.operations()
    );
    Ok(checked)
}

/// Checks one state. If `live`, also continues from it, and checks the crashes of that. Returns the
/// number of states.
fn visit<F: Fingerprint>(
    workload: &Workload<F>,
    history: &History<F>,
    at: usize,
    state: &Arc<Sim>,
    live: bool,
    limits: CrashLimits,
    random: &mut Random,
) -> Verdict<usize> {
    let setup = &workload.setup;
    let is_created = history.is_created(at);
    if let Some(expected) = history.backup(at)
        && copied(setup, state)? != *expected
    {
        return Err("the backup does not hold what it should".to_owned());
    }
    let (db, found) = check(setup, state, &history.legal(at), is_created, random)?;
    drop(db);
    if !live {
        return Ok(0);
    }
    let (db, again) = check(setup, state, &[&found], true, random)?;
    drop(db);
    debug_assert_eq!(again, found);
    // The same state before the recovery.
    let fresh = state.crash_states(0, limits).next().ok_or("no state")?;
    let base = if is_created { History::since(found) } else { History::of_nothing() };
    second_crashes(workload, &fresh, base, limits, random)
}

/// Recovers the database, continues, and checks a crash at every operation of both.
fn second_crashes<F: Fingerprint>(
    workload: &Workload<F>,
    state: &Arc<Sim>,
    base: History<F>,
    limits: CrashLimits,
    random: &mut Random,
) -> Verdict<usize> {
    let setup = &workload.setup;
    let seed = random.next();
    let known = base.current().iter().copied().collect::<Vec<_>>();
    let script = Scribe::new(setup, seed, FIRST_KEY_OF_LIFE).knows(known).script(LIFE);
    let mut runner = Runner::new(setup, state.clone(), base).run(&script)?;
    runner.end();
    let limits = CrashLimits { exhaustive: 64, samples: 6, ..limits };
    let mut checked = 0;
    for at in 0..=state.operations() {
        for second in state.crash_states(at, limits) {
            let (legal, is_created) = (runner.history.legal(at), runner.history.is_created(at));
            check(setup, &second, &legal, is_created, random)
                .map_err(|e| format!("{e}\n  {}, steps of seed {seed}", second.describe()))?;
            checked += 1;
        }
    }
    Ok(checked)
}
