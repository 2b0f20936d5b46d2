//! States that need not be checked again.
//!
//! A check reads the files of a state and compares them with what the history allows. So of equal
//! states, one is enough as long as the history allows the same. After most operations, many states
//! equal states of the operation before, since an operation changes one file.

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet};
use std::hash::Hasher;

use fpdb::Fingerprint;
use fpdb::storage::{Sim, Storage};

use super::history::{Allowed, Contents, History};
use super::oracle::{Verdict, text};
use super::script::{COPY, OUT, ROOT};

/// Calls `visit` with the name of each folder, and then with the name and bytes of each of its
/// files.
fn for_each_file(sim: &Sim, mut visit: impl FnMut(&[u8])) -> Verdict {
    for path in [ROOT, COPY, OUT] {
        let folder = sim.folder(path);
        let Some(mut names) = folder.list().map_err(text("list"))? else { continue };
        names.sort_unstable();
        visit(path.as_bytes());
        for name in names {
            visit(name.as_bytes());
            visit(&folder.contents(&name).ok_or_else(|| format!("{name} cannot be read"))?);
        }
    }
    Ok(())
}

/// Returns a hash of all files.
fn hash(sim: &Sim) -> Verdict<u64> {
    let mut hasher = DefaultHasher::new();
    for_each_file(sim, |bytes| {
        hasher.write_usize(bytes.len());
        hasher.write(bytes);
    })?;
    Ok(hasher.finish())
}

/// The states after crashes of one run that were checked.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    allowed: Option<Allowed>,
    /// Hashes of the states for which the history allowed that.
    states: HashSet<u64>,
    /// The number of states that were not skipped.
    pub(crate) distinct: usize,
}

impl Seen {
    /// Returns whether a state after `at` operations must be checked, and remembers it.
    pub(crate) fn is_new<F: Fingerprint>(
        &mut self,
        state: &Sim,
        history: &History<F>,
        at: usize,
    ) -> Verdict<bool> {
        let allowed = Some(history.allowed(at));
        if self.allowed != allowed {
            self.states.clear();
            self.allowed = allowed;
        }
        let is_new = self.states.insert(hash(state)?);
        self.distinct += usize::from(is_new);
        Ok(is_new)
    }
}

/// Databases after their recovery that were opened again. Recovery depends on nothing but the
/// files, so it leads from equal files to equal ones.
#[derive(Debug)]
pub(crate) struct Reopened<F>(HashMap<u64, Contents<F>>);

impl<F> Default for Reopened<F> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<F: Fingerprint> Reopened<F> {
    /// Returns whether a database with these contents must be opened again, and remembers it.
    pub(crate) fn is_new(&mut self, sim: &Sim, found: &Contents<F>) -> Verdict<bool> {
        let before = self.0.insert(hash(sim)?, found.clone());
        Ok(before.is_none_or(|before| before != *found))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use fpdb::storage::CrashLimits;

    use super::*;
    use crate::{BUFFERED, NAMES, workload};

    /// What decides the result of a check, in full.
    fn case<F: Fingerprint>(state: &Sim, history: &History<F>, at: usize) -> String {
        let mut text = String::new();
        for_each_file(state, |bytes| text += &format!("{bytes:?}")).unwrap();
        let legal: Vec<_> = history.legal(at).into_iter().map(Arc::as_ptr).collect();
        let copy = history.backup().map(|(_, done)| done.is_some_and(|done| done <= at));
        let done = history.combined.as_ref().map(|combined| combined.progress(at));
        format!("{text} {legal:?} {} {copy:?} {done:?}", history.is_created(at))
    }

    #[test]
    fn only_equal_states_of_which_the_same_is_legal_are_skipped() {
        for workload in [workload(BUFFERED, "inbrfirx"), workload(NAMES, "inQptuqm")] {
            let mut run = workload.run().unwrap();
            run.end();
            let limits = CrashLimits { exhaustive: 16, samples: 2, ..CrashLimits::default() };
            let (mut seen, mut cases, mut files) =
                (Seen::default(), BTreeSet::new(), BTreeSet::new());
            let (mut skipped, mut repeated) = (0, 0);
            for at in 0..=run.sim.operations() {
                for state in run.sim.crash_states(at, limits) {
                    let case = case(&state, &run.history, at);
                    let is_new_file = files.insert(hash(&state).unwrap());
                    let is_new_case = cases.insert(case);
                    let is_new = seen.is_new(&state, &run.history, at).unwrap();
                    assert!(is_new || !is_new_case, "a state after {at} operations was skipped");
                    skipped += usize::from(!is_new);
                    repeated += usize::from(is_new && !is_new_file);
                }
            }
            // What is legal changes while the files do not.
            assert!(skipped > 50 && repeated > 5, "{skipped} skipped, {repeated} repeated");
        }
    }
}
