//! Runs a crawler's loop for a long time: `insert_if_novel` on a large database, with flush and
//! compaction in the background.
//!
//!     cargo bench --bench crawl -- [--resident 22] [--inserts 2000000] [--threads 1]
//!         [--durability buffered|sync] [--memtable 131072] [--filter 10] [--layout half-2]
//!
//! Three in ten documents are near-duplicates of an old or a new one. With synced commits, it also
//! prints how many appends as long as a commit of one entry the device syncs per second.

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "prints tables of figures")]
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes are small")]

mod common;

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use common::{Data, Random, load, option, options, percentile};
use fpdb::{Db, DocId, Durability, Outcome, Stats};

/// Out of this many documents
const ALL: u64 = 10;
/// this many are near-duplicates.
const NEAR: u64 = 3;
const SAMPLE: Duration = Duration::from_millis(20);

struct Setting {
    resident: usize,
    inserts: u64,
    threads: u64,
    durability: Durability,
    memtable: usize,
    filter: u32,
    layout: String,
}

impl Setting {
    fn from_arguments() -> Self {
        let test = common::is_test();
        let durability = match option("--durability", "buffered".to_string()).as_str() {
            "sync" => Durability::Sync,
            "buffered" => Durability::Buffered,
            other => panic!("--durability is buffered or sync, not {other}"),
        };
        Self {
            resident: 1 << option("--resident", if test { 12 } else { 22 }),
            inserts: option("--inserts", if test { 20_000 } else { 2_000_000 }),
            threads: option("--threads", if test { 2 } else { 1 }),
            durability,
            memtable: option("--memtable", if test { 1000 } else { 1 << 17 }),
            filter: option("--filter", 10),
            layout: option("--layout", "half-2".to_string()),
        }
    }
}

fn main() {
    let setting = Setting::from_arguments();
    let folder = common::folder();
    let old = Data::Uniform.fingerprints(setting.resident);
    let options = options(&setting.layout, 128, setting.filter)
        .durability(setting.durability)
        .memtable_entries(setting.memtable);
    let (db, _) = load(options, folder.path().join("db"), &old);
    let crawl = Crawl {
        db: &db,
        old: &old,
        calls: AtomicU64::new(0),
        novel: AtomicU64::new(0),
        done: AtomicBool::new(false),
        inserts: setting.inserts,
    };
    if setting.durability == Durability::Sync {
        println!("the device alone: {:.0} synced appends per second", synced_appends());
    }
    let start = Instant::now();
    let (mut latencies, samples) = std::thread::scope(|scope| {
        let watcher = scope.spawn(|| crawl.watch());
        let threads: Vec<_> = (0..setting.threads)
            .map(|t| {
                scope.spawn({
                    let crawl = &crawl;
                    move || crawl.run(t)
                })
            })
            .collect();
        let latencies: Vec<Duration> =
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        crawl.done.store(true, Ordering::Relaxed);
        (latencies, watcher.join().unwrap())
    });
    let seconds = start.elapsed().as_secs_f64();
    latencies.sort_unstable();
    let stats = db.stats();
    assert_eq!(stats.entries, setting.resident as u64 + crawl.novel.load(Ordering::Relaxed));
    report(&setting, &crawl, seconds, &latencies, samples);
    report_work(&setting, &stats);
    compact(&db);
}

/// Returns how many appends per second the device syncs in one thread, each as long as a commit of
/// one entry.
fn synced_appends() -> f64 {
    let time = Duration::from_secs_f64(if common::is_test() { 0.05 } else { 3.0 });
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

struct Crawl<'a> {
    db: &'a Db,
    old: &'a [u64],
    inserts: u64,
    calls: AtomicU64,
    novel: AtomicU64,
    done: AtomicBool,
}

/// Figures that are sampled at intervals.
struct Samples {
    /// Documents per second, for each second.
    rates: Vec<u64>,
    segments: Vec<usize>,
}

