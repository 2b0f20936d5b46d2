//! Bits of storage a fingerprint and table, beside the paper's figure, and memory in use.
//!
//!     cargo bench --bench size -- [--n 20,24] [--block 1024]

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "prints tables of figures")]

mod common;

use common::{Data, load, option, options};

fn main() {
    let database = option("--probe", String::new());
    if !database.is_empty() {
        return probe(&database);
    }
    let sizes = option("--n", if common::is_test() { "12" } else { "20,24" }.to_string());
    let block = option("--block", 1024usize);
    println!("bits a fingerprint in one table of {block}-byte blocks, all of the file counted");
    println!("| data | distinct | bits | paper's code | over it | entropy bound | ids, bits |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for size in sizes.split(',') {
        let n = 1usize << size.parse::<u32>().expect("log2 of the number of entries");
        for data in Data::ALL {
            match data.fingerprints(n) {
                Some(fingerprints) => bits(data, &fingerprints, block),
                None => println!("| {} | skipped: the file is not here |", data.name()),
            }
        }
    }
    memory(1 << option("--memory-n", if common::is_test() { 12 } else { 24 }));
}

fn bits(data: Data, fingerprints: &[u64], block: usize) {
    let folder = common::folder();
    let (db, _) = load(options("single", block, 0), folder.path().join("db"), fingerprints);
    let stats = db.stats();
    let rows = stats.fingerprints as f64;
    // Payload by the paper's rule on random data, and 80 bits a block for its first fingerprint
    // and count.
    let payload = 64.0 - rows.log2() + 3.3;
    let blocks = rows * payload / (block as f64 * 8.0 - 80.0);
    let paper = payload + 80.0 * blocks / rows;
    println!(
        "| {} | {} | {:.3} | {paper:.3} | {:+.3} | {:.3} | {:.2} |",
        data.name(),
        stats.fingerprints,
        stats.bits_per_fingerprint_per_table,
        stats.bits_per_fingerprint_per_table - paper,
        stats.entropy_bound_bits,
        stats.bytes_ids as f64 * 8.0 / stats.entries as f64,
    );
}

/// Anonymous memory of this process in bytes: what is no mapped file.
fn anonymous_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("RssAnon:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// By how much a fresh process grows with a large database open and queried.
fn memory(n: usize) {
    println!("\nanonymous memory of a process with {n} uniform fingerprints open, MiB");
    println!(
        "| layout | at open | after 100,000 queries | after 100,000 inserts | mapped index | memtable |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    for layout in ["half-2", "ring-4"] {
        let folder = common::folder();
        let path = folder.path().join("db");
        let fingerprints = Data::Uniform.fingerprints(n).unwrap();
        let (db, _) = load(options(layout, 128, 10), path.clone(), &fingerprints);
        db.close().unwrap();
        // What this process holds from the load would hide what another needs.
        let program = std::env::current_exe().unwrap();
        let output = std::process::Command::new(program)
            .arg("--probe")
            .arg(&path)
            .args(["--count", if common::is_test() { "100" } else { "100000" }])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        print!("| {layout} |{}", String::from_utf8_lossy(&output.stdout));
    }
}

/// The part that runs in the fresh process.
fn probe(path: &str) {
    let Some(before) = anonymous_memory() else {
        println!(" skipped: no /proc/self/status here |");
        return;
    };
    let grown = || mib(anonymous_memory().unwrap_or(0).saturating_sub(before));
    let count = option("--count", 100u64);
    let db = fpdb::Db::options().durability(fpdb::Durability::Buffered).open(path).unwrap();
    let at_open = grown();
    let mut random = common::Random(5);
    let found: usize = (0..count).map(|_| db.query(random.next(), 3).unwrap().len()).sum();
    assert!((found as u64) < count);
    let queried = grown();
    for id in 0..count {
        db.insert(random.next(), fpdb::DocId((1 << 40) + id)).unwrap();
    }
    let (inserted, stats) = (grown(), db.stats());
    let (index, memtable) = (mib(stats.index_memory_bytes), mib(stats.memtable_bytes as u64));
    println!(" {at_open:.2} | {queried:.2} | {inserted:.2} | {index:.1} | {memtable:.1} |");
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
