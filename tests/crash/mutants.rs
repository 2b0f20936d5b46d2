//! Skipped syncs: the tests must notice a program that lacks one of its syncs.

use std::collections::BTreeMap;

use fpdb::Fingerprint;
use fpdb::storage::{CrashLimits, Sim};

use super::matrix::Workload;
use super::oracle::check;
use super::runner::{Runner, copied};
use super::script::{Random, Setup};
use super::{ALL_STEPS, BUFFERED, NAMES, USER, workload};

/// What a sync makes durable: a kind of file, or the names in the folder.
fn class(label: &str) -> String {
    match label.strip_prefix("sync ") {
        Some("MANIFEST.tmp") | None => label.to_owned(),
        Some(name) => format!("sync *.{}", name.split_once('.').unwrap().1),
    }
}

/// Whether any crash after operation `from` of the run shows that a sync was skipped.
fn is_noticed<F: Fingerprint>(run: &Runner<'_, F>, setup: &Setup<F>, from: usize) -> bool {
    let (sim, history) = (&run.sim, &run.history);
    let limits = CrashLimits { exhaustive: 64, samples: 8, ..CrashLimits::default() };
    let mut random = Random(1);
    (from..=sim.operations()).any(|at| {
        sim.crash_states(at, limits).any(|state| {
            let is_lost = history.backup(at).is_some_and(|expected| {
                copied(setup, &state).map_or(true, |found| found != *expected)
            });
            let (legal, is_created) = (history.legal(at), history.is_created(at));
            is_lost || check(setup, &state, &legal, is_created, &mut random).is_err()
        })
    })
}

/// Returns the syncs of the run by class.
fn classes(sim: &Sim) -> BTreeMap<String, Vec<usize>> {
    let mut classes: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (n, label) in sim.syncs().iter().enumerate() {
        classes.entry(class(label)).or_default().push(n);
    }
    classes
}

fn every_kind_is_noticed<F: Fingerprint>(workload: &Workload<F>, kinds: &[&str]) {
    let mut run = workload.run().unwrap();
    run.end();
    assert!(!is_noticed(&run, &workload.setup, 0), "a violation without a skipped sync");
    let classes = classes(&run.sim);
    assert_eq!(classes.keys().collect::<Vec<_>>(), kinds);
    for (class, syncs) in classes {
        syncs.iter().for_each(|&n| run.sim.skip_sync(n));
        assert!(is_noticed(&run, &workload.setup, 0), "nobody misses {class}");
        run.sim.skip_no_more();
    }
}

const KINDS: [&str; 7] = [
    "create_root",
    "sync *.del",
    "sync *.ids",
    "sync *.log",
    "sync *.t00",
    "sync MANIFEST.tmp",
    "sync_dir",
];

#[test]
fn every_kind_of_lost_sync_is_noticed() {
    every_kind_is_noticed(&workload(BUFFERED, ALL_STEPS), &KINDS);
}

#[test]
fn every_kind_of_lost_sync_is_noticed_with_two_tables_and_names() {
    let mut kinds = KINDS.to_vec();
    kinds.extend(["sync *.t01", "sync *.names"]);
    kinds.sort_unstable();
    every_kind_is_noticed(&workload(NAMES, ALL_STEPS), &kinds);
}

/// Skips each sync call by itself. Calls are listed if no crash shows their absence; a few have
/// good reasons, for example that the next step syncs the same file again.
#[test]
fn every_single_lost_sync_is_noticed_or_listed() {
    if std::env::var_os("FPDB_FULL").is_none() {
        // Not with a macro, whose output the test harness captures.
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("skipped: takes minutes, FPDB_FULL=1 runs it\n"),
        );
        return;
    }
    for setup in [USER, BUFFERED, NAMES] {
        let workload = workload(setup, ALL_STEPS);
        let mut run = workload.run().unwrap();
        run.end();
        let (labels, marks) = (run.sim.syncs(), run.sim.marks());
        for (n, label) in labels.iter().enumerate() {
            // The first mark belongs to the open.
            let step = marks.iter().rposition(|(_, syncs)| *syncs <= n as u64).unwrap();
            let (from, first) = marks[step];
            run.sim.skip_sync(n);
            if !is_noticed(&run, &setup, from) {
                let letter = step.checked_sub(1).map_or("open", |s| &ALL_STEPS[s..=s]);
                let nth = n as u64 - first;
                println!(
                    "{setup:?}: no crash shows the loss of {label}, sync {nth} of step {step} ({letter})"
                );
            }
            run.sim.skip_no_more();
        }
    }
}