impl Crawl<'_> {
    /// Inserts one thread's documents. Returns the time of each.
    fn run(&self, thread: u64) -> Vec<Duration> {
        let mut random = Random(thread ^ 0x5eed);
        let mut latencies = Vec::new();
        let mut recent: Vec<u64> = Vec::new();
        loop {
            let id = self.calls.fetch_add(1, Ordering::Relaxed);
            if id >= self.inserts {
                return latencies;
            }
            let near = random.below(ALL) < NEAR;
            let known = match (near, recent.len() as u64, self.old.len() as u64) {
                (true, 1.., _) if random.below(2) == 0 => {
                    recent[random.below(recent.len() as u64) as usize]
                }
                (true, _, 1..) => self.old[random.below(self.old.len() as u64) as usize],
                _ => random.next(),
            };
            let errors = random.below(4) as u32;
            let document = if near { random.flip(known, errors) } else { known };
            let start = Instant::now();
            let novelty = self.db.insert_if_novel(document, DocId(1 << 40 | id)).unwrap();
            latencies.push(start.elapsed());
            match novelty {
                Outcome::Inserted(_) => {
                    assert!(!near || self.old.is_empty(), "{document:x} is near {known:x}");
                    self.novel.fetch_add(1, Ordering::Relaxed);
                    recent.push(document);
                }
                Outcome::Duplicate(found) => {
                    assert!(found.distance <= if near { errors } else { 3 });
                }
                _ => panic!("each id occurs once: {novelty:?}"),
            }
        }
    }

    fn watch(&self) -> Samples {
        let mut samples = Samples { rates: Vec::new(), segments: Vec::new() };
        let (mut second, mut calls) = (Instant::now(), 0);
        while !self.done.load(Ordering::Relaxed) {
            std::thread::sleep(SAMPLE);
            samples.segments.push(self.db.stats().segments.len());
            let elapsed = second.elapsed().as_secs_f64();
            if elapsed >= 1.0 {
                let now = self.calls.load(Ordering::Relaxed);
                samples.rates.push(((now - calls) as f64 / elapsed) as u64);
                (second, calls) = (Instant::now(), now);
            }
        }
        samples
    }
}

fn report(
    setting: &Setting,
    crawl: &Crawl<'_>,
    seconds: f64,
    latencies: &[Duration],
    mut samples: Samples,
) {
    let Setting { resident, inserts, threads, durability, memtable, filter, layout } = setting;
    println!(
        "insert_if_novel, {layout}, filter {filter}, {resident} resident, {inserts} documents, {:.3} novel, \
         {threads} threads, {durability:?}, memtable of {memtable}",
        crawl.novel.load(Ordering::Relaxed) as f64 / *inserts as f64
    );
    let rate = *inserts as f64 / seconds;
    samples.rates.sort_unstable();
    samples.segments.sort_unstable();
    let of = |share: f64| percentile(latencies, share);
    let middle = |all: &[u64]| all.get(all.len() / 2).copied().unwrap_or(0);
    println!(
        "documents per second: {rate:.0} overall; per single second: least {}, median {}",
        samples.rates.first().copied().unwrap_or(0),
        middle(&samples.rates)
    );
    println!(
        "microseconds: p50 {:.1}, p99 {:.1}, p99.9 {:.1}, greatest {:.0}",
        of(0.5),
        of(0.99),
        of(0.999),
        of(1.0)
    );
    let segments = &samples.segments;
    println!(
        "segments: least {}, median {}, most {}",
        segments.first().unwrap_or(&0),
        segments.get(segments.len() / 2).unwrap_or(&0),
        segments.last().unwrap_or(&0)
    );
}

fn report_work(setting: &Setting, stats: &Stats) {
    println!(
        "written: {:.1} MB by flush, {:.1} MB by compaction, each byte {:.2} times; writers waited {:.1} ms",
        stats.bytes_flushed as f64 / 1e6,
        stats.bytes_compacted as f64 / 1e6,
        stats.write_amplification,
        stats.stalled.as_secs_f64() * 1e3
    );
    // A flush writes one manifest when it freezes the memtable and one at its end; a compaction
    // writes one.
    let flushes = (stats.entries - setting.resident as u64) / setting.memtable as u64;
    println!(
        "about {flushes} flushes, {} compactions; {:.1} MB in the memtables",
        (stats.generation).saturating_sub(2 * flushes + 3),
        stats.memtable_bytes as f64 / 1e6
    );
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
