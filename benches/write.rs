//! Entries a second through `insert_if_novel`, by durability and threads, and through a bulk load.
//!
//!     cargo bench --bench write -- [--seconds 3] [--n 24] [--layout half-2]

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "prints tables of figures")]

mod common;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use common::{Data, Random, load, option, options};
use fpdb::{DocId, Durability, Novelty};

fn main() {
    novel();
    bulk();
}

fn novel() {
    let seconds = option("--seconds", if common::is_test() { 0.05 } else { 3.0 });
    println!("insert_if_novel, one call an entry, uniform data, one in ten a near-duplicate");
    println!("| layout | durability | threads | per second | novel |");
    println!("| --- | --- | --- | --- | --- |");
    for durability in [Durability::Sync, Durability::Buffered] {
        for threads in [1, 2] {
            let (rate, share) = insert_novel(durability, threads, Duration::from_secs_f64(seconds));
            let layout = option("--layout", "half-2".to_string());
            println!("| {layout} | {durability:?} | {threads} | {rate:.0} | {share:.3} |");
        }
    }
}

/// Calls a second, and the share of novel entries.
fn insert_novel(durability: Durability, threads: u64, time: Duration) -> (f64, f64) {
    let folder = common::folder();
    let layout = option("--layout", "half-2".to_string());
    let db =
        options(&layout, 128, 0).durability(durability).create(folder.path().join("db")).unwrap();
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
                    let inserted = match db.insert_if_novel(last, DocId(id)).unwrap() {
                        Novelty::Inserted(_) => 1,
                        Novelty::Duplicate(found) => {
                            assert!(found.distance <= 3);
                            0
                        }
                    };
                    novel.fetch_add(inserted, Ordering::Relaxed);
                }
            });
        }
    });
    let seconds = start.elapsed().as_secs_f64();
    let (calls, novel) = (calls.into_inner() as f64, novel.into_inner() as f64);
    assert!(db.stats().entries > 0);
    (calls / seconds, novel / calls)
}

fn bulk() {
    let n = 1usize << option("--n", if common::is_test() { 12 } else { 24 });
    println!("\nbulk load and open, uniform data");
    println!("| layout | n | million entries/s | open ms |");
    println!("| --- | --- | --- | --- |");
    let fingerprints = Data::Uniform.fingerprints(n).unwrap();
    for layout in ["single", "half-2", "ring-3", "ring-4"] {
        let folder = common::folder();
        let path = folder.path().join("db");
        let (db, seconds) = load(options(layout, 128, 0), path.clone(), &fingerprints);
        assert_eq!(db.stats().entries, n as u64);
        db.close().unwrap();
        let start = Instant::now();
        let db = fpdb::Db::open(&path).unwrap();
        let open = start.elapsed().as_secs_f64() * 1e3;
        assert!(db.contains(fingerprints[0]).unwrap());
        println!("| {layout} | {n} | {:.2} | {open:.2} |", n as f64 / seconds / 1e6);
    }
}
