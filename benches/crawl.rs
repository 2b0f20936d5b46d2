//! Runs a crawler's loop for a long time: `insert_if_novel` on a large database, with flush and
//! compaction in the background.
//!
//!     cargo bench --bench crawl -- [--resident 24] [--inserts 4000000]
//!
//! Three in ten documents are near-duplicates of an old or a new one.

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "prints tables of figures")]
#![allow(clippy::cast_possible_truncation, reason = "sizes are small")]

mod common;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use common::{Data, Random, load, option, options, percentile};
use fpdb::{Db, DocId, Durability, Outcome};

/// Out of this many documents
const ALL: u64 = 10;
/// this many are near-duplicates.
const NEAR: u64 = 3;
const SAMPLE: Duration = Duration::from_millis(20);

fn main() {
    let (resident, inserts, memtable) =
        if common::is_test() { (12, 20_000, 1000) } else { (24, 4_000_000, 1 << 17) };
    let (resident, inserts) = (1 << option("--resident", resident), option("--inserts", inserts));
    let folder = common::folder();
    let old = Data::Uniform.fingerprints(resident);
    let options = options("half-2", 10).durability(Durability::Buffered).memtable_entries(memtable);
    let (db, _) = load(options, folder.path().join("db"), &old);
    let (calls, done) = (AtomicU64::new(0), AtomicBool::new(false));
    let start = Instant::now();
    let ((mut latencies, novel), (mut rates, mut segments)) = std::thread::scope(|scope| {
        let watcher = scope.spawn(|| watch(&db, &calls, &done));
        let crawled = crawl(&db, &old, inserts, &calls);
        done.store(true, Relaxed);
        (crawled, watcher.join().unwrap())
    });
    let rate = inserts as f64 / start.elapsed().as_secs_f64();
    latencies.sort_unstable();
    rates.sort_unstable();
    segments.sort_unstable();
    let stats = db.stats();
    assert_eq!(stats.entries, resident as u64 + novel);
    println!(
        "insert_if_novel, half-2, filter 10, {resident} resident, {inserts} documents, {:.3} novel, \
         1 threads, Buffered, memtable of {memtable}",
        novel as f64 / inserts as f64
    );
    let [least, median, _] = least_median_most(&rates);
    println!(
        "documents per second: {rate:.0} overall; per single second: least {least}, median {median}"
    );
    let [p50, p99, p999, greatest] = [0.5, 0.99, 0.999, 1.0].map(|at| percentile(&latencies, at));
    println!("microseconds: p50 {p50:.1}, p99 {p99:.1}, p99.9 {p999:.1}, greatest {greatest:.0}");
    let [least, median, most] = least_median_most(&segments);
    println!("segments: least {least}, median {median}, most {most}");
    println!(
        "written: {:.1} MB by flush, {:.1} MB by compaction, each byte {:.2} times; writers waited {:.1} ms",
        stats.bytes_flushed as f64 / 1e6,
        stats.bytes_compacted as f64 / 1e6,
        stats.write_amplification,
        stats.stalled.as_secs_f64() * 1e3
    );
    // A flush writes one manifest when it freezes the memtable and one at its end; a compaction
    // writes one.
    let flushes = novel / memtable as u64;
    println!(
        "about {flushes} flushes, {} compactions; {:.1} MB in the memtables",
        stats.generation.saturating_sub(2 * flushes + 3),
        stats.memtable_bytes as f64 / 1e6
    );
    compact(&db);
}

/// Inserts documents. Returns the time of each, and how many were novel.
fn crawl(db: &Db, old: &[u64], inserts: u64, calls: &AtomicU64) -> (Vec<Duration>, u64) {
    let (mut random, mut latencies) = (Random(0x5eed), Vec::new());
    let mut recent: Vec<u64> = Vec::new();
    for id in 0..inserts {
        let near = random.below(ALL) < NEAR;
        let known = match near {
            true if !recent.is_empty() && random.below(2) == 0 => one_of(&mut random, &recent),
            true => one_of(&mut random, old),
            false => random.next(),
        };
        let errors = random.below(4) as u32;
        let document = if near { random.flip(known, errors) } else { known };
        let start = Instant::now();
        let novelty = db.insert_if_novel(document, DocId(1 << 40 | id)).unwrap();
        latencies.push(start.elapsed());
        calls.fetch_add(1, Relaxed);
        match novelty {
            Outcome::Inserted(_) => {
                assert!(!near, "{document:x} is near {known:x}");
                recent.push(document);
            }
            Outcome::Duplicate(found) => {
                assert!(found.distance <= if near { errors } else { 3 });
            }
            _ => panic!("each id occurs once: {novelty:?}"),
        }
    }
    (latencies, recent.len() as u64)
}

fn one_of(random: &mut Random, all: &[u64]) -> u64 {
    all[random.below(all.len() as u64) as usize]
}

/// Returns the documents of each second, and the number of segments at intervals.
fn watch(db: &Db, calls: &AtomicU64, done: &AtomicBool) -> (Vec<u64>, Vec<u64>) {
    let (mut rates, mut segments) = (Vec::new(), Vec::new());
    let (mut second, mut before) = (Instant::now(), 0);
    while !done.load(Relaxed) {
        std::thread::sleep(SAMPLE);
        segments.push(db.stats().segments.len() as u64);
        let elapsed = second.elapsed();
        if elapsed >= Duration::from_secs(1) {
            let now = calls.load(Relaxed);
            rates.push((now - before) * 1_000_000 / elapsed.as_micros() as u64);
            (second, before) = (Instant::now(), now);
        }
    }
    (rates, segments)
}

fn least_median_most(sorted: &[u64]) -> [u64; 3] {
    let at = |place: usize| sorted.get(place).copied().unwrap_or(0);
    [at(0), at(sorted.len() / 2), at(sorted.len().saturating_sub(1))]
}

/// Merges all segments into one, in as many threads as there are processors.
fn compact(db: &Db) {
    let start = Instant::now();
    let report = db.compact().unwrap();
    let seconds = start.elapsed().as_secs_f64();
    let stats = db.stats();
    let rows = stats.rows * stats.tables as u64;
    println!(
        "compaction of all {} segments: {seconds:.2} s, {:.1} ns per fingerprint, per table",
        report.segments_before,
        seconds * 1e9 / rows as f64
    );
}
