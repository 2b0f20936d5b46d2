//! Measures the time of a query, alone and in batches, by layout and number of entries. Answers are
//! compared with a scan first, and those of batches with those of single queries.
//!
//!     cargo bench --bench query -- [--n 20,24] [--k 3] [--layouts half-2,ring-3] [--block 128]
//!         [--filter 0] [--data uniform] [--index-memory 1073741824] [--queries 20000]
//!         [--batches 1000,100000] [--threads 1]

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "prints a table of figures")]

mod common;

use std::time::{Duration, Instant};

use common::{Data, load, option, options, percentile, queries, scan};
use fpdb::{Answers, Layout, Snapshot};

fn main() {
    let sizes = option("--n", if common::is_test() { "12" } else { "20,24" }.to_string());
    let layouts = option("--layouts", Layout::preset_names().join(","));
    let (k, block, filter) = (option("--k", 3u32), option("--block", 128), option("--filter", 0));
    let data = Data::named(&option("--data", "uniform".to_string()));
    println!("data {}, k = {k}, blocks of {block} bytes, filter {filter} bits", data.name());
    println!("| layout | n | p50 us | p99 us | mean us | in batches us | bytes/fp | load M/s |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for size in sizes.split(',') {
        let n = 1usize << size.parse::<u32>().expect("log2 of the number of entries");
        let fingerprints = data.fingerprints(n);
        for layout in layouts.split(',') {
            measure(&fingerprints, layout, k, block, filter);
        }
    }
}

fn measure(fingerprints: &[u64], layout: &str, k: u32, block: usize, filter: u32) {
    let folder = common::folder();
    let options = options(layout, block, filter).max_distance(k).threads(option("--threads", 1));
    let (db, seconds) = load(options, folder.path().join("db"), fingerprints);
    let snapshot = db.snapshot();
    let queries =
        queries(fingerprints, if common::is_test() { 100 } else { option("--queries", 20_000) });
    for &query in queries.iter().take(20) {
        assert_eq!(
            snapshot.query(query, k).unwrap().len(),
            scan(fingerprints, query, k),
            "{layout}"
        );
    }
    for &query in &queries {
        snapshot.query(query, k).unwrap();
    }
    let mut times: Vec<Duration> = queries
        .iter()
        .map(|&query| {
            let start = Instant::now();
            std::hint::black_box(snapshot.query(std::hint::black_box(query), k).unwrap());
            start.elapsed()
        })
        .collect();
    let mean = times.iter().sum::<Duration>().as_secs_f64() * 1e6 / times.len() as f64;
    times.sort_unstable();
    let batches =
        option("--batches", if common::is_test() { "1,100" } else { "1000,100000" }.to_string());
    let sizes = batches.split(',').map(|size| size.parse().expect("a size of batches"));
    let batches: Vec<String> =
        sizes.map(|size| format!("{:.2}", in_batches(&snapshot, fingerprints, size, k))).collect();
    let n = fingerprints.len();
    println!(
        "| {layout} | {n} | {:.2} | {:.2} | {mean:.2} | {} | {:.2} | {:.2} |",
        percentile(&times, 0.5),
        percentile(&times, 0.99),
        batches.join(", "),
        db.stats().bytes_tables as f64 / n as f64,
        n as f64 / seconds / 1e6,
    );
}

/// Returns the microseconds per query in batches of this size. No query was asked before, as those
/// of a crawler: what an earlier one read would be in the processor's caches.
fn in_batches(snapshot: &Snapshot, fingerprints: &[u64], size: usize, k: u32) -> f64 {
    let count = size * (20_000 / size).clamp(1, 10);
    let all = queries(fingerprints, 2 * count);
    let (_, queries) = all.split_at(count);
    let start = Instant::now();
    let answers: Vec<Answers> =
        queries.chunks(size).map(|batch| snapshot.query_batch(batch, k).unwrap()).collect();
    let each = start.elapsed().as_secs_f64() * 1e6 / queries.len() as f64;
    for (answer, &query) in answers.iter().flat_map(Answers::iter).zip(queries).take(1000) {
        assert_eq!(answer, snapshot.query(query, k).unwrap());
    }
    each
}
