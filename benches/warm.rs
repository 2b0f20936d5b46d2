//! Measures queries of a database while it is read into memory, and afterwards, with memory for a
//! part of it or for all of it.
//!
//!     cargo bench --bench warm -- [--n 100000000] [--memory 0.25,0.65,2] [--queries 10000]
//!         [--layout half-2] [--filter 8] [--database FOLDER]
//!
//! Linux only. `memory` is what pages may take, as a share of the files, or `default`. The system's
//! cache of the files is dropped before each row. `first` are the queries right after the directories
//! and filters were loaded, while the background reads the files. `then` are the queries after
//! [`Db::warm`] has returned. Each query is of a random fingerprint and has no match; before that,
//! some with a match are compared with what was stored. `process` and `cached` are the memory of
//! the process and the system's cache of files, as shares of the files.
//!
//! With `--database`, the database stays in this folder, and is not loaded again if it is there: so
//! two versions of the program can be measured in turn.

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "prints a table of figures")]
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers")]

mod common;

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("skipped: the cache of files cannot be dropped on this system");
}

#[cfg(target_os = "linux")]
fn main() {
    linux::main();
}

#[cfg(target_os = "linux")]
mod linux {
    use std::path::{Path, PathBuf};
    use std::process::Command;
    use std::time::{Duration, Instant};

    use fpdb::{Db, DocId, Entry, Options};

    use crate::common::{self, Random, anonymous_bytes, evict, files, option, options, percentile};

    pub(crate) fn main() {
        let n: f64 = option("--n", if common::is_test() { 3e4 } else { 1e8 });
        let n = n as u64;
        let (layout, filter) = (option("--layout", "half-2".to_owned()), option("--filter", 8));
        let folder = common::folder();
        let temporary = folder.path().join("db").to_string_lossy().into_owned();
        let path = &PathBuf::from(option("--database", temporary));
        let options = options(&layout, option("--block", 128), filter);
        let start = Instant::now();
        let db = options.clone().open_or_create(path).unwrap();
        if db.stats().entries == 0 {
            let entries = (0..n).map(|id| Ok(Entry { fingerprint: stored(id), id: DocId(id) }));
            let _ = db.bulk_load(entries).unwrap();
        }
        let bytes = db.stats().bytes_total;
        let index = db.stats().index_memory_bytes;
        db.close().unwrap();
        println!(
            "{n} uniform fingerprints, {layout}, filter of {filter} bits: {:.2} GB, of which {:.2} GB \
             index; loaded in {:.0} s\n",
            bytes as f64 / 1e9,
            index as f64 / 1e9,
            start.elapsed().as_secs_f64()
        );
        println!(
            "| memory | first p50, p99 us | warm after s | then p50, p99 us | process | cached |"
        );
        println!("| ---: | ---: | ---: | ---: | ---: | ---: |");
        for share in option("--memory", "0.25,0.65,2".to_owned()).split(',') {
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
        let count = if common::is_test() { 100 } else { option("--queries", 10_000) };
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
        let mut times: Vec<Duration> = (0..count)
            .map(|_| {
                let (query, start) = (random.next(), Instant::now());
                std::hint::black_box(db.query(query, 3).unwrap());
                start.elapsed()
            })
            .collect();
        times.sort_unstable();
        times
    }

    /// Returns the bytes of the files in the system's cache, or 0 if `fincore` of util-linux is
    /// missing.
    fn cached(folder: &Path) -> u64 {
        let mut fincore = Command::new("fincore");
        fincore.args(["--bytes", "--noheadings", "--output", "RES"]).args(files(folder));
        let output = fincore.output().map(|output| output.stdout).unwrap_or_default();
        String::from_utf8_lossy(&output).lines().filter_map(|n| n.trim().parse::<u64>().ok()).sum()
    }
}
