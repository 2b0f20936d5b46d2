//! Memory that a process with a large database open holds, beside mapped files.
//!
//!     cargo bench --bench memory -- [--n 24]
//!
//! What a database takes on disk is measured by `fpdb-tool ratio`.

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

/// Anonymous memory of this process in bytes: what is no mapped file.
fn anonymous_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("RssAnon:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// By how much a fresh process grows with a large database open and queried.
fn memory(n: usize) {
    println!("anonymous memory of a process with {n} uniform fingerprints open, MiB");
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
