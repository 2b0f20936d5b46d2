//! Measures the time per query of a batch, by its size, compared with single queries. Answers are
//! compared too.
//!
//!     cargo bench --bench batch -- [--n 20,22,24] [--k 3] [--layouts half-2,ring-4] [--block 128]
//!         [--filter 0] [--sizes 100,1000,10000,100000,1000000] [--data uniform]
//!         [--threads 1]

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "prints a table of figures")]

mod common;

use std::time::Instant;

use common::{Data, load, option, options, queries};
use fpdb::{Answers, Snapshot};

/// Number of single queries.
const SINGLE: usize = 50_000;

fn main() {
    let sizes = option("--n", if common::is_test() { "12" } else { "20,22,24" }.to_string());
    let layouts = option("--layouts", "half-2,ring-4".to_string());
    let (k, block, filter) = (option("--k", 3u32), option("--block", 128), option("--filter", 0));
    let data = option("--data", "uniform".to_string());
    let data =
        Data::ALL.into_iter().find(|d| d.name() == data).expect("uniform, clustered or real");
    println!("data {}, k = {k}, blocks of {block} bytes, filter {filter} bits", data.name());
    println!("| layout | n | batch | us per query | one by one | times |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for size in sizes.split(',') {
        let n = 1usize << size.parse::<u32>().expect("log2 of the number of entries");
        let Some(fingerprints) = data.fingerprints(n) else {
            println!("skipped: the real fingerprints are missing");
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
    // Small batches run several times. All queries are new, as a crawler's are: what an earlier
    // query read would be in the processor's caches.
    let count = |size: usize| size * (SINGLE / size).clamp(1, 10);
    let in_batches = sizes.iter().map(|&size| count(size)).sum::<usize>();
    let all = queries(fingerprints, 2 * SINGLE + in_batches);
    // The first queries map all pages and verify their checksums.
    let (first, all) = all.split_at(SINGLE);
    let (alone, mut rest) = all.split_at(SINGLE);
    for &query in first {
        snapshot.query(query, k).unwrap();
    }
    let start = Instant::now();
    for &query in alone {
        std::hint::black_box(snapshot.query(query, k).unwrap());
    }
    let one_by_one = start.elapsed().as_secs_f64() * 1e6 / SINGLE as f64;
    for size in sizes {
        let (queries, others) = rest.split_at(count(size));
        rest = others;
        let start = Instant::now();
        let answers: Vec<_> =
            queries.chunks(size).map(|batch| snapshot.query_batch(batch, k).unwrap()).collect();
        let each = start.elapsed().as_secs_f64() * 1e6 / queries.len() as f64;
        for (answer, &query) in answers.iter().flat_map(Answers::iter).zip(queries).take(SINGLE) {
            assert_eq!(answer, snapshot.query(query, k).unwrap());
        }
        let (n, times) = (fingerprints.len(), one_by_one / each);
        println!("| {layout} | {n} | {size} | {each:.3} | {one_by_one:.2} | {times:.1} |");
    }
}
