//! Mutants of the program: each lacks one sync or one rename, or has a rename that is not atomic.
//! The tests must notice each of them, except those that `REDUNDANT` lists with a reason.

use std::collections::{BTreeMap, BTreeSet};

use fpdb::Fingerprint;
use fpdb::storage::{CrashLimits, Fault, Sim};

use super::combine::check_combined;
use super::history::History;
use super::matrix::Workload;
use super::oracle::check;
use super::runner::{Runner, check_copy};
use super::script::{DISTANCE, Random, Scribe, Setup};
use super::{ALL_STEPS, BUFFERED, DOCUMENT_STEPS, NAMES, SKETCHES, UNIQUE, USER, workload};

/// Calls whose absence no crash shows, each with the reason. The calls before and after are named
/// because many calls of the same kind are necessary elsewhere.
const REDUNDANT: [(&str, &str); 10] = [
    (
        "skip sync_dir (first call of an open)",
        "Matters if the process before ended between a rename and the sync: see below.",
    ),
    (
        "skip sync_dir (after rename MANIFEST.tmp to MANIFEST, before sync_dir, create *.log)",
        "Creation installs the manifest and then opens it, which syncs the folder again.",
    ),
    (
        "skip sync_dir (after sync_dir, before create *.log, sync_dir)",
        "The same, the other way round: no call is between the two syncs.",
    ),
    (
        "skip sync *.log (after append to *.log, before append to *.log, create *.log)",
        "A rotation syncs most of the log before it locks out other writers, and the rest after.",
    ),
    (
        "split rename MANIFEST.tmp to MANIFEST (after sync MANIFEST.tmp, before sync_dir, sync_dir)",
        "At the creation there is no file to replace.",
    ),
    (
        "skip sync *.log (after append to *.log, before append to *.log, sync_dir)",
        "Dropping a handle promises nothing, and the next open writes what it finds as a segment.",
    ),
    (
        "split rename MANIFEST.tmp to MANIFEST (after sync MANIFEST.tmp, before sync_dir, create *.t00)",
        "In a new backup there is no file to replace.",
    ),
    (
        "skip sync *.log (after sync_dir, before append to *.log, sync *.log)",
        "A bulk load flushes everything first, so the log that it ends afterwards is empty.",
    ),
    (
        "skip rename MANIFEST.tmp to MANIFEST (after sync MANIFEST.tmp, before sync_dir, create MANIFEST.tmp)",
        "A bulk load ends an empty log: nothing is committed before the next manifest.",
    ),
    (
        "skip sync_dir (after rename MANIFEST.tmp to MANIFEST, before create MANIFEST.tmp, append to MANIFEST.tmp)",
        "The same.",
    ),
];

