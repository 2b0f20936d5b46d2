//! An undamaged database in memory, with every kind of file, and what it must answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fpdb::storage::{Sim, Storage};
use fpdb::{Entry, Fingerprint, Ids, Jaccard, Key, Layout, MatchRule, Options, Result, Snapshot};

use crate::common::{Oracle, Rng};

/// The files of a database, and its contents after each of its commits, oldest first.
pub(crate) struct Intact<F: Fingerprint> {
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    pub(crate) states: Vec<Oracle<F>>,
    /// The number of commits that are in segments.
    pub(crate) flushed: usize,
    pub(crate) names: Vec<String>,
    /// The files before each commit.
    pub(crate) history: Vec<BTreeMap<String, Vec<u8>>>,
}

pub(crate) fn options<F: Fingerprint>(sim: &Arc<Sim>) -> Options<F> {
    Options::default().storage(sim.clone()).memtable_entries(1 << 20).background(false)
}

/// Returns options for a new database with every kind of file, and the endings of the files.
fn new_options<F: Fingerprint>(sim: &Arc<Sim>) -> (Options<F>, &'static [&'static str]) {
    let options = options::<F>(sim).ids(Ids::Names);
    if F::BITS == 64 {
        let layout = Layout::preset("half-2", 64).unwrap();
        let kinds = &[".t00", ".t01", ".ids", ".del", ".docs", ".log", "MANIFEST"];
        return (options.block_size(128).layout(layout).filter_bits(10), kinds);
    }
    let rule = MatchRule::of_bands(Jaccard::at_least(0.9), (3, 4), 30, 186).unwrap();
    (options.rule(&rule), &[".b00", ".b02", ".docs", ".log", "MANIFEST"])
}

fn files(sim: &Sim) -> BTreeMap<String, Vec<u8>> {
    let names = sim.list().unwrap().unwrap_or_default();
    names.into_iter().map(|name| (name.clone(), sim.contents(&name).unwrap())).collect()
}

impl<F: Fingerprint> Intact<F> {
    /// Creates two segments with every kind of file, and a log with three commits. `size` is the
    /// number of entries in the largest commit. Databases of different `seed` have nothing in
    /// common but the names of their files.
    pub(crate) fn make(size: u32, seed: u64) -> Self {
        let sim = Sim::new();
        // Ids and nonces are counted in a simulation, and random elsewhere.
        (0..seed * 1000).for_each(|_| drop(sim.fresh_id()));
        let (new, kinds) = new_options::<F>(&sim);
        drop(new.create("sim").unwrap());
        let nothing = Self {
            files: files(&sim),
            states: vec![Oracle::default()],
            flushed: 0,
            names: Vec::new(),
            history: Vec::new(),
        };
        let intact = nothing.continued(size, seed, 0..9);
        for kind in kinds {
            let has_kind = intact.files.keys().any(|name| name.ends_with(kind));
            assert!(has_kind, "no {kind} in {:?}", intact.files.keys());
        }
        intact
    }

