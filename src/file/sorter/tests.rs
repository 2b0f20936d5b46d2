use super::*;
use crate::file::storage::{LockedFolder, Sim, Storage};
use crate::fingerprint::{DocId, Entry, Word};
use fastrand::Rng;
use std::sync::Arc;

fn below(rng: &mut Rng, n: u32) -> u32 {
    rng.u32(..n)
}

fn wide<F: Word>(rng: &mut Rng) -> F {
    F::from_u128(rng.u128(..))
}

/// Returns fingerprints with every kind of skew.
fn kinds<F: Word>(n: usize) -> Vec<Vec<F>> {
    let rng = &mut Rng::with_seed(5);
    let uniform: Vec<F> = (0..n).map(|_| wide(rng)).collect();
    let mut sorted = uniform.clone();
    sorted.sort_unstable();
    let reversed = sorted.iter().rev().copied().collect();
    let mut clustered: Vec<F> = Vec::new();
    while clustered.len() < n {
        let centre = wide::<F>(rng);
        for _ in 0..1 << (rng.u32(..12)) {
            let flips = (0..rng.u32(..9)).map(|_| F::ONE << (below(rng, F::BITS)));
            clustered.push(flips.fold(centre, |value, flip| value ^ flip));
        }
    }
    clustered.truncate(n);
    let few = (0..n).map(|_| F::from_u128(rng.u128(..5))).collect();
    let hot = uniform.iter().map(|&f| f >> (below(rng, F::BITS))).collect();
    let low = uniform.iter().map(|&f| f >> (F::BITS - 24)).collect();
    vec![uniform, sorted, reversed, clustered, few, hot, low, vec![F::MAX; n]]
}

fn locked(sim: &Arc<Sim>) -> LockedFolder {
    let storage: Arc<dyn Storage> = sim.clone();
    LockedFolder::lock(&storage).unwrap()
}

/// Sorts in this much memory, compares with a plain sort, and returns the number of runs.
fn check<R: Record + std::fmt::Debug>(records: &[R], memory: usize, threads: usize) -> usize {
    let sim = Sim::new();
    sim.create_root().unwrap();
    let folder = locked(&sim);
    let mut expected = records.to_vec();
    expected.sort_unstable();
    expected.dedup();
    let mut sorter = Sorter::new(ScratchFiles::InDatabase(&folder), memory, threads);
    records.iter().for_each(|&record| sorter.push(record).unwrap());
    let sorted = sorter.finish(&|_| Ok(())).unwrap();
    let runs = sim.list().unwrap().unwrap().len() - 1; // without the lock file
    let mut got = Vec::new();
    let mut add = |some: &[R]| {
        got.extend_from_slice(some);
        Ok(())
    };
    sorted.for_each(&mut add).unwrap();
    sorted.for_each(&mut add).unwrap();
    let twice = [&expected[..], &expected].concat();
    assert!(got == twice, "{memory} {threads}");
    got.clear();
    sorted
        .for_each_unordered(&mut |some| {
            got.extend_from_slice(some);
            Ok(())
        })
        .unwrap();
    got.sort_unstable();
    got.dedup();
    assert!(got == expected, "{memory} {threads}");
    assert_eq!(sorted.is_empty(), records.is_empty());
    drop(sorted);
    assert_eq!(sim.list().unwrap().unwrap(), ["LOCK"], "scratch files left");
    runs
}

fn check_width<F: Word>() {
    let mut runs = Vec::new();
    for n in [0, 1, 2, 15, 16, 17, 511, 513, 3000, 70_000] {
        for fingerprints in kinds::<F>(n) {
            let rows: Vec<F> = fingerprints.clone();
            let with_ids = (0..).zip(&fingerprints);
            let entries: Vec<Entry<F>> = with_ids
                .map(|(id, &fingerprint)| Entry { fingerprint, id: DocId(id * id % 1001) })
                .collect();
            for (memory, threads) in [(0, 1), (100 << 10, 2), (64 << 20, 3)] {
                // Many runs of few records take long and test nothing more.
                if memory > 0 || n <= 3000 {
                    runs.push(check(&rows, memory, threads));
                    runs.push(check(&entries, memory, threads));
                }
            }
        }
    }
    assert!(runs.contains(&0) && runs.iter().any(|&runs| runs > 9));
}