/// Describes an operation without the numbers of its files and bytes.
fn kind(operation: &str) -> String {
    let word = |word: &str| match word.rsplit_once('.') {
        Some((_, extension)) if word.starts_with(|c: char| c.is_ascii_digit()) => {
            format!("*.{extension}")
        }
        _ => word.to_owned(),
    };
    if operation.starts_with("append") {
        return format!("append to {}", word(operation.rsplit(' ').next().unwrap_or_default()));
    }
    operation.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

fn is_sync(operation: &str) -> bool {
    operation.starts_with("sync") || operation == "create_root"
}

/// Whether any crash in this range of operations shows that something is missing.
fn is_noticed<F: Fingerprint>(
    run: &Runner<'_, F>,
    setup: &Setup<F>,
    mut range: std::ops::RangeInclusive<usize>,
) -> bool {
    let (sim, history) = (&run.sim, &run.history);
    let limits = CrashLimits { exhaustive: 64, samples: 8, ..CrashLimits::default() };
    let mut random = Random(1);
    range.any(|at| {
        sim.crash_states(at, limits).any(|state| {
            let is_lost = check_copy(setup, &state, history, at).is_err();
            let (legal, is_created) = (history.legal(at), history.is_created(at));
            let is_right = |(db, found)| {
                drop(db);
                check_combined(setup, &state, history, at, &found).is_ok()
            };
            is_lost || !check(setup, &state, &legal, is_created, &mut random).is_ok_and(is_right)
        })
    })
}

/// Returns the syncs and renames of the run by kind.
fn kinds(sim: &Sim) -> BTreeMap<String, Vec<usize>> {
    let mut kinds: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (n, operation) in sim.record().iter().enumerate() {
        if is_sync(operation) || operation.starts_with("rename") {
            kinds.entry(kind(operation)).or_default().push(n);
        }
    }
    kinds
}

fn every_kind_is_noticed<F: Fingerprint>(workload: &Workload<F>, expected: &[&str]) {
    let mut run = workload.run().unwrap();
    run.end();
    let all = 0..=run.sim.operations();
    assert!(!is_noticed(&run, &workload.setup, all.clone()), "a violation without a mutant");
    let mut kinds = kinds(&run.sim);
    // Only a repair needs it.
    assert!(kinds.remove("sync *.spare").is_some());
    assert_eq!(kinds.keys().collect::<Vec<_>>(), expected);
    for (kind, operations) in kinds {
        operations.iter().for_each(|&n| run.sim.skip_operation(n));
        assert!(is_noticed(&run, &workload.setup, all.clone()), "nobody misses {kind}");
        run.sim.skip_no_more();
    }
}

const KINDS: [&str; 8] = [
    "create_root",
    "rename MANIFEST.tmp to MANIFEST",
    "sync *.del",
    "sync *.ids",
    "sync *.log",
    "sync *.t00",
    "sync MANIFEST.tmp",
    "sync_dir",
];

#[test]
fn every_kind_of_lost_call_is_noticed() {
    every_kind_is_noticed(&workload(BUFFERED, ALL_STEPS), &KINDS);
}

#[test]
fn every_kind_of_lost_call_is_noticed_with_two_tables_and_names() {
    let mut kinds = KINDS.to_vec();
    kinds.extend(["sync *.t01", "sync *.docs"]);
    kinds.sort_unstable();
    every_kind_is_noticed(&workload(NAMES, DOCUMENT_STEPS), &kinds);
}

#[test]
fn every_kind_of_lost_call_is_noticed_with_sketches() {
    let bands: Vec<String> = (0..=DISTANCE).map(|band| format!("sync *.b{band:02}")).collect();
    let mut kinds = KINDS.to_vec();
    kinds.retain(|kind| !["sync *.del", "sync *.ids", "sync *.t00"].contains(kind));
    kinds.extend(bands.iter().map(String::as_str).chain(["sync *.docs"]));
    kinds.sort_unstable();
    every_kind_is_noticed(&workload(SKETCHES, DOCUMENT_STEPS), &kinds);
}

/// Kinds only: most single calls are redundant, because nothing needs to be durable before the last
/// manifest says that the merge is finished.
#[test]
fn every_kind_of_lost_call_of_a_merge_is_noticed() {
    let workload = workload(NAMES, "inQpuqm");
    let mut run = workload.run().unwrap();
    run.end();
    let (first, end) = (run.history.combined.as_ref().unwrap().requested, run.sim.operations());
    assert!(!is_noticed(&run, &workload.setup, end..=end), "a violation without a mutant");
    let mut unnoticed = Vec::new();
    for (kind, operations) in kinds(&run.sim) {
        let of_merge: Vec<_> = operations.into_iter().filter(|&n| n >= first).collect();
        of_merge.iter().for_each(|&n| run.sim.skip_operation(n));
        if !of_merge.is_empty() && !is_noticed(&run, &workload.setup, end..=end) {
            unnoticed.push(kind);
        }
        run.sim.skip_no_more();
    }
    // At the end, no manifest names a log.
    assert_eq!(unnoticed, ["sync *.log"]);
}

/// Returns the mutants of one workload that no crash shows, each with a description, and the number
/// of all mutants.
fn unnoticed<F: Fingerprint>(workload: &Workload<F>) -> (BTreeMap<String, usize>, usize) {
    let mut run = workload.run().unwrap();
    run.end();
    let (sim, record) = (run.sim.clone(), run.sim.record());
    let (mut found, mut mutants) = (BTreeMap::new(), 0);
    let mut try_mutant = |what: &str, n: usize, apply: &dyn Fn()| {
        apply();
        mutants += 1;
        // After the next call of the same kind, nothing differs any more.
        let next = record[n + 1..].iter().position(|later| *later == record[n]);
        let last = next.map_or(record.len(), |next| n + 1 + next + 1);
        if !is_noticed(&run, &workload.setup, n..=last.min(record.len())) {
            let context = |n: usize| record.get(n).map_or("the end".into(), |other| kind(other));
            let [before, after, later] = [n.wrapping_sub(1), n + 1, n + 2].map(context);
            let call = kind(&record[n]);
            let text = if run.opens.contains(&n) {
                format!("{what} {call} (first call of an open)")
            } else {
                format!("{what} {call} (after {before}, before {after}, {later})")
            };
            *found.entry(text).or_default() += 1;
        }
        sim.skip_no_more();
    };
    for (n, operation) in record.iter().enumerate() {
        if is_sync(operation) || operation.starts_with("rename") {
            try_mutant("skip", n, &|| sim.skip_operation(n));
        }
        if operation.starts_with("rename") {
            try_mutant("split", n, &|| sim.split_rename(n));
        }
    }
    (found, mutants)
}

/// Makes every single sync and rename of four workloads a mutant.
#[test]
fn every_single_lost_call_is_noticed_or_redundant_by_design() {
    let mut all = BTreeMap::<String, usize>::new();
    let mut mutants = 0;
    std::thread::scope(|scope| {
        let workloads = [(USER, ALL_STEPS), (BUFFERED, ALL_STEPS)];
        let documents = [(NAMES, DOCUMENT_STEPS), (UNIQUE, DOCUMENT_STEPS)];
        let workloads = workloads.into_iter().chain(documents);
        let workloads: Vec<_> = workloads.map(|(setup, steps)| workload(setup, steps)).collect();
        let spawn = |workload: Workload<u64>| scope.spawn(move || unnoticed(&workload));
        let threads: Vec<_> = workloads.into_iter().map(spawn).collect();
        for thread in threads {
            let (found, count) = thread.join().unwrap();
            mutants += count;
            found.into_iter().for_each(|(text, n)| *all.entry(text).or_default() += n);
        }
    });
    // Only a repair needs spares.
    all.retain(|text, _| !text.starts_with("skip sync *.spare"));
    let listed: BTreeSet<&str> = REDUNDANT.iter().map(|(call, _)| *call).collect();
    let found: BTreeSet<&str> = all.keys().map(String::as_str).collect();
    println!("{mutants} mutants, {} not noticed: {all:#?}", all.values().sum::<usize>());
    let new: Vec<_> = found.difference(&listed).collect();
    assert!(new.is_empty(), "no crash shows that these calls are necessary: {new:#?}");
    let gone: Vec<_> = listed.difference(&found).collect();
    assert!(gone.is_empty(), "these are listed as redundant, but a crash shows each: {gone:#?}");
}

/// Returns the first run with one failed call that has a mutant of this kind: the position of a
/// sync or a rename.
fn run_with_a_failed_call<'w, F: Fingerprint>(
    workload: &'w Workload<F>,
    find: impl Fn(&Runner<'_, F>, &[String]) -> Option<usize>,
) -> (Runner<'w, F>, usize) {
    let script = Scribe::new(&workload.setup, workload.seed, 0).script(&workload.letters);
    for call in 0.. {
        let sim = Sim::new();
        sim.fail_at(call, Fault::Error, false);
        let runner = Runner::new(&workload.setup, sim.clone(), History::of_nothing()).tolerant();
        let mut run = runner.run(&script).unwrap();
        run.end();
        assert!(call < sim.calls(), "no failed call leads there");
        let kinds: Vec<String> = sim.record().iter().map(|operation| kind(operation)).collect();
        if let Some(place) = find(&run, &kinds) {
            return (run, place);
        }
    }
    unreachable!("the loop has no end")
}

fn is_noticed_without<F: Fingerprint>(run: &Runner<'_, F>, setup: &Setup<F>, n: usize) -> bool {
    let all = n..=run.sim.operations();
    assert!(!is_noticed(run, setup, all.clone()), "a violation without a mutant");
    run.sim.skip_operation(n);
    let is_noticed = is_noticed(run, setup, all);
    run.sim.skip_no_more();
    is_noticed
}

/// After a failed flush, commits follow in the new log, which only the manifest of the rotation
/// names.
#[test]
fn lost_rename_or_sync_of_a_rotation_is_noticed_after_a_failed_flush() {
    let workload = workload(USER, ALL_STEPS);
    let (run, rename) = run_with_a_failed_call(&workload, |_, kinds| {
        (1..kinds.len()).filter(|&n| kinds[n].starts_with("rename")).find(|&n| {
            let mut later = kinds[n..].iter().take_while(|kind| *kind != "create MANIFEST.tmp");
            later.any(|kind| kind == "remove *.t00") && later.any(|kind| kind == "sync *.log")
        })
    });
    for place in [rename, rename + 1] {
        assert!(is_noticed_without(&run, &workload.setup, place), "{}", run.sim.record()[place]);
    }
}

#[test]
fn lost_first_sync_of_an_open_is_noticed_after_a_failed_sync_of_the_folder() {
    let workload = workload(USER, ALL_STEPS);
    let (run, place) = run_with_a_failed_call(&workload, |run, kinds| {
        let after_rename = |n: &&usize| **n > 0 && kinds[**n - 1].starts_with("rename");
        run.opens.iter().filter(after_rename).find(|&&n| kinds[n] == "sync_dir").copied()
    });
    assert!(is_noticed_without(&run, &workload.setup, place));
}
