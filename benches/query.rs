//! Measures the time of a query, alone and in batches, by layout and number of entries. Answers are
//! compared with a scan first, and those of batches with those of single queries.
//!
//!     cargo bench --bench query -- [--n 20,24] [--layouts half-2,ring-3] [--filter 0]

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "prints a table of figures")]

mod common;

use std::hint::black_box;
use std::time::{Duration, Instant};

use common::{Data, load, option, options, percentile, queries, scan, times};
use fpdb::{Answers, Layout, Snapshot};

const K: u32 = 3;

fn main() {
    let sizes = option("--n", if common::is_test() { "12" } else { "20,24" }.to_string());
    let layouts = option("--layouts", Layout::preset_names().join(","));
    let filter = option("--filter", 0);
    println!("data uniform, k = {K}, blocks of 128 bytes, filter {filter} bits");
    println!("| layout | n | p50 us | p99 us | mean us | in batches us | bytes/fp | load M/s |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for size in sizes.split(',') {
        let n = 1usize << size.parse::<u32>().expect("log2 of the number of entries");
        let fingerprints = Data::Uniform.fingerprints(n);
        for layout in layouts.split(',') {
            measure(&fingerprints, layout, filter);
        }
    }
}

fn measure(fingerprints: &[u64], layout: &str, filter: u32) {
    let folder = common::folder();
    let options = options(layout, filter).max_distance(K).threads(1);
    let (db, seconds) = load(options, folder.path().join("db"), fingerprints);
    let snapshot = db.snapshot();
    let (count, batches) =
        if common::is_test() { (100, [1, 100]) } else { (20_000, [1000, 100_000]) };
    let queries = queries(fingerprints, count);
    for &query in queries.iter().take(20) {
        let found = snapshot.query(query, K).unwrap().len();
        assert_eq!(found, scan(fingerprints, query, K), "{layout}");
    }
    let ask = |&query: &u64| drop(black_box(snapshot.query(black_box(query), K).unwrap()));
    queries.iter().for_each(ask);
    let times = times(&queries, ask);
    let mean = times.iter().sum::<Duration>().as_secs_f64() * 1e6 / times.len() as f64;
    let [few, many] = batches.map(|size| in_batches(&snapshot, fingerprints, size));
    let n = fingerprints.len();
    println!(
        "| {layout} | {n} | {:.2} | {:.2} | {mean:.2} | {few:.2}, {many:.2} | {:.2} | {:.2} |",
        percentile(&times, 0.5),
        percentile(&times, 0.99),
        db.stats().bytes_tables as f64 / n as f64,
        n as f64 / seconds / 1e6,
    );
}

/// Returns the microseconds per query in batches of this size. No query was asked before, as those
/// of a crawler: what an earlier one read would be in the processor's caches.
fn in_batches(snapshot: &Snapshot, fingerprints: &[u64], size: usize) -> f64 {
    let count = size * (20_000 / size).clamp(1, 10);
    let all = queries(fingerprints, 2 * count);
    let (_, queries) = all.split_at(count);
    let start = Instant::now();
    let answers: Vec<Answers> =
        queries.chunks(size).map(|batch| snapshot.query_batch(batch, K).unwrap()).collect();
    let each = start.elapsed().as_secs_f64() * 1e6 / queries.len() as f64;
    for (answer, &query) in answers.iter().flat_map(Answers::iter).zip(queries).take(1000) {
        assert_eq!(answer, snapshot.query(query, K).unwrap());
    }
    each
}
