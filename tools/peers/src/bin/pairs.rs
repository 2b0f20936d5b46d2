//! Measures how long it takes to find all pairs: fpdb's search from its files, fpdb's batch of
//! queries, mih-rs with one query per fingerprint, and two Python packages, in one run. All must
//! find the same number of pairs.
//!
//! The time to build an index counts for no row that has one: fpdb and mih-rs are built before.

use std::hint::black_box;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use fpdb::{Db, DocId, Entry, Found, Layout, Snapshot};
use serde::Deserialize;

#[path = "../corpus.rs"]
#[allow(dead_code, reason = "shared with the other programs")]
mod corpus;
#[path = "../data.rs"]
#[allow(dead_code, reason = "shared with the other programs")]
mod data;
#[path = "../random.rs"]
#[allow(dead_code, reason = "shared with the other programs")]
mod random;

use data::{Data, Source};
use random::Random;

/// Queries of a batch.
const BATCH: usize = 1 << 20;

/// Compares the search for all pairs with other programs
#[derive(Parser)]
struct Args {
    /// Number of fingerprints
    #[arg(long, default_value_t = 1_000_000)]
    n: usize,

    /// Greatest distance
    #[arg(short, long, default_value_t = 3)]
    k: u32,

    /// uniform, clustered, real, zh or en
    #[arg(long, default_value = "uniform")]
    data: String,

    /// fpdb's layout
    #[arg(long, default_value = "half-2")]
    layout: String,

    /// Threads of fpdb
    #[arg(long, default_value_t = 1)]
    threads: usize,

    /// A Python with the packages
    #[arg(long)]
    python: Option<PathBuf>,

    /// Packages of Python, separated by commas. At 10 million fingerprints, hammingbird takes more
    /// than 20 GB of memory
    #[arg(long, value_delimiter = ',', default_value = "hammingbird,simhash-pybind")]
    packages: Vec<String>,

    /// Number of runs. The median is shown
    #[arg(long, default_value_t = 3)]
    runs: usize,
}

/// What a package of Python prints.
#[derive(Deserialize)]
struct OfPackage {
    seconds: f64,
    pairs: u64,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let data = Data::ALL.into_iter().find(|data| data.name() == args.data);
    let mut fingerprints = Source::new(data.context("no such data")?).take(args.n)?.fingerprints;
    plant(&mut fingerprints, args.k);
    // Other programs have no groups of equal fingerprints.
    fingerprints.sort_unstable();
    fingerprints.dedup();
    let folder = tempfile::tempdir()?;
    let db = load(&args, &folder.path().join("db"), &fingerprints)?;
    let snapshot = db.snapshot();
    let index = mih_rs::Index::new(fingerprints.clone())?;
    let file = folder.path().join("fingerprints");
    std::fs::write(&file, to_bytes(&fingerprints))?;

    let mut rows = vec![("fpdb, pairs", vec![]), ("fpdb, batch", vec![]), ("mih-rs", vec![])];
    if args.python.is_some() {
        rows.extend(args.packages.iter().map(|package| (&package[..], vec![])));
    }
    let mut expected = None;
    for _ in 0..args.runs {
        for (name, times) in &mut rows {
            let start = Instant::now();
            let (seconds, pairs) = match *name {
                "fpdb, pairs" => (None, all_pairs(&snapshot, &args)?),
                "fpdb, batch" => (None, batch(&snapshot, &fingerprints, args.k)?),
                "mih-rs" => (None, one_by_one(&index, &fingerprints, args.k)),
                package => {
                    let found = of_package(&args, package, &file)?;
                    (Some(found.seconds), found.pairs)
                }
            };
            times.push(seconds.unwrap_or_else(|| start.elapsed().as_secs_f64()));
            let expected = *expected.get_or_insert(pairs);
            ensure!(pairs == expected, "{name} finds {pairs} pairs, and fpdb {expected}");
        }
    }
    print(&rows, &fingerprints, expected.unwrap_or_default(), &args);
    Ok(())
}

/// Replaces one fingerprint out of 20 by another with 1 to k + 1 bits flipped.
fn plant(fingerprints: &mut [u64], k: u32) {
    let (mut random, n) = (Random(1), fingerprints.len());
    for flips in (1..=k + 1).cycle().take(n / 20) {
        let (from, to) = (random.below(n), random.below(n));
        fingerprints[to] = random.flip(fingerprints[from], flips, 0, 64);
    }
}

fn print(rows: &[(&str, Vec<f64>)], fingerprints: &[u64], pairs: u64, args: &Args) {
    let n = fingerprints.len();
    println!("{n} {} fingerprints, k = {}, {pairs} pairs\n", args.data, args.k);
    println!("| program | seconds | ns per fingerprint | times |\n| --- | ---: | ---: | ---: |");
    let median = |times: &[f64]| {
        let mut times = times.to_vec();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let fastest = rows.first().map_or(1.0, |(_, times)| median(times));
    for (name, times) in rows {
        let (seconds, each) = (median(times), median(times) * 1e9 / n as f64);
        println!("| {name} | {seconds:.3} | {each:.0} | {:.1} |", seconds / fastest);
    }
}

fn load(args: &Args, path: &Path, fingerprints: &[u64]) -> Result<Db> {
    let options = Db::options().max_distance(args.k).threads(args.threads);
    let db = options.layout(Layout::preset(&args.layout, 64)?).create(path)?;
    let entries = (0..).zip(fingerprints);
    let _ =
        db.bulk_load(entries.map(|(id, &fingerprint)| Ok(Entry { fingerprint, id: DocId(id) })))?;
    Ok(db)
}

fn to_bytes(fingerprints: &[u64]) -> Vec<u8> {
    fingerprints.iter().flat_map(|fingerprint| fingerprint.to_le_bytes()).collect()
}

/// Finds all pairs with their ids.
fn all_pairs(snapshot: &Snapshot, args: &Args) -> Result<u64> {
    let mut found = 0;
    let visit = |some: Found<'_>| {
        if let Found::Pairs(pairs) = some {
            found += black_box(pairs).len() as u64;
        }
        ControlFlow::Continue(())
    };
    snapshot.pairs(args.k).threads(args.threads).visit(visit)?;
    Ok(found)
}

/// Each pair is found from both sides, and each fingerprint finds itself.
fn pairs_of_matches(matches: u64, fingerprints: &[u64]) -> u64 {
    (matches - fingerprints.len() as u64) / 2
}

fn batch(snapshot: &Snapshot, fingerprints: &[u64], k: u32) -> Result<u64> {
    let mut matches = 0;
    for queries in fingerprints.chunks(BATCH) {
        matches += black_box(snapshot.query_batch(queries, k)?).matches().len() as u64;
    }
    Ok(pairs_of_matches(matches, fingerprints))
}

fn one_by_one(index: &mih_rs::Index<u64>, fingerprints: &[u64], k: u32) -> u64 {
    let mut searcher = index.range_searcher();
    let matches = fingerprints
        .iter()
        .map(|&fingerprint| black_box(searcher.run(fingerprint, k as usize)).len() as u64);
    pairs_of_matches(matches.sum(), fingerprints)
}

fn of_package(args: &Args, package: &str, file: &Path) -> Result<OfPackage> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/python/all_pairs.py");
    let python = args.python.as_ref().context("--python is missing")?;
    let output = Command::new(python)
        .args([script, package])
        .arg(file)
        .arg(args.k.to_string())
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "{package}: {}", output.status);
    Ok(serde_json::from_slice(&output.stdout)?)
}
