//! Measures the time of a query, by layout and number of entries. Answers are compared with a scan
//! first.
//!
//!     cargo bench --bench query -- [--n 20,24] [--k 3] [--layouts half-2,ring-3] [--block 128]
//!         [--filter 0] [--data uniform] [--index-memory 1073741824]

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "prints a table of figures")]

mod common;

use std::time::{Duration, Instant};

use common::{Data, load, option, options, percentile, queries, scan};
use fpdb::Layout;

fn main() {
    let sizes = option("--n", if common::is_test() { "12" } else { "20,24" }.to_string());
    let layouts = option("--layouts", Layout::preset_names().join(","));
    let (k, block, filter) = (option("--k", 3u32), option("--block", 128), option("--filter", 0));
    let data = option("--data", "uniform".to_string());
    let data =
        Data::ALL.into_iter().find(|d| d.name() == data).expect("uniform, clustered or real");
    println!("data {}, k = {k}, blocks of {block} bytes, filter {filter} bits", data.name());
    println!("| layout | n | p50 us | p99 us | mean us | bytes/fp | load M/s |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for size in sizes.split(',') {
        let n = 1usize << size.parse::<u32>().expect("log2 of the number of entries");
        let Some(fingerprints) = data.fingerprints(n) else {
            println!("skipped: the real fingerprints are missing");
            return;
        };
        for layout in layouts.split(',') {
            measure(&fingerprints, layout, k, block, filter);
        }
    }
}

fn measure(fingerprints: &[u64], layout: &str, k: u32, block: usize, filter: u32) {
    let folder = common::folder();
    let options = options(layout, block, filter).max_distance(k);
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
    let n = fingerprints.len();
    println!(
        "| {layout} | {n} | {:.2} | {:.2} | {mean:.2} | {:.2} | {:.2} |",
        percentile(&times, 0.5),
        percentile(&times, 0.99),
        db.stats().bytes_tables as f64 / n as f64,
        n as f64 / seconds / 1e6,
    );
}
