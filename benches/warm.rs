//! Measures queries of a database while it is read into memory, and afterwards, with memory for a
//! part of it or for all of it.
//!
//!     cargo bench --bench warm -- [--n 100000000] [--memory 0.25,0.65,2] [--queries 10000]
//!         [--layout half-2] [--filter 8] [--skew 1] [--database FOLDER]
//!
//!     cargo bench --bench warm -- --after [--n 100000000] [--memory 2,default]
//!
//!     cargo bench --bench warm -- --during [--n 50000000] [--rounds 5]
//!
//! Linux only. `memory` is what pages may take, as a share of the files, or `default`. The system's
//! cache of the files is dropped before each row. `first` are the queries right after the directories
//! and filters were loaded, while the background reads the files. `then` are the queries after
//! [`Db::warm`] has returned. Each query is of a random fingerprint and has no match; before that,
//! some with a match are compared with what was stored. With a `skew` above 1, queries repeat: the
//! share `x` of them is among the first `x^skew * n / 10`. `process` and `cached` are the memory of
//! the process and the system's cache of files, as shares of the files.
//!
//! With `--database`, the database stays in this folder, and is not loaded again if it is there: so
//! two versions of the program can be measured in turn.
//!
//! With `--after`, the cache is not dropped. `first` are the queries right after a bulk load of a
//! tenth as many entries, and right after a compaction that follows it.
//!
//! With `--during`, queries are asked from the time when directories and filters are loaded until all
//! files are in memory; `first` are the first of them. `without` are as many of the same database with
//! memory for few pages, so that nothing is read in the background. The system's cache is dropped
//! before each of them.

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

    use crate::common::{self, Random, evict, files, option, options, percentile};

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
        if std::env::args().any(|arg| arg == "--during") {
            during(path, &options, bytes, n);
            return;
        }
        let after = std::env::args().any(|arg| arg == "--after");
        if after {
            println!(
                "| memory | after | s | first p50, p99 us | warm after s | then p50, p99 us | cached |"
            );
            println!("| ---: | --- | ---: | ---: | ---: | ---: | ---: |");
        } else {
            println!(
                "| memory | first p50, p99 us | warm after s | then p50, p99 us | process | cached |"
            );
            println!("| ---: | ---: | ---: | ---: | ---: | ---: |");
        }
        for share in option("--memory", "0.25,0.65,2".to_owned()).split(',') {
            let options = match share.parse::<f64>() {
                Ok(share) => options.clone().page_memory((share * bytes as f64) as u64),
                Err(_) => options.clone(),
            };
            if after {
                after_writing(path, options, share, n);
            } else {
                row(path, options, share, bytes, n);
            }
        }
    }

    /// The fingerprint with this id.
    fn stored(id: u64) -> u64 {
        Random(id).next()
    }

    fn row(path: &Path, options: Options, share: &str, bytes: u64, n: u64) {
        evict(path);
        let before = memory_of_process();
        let opened = Instant::now();
        let db = options.open(path).unwrap();
        check(&db, n);
        let count = if common::is_test() { 100 } else { option("--queries", 10_000) };
        let mut random = Random(opened.elapsed().as_nanos() as u64);
        wait_for_indexes(&db);
        let first = ask(&db, &mut random, count, n);
        db.warm().unwrap();
        let seconds = opened.elapsed().as_secs_f64();
        let _ = ask(&db, &mut random, count, n);
        let then = ask(&db, &mut random, count, n);
        let in_process = (memory_of_process() - before) as f64 / bytes as f64;
        let cached = cached(path) as f64 / bytes as f64;
        println!(
            "| {share} | {:.1}, {:.0} | {seconds:.1} | {:.1}, {:.0} | {in_process:.2} | {cached:.2} |",
            percentile(&first, 0.5),
            percentile(&first, 0.99),
            percentile(&then, 0.5),
            percentile(&then, 0.99),
        );
    }

    /// Compares queries during the warm-up with queries without one.
    fn during(path: &Path, options: &Options, bytes: u64, n: u64) {
        println!(
            "| open ms | warm after s | queries | p50, p99 us | first p50, p99 us | without p50, p99 us \
             | first p99 / p99 without |"
        );
        println!("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
        let rounds = if common::is_test() { 1 } else { option("--rounds", 5) };
        let count = if common::is_test() { 100 } else { option("--queries", 10_000) };
        for _ in 0..rounds {
            let (db, open) = open_cold(path, options.clone().page_memory(2 * bytes));
            let (start, mut random) = (Instant::now(), Random(open.as_nanos() as u64));
            let (mut first, mut all) = (Vec::new(), Vec::new());
            let seconds = std::thread::scope(|scope| {
                let warm = scope.spawn(|| db.warm().map(|()| start.elapsed().as_secs_f64()));
                while !warm.is_finished() {
                    let times = ask(&db, &mut random, 10, n);
                    all.extend(&times);
                    if first.len() < count {
                        first.extend(times);
                    }
                }
                warm.join().unwrap().unwrap()
            });
            drop(db);
            let (db, _) = open_cold(path, options.clone().page_memory(bytes / 50));
            let mut without = ask(&db, &mut random, count, n);
            let figures = |times: &mut Vec<Duration>| {
                times.sort_unstable();
                [0.5, 0.99].map(|share| percentile(times, share))
            };
            let [all_p50, all_p99] = figures(&mut all);
            let ([p50, p99], [p50_without, p99_without]) =
                (figures(&mut first), figures(&mut without));
            println!(
                "| {:.1} | {seconds:.2} | {} | {all_p50:.1}, {all_p99:.0} | {p50:.1}, {p99:.0} \
                 | {p50_without:.1}, {p99_without:.0} | {:.2} |",
                open.as_secs_f64() * 1e3,
                all.len(),
                p99 / p99_without
            );
        }
    }

    /// Opens the database without anything in the system's cache, and waits for directories and filters.
    /// Returns how long opening took.
    fn open_cold(path: &Path, options: Options) -> (Db, Duration) {
        evict(path);
        let start = Instant::now();
        let db = options.open(path).unwrap();
        let open = start.elapsed();
        wait_for_indexes(&db);
        (db, open)
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

    /// Measures queries after a bulk load and after a compaction. The database keeps the new entries.
    fn after_writing(path: &Path, options: Options, share: &str, n: u64) {
        let count = if common::is_test() { 100 } else { option("--queries", 10_000) };
        let db = options.open(path).unwrap();
        db.warm().unwrap();
        let mut random = Random(db.stats().entries);
        let report = |what: &str, start: Instant, random: &mut Random| {
            let seconds = start.elapsed().as_secs_f64();
            let first = ask(&db, random, count, n);
            db.warm().unwrap();
            let warm = start.elapsed().as_secs_f64() - seconds;
            let then = ask(&db, random, count, n);
            let cached = cached(path) as f64 / db.stats().bytes_total as f64;
            println!(
                "| {share} | {what} | {seconds:.1} | {:.1}, {:.0} | {warm:.2} | {:.1}, {:.0} | {cached:.2} |",
                percentile(&first, 0.5),
                percentile(&first, 0.99),
                percentile(&then, 0.5),
                percentile(&then, 0.99),
            );
        };
        let begin = db.stats().entries;
        let entries =
            (begin..begin + n / 10).map(|id| Ok(Entry { fingerprint: stored(id), id: DocId(id) }));
        let start = Instant::now();
        let _ = db.bulk_load(entries).unwrap();
        report("bulk load", start, &mut random);
        let start = Instant::now();
        let _ = db.compact().unwrap();
        report("compaction", start, &mut random);
        check(&db, n);
        db.close().unwrap();
    }

    fn check(db: &Db, n: u64) {
        for round in 0..20 {
            let id = Random(round).below(n);
            let found = db.query(stored(id) ^ 0b101, 3).unwrap();
            assert!(found.iter().any(|found| found.id == DocId(id)), "{id}");
        }
    }

    fn ask(db: &Db, random: &mut Random, count: usize, n: u64) -> Vec<Duration> {
        let skew: f64 = option("--skew", 1.0);
        let mut times: Vec<Duration> = (0..count)
            .map(|_| {
                let share = random.next() as f64 / u64::MAX as f64;
                let rank = (share.powf(skew) * n as f64 / 10.0) as u64;
                let query = if skew > 1.0 { Random(!rank).next() } else { random.next() };
                let start = Instant::now();
                std::hint::black_box(db.query(query, 3).unwrap());
                start.elapsed()
            })
            .collect();
        times.sort_unstable();
        times
    }

    /// Returns the bytes of memory of the process that are not of files.
    fn memory_of_process() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let kib: u64 = line.unwrap().trim().trim_end_matches(" kB").parse().unwrap();
        kib << 10
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
