//! Measures entries per second through `insert_if_novel`, by durability and threads, and through a
//! bulk load; and the longest pauses of inserts.
//!
//!     cargo bench --bench write -- --novel [--seconds 3] [--sync 1,2,8,32] [--buffered 1,2]
//!         [--layout half-2]
//!     cargo bench --bench write -- --bulk [--n 23] [--layout half-2,ring-3]
//!         [--memory 256] [--threads 1] [--data uniform,clustered,real]
//!         [--order random,sorted,reversed]
//!         [--block 256] [--filter 0]
//!
//!     cargo bench --bench write -- --pause [--memtable 1048576]
//!
//! The last measures the longest calls of `insert` while a memtable of this size is filled.
//!
//! The column with the memory of a bulk load is the most that the process took in addition, without
//! mapped files, when progress was reported.

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "prints tables of figures")]

mod common;

use std::io::Write;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use common::{Data, Random, option, options};
use fpdb::{Db, DocId, Durability, Entry, Outcome, Phase};

fn main() {
    let requested = |name: &str| std::env::args().any(|arg| arg == name);
    let all = !["--novel", "--bulk", "--pause"].into_iter().any(requested);
    if all || requested("--novel") {
        novel();
    }
    if all || requested("--bulk") {
        bulk();
    }
    if all || requested("--pause") {
        pause();
    }
}

/// Prints the longest calls of `insert`, nearly all of whose time is spent in the memtable.
fn pause() {
    let entries = option("--memtable", if common::is_test() { 1 << 12 } else { 1 << 20 });
    println!("\nlongest inserts into a memtable of {entries} entries, half-2, buffered, us");
    println!("| round | longest | second | third | fifth | tenth | mean |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for round in 1..=if common::is_test() { 1 } else { 5 } {
        let folder = common::folder();
        let options = options("half-2", 128, 8).durability(Durability::Buffered);
        let options = options.memtable_entries(entries + 1).background(false);
        let db = options.create(folder.path().join("db")).unwrap();
        let mut random = Random(round);
        let mut times: Vec<f64> = Vec::with_capacity(entries);
        for id in 0..entries {
            let fingerprint = random.next();
            let start = Instant::now();
            assert!(db.insert(fingerprint, DocId(id as u64)).is_ok());
            times.push(start.elapsed().as_secs_f64() * 1e6);
        }
        let mean = times.iter().sum::<f64>() / entries as f64;
        times.sort_by(|a, b| b.total_cmp(a));
        let longest = [0, 1, 2, 4, 9].map(|i| format!("{:.0}", times[i])).join(" | ");
        println!("| {round} | {longest} | {mean:.2} |");
    }
}

fn novel() {
    let seconds = option("--seconds", if common::is_test() { 0.05 } else { 3.0 });
    let time = Duration::from_secs_f64(seconds);
    let layout = option("--layout", "half-2".to_string());
    println!("the device alone: {:.0} short appends per second, each synced", appends_synced(time));
    println!("insert_if_novel, one call per entry, uniform data, one in ten a near-duplicate");
    println!("| layout | durability | threads | per second | times one thread | novel |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for (durability, threads) in [
        (Durability::Sync, option("--sync", "1,2,8,32".to_string())),
        (Durability::Buffered, option("--buffered", "1,2".to_string())),
    ] {
        let mut alone = None;
        for threads in threads.split(',').flat_map(str::parse) {
            let (rate, share) = insert_novel(&layout, durability, threads, time);
            let times = rate / *alone.get_or_insert(rate);
            println!(
                "| {layout} | {durability:?} | {threads} | {rate:.0} | {times:.1} | {share:.3} |"
            );
        }
    }
}

/// Returns the synced appends per second in one thread, each as long as a commit of one entry.
fn appends_synced(time: Duration) -> f64 {
    let folder = common::folder();
    let mut file = std::fs::File::create(folder.path().join("log")).unwrap();
    let (start, mut count) = (Instant::now(), 0);
    while start.elapsed() < time {
        file.write_all(&[1; 45]).unwrap();
        file.sync_all().unwrap();
        count += 1;
    }
    f64::from(count) / start.elapsed().as_secs_f64()
}

/// Returns the calls per second, and the share of novel entries.
fn insert_novel(layout: &str, durability: Durability, threads: u64, time: Duration) -> (f64, f64) {
    let folder = common::folder();
    let db =
        options(layout, 128, 0).durability(durability).create(folder.path().join("db")).unwrap();
    let (calls, novel) = (AtomicU64::new(0), AtomicU64::new(0));
    let start = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (db, calls, novel) = (&db, &calls, &novel);
            scope.spawn(move || {
                let mut random = Random(thread);
                let mut last = random.next();
                while start.elapsed() < time {
                    let near = random.below(10) == 0;
                    last = if near { random.flip(last, 2) } else { random.next() };
                    let id = calls.fetch_add(1, Ordering::Relaxed);
                    match db.insert_if_novel(last, DocId(id)).unwrap() {
                        Outcome::Duplicate(found) => assert!(found.distance <= 3),
                        _ => drop(novel.fetch_add(1, Ordering::Relaxed)),
                    }
                }
            });
        }
    });
    let seconds = start.elapsed().as_secs_f64();
    let (calls, novel) = (calls.into_inner() as f64, novel.into_inner() as f64);
    assert!(db.stats().entries > 0);
    (calls / seconds, novel / calls)
}

