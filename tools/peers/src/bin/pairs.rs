//! Measures how long it takes to find all pairs: fpdb's search from its files, fpdb's batch of
//! queries, and mih-rs with one query per fingerprint, in one run. All must find the same number of
//! pairs.
//!
//! The time to build an index does not count.

use std::hint::black_box;
use std::ops::ControlFlow;
use std::time::Instant;

use anyhow::{Result, ensure};
use clap::Parser;
use fpdb::{Db, DocId, Entry, Found, Layout, Snapshot};
use peers::data::{Data, Source};
use peers::median;
use peers::random::Random;

/// Greatest distance.
const K: u32 = 3;
/// Queries of a batch.
const BATCH: usize = 1 << 20;
/// The median of so many runs is shown.
const RUNS: usize = 3;

/// Compares the search for all pairs with other programs
#[derive(Parser)]
struct Args {
    /// Number of fingerprints
    #[arg(long, default_value_t = 1_000_000)]
    n: usize,

    #[arg(long, default_value = "uniform")]
    data: Data,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let mut fingerprints = Source::new(args.data)?.take(args.n).fingerprints;
    plant(&mut fingerprints);
    // Other programs have no groups of equal fingerprints.
    fingerprints.sort_unstable();
    fingerprints.dedup();
    let n = fingerprints.len();
    let folder = tempfile::tempdir()?;
    let options = Db::options().max_distance(K).threads(1).layout(Layout::preset("half-2", 64)?);
    let db = options.create(folder.path().join("db"))?;
    let entries = (0..).zip(&fingerprints);
    let entries = entries.map(|(id, &fingerprint)| Ok(Entry { fingerprint, id: DocId(id) }));
    let _ = db.bulk_load(entries)?;
    let (snapshot, index) = (db.snapshot(), mih_rs::Index::new(fingerprints.clone())?);

    // Each pair is found from both sides, and each fingerprint finds itself.
    let pairs_of = |matches: u64| (matches - n as u64) / 2;
    let programs: [(&str, &dyn Fn() -> Result<u64>); 3] = [
        ("fpdb, pairs", &|| all_pairs(&snapshot)),
        ("fpdb, batch", &|| Ok(pairs_of(batch(&snapshot, &fingerprints)?))),
        ("mih-rs", &|| Ok(pairs_of(one_by_one(&index, &fingerprints)))),
    ];
    let (mut times, mut pairs) = ([const { Vec::new() }; 3], None);
    for _ in 0..RUNS {
        for ((name, find), times) in programs.iter().zip(&mut times) {
            let start = Instant::now();
            let found = find()?;
            times.push(start.elapsed().as_secs_f64());
            let pairs = *pairs.get_or_insert(found);
            ensure!(found == pairs, "{name} finds {found} pairs, and fpdb {pairs}");
        }
    }
    let (data, pairs) = (args.data.name(), pairs.unwrap_or_default());
    println!("{n} {data} fingerprints, k = {K}, {pairs} pairs\n");
    println!("| program | seconds | ns per fingerprint | times |\n| --- | ---: | ---: | ---: |");
    let seconds = times.map(|times| median(&times));
    for ((name, _), each) in programs.iter().zip(seconds) {
        let (ns, times) = (each * 1e9 / n as f64, each / seconds[0]);
        println!("| {name} | {each:.3} | {ns:.0} | {times:.1} |");
    }
    Ok(())
}

/// Replaces one fingerprint out of 20 by another with 1 to k + 1 bits flipped.
fn plant(fingerprints: &mut [u64]) {
    let (mut random, n) = (Random(1), fingerprints.len());
    for flips in (1..=K + 1).cycle().take(n / 20) {
        let (from, to) = (random.below(n), random.below(n));
        fingerprints[to] = random.flip(fingerprints[from], flips, 0, 64);
    }
}

/// Finds all pairs with their ids.
fn all_pairs(snapshot: &Snapshot) -> Result<u64> {
    let mut found = 0;
    let visit = |some: Found<'_>| {
        if let Found::Pairs(pairs) = some {
            found += black_box(pairs).len() as u64;
        }
        ControlFlow::Continue(())
    };
    snapshot.pairs(K).threads(1).visit(visit)?;
    Ok(found)
}

fn batch(snapshot: &Snapshot, fingerprints: &[u64]) -> Result<u64> {
    let mut matches = 0;
    for queries in fingerprints.chunks(BATCH) {
        matches += black_box(snapshot.query_batch(queries, K)?).matches().len() as u64;
    }
    Ok(matches)
}

fn one_by_one(index: &mih_rs::Index<u64>, fingerprints: &[u64]) -> u64 {
    let mut searcher = index.range_searcher();
    let matches = |&query: &u64| black_box(searcher.run(query, K as usize)).len() as u64;
    fingerprints.iter().map(matches).sum()
}
