//! Bulk loads write the same files with any memory and number of threads, or nothing at all.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use fpdb::storage::{Sim, Storage};
use fpdb::{Db, DocId, Entry, ErrorKind, Layout, Options, Phase, Progress, Result, Word};

/// Returns entries of which a third is uniform, a third clustered, and a third under one hot
/// prefix. Some ids share a fingerprint.
fn entries<F: Word>(n: u64) -> Vec<Entry<F>> {
    let mut rng = fastrand::Rng::with_seed(7);
    let mut all: Vec<Entry<F>> = Vec::new();
    for id in 0..n {
        let new = F::from_u128(rng.u128(..));
        let old = all.last().map_or(F::ONE, |entry| entry.fingerprint);
        let fingerprint = match id % 90 {
            0..30 => new,
            30..60 => old ^ F::ONE << rng.u32(..F::BITS),
            60..89 => new >> (F::BITS / 2),
            _ => old,
        };
        all.push(Entry { fingerprint, id: DocId(rng.u64(..n)) });
    }
    all
}

fn options<F: Word>(memory: usize, threads: usize) -> Options<F> {
    Options::default()
        .layout(Layout::preset("ring-3", F::BITS).unwrap())
        .bulk_memory(memory)
        .threads(threads)
        .background(false)
}

/// Returns all files of the segment that a load of these entries writes.
fn files<F: Word>(entries: &[Entry<F>], memory: usize, threads: usize) -> Vec<Vec<u8>> {
    let sim = Sim::new();
    let db = options::<F>(memory, threads).storage(sim.clone()).create("sim").unwrap();
    let report = db.bulk_load(entries.iter().copied().map(Ok)).unwrap();
    assert_eq!(report.read, entries.len() as u64);
    let stats = db.stats();
    assert_eq!((stats.entries, stats.segments.len()), (report.inserted, 1));
    assert!(db.verify(fpdb::VerifyLevel::Full).unwrap().errors.is_empty());
    let expected: std::collections::BTreeSet<_> = entries.iter().copied().collect();
    let found: Result<Vec<_>> = db.snapshot().iter().collect();
    assert!(found.unwrap().into_iter().eq(expected));
    assert!(!sim.list().unwrap().unwrap().iter().any(|name| name.ends_with(".run")));
    stats.segments[0].files.iter().map(|(name, _)| sim.read(name, 1 << 30).unwrap()).collect()
}

fn check_same_files<F: Word>() {
    let entries = entries::<F>(30_000);
    let mut in_memory = None;
    for memory in [64 << 20, 1 << 20, 200_000, 0] {
        let one = files(&entries, memory, 1);
        let len = |files: &[Vec<u8>]| files.iter().map(Vec::len).sum::<usize>();
        let in_memory: usize = *in_memory.get_or_insert(len(&one));
        for threads in [1, 2, 7] {
            let files = files(&entries, memory, threads);
            // If not all entries are in memory, Huffman codes and the sizes of filters are made
            // from a sample, which depends on the memory of each thread.
            assert!(files == one || memory < 64 << 20, "{threads} threads");
            let len = len(&files);
            assert!(len.abs_diff(in_memory) < in_memory / 20, "{len}, not {in_memory}: {memory}");
        }
    }
}

#[test]
fn files_made_in_memory_do_not_depend_on_threads_and_others_are_about_as_long() {
    check_same_files::<u64>();
    check_same_files::<u128>();
}