    /// Makes commits with these numbers in a copy of the database.
    pub(crate) fn continued(&self, size: u32, seed: u64, commits: std::ops::Range<u64>) -> Self {
        let sim = self.with(&BTreeMap::new());
        (0..seed * 1000 + 1).for_each(|_| drop(sim.fresh_id()));
        let db = options::<F>(&sim).open("sim").unwrap();
        let Self { mut states, mut names, mut history, .. } = self.copy();
        // The open has written the log as a segment.
        let mut flushed = states.len() - 1;
        let mut rng = Rng::new(3 + seed * 100 + commits.start);
        for commit in commits {
            history.push(files(&sim));
            let mut state = states.last().unwrap().clone();
            if commit % 3 == 2 {
                // An entry of the first segment: the second segment has a tombstone for it.
                let mut early = state.0.iter().filter(|e| e.id.0 < u64::from(size));
                let gone = *early.nth(usize::try_from(commit).unwrap()).unwrap();
                assert!(db.remove_entry(gone.fingerprint, gone.id).unwrap());
                state.0.remove(&gone);
            } else {
                let centre: F = rng.fingerprint();
                // The policy leaves the first segment alone: it is more than twice the second.
                let count = if commit < 3 { size } else { size / 3 };
                let batch: Vec<(F, String)> = (0..count)
                    .map(|i| {
                        let found = match i % 3 {
                            0 => rng.fingerprint(),
                            _ => rng.near(centre, i % 8 / 2),
                        };
                        (found, format!("{seed}/{commit}/{i}"))
                    })
                    .collect();
                let keys: Vec<(F, Key<'_>)> =
                    batch.iter().map(|(f, name)| (*f, Key::from(name))).collect();
                let outcomes = db.write(&keys).run().unwrap();
                for (outcome, (fingerprint, name)) in outcomes.iter().zip(batch) {
                    state.0.insert(Entry { fingerprint, id: outcome.id() });
                    names.push(name);
                }
            }
            states.push(state);
            if commit == 2 || commit == 5 {
                db.flush().unwrap();
                flushed = states.len() - 1;
            }
        }
        drop(db);
        Self { files: files(&sim), states, flushed, names, history }
    }

    fn copy(&self) -> Self {
        let Self { files, states, flushed, names, history } = self;
        let (files, states) = (files.clone(), states.clone());
        Self { files, states, flushed: *flushed, names: names.clone(), history: history.clone() }
    }

    /// Returns the database with these files replaced, or removed if there are no contents.
    pub(crate) fn with(&self, damaged: &BTreeMap<&str, Option<&[u8]>>) -> Arc<Sim> {
        let sim = Sim::new();
        sim.create_root().unwrap();
        for (name, bytes) in &self.files {
            if !damaged.contains_key(&**name) {
                sim.set_contents(name, bytes);
            }
        }
        for (name, bytes) in damaged {
            if let Some(bytes) = bytes {
                sim.set_contents(name, bytes);
            }
        }
        sim
    }

    pub(crate) fn last(&self) -> &Oracle<F> {
        self.states.last().unwrap()
    }

    /// Runs every kind of query. Each answer must be right for `state`, or an error.
    pub(crate) fn check(&self, db: &Snapshot<F>, state: &Oracle<F>, what: &str) -> Result<()> {
        let mut results = Vec::new();
        results.push(db.iter().collect::<Result<Vec<Entry<F>>>>().map(|mut found| {
            // Those of sketches are in the order of their names.
            found.sort_unstable();
            assert!(found.iter().eq(&state.0), "{what}: wrong entries");
        }));
        let documents = db
            .documents()
            .and_then(|documents| documents.map(|d| d.map(|(_, d)| d)).collect::<Result<Vec<_>>>());
        results.push(documents.map(|found| {
            let found = found.iter().map(|d| Entry { fingerprint: d.fingerprint, id: d.id });
            assert!(found.collect::<BTreeSet<_>>() == state.0, "{what}: wrong documents");
        }));
        for e in state.0.iter().step_by(state.0.len() / 20 + 1) {
            let query = e.fingerprint.with_flipped(0);
            for distance in [0, 2, 3] {
                results.push(db.query(query, distance).map(|found| {
                    assert_eq!(found, state.query(query, distance), "{what}");
                }));
            }
            results.push(db.ids(e.fingerprint).map(|found| {
                assert_eq!(found, state.ids(e.fingerprint), "{what}");
            }));
            let name = &self.names[usize::try_from(e.id.0).unwrap()];
            results.push(db.name(e.id).map(|found| {
                assert_eq!(found.as_ref(), Some(name), "{what}");
            }));
            results.push(db.get(name).map(|found| {
                let found = found.map(|document| (document.fingerprint, document.id));
                assert_eq!(found, Some((e.fingerprint, e.id)), "{what}");
            }));
        }
        results.into_iter().collect()
    }
}
