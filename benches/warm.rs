//! Measures queries of a database while it is read into memory, and afterwards, with memory for a
//! part of it or for all of it.
//!
//!     cargo bench --bench warm -- [--n 100000000] [--memory 0.25,0.65,2,default]
//!         [--index-memory 1073741824]
//!
//! Linux only. `memory` is what pages may take, as a share of the files, or `default`. The system's
//! cache of the files is dropped before each row. `first` are the queries right after the
//! directories and filters were loaded, while the background reads the files. `then` are the
//! queries after [`Db::warm`] has returned. Each query is of a random fingerprint and has no match;
//! before that, some with a match are compared with what was stored. `process` and `cached` are the
//! memory of the process and the system's cache of files, as shares of the files.

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "prints a table of figures")]
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers")]

mod common;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use common::{Random, anonymous_bytes, evict, files, option, options, percentile, times};
use fpdb::{Db, DocId, Entry, Options};

fn main() {
    if !cfg!(target_os = "linux") {
        return println!("skipped: the cache of files cannot be dropped on this system");
    }
    let n = option("--n", if common::is_test() { 30_000 } else { 100_000_000 });
    let folder = common::folder();
    let path = &folder.path().join("db");
    let options = options("half-2", 8);
    let start = Instant::now();
    let db = options.clone().create(path).unwrap();
    let entries = (0..n).map(|id| Ok(Entry { fingerprint: stored(id), id: DocId(id) }));
    let _ = db.bulk_load(entries).unwrap();
    let stats = db.stats();
    let bytes = stats.bytes_total;
    db.close().unwrap();
    println!(
        "{n} uniform fingerprints, half-2, filter of 8 bits: {:.2} GB, of which {:.2} GB index; \
         loaded in {:.0} s\n",
        bytes as f64 / 1e9,
        stats.index_memory_bytes as f64 / 1e9,
        start.elapsed().as_secs_f64()
    );
    println!("| memory | first p50, p99 us | warm after s | then p50, p99 us | process | cached |");
    println!("| ---: | ---: | ---: | ---: | ---: | ---: |");
    for share in option("--memory", "0.25,0.65,2,default".to_owned()).split(',') {
        let options = match share.parse::<f64>() {
            Ok(share) => options.clone().page_memory((share * bytes as f64) as u64),
            Err(_) => options.clone(),
        };
        row(path, options, share, bytes, n);
    }
}

/// The fingerprint with this id.
fn stored(id: u64) -> u64 {
    Random(id).next()
}

fn row(path: &Path, options: Options, share: &str, bytes: u64, n: u64) {
    evict(path);
    let before = anonymous_bytes();
    let opened = Instant::now();
    let db = options.open(path).unwrap();
    check(&db, n);
    let count = if common::is_test() { 100 } else { 10_000 };
    let mut random = Random(opened.elapsed().as_nanos() as u64);
    wait_for_indexes(&db);
    let first = ask(&db, &mut random, count);
    db.warm().unwrap();
    let seconds = opened.elapsed().as_secs_f64();
    let _ = ask(&db, &mut random, count);
    let then = ask(&db, &mut random, count);
    let in_process = (anonymous_bytes() - before) as f64 / bytes as f64;
    let cached = cached(path) as f64 / bytes as f64;
    println!(
        "| {share} | {:.1}, {:.0} | {seconds:.1} | {:.1}, {:.0} | {in_process:.2} | {cached:.2} |",
        percentile(&first, 0.5),
        percentile(&first, 0.99),
        percentile(&then, 0.5),
        percentile(&then, 0.99),
    );
}

/// Waits until the directories and filters are in memory, at most a minute: without enough memory,
/// they never are.
fn wait_for_indexes(db: &Db) {
    let start = Instant::now();
    // The checksums of pages are no copies, and take little.
    let wanted = db.stats().index_memory_bytes / 10 * 9;
    while db.stats().index_loaded_bytes < wanted && start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn check(db: &Db, n: u64) {
    for round in 0..20 {
        let id = Random(round).below(n);
        let found = db.query(stored(id) ^ 0b101, 3).unwrap();
        assert!(found.iter().any(|found| found.id == DocId(id)), "{id}");
    }
}

fn ask(db: &Db, random: &mut Random, count: usize) -> Vec<Duration> {
    times(0..count, |_| drop(std::hint::black_box(db.query(random.next(), 3).unwrap())))
}

/// Returns the bytes of the files in the system's cache, or 0 if `fincore` of util-linux is
/// missing.
fn cached(folder: &Path) -> u64 {
    let mut fincore = Command::new("fincore");
    fincore.args(["--bytes", "--noheadings", "--output", "RES"]).args(files(folder));
    let output = fincore.output().map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).lines().filter_map(|n| n.trim().parse::<u64>().ok()).sum()
}
