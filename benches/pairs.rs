//! Measures the search for all pairs, compared with a batch of queries with the database's own
//! fingerprints. Pairs are written to a file as two ids of 8 bytes each.
//!
//!     cargo bench --bench pairs -- [--n 10000000] [--k 3] [--layouts half-2]
//!         [--data uniform,clustered,real] [--plant 0] [--threads 1]
//!         [--cluster-memory-mib 8192] [--batch yes|no] [--runs 3]
//!
//! With `--plant 20`, one fingerprint out of 20 is replaced by a neighbour of another.
//!
//! First, the number of pairs at each distance is compared with the answers of the batch, and the
//! pairs of a sample of the fingerprints with the answers of single queries. Without `--batch`,
//! only the latter.

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "prints a table of figures")]

mod common;

use std::collections::HashMap;
use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;

use common::{Data, Random, load, median, option, options, seconds};
use fpdb::{ClusterMethod, Found, Snapshot};

/// Fingerprints whose pairs are compared with queries.
const SAMPLE: u64 = 1000;

fn main() {
    let n = option("--n", if common::is_test() { 3000 } else { 10_000_000 });
    println!(
        "| data | layout | n | pairs | ns per fingerprint | written | clusters | batch of queries | times |"
    );
    println!("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    let layout = option("--layouts", "half-2".to_owned());
    for name in option("--data", "uniform,clustered,real".to_owned()).split(',') {
        measure(name, &layout, fingerprints(Data::named(name), n));
    }
}

/// Returns distinct fingerprints in order. (Pairs of equal fingerprints are groups.)
fn fingerprints(data: Data, n: usize) -> Vec<u64> {
    let mut fingerprints = data.fingerprints(n);
    plant(&mut fingerprints, option("--k", 3));
    fingerprints.sort_unstable();
    fingerprints.dedup();
    fingerprints
}

/// Prints a line of the table.
fn measure(data: &str, layout: &str, mut fingerprints: Vec<u64>) {
    let (k, n) = (option("--k", 3u32), fingerprints.len());
    let with_batch = option("--batch", "yes".to_owned()) == "yes";
    let folder = common::folder();
    let options = options(layout, 0).max_distance(k).threads(option("--threads", 1));
    let (db, took) = load(options, folder.path().join("db"), &fingerprints);
    eprintln!("loaded {n} fingerprints in {took:.0} s");
    let snapshot = db.snapshot();
    let sample = sample(&fingerprints);
    if !with_batch {
        // At 10^9 fingerprints, this leaves 8 GB more for cached files.
        fingerprints = Vec::new();
    }
    check(&snapshot, &sample, k);
    let file = folder.path().join("pairs");
    let (mut alone, mut written, mut clustered) = (Vec::new(), Vec::new(), Vec::new());
    let mut counts = Vec::new();
    for _ in 0..option("--runs", 3) {
        alone.push(seconds(|| counts = pairs(&snapshot, k).count().unwrap()));
        written.push(seconds(|| assert_eq!(write(&snapshot, k, &file), counts)));
        clustered.push(seconds(|| clusters(&snapshot, k)));
        eprintln!(
            "counted, written, clustered in seconds: {alone:.1?} {written:.1?} {clustered:.1?}"
        );
    }
    let [alone, written, clustered] =
        [alone, written, clustered].map(|times| median(&times) * 1e9 / n as f64);
    let batch = with_batch.then(|| batch(&snapshot, &fingerprints, k, &counts));
    let (batch, times) = batch.map_or_else(Default::default, |batch| {
        (format!("{batch:.0}"), format!("{:.1}", batch / written))
    });
    let pairs: u64 = counts.iter().sum();
    println!(
        "| {data} | {layout} | {n} | {pairs} | {alone:.0} | {written:.0} | {clustered:.0} | {batch} | {times} |"
    );
}

/// Replaces one fingerprint out of `--plant` by another with 1 to k + 1 bits flipped.
fn plant(fingerprints: &mut [u64], k: u32) {
    let (every, mut random, n) = (option("--plant", 0), Random(7), fingerprints.len() as u64);
    let count = fingerprints.len().checked_div(every).unwrap_or(0);
    for flips in (1..=k + 1).cycle().take(count) {
        let [from, to] = [(); 2].map(|()| usize::try_from(random.below(n)).unwrap());
        fingerprints[to] = random.flip(fingerprints[from], flips);
    }
}

fn pairs(snapshot: &Snapshot, k: u32) -> fpdb::Pairs<'_> {
    snapshot.pairs(k).memory(512 << 20).threads(option("--threads", 1))
}

