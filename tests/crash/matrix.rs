//! The crash matrix: every state after a crash at every operation of a workload, and after a second
//! crash at every operation of the recovery and of the steps after it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fpdb::storage::{CrashLimits, Sim};
use fpdb::{Fingerprint, Ids};

use super::combine::check_combined;
use super::history::{Contents, History};
use super::oracle::{Verdict, check};
use super::replay::{self, Place};
use super::runner::{Runner, check_copy};
use super::script::{Random, Scribe, Setup};
use super::seen::{Reopened, Seen};

/// The steps that run on a recovered database.
const LIFE: &str = "nirbf";
const LIFE_OF_DOCUMENTS: &str = "nqirptf";
const FIRST_KEY_OF_LIFE: u64 = 1 << 40;

/// A workload to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Workload<F> {
    pub(crate) setup: Setup<F>,
    pub(crate) letters: String,
    pub(crate) seed: u64,
    /// How the descriptions of syncs begin that crashes treat as not made. For planted failures.
    pub(crate) skip: Option<String>,
    /// The same, for second crashes only.
    pub(crate) skip_later: Option<String>,
}

impl<F: Fingerprint> Workload<F> {
    pub(crate) fn new(setup: Setup<F>, letters: &str, seed: u64) -> Self {
        Self { setup, letters: letters.to_owned(), seed, skip: None, skip_later: None }
    }

    pub(crate) fn run(&self) -> Verdict<Runner<'_, F>> {
        let script = Scribe::new(&self.setup, self.seed, 0).script(&self.letters);
        let runner = Runner::new(&self.setup, Sim::new(), History::of_nothing());
        if let Some(label) = &self.skip {
            runner.sim.skip_syncs(label);
        }
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

/// The number of different states that all tests have checked.
static CHECKED: AtomicUsize = AtomicUsize::new(0);

/// What was checked of one workload.
#[derive(Debug, Default)]
struct Progress<F> {
    first: Seen,
    reopened: Reopened<F>,
    /// The number of different states after second crashes.
    second: usize,
}

/// Checks about this many states of a workload's run, equal ones once. Returns their number. The
/// text of a violation ends with the command that replays it.
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
    let mut progress = Progress::default();
    for at in 0..=sim.operations() {
        for (index, state) in sim.crash_states(at, limits).enumerate() {
            if !random.chance(share) {
                continue;
            }
            owed += second;
            let live = owed > 0.0 && random.chance(0.2);
            let place = Place { at, state: index, limits, second: None };
            let more = visit(workload, history, &state, place, live, &mut progress)?;
            checked += 1 + more;
            owed -= more as f64;
        }
    }
    let distinct = progress.first.distinct + progress.second;
    let total = CHECKED.fetch_add(distinct, Ordering::Relaxed) + distinct;
    println!(
        "{checked} states, {first} of {possible} after {} operations and the others after second \
         crashes; {distinct} different ones checked, {} after second crashes; {total} in all",
        sim.operations(),
        progress.second,
    );
    Ok(checked)
}

/// Checks one state again.
pub(crate) fn revisit<F: Fingerprint>(workload: &Workload<F>, place: Place) -> Verdict<usize> {
    let mut runner = workload.run()?;
    runner.end();
    let state = runner.sim.crash_states(place.at, place.limits).nth(place.state);
    let state = state.ok_or("the workload has no such state: was the program changed?")?;
    let live = place.second.is_some();
    visit(workload, &runner.history, &state, place, live, &mut Progress::default())
}

/// Checks one state, unless it was checked before. If `live`, also continues from it, and checks
/// the crashes of that: all of them, or the second crash of the place. Returns their number.
fn visit<F: Fingerprint>(
    workload: &Workload<F>,
    history: &History<F>,
    state: &Arc<Sim>,
    place: Place,
    live: bool,
    progress: &mut Progress<F>,
) -> Verdict<usize> {
    if !progress.first.is_new(state, history, place.at)? && !live {
        return Ok(0);
    }
    let seeds = [workload.seed, place.at as u64, place.state as u64];
    let mut random = Random::of(&seeds);
    let seed_of_life = random.next();
    let reopened = &mut progress.reopened;
    let found = first_crash(&workload.setup, history, state, place.at, reopened, &mut random);
    let found = found.map_err(|e| replay::violation(&e, state, workload, place))?;
    if !live {
        return Ok(0);
    }
    let is_created = history.is_created(place.at);
    // The same state before the recovery.
    let fresh = state.crash_states(0, place.limits).next().ok_or("no state")?;
    let base = if is_created { History::since(found) } else { History::of_nothing() };
    let (states, different) = second_crashes(workload, &fresh, base, place, seed_of_life)?;
    progress.second += different;
    Ok(states)
}

/// Checks a state and opens it twice, unless the first open leaves what another one has left.
/// Returns its contents.
fn first_crash<F: Fingerprint>(
    setup: &Setup<F>,
    history: &History<F>,
    state: &Arc<Sim>,
    at: usize,
    reopened: &mut Reopened<F>,
    random: &mut Random,
) -> Verdict<Contents<F>> {
    check_copy(setup, state, history, at)?;
    let (db, found) = check(setup, state, &history.legal(at), history.is_created(at), random)?;
    drop(db);
    if reopened.is_new(state, &found)? {
        let (db, again) = check(setup, state, &[&found], true, random)?;
        drop(db);
        debug_assert_eq!(again, found);
    }
    check_combined(setup, state, history, at, &found)?;
    Ok(found)
}

/// Recovers the database, continues, and checks a crash at every operation of both. Returns the
/// number of states, and of those that were different.
fn second_crashes<F: Fingerprint>(
    workload: &Workload<F>,
    state: &Arc<Sim>,
    base: History<F>,
    place: Place,
    seed: u64,
) -> Verdict<(usize, usize)> {
    let setup = &workload.setup;
    let known = base.current().entries.iter().copied().collect::<Vec<_>>();
    let life = if setup.ids == Ids::User { LIFE } else { LIFE_OF_DOCUMENTS };
    // The last step of the workload may be a merge, which was interrupted.
    let merges = workload.letters.chars().filter(|letter| "wm".contains(*letter));
    let life = merges.chain(life.chars()).collect::<String>();
    let script = Scribe::new(setup, seed, FIRST_KEY_OF_LIFE).knows(known).script(&life);
    let runner = Runner::new(setup, state.clone(), base).run(&script);
    let mut runner = runner.map_err(|e| replay::violation(&e, state, workload, place))?;
    runner.end();
    if let Some(label) = &workload.skip_later {
        state.skip_syncs(label);
    }
    let limits = CrashLimits { exhaustive: 64, samples: 6, ..place.limits };
    let (mut states, mut seen) = (0, Seen::default());
    for at in 0..=state.operations() {
        if place.second.is_some_and(|(wanted, _)| wanted != at) {
            continue;
        }
        for (index, second) in state.crash_states(at, limits).enumerate() {
            let crash = Some((at, index));
            if place.second.is_some() && place.second != crash {
                continue;
            }
            states += 1;
            if !seen.is_new(&second, &runner.history, at)? {
                continue;
            }
            let mut random = Random::of(&[seed, at as u64, index as u64]);
            let (legal, is_created) = (runner.history.legal(at), runner.history.is_created(at));
            let place = Place { second: crash, ..place };
            check(setup, &second, &legal, is_created, &mut random)
                .and_then(|(db, found)| {
                    drop(db);
                    check_combined(setup, &second, &runner.history, at, &found)
                })
                .map_err(|e| replay::violation(&e, &second, workload, place))?;
        }
    }
    Ok((states, seen.distinct))
}
