//! Measures entries per second through a bulk load; `crawl` measures other inserts.
//!
//!     cargo bench --bench write
//!
//! The column with the memory is the most that the process took in addition, without mapped files,
//! when progress was reported.

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "prints tables of figures")]

mod common;

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use common::{Data, anonymous_bytes, options, processor_seconds};
use fpdb::{Db, DocId, Entry, Phase};

const LAYOUT: &str = "half-2";

fn main() {
    println!("bulk load, million entries per second, 256 MiB to sort in");
    println!(
        "| layout | data | order | n | threads | M/s | M/s a core | read ns | sort | write | memory MiB | bytes | open ms |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for data in Data::ALL {
        measure(data, &data.fingerprints(1 << if common::is_test() { 12 } else { 23 }));
    }
}

fn measure(data: Data, fingerprints: &[u64]) {
    let folder = common::folder();
    let path = folder.path().join("db");
    let db = options(LAYOUT, 8).bulk_memory(256 << 20).threads(1).create(&path).unwrap();
    let before = processor_seconds();
    let (steps, memory_used) = load_in_steps(&db, fingerprints);
    let processor = processor_seconds() - before;
    let (stats, data, n) = (db.stats(), data.name(), fingerprints.len());
    assert_eq!(stats.entries, n as u64);
    let bytes = stats.bytes_total as f64 / n as f64;
    db.close().unwrap();
    let start = Instant::now();
    let db = Db::open(&path).unwrap();
    let open = start.elapsed().as_secs_f64() * 1e3;
    assert!(db.snapshot().contains(fingerprints[0]).unwrap());
    let rate = n as f64 / steps.iter().sum::<f64>() / 1e6;
    let [read, sort, write] = steps.map(|seconds| seconds * 1e9 / n as f64);
    let a_core = n as f64 / processor / 1e6;
    print!("| {LAYOUT} | {data} | random | {n} | 1 | {rate:.2} | {a_core:.2} ");
    println!("| {read:.1} | {sort:.1} | {write:.1} | {memory_used:.1} | {bytes:.2} | {open:.2} |");
}

/// Returns the seconds to read, to sort, and to write and sync, and the memory used in MiB. Ids are
/// positions.
fn load_in_steps(db: &Db, fingerprints: &[u64]) -> ([f64; 3], f64) {
    let before = anonymous_bytes();
    let start = Instant::now();
    let measured = Arc::new(Mutex::new((before, [Duration::ZERO; 2])));
    let so_far = measured.clone();
    let db = db.on_progress(move |progress| {
        let (most, begun) = &mut *so_far.lock().unwrap();
        *most = anonymous_bytes().max(*most);
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
    (steps, (most - before) as f64 / (1 << 20) as f64)
}
