//! Time a query of a batch, by its size, beside one query after another; answers are compared.
//!
//!     cargo bench --bench batch -- [--n 20,22,24] [--k 3] [--layouts half-2,ring-4] [--block 128] [--code elias-fano] [--filter 0] [--sizes 100,1000,10000,100000,1000000] [--data uniform] [--threads 1]

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "prints a table of figures")]

mod common;

use std::time::Instant;

use common::{Data, load, option, options, queries};
use fpdb::Snapshot;

/// Queries that are asked one after another.
const SINGLE: usize = 10_000;

fn main() {
    let sizes = option("--n", if common::is_test() { "12" } else { "20,22,24" }.to_string());
    let layouts = option("--layouts", "half-2,ring-4".to_string());
    let (k, block, filter) = (option("--k", 3u32), option("--block", 128), option("--filter", 0));
    let data = option("--data", "uniform".to_string());
    let data =
        Data::ALL.into_iter().find(|d| d.name() == data).expect("uniform, clustered or real");
    println!("data {}, k = {k}, blocks of {block} bytes, filter {filter} bits", data.name());
    println!("| layout | n | batch | us a query | one by one | times |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for size in sizes.split(',') {
        let n = 1usize << size.parse::<u32>().expect("log2 of the number of entries");
        let Some(fingerprints) = data.fingerprints(n) else {
            println!("skipped: the real fingerprints are not here");
            return;
        };
        for layout in layouts.split(',') {
            let folder = common::folder();
            let options = options(layout, block, filter).max_distance(k);
            let options = options.threads(option("--threads", 1));
            let (db, _) = load(options, folder.path().join("db"), &fingerprints);
            measure(&db.snapshot(), &fingerprints, layout, k);
        }
    }
}

fn measure(snapshot: &Snapshot, fingerprints: &[u64], layout: &str, k: u32) {
    let sizes = option("--sizes", "100,1000,10000,100000,1000000".to_string());
    let sizes = if common::is_test() { "1,100,1000".to_string() } else { sizes };
    let sizes: Vec<usize> = sizes.split(',').map(|size| size.parse().expect("a number")).collect();
    let all = queries(fingerprints, sizes.iter().copied().max().unwrap_or(0).max(SINGLE));
    let single = || all.iter().take(SINGLE).map(|&query| snapshot.query(query, k).unwrap());
    let expected: Vec<_> = single().collect();
    let start = Instant::now();
    single().for_each(|answer| _ = std::hint::black_box(answer));
    let one_by_one = start.elapsed().as_secs_f64() * 1e6 / SINGLE as f64;
    for size in sizes {
        // Small ones several times, each with other queries.
        let mut seconds = 0.0;
        let rounds = (SINGLE / size).clamp(1, 10);
        for round in 0..rounds {
            let from = round * size;
            let start = Instant::now();
            let answers = snapshot.query_batch(&all[from..from + size], k).unwrap();
            seconds += start.elapsed().as_secs_f64();
            assert!(answers.iter().zip(expected.iter().skip(from)).all(|(a, b)| a == b));
        }
        let each = seconds * 1e6 / (rounds * size) as f64;
        let (n, times) = (fingerprints.len(), one_by_one / each);
        println!("| {layout} | {n} | {size} | {each:.3} | {one_by_one:.2} | {times:.1} |");
    }
}
