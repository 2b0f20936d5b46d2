//! Measures the time of a query whose pages are on disk, compared with the device's time for as
//! many reads.
//!
//!     cargo bench --bench cold -- [--n 24] [--layouts half-2] [--filter 0,8]
//!
//! Linux only. The system's cache of the files is dropped before each row. Each query reads a few
//! dozen of tens of thousands of pages, so nearly all stay cold throughout a row. `reads` counts
//! the pages that the device read for the process, without indexes. `alone` and `together` are the
//! device's times for that many random pages of the same file, read one after another and by as
//! many threads at once.

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "prints a table of figures")]
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers")]

mod common;

use std::time::Duration;

use common::{
    Data, PAGE, bytes_read, device, evict, largest, load, option, options, percentile, queries,
    scan, times,
};
use fpdb::Db;

const K: u32 = 3;

fn main() {
    if !cfg!(target_os = "linux") {
        return println!("skipped: the cache of files cannot be dropped on this system");
    }
    let test = common::is_test();
    let n = 1usize << option("--n", if test { 12 } else { 24 });
    let layouts = option("--layouts", "half-2".to_string());
    let filters = option("--filter", "0,8".to_string());
    let fingerprints = Data::Uniform.fingerprints(n);
    println!("{n} uniform fingerprints, k = {K}; times in us, medians except p99");
    println!(
        "| layout | filter | memory | p50 | p99 | reads | alone | together | p50 / together |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for layout in layouts.split(',') {
        for filter in filters.split(',') {
            row(&fingerprints, layout, filter.parse().unwrap());
        }
    }
}

fn row(fingerprints: &[u64], layout: &str, filter: u32) {
    let folder = common::folder();
    let path = folder.path().join("db");
    let options = options(layout, filter).max_distance(K);
    let (db, _) = load(options.clone(), path.clone(), fingerprints);
    db.close().unwrap();
    let count = if common::is_test() { 20 } else { 300 };
    let queries = queries(fingerprints, count);
    let size = std::fs::metadata(largest(&path)).unwrap().len() * 2;
    for share in [0.0, 0.25, 0.65, 1.5] {
        evict(&path);
        let options = options.clone().page_memory((size as f64 * share) as u64);
        let db = options.open(&path).unwrap();
        db.warm().unwrap();
        let (times, reads) = ask(&db, &queries);
        for &query in queries.iter().take(20) {
            assert_eq!(db.query(query, K).unwrap().len(), scan(fingerprints, query, K));
        }
        drop(db);
        let depth = (reads.round() as usize).max(1);
        let file = largest(&path);
        evict(&path);
        let alone = device(&file, depth, 1);
        evict(&path);
        let together = device(&file, depth, depth);
        let p50 = percentile(&times, 0.5);
        println!(
            "| {layout} | {filter} | {share} | {p50:.0} | {:.0} | {reads:.1} | {alone:.0} | {together:.0} | {:.2} |",
            percentile(&times, 0.99),
            p50 / together
        );
    }
}

fn ask(db: &Db, queries: &[u64]) -> (Vec<Duration>, f64) {
    let before = bytes_read();
    let times = times(queries, |&query| drop(std::hint::black_box(db.query(query, K).unwrap())));
    (times, (bytes_read() - before) as f64 / PAGE as f64 / queries.len() as f64)
}
