//! Measures the time of a query whose pages are on disk, compared with the device's time for as
//! many reads.
//!
//!     cargo bench --bench cold -- [--n 24] [--k 3] [--layouts single,half-2,ring-4]
//!         [--filter 0,10] [--block 128] [--queries 300]
//!
//! Linux only. The system's cache of the files is dropped before each row. Each query reads a few
//! dozen of tens of thousands of pages, so nearly all stay cold throughout a row. `reads` counts
//! the pages that the device read for the process, without indexes. `alone` and `together` are the
//! device's times for that many random pages of the same file, read one after another and by as
//! many threads at once.

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "prints a table of figures")]
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers")]

mod common;

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("skipped: files cannot be made cold on this system");
}

#[cfg(target_os = "linux")]
fn main() {
    linux::main();
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::os::unix::fs::FileExt;
    use std::path::{Path, PathBuf};
    use std::sync::Barrier;
    use std::time::{Duration, Instant};

    use fpdb::Db;
    use rustix::fs::{Advice, fadvise};

    use crate::common::{
        self, Data, Random, evict, files, load, option, options, percentile, queries, scan,
    };

    const PAGE: u64 = 4096;

    pub(crate) fn main() {
        let test = common::is_test();
        let n = 1usize << option("--n", if test { 12 } else { 24 });
        let k = option("--k", 3u32);
        let layouts = option("--layouts", "single,half-2,ring-3,ring-4,paper-10".to_string());
        let filters = option("--filter", "0,10".to_string());
        let fingerprints = Data::Uniform.fingerprints(n);
        println!("{n} uniform fingerprints, k = {k}; times in us, medians except p99");
        println!(
            "| layout | filter | memory | p50 | p99 | reads | alone | together | p50 / together |"
        );
        println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
        for layout in layouts.split(',') {
            for filter in filters.split(',') {
                row(&fingerprints, layout, filter.parse().unwrap(), k);
            }
        }
    }

    fn row(fingerprints: &[u64], layout: &str, filter: u32, k: u32) {
        let folder = common::folder();
        let path = folder.path().join("db");
        let options = options(layout, option("--block", 128), filter).max_distance(k);
        let (db, _) = load(options.clone(), path.clone(), fingerprints);
        db.close().unwrap();
        let count = if common::is_test() { 20 } else { option("--queries", 300) };
        let queries = queries(fingerprints, count);
        let size = std::fs::metadata(largest(&path)).unwrap().len() * 2;
        for share in option("--memory", "0,0.25,0.65,1.5".to_owned()).split(',') {
            evict(&path);
            let share: f64 = share.parse().unwrap();
            let options = options.clone().page_memory((size as f64 * share) as u64);
            let db = options.open(&path).unwrap();
            db.warm().unwrap();
            let (times, reads) = ask(&db, &queries, k);
            for &query in queries.iter().take(20) {
                assert_eq!(db.query(query, k).unwrap().len(), scan(fingerprints, query, k));
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

    fn ask(db: &Db, queries: &[u64], k: u32) -> (Vec<Duration>, f64) {
        let before = bytes_read();
        let mut times: Vec<Duration> = queries
            .iter()
            .map(|&query| {
                let start = Instant::now();
                std::hint::black_box(db.query(query, k).unwrap());
                start.elapsed()
            })
            .collect();
        times.sort_unstable();
        (times, (bytes_read() - before) as f64 / PAGE as f64 / queries.len() as f64)
    }

    /// Returns the bytes that devices have read for this process so far.
    fn bytes_read() -> u64 {
        let io = std::fs::read_to_string("/proc/self/io").unwrap();
        let line = io.lines().find_map(|line| line.strip_prefix("read_bytes: "));
        line.unwrap().parse().unwrap()
    }

    fn largest(folder: &Path) -> PathBuf {
        files(folder).into_iter().max_by_key(|path| path.metadata().unwrap().len()).unwrap()
    }

    /// Returns the median time to read `depth` random pages of a cold file with this many threads.
    fn device(path: &Path, depth: usize, threads: usize) -> f64 {
        let file = File::open(path).unwrap();
        fadvise(&file, 0, None, Advice::Random).unwrap();
        let pages = file.metadata().unwrap().len() / PAGE;
        let rounds = if common::is_test() { 3 } else { 60 };
        let (start, end) = (Barrier::new(threads + 1), Barrier::new(threads + 1));
        let mut times = Vec::new();
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let (file, start, end) = (&file, &start, &end);
                scope.spawn(move || {
                    let mut random = Random(thread as u64 * 7919 + depth as u64);
                    let mut page = [0; PAGE as usize];
                    for _ in 0..rounds {
                        start.wait();
                        for _ in 0..depth / threads {
                            file.read_at(&mut page, random.below(pages) * PAGE).unwrap();
                        }
                        end.wait();
                    }
                });
            }
            for _ in 0..rounds {
                start.wait();
                let begin = Instant::now();
                end.wait();
                times.push(begin.elapsed());
            }
        });
        times.sort_unstable();
        percentile(&times, 0.5)
    }
}
