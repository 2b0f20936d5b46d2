//! Measures the memory of a process with a large open database, without mapped files.
//!
//!     cargo bench --bench memory -- [--n 24]
//!
//! `fpdb-tool ratio` measures the space on disk.

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "prints tables of figures")]

mod common;

use common::{Data, load, option, options};

fn main() {
    let database = option("--probe", String::new());
    if !database.is_empty() {
        return probe(&database);
    }
    memory(1 << option("--n", if common::is_test() { 12 } else { 24 }));
}

/// Returns the anonymous memory of this process in bytes: everything except mapped files.
fn anonymous_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("RssAnon:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// Measures by how much a new process grows when it opens and queries a large database.
fn memory(n: usize) {
    println!("anonymous memory of a process with {n} uniform fingerprints open, MiB");
    println!(
        "| layout | at open | after 100,000 queries | after 100,000 inserts | index | memtable |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    for layout in ["half-2", "ring-4"] {
        let folder = common::folder();
        let path = folder.path().join("db");
        let fingerprints = Data::Uniform.fingerprints(n).unwrap();
        let (db, _) = load(options(layout, 128, 10), path.clone(), &fingerprints);
        db.close().unwrap();
        // In this process, memory left from the load would hide what a query needs.
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

/// The part that runs in the new process.
fn probe(path: &str) {
    let Some(before) = anonymous_memory() else {
        println!(" skipped: there is no /proc/self/status |");
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