/// Returns some of the fingerprints.
fn sample(fingerprints: &[u64]) -> Vec<u64> {
    let (mut random, count) = (Random(5), fingerprints.len() as u64);
    (0..SAMPLE).map(|_| fingerprints[usize::try_from(random.below(count)).unwrap()]).collect()
}

/// Compares the pairs of these fingerprints with queries.
fn check(snapshot: &Snapshot, sample: &[u64], k: u32) {
    let mut of_sample: HashMap<u64, Vec<u64>> = sample.iter().map(|&f| (f, Vec::new())).collect();
    let visit = |found: Found<'_>| {
        if let Found::Pairs(pairs) = found {
            for pair in pairs {
                let (a, b) = (pair.a.fingerprint, pair.b.fingerprint);
                for (one, other) in [(a, b), (b, a)] {
                    if let Some(near) = of_sample.get_mut(&one) {
                        near.push(other);
                    }
                }
            }
        }
        ControlFlow::Continue(())
    };
    pairs(snapshot, k).visit(visit).unwrap();
    for (fingerprint, mut near) in of_sample {
        near.push(fingerprint);
        near.sort_unstable();
        let mut expected: Vec<u64> =
            snapshot.query(fingerprint, k).unwrap().iter().map(|m| m.fingerprint).collect();
        expected.sort_unstable();
        assert_eq!(near, expected, "{fingerprint:#018x}");
    }
}

/// Writes all pairs to a file, and returns their number at each distance.
fn write(snapshot: &Snapshot, k: u32, file: &std::path::Path) -> Vec<u64> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(file).unwrap());
    let report = pairs(snapshot, k).visit(|found| {
        if let Found::Pairs(pairs) = found {
            for pair in pairs {
                let ids = u128::from(pair.a.id.0) << 64 | u128::from(pair.b.id.0);
                out.write_all(&ids.to_be_bytes()).unwrap();
            }
        }
        ControlFlow::Continue(())
    });
    out.flush().unwrap();
    report.unwrap().pairs
}

/// Finds all clusters: the components of near fingerprints.
fn clusters(snapshot: &Snapshot, k: u32) {
    let clusters = snapshot.clusters(k).method(ClusterMethod::Components);
    let clusters = clusters.memory(option("--cluster-memory-mib", 8192u64) << 20);
    let report = clusters.threads(option("--threads", 1)).visit(|cluster| {
        black_box(cluster);
        ControlFlow::Continue(())
    });
    black_box(report.unwrap());
}

/// Returns the nanoseconds per query of a batch of all fingerprints, and compares the numbers of
/// answers.
fn batch(snapshot: &Snapshot, fingerprints: &[u64], k: u32, counts: &[u64]) -> f64 {
    let mut found = vec![0u64; counts.len()];
    let mut took = 0.0;
    for queries in fingerprints.chunks(1 << 20) {
        let mut answers = None;
        took += seconds(|| answers = Some(snapshot.query_batch(queries, k).unwrap()));
        answers
            .unwrap()
            .matches()
            .iter()
            .for_each(|found_one| found[found_one.distance as usize] += 1);
    }
    found[0] -= fingerprints.len() as u64;
    assert!(found.iter().zip(counts).all(|(&found, &pairs)| found == 2 * pairs));
    took * 1e9 / fingerprints.len() as f64
}
