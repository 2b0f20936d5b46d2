//! Tables against candidates: what a query of each layout reads and how long it takes, beside what
//! the planner predicts.
//!
//!     cargo bench --bench designs -- [--n 20,24] [--layouts half-2,paper-10] [--filter 0,8]
//!
//! Queries are uniform, so they have no matches. Each figure is *measured / predicted*. `reads` are
//! the pages of 4 KiB that are read from files if only directories and filters are in memory.
//! Answers are compared with a scan first.

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "prints a table of figures")]

mod common;

use std::hint::black_box;

use common::{Data, Random, evict, load, option, options, percentile, queries, scan, times};
use fpdb::{Db, Layout};

const K: u32 = 3;

fn main() {
    let sizes = option("--n", if common::is_test() { "12" } else { "20,24" }.to_string());
    let layouts = option("--layouts", Layout::preset_names().join(","));
    let filters = option("--filter", "0,8".to_string());
    println!("uniform fingerprints, k = {K}, blocks of 128 bytes; measured / predicted");
    println!("| layout | n | filter | probes | candidates | blocks | reads | us |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for size in sizes.split(',') {
        let n = 1usize << size.parse::<u32>().expect("log2 of the number of entries");
        let fingerprints = Data::Uniform.fingerprints(n);
        for layout in layouts.split(',') {
            for filter in filters.split(',') {
                measure(&fingerprints, layout, filter.parse().expect("bits of the filter"));
            }
        }
    }
}

fn measure(fingerprints: &[u64], layout: &str, filter: u32) {
    let folder = common::folder();
    let path = folder.path().join("db");
    let options = options(layout, filter).max_distance(K).threads(1);
    let (db, _) = load(options.clone(), path.clone(), fingerprints);
    for query in queries(fingerprints, 20) {
        let found = db.query(query, K).unwrap().len();
        assert_eq!(found, scan(fingerprints, query, K), "{layout}");
    }
    let count = if common::is_test() { 100 } else { 20_000 };
    let mut random = Random(1);
    let asked: Vec<u64> = (0..count).map(|_| random.next()).collect();
    let ask = |db: &Db| times(&asked, |&query| drop(black_box(db.query(query, K).unwrap())));
    ask(&db);
    let before = db.stats().queries;
    let us = percentile(&ask(&db), 0.5);
    let after = db.stats().queries;
    db.close().unwrap();
    evict(&path);
    // Each page that is read is read from the files.
    let db = options.page_memory(0).open(&path).unwrap();
    db.warm().unwrap();
    let cold = db.stats().queries;
    let some: Vec<u64> = asked.iter().copied().take(count / 20).collect();
    some.iter().for_each(|&query| drop(black_box(db.query(query, K).unwrap())));
    let reads = (db.stats().queries.pages - cold.pages) as f64 / some.len() as f64;
    let each = |before: u64, after: u64| (after - before) as f64 / count as f64;
    let predicted = db.description().predict(fingerprints.len() as u64);
    println!(
        "| {layout} | {} | {filter} | {:.1} / {:.1} | {:.2} / {:.2} | {:.2} / {:.2} | {reads:.2} / {:.2} | {us:.2} / {:.2} |",
        fingerprints.len(),
        each(before.lookups, after.lookups),
        predicted.probes,
        each(before.candidates, after.candidates),
        predicted.candidates,
        each(before.blocks, after.blocks),
        predicted.blocks,
        predicted.pages,
        predicted.query_us,
    );
}