/// Loads the data in each order of arrival, since sorting may be faster for sorted input.
fn bulk() {
    let n = 1usize << option("--n", if common::is_test() { 12 } else { 23 });
    let memory = option("--memory", 256usize) << 20;
    println!("\nbulk load, million entries per second, {} MiB to sort in", memory >> 20);
    println!(
        "| layout | data | order | n | threads | M/s | M/s a core | read ns | sort | write | memory MiB | bytes | open ms |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    let (block, filter) = (option("--block", 256), option("--filter", 0));
    let threads = option("--threads", 1);
    let requested = |name: &str, value: &str| {
        let only = option(name, String::new());
        only.is_empty() || only.split(',').any(|one| one == value)
    };
    for data in Data::ALL.into_iter().filter(|data| requested("--data", data.name())) {
        let Some(given) = data.fingerprints(n) else { continue };
        for order in
            ["random", "sorted", "reversed"].into_iter().filter(|o| requested("--order", o))
        {
            let mut fingerprints = given.clone();
            match order {
                "sorted" => fingerprints.sort_unstable(),
                "reversed" => fingerprints.sort_unstable_by(|a, b| b.cmp(a)),
                _ => {}
            }
            for layout in option("--layout", "half-2".to_string()).split(',') {
                let folder = common::folder();
                let path = folder.path().join("db");
                let db = options(layout, block, filter).bulk_memory(memory).threads(threads);
                let db = db.create(&path).unwrap();
                let before = processor_seconds();
                let (steps, memory_used) = load_in_steps(&db, &fingerprints);
                let processor = processor_seconds() - before;
                let stats = db.stats();
                assert_eq!(stats.entries, fingerprints.len() as u64);
                let bytes = stats.bytes_total as f64 / fingerprints.len() as f64;
                db.close().unwrap();
                let start = Instant::now();
                let db = fpdb::Db::open(&path).unwrap();
                let open = start.elapsed().as_secs_f64() * 1e3;
                assert!(db.snapshot().contains(fingerprints[0]).unwrap());
                let (data, n) = (data.name(), fingerprints.len());
                let rate = n as f64 / steps.iter().sum::<f64>() / 1e6;
                let [read, sort, write] = steps.map(|seconds| seconds * 1e9 / n as f64);
                let a_core = n as f64 / processor / 1e6;
                print!(
                    "| {layout} | {data} | {order} | {n} | {threads} | {rate:.2} | {a_core:.2} "
                );
                println!(
                    "| {read:.1} | {sort:.1} | {write:.1} | {memory_used:.1} | {bytes:.2} | {open:.2} |"
                );
            }
        }
    }
}

/// Returns the seconds to read, to sort, and to write and sync, and the memory used in MiB. Ids are
/// positions.
fn load_in_steps(db: &Db, fingerprints: &[u64]) -> ([f64; 3], f64) {
    let before = anonymous_mib();
    let start = Instant::now();
    let measured = Arc::new(Mutex::new((before, [Duration::ZERO; 2])));
    let so_far = measured.clone();
    let db = db.on_progress(move |progress| {
        let (most, begun) = &mut *so_far.lock().unwrap();
        *most = anonymous_mib().max(*most);
        match progress.phase {
            Phase::Sort if progress.done == 0 => begun[0] = start.elapsed(),
            Phase::Write if progress.done == 0 => begun[1] = start.elapsed(),
            _ => {}
        }
        ControlFlow::Continue(())
    });
    let entries = (0..).zip(fingerprints);
    let entries = entries.map(|(id, &fingerprint)| Ok(Entry { fingerprint, id: DocId(id) }));
    let report = db.bulk_load(entries);
    assert_eq!(report.unwrap().read, fingerprints.len() as u64);
    let end = start.elapsed();
    let (most, begun) = *measured.lock().unwrap();
    let steps = [begun[0], begun[1] - begun[0], end - begun[1]].map(|time| time.as_secs_f64());
    (steps, most - before)
}

/// Returns the memory of this process without mapped files. NaN if the system does not report it.
fn anonymous_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kib = line.and_then(|line| line.split_whitespace().next()).and_then(|kib| kib.parse().ok());
    kib.map_or(f64::NAN, |kib: f64| kib / 1024.0)
}

/// Returns the processor seconds of this process, in its threads and in the kernel, to 10 ms. Other
/// load changes them little. Infinite if the system does not provide them.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks: Vec<f64> = stat.split(' ').skip(13).take(2).flat_map(str::parse).collect();
    if ticks.is_empty() { f64::INFINITY } else { ticks.iter().sum::<f64>() / 100.0 }
}