#[test]
fn records_are_sorted_and_unique_for_any_skew_and_memory() {
    check_width::<u64>();
    check_width::<u128>();
}

#[test]
fn buckets_larger_than_the_cache_are_split() {
    let n = 400_000u64;
    let hot: Vec<u64> = (0..n).map(|i| i * i % (n / 3)).collect();
    assert_eq!(check(&hot, 64 << 20, 2), 0);
}

#[test]
fn few_records_are_not_spread_over_buckets() {
    let sim = Sim::new();
    sim.create_root().unwrap();
    let folder = locked(&sim);
    let mut sorter = Sorter::new(ScratchFiles::InDatabase(&folder), 64 << 20, 2);
    let mut rng = Rng::with_seed(5);
    (1..MAX_FEW).for_each(|_| sorter.push(rng.u64(..)).unwrap());
    assert!(sorter.rest.is_empty());
    sorter.push(rng.u64(..)).unwrap();
    assert!(!sorter.rest.is_empty());
    assert_eq!(sorter.finish(&|_| Ok(())).unwrap().len(), MAX_FEW as u64);
}

#[test]
fn sample_has_neighbours_from_all_over_the_records() {
    let sim = Sim::new();
    sim.create_root().unwrap();
    let folder = locked(&sim);
    // Nearly all records begin with 32 zeros, so they are in the first bucket. With little memory,
    // they are in 32 buckets by later bits, one of which is in the sample.
    let crowd = (0..200_000u64).map(|i| i * 3);
    for (memory, least) in [(64 << 20, 100_000), (1 << 20, 4_000)] {
        let mut sorter = Sorter::new(ScratchFiles::InDatabase(&folder), memory, 2);
        crowd.clone().for_each(|record| sorter.push(record).unwrap());
        (1..100).for_each(|i| sorter.push(i << 57).unwrap());
        let sorted = sorter.finish(&|_| Ok(())).unwrap();
        let (mut sampled, mut neighbours) = (0, 0);
        let mut visit = |piece: &[u64]| {
            assert!(piece.is_sorted_by(|a, b| a < b));
            neighbours += piece.windows(2).filter(|pair| pair[1] == pair[0] + 3).count();
            sampled += piece.len();
            Ok(())
        };
        sorted.sample(&mut visit).unwrap();
        assert_eq!(sorted.len(), 200_099);
        assert!(neighbours > least && neighbours <= sampled, "{neighbours} {memory}");
    }
}

#[test]
fn sample_of_many_records_is_a_small_part_of_them() {
    let sim = Sim::new();
    sim.create_root().unwrap();
    let folder = locked(&sim);
    for (memory, most) in [(64 << 20, 270_000), (8 << 20, 20_000)] {
        let mut sorter = Sorter::new(ScratchFiles::InDatabase(&folder), memory, 2);
        let mut rng = Rng::with_seed(8);
        (0..1_000_000).for_each(|_| sorter.push(rng.u64(..)).unwrap());
        let sorted = sorter.finish(&|_| Ok(())).unwrap();
        let (mut sampled, mut low, mut high) = (0, u64::MAX, 0);
        let mut visit = |piece: &[u64]| {
            sampled += piece.len();
            low = piece.iter().fold(low, |low, row| low.min(*row));
            high = piece.iter().fold(high, |high, row| high.max(*row));
            Ok(())
        };
        sorted.sample(&mut visit).unwrap();
        assert!((3_000..most).contains(&sampled), "{sampled} in {memory} bytes");
        assert!(memory < 9 << 20 || high - low > u64::MAX / 20 * 19, "{low:x} to {high:x}");
    }
}

#[test]
fn memory_is_used_for_records() {
    let sim = Sim::new();
    sim.create_root().unwrap();
    let folder = locked(&sim);
    let memory = 4 << 20;
    let mut sorter = Sorter::new(ScratchFiles::InDatabase(&folder), memory, 2);
    let (mut pushed, mut rng) = (0, Rng::with_seed(1));
    while sim.list().unwrap().unwrap().len() == 1 {
        sorter.push(rng.u64(..)).unwrap();
        pushed += 1;
    }
    let used = pushed * size_of::<u64>();
    assert!((memory * 6 / 10..=memory).contains(&used), "{used} of {memory} used");
}