/// Loads into a database that has some of the entries, with an error somewhere. Nothing must be
/// left of the load.
fn leaves_nothing(
    memory: usize,
    threads: usize,
    load: impl FnOnce(&Db, &Arc<Sim>, Vec<Entry>) -> Result<fpdb::reports::LoadReport>,
) -> ErrorKind {
    let entries = entries(20_000);
    let sim = Sim::new();
    let db = options(memory, threads).storage(sim.clone()).create("sim").unwrap();
    let _ = db.bulk_load(entries[..500].iter().copied().map(Ok)).unwrap();
    let files = || -> Vec<String> {
        let all = sim.list().unwrap().unwrap();
        all.into_iter().filter(|name| !name.ends_with(".log")).collect()
    };
    let (before, len) = (files(), db.snapshot().len());
    let error = load(&db, &sim, entries).unwrap_err();
    sim.fail_no_more();
    assert_eq!(db.snapshot().len(), len);
    if let Err(poisoned) = db.insert(5, 5) {
        // It was not known whether the new names are durable. The next open removes the orphans.
        assert_eq!(poisoned.kind(), ErrorKind::Poisoned);
        drop(db);
        options::<u64>(memory, threads).storage(sim.clone()).open("sim").unwrap();
    }
    assert_eq!(files(), before, "{error}");
    error.kind()
}

#[test]
fn cancelled_load_leaves_nothing() {
    for (memory, threads) in [(64 << 20, 1), (64 << 20, 3), (100_000, 1), (100_000, 3)] {
        let mut all = 0;
        let mut limit = Some(0);
        // At the first call, the second, and so on.
        while let Some(calls) = limit {
            let kind = leaves_nothing(memory, threads, |db, _, entries| {
                let calls_so_far = AtomicU64::new(0);
                let stop = move |_| match calls_so_far.fetch_add(1, Ordering::Relaxed) >= calls {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                };
                db.on_progress(stop).bulk_load(entries.into_iter().map(Ok))
            });
            assert_eq!(kind, ErrorKind::Cancelled);
            all += 1;
            limit = [1, 2, 3, 5, 8].into_iter().find(|&next| next > calls);
        }
        assert_eq!(all, 6);
    }
}

#[test]
fn load_with_a_bad_entry_leaves_nothing() {
    for memory in [64 << 20, 100_000] {
        let kind = leaves_nothing(memory, 2, |db, _, entries| {
            let bad = std::iter::once(Err(fpdb::Error::from_input(std::io::Error::other("bad"))));
            db.bulk_load(entries.into_iter().map(Ok).chain(bad))
        });
        assert_eq!(kind, ErrorKind::Io);
    }
}

#[test]
fn load_on_a_full_disk_leaves_nothing_with_any_number_of_threads() {
    for (memory, threads, calls) in [(64 << 20, 3, 20), (100_000, 1, 60), (100_000, 3, 60)] {
        for call in 0..calls {
            let kind = leaves_nothing(memory, threads, |db, sim, entries| {
                sim.fail_at(sim.calls() + call, fpdb::storage::Fault::NoSpace, true);
                db.bulk_load(entries.into_iter().map(Ok))
            });
            assert_eq!(kind, ErrorKind::NoSpace);
        }
    }
}

#[test]
fn progress_passes_all_phases_and_ends_with_all_entries() {
    let entries = entries::<u64>(100_000);
    let sim = Sim::new();
    let db = options(64 << 20, 2).storage(sim).create("sim").unwrap();
    let reports = Arc::new(Mutex::new(Vec::<Progress>::new()));
    let reported = reports.clone();
    let db = db.on_progress(move |progress| {
        reported.lock().unwrap().push(progress);
        ControlFlow::Continue(())
    });
    let report = db.bulk_load(entries.iter().copied().map(Ok)).unwrap();
    let reports = reports.lock().unwrap();
    let phases: Vec<Phase> =
        reports.chunk_by(|a, b| a.phase == b.phase).map(|same| same[0].phase).collect();
    assert_eq!(phases, [Phase::Read, Phase::Sort, Phase::Write]);
    for same in reports.chunk_by(|a, b| a.phase == b.phase) {
        assert!(same.is_sorted_by_key(|progress| progress.done));
        assert!(same.iter().all(|progress| progress.done <= progress.total.unwrap()));
        assert_eq!(same[0].done, 0);
    }
    let (read, _) = reports.split_at(reports.partition_point(|p| p.phase == Phase::Read));
    assert_eq!(read.last().unwrap().fraction(), Some(1.0));
    let last = reports.last().unwrap();
    assert!(last.done > 2 * report.inserted && last.total == Some(3 * report.read));
}