/// Returns the bytes of disk space that the files in a folder take.
#[cfg(unix)]
fn space(folder: &std::path::Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let files = std::fs::read_dir(folder).unwrap();
    files.filter_map(|file| Some(file.ok()?.metadata().ok()?.blocks() * 512)).sum()
}

/// Sorts in this much memory in a folder, and returns the records and the most space that the files
/// took.
#[cfg(unix)]
fn sort_on(storage: &Arc<dyn Storage>, memory: usize, records: &[u64]) -> (Vec<u64>, u64) {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    let folder = LockedFolder::lock(storage).unwrap();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut most = 0;
            while !is_done.load(Relaxed) {
                most = most.max(space(storage.root()));
            }
            most
        });
        let mut sorter = Sorter::new(ScratchFiles::InDatabase(&folder), memory, 1);
        records.iter().for_each(|&record| sorter.push(record).unwrap());
        let sorted = sorter.finish(&|_| Ok(())).unwrap().with_passes(1);
        let mut got = Vec::new();
        let mut keep = |some: &[u64]| {
            got.extend_from_slice(some);
            Ok(())
        };
        sorted.for_each(&mut keep).unwrap();
        is_done.store(true, Relaxed);
        (got, watch.join().unwrap())
    })
}

#[test]
#[cfg(unix)]
fn records_are_on_disk_only_once_for_any_skew() {
    let folder = tempfile::tempdir().unwrap();
    let storage: Arc<dyn Storage> = Arc::new(crate::file::storage::Disk::new(folder.path()));
    if !storage.can_discard() {
        println!("skipped: parts of files cannot be discarded here");
        return;
    }
    // In the first run, the second bucket is so small that the first, which fits in memory, has
    // bytes on the same page as the third.
    let [second, third] = [1 << 61, 1 << 62];
    let first_run =
        (0..10_000).chain((0..5).map(|i| i | second)).chain((0..40_000).map(|i| i | third));
    let other_runs = (5..200_000).map(|i| i | second);
    let mut kinds = kinds::<u64>(1 << 19);
    kinds.push(first_run.chain(other_runs).collect());
    for (kind, mut records) in kinds.into_iter().enumerate() {
        let all = (records.len() * size_of::<u64>()) as u64;
        let (sorted, most) = sort_on(&storage, 1 << 18, &records);
        records.sort_unstable();
        records.dedup();
        assert!(sorted == records, "kind {kind}");
        // Two buckets can share a page of each run.
        assert!(most <= all + all / 4, "kind {kind}: {most} bytes for {all}");
    }
}

#[test]
fn error_while_a_large_bucket_is_moved_leaves_no_file() {
    for call in 0..12 {
        let sim = Sim::new();
        sim.create_root().unwrap();
        let folder = locked(&sim);
        let mut sorter = Sorter::new(ScratchFiles::InDatabase(&folder), 0, 1);
        (0..10_000u64).for_each(|record| sorter.push(record).unwrap());
        sim.fail_at(sim.calls() + call, crate::file::storage::Fault::NoSpace, false);
        let failed = sorter.finish(&|_| Ok(())).unwrap_err();
        assert_eq!(failed.kind(), crate::ErrorKind::NoSpace);
        sim.fail_no_more();
        assert_eq!(sim.list().unwrap().unwrap(), ["LOCK"]);
    }
}

#[test]
fn error_stops_the_sort_and_leaves_no_file() {
    for call in 0..12 {
        let sim = Sim::new();
        sim.create_root().unwrap();
        let folder = locked(&sim);
        let mut sorter = Sorter::new(ScratchFiles::InDatabase(&folder), 0, 1);
        sim.fail_at(sim.calls() + call, crate::file::storage::Fault::NoSpace, false);
        let mut rng = Rng::with_seed(3);
        let failed = (0..2000).find_map(|_| sorter.push(rng.u64(..)).err());
        assert_eq!(failed.unwrap().kind(), crate::ErrorKind::NoSpace);
        sim.fail_no_more();
        drop(sorter);
        assert_eq!(sim.list().unwrap().unwrap(), ["LOCK"]);
    }
}
