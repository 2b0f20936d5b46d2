//! Compares fpdb's engine with what its users would use instead: one program, one run, one table,
//! checked answers.
//!
//! All peers get the same fingerprints and the same queries. Half of the queries are entries with 0
//! to k + 1 bits flipped, half are strangers. Answers are compared with a scan, or with each other
//! where a scan would take too long. Then the peers take turns to answer, in one thread, so that a
//! busy machine slows all of them; a slow peer gets fewer of the queries. README.md says what each
//! column counts.

mod check;
mod indexes;
mod measure;
mod memory;

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use clap::{Parser, ValueEnum, value_parser};
use fpdb::Layout;
use peers::data::{Data, Source};

use indexes::Peer;
use measure::{Entrant, Task, measure};

/// Compares fpdb with what its users would use instead: the same fingerprints, the same queries,
/// checked answers
#[derive(Parser)]
struct Args {
    /// Numbers of fingerprints, as powers of two; of real data with fewer, all are used
    #[arg(long, value_delimiter = ',', default_value = "20", value_parser = value_parser!(u32).range(4..=31))]
    n: Vec<u32>,

    /// Largest distances of queries, in bits
    #[arg(long, value_delimiter = ',', default_value = "3", value_parser = value_parser!(u32).range(..=12))]
    k: Vec<u32>,

    /// Data sets
    #[arg(long, value_delimiter = ',', default_value = "uniform")]
    data: Vec<Data>,

    /// Peers [default: all]
    #[arg(long, value_delimiter = ',')]
    peers: Vec<Peer>,

    /// fpdb's layouts: names of presets, or "auto"
    #[arg(long, value_delimiter = ',', default_value = "half-2,ring-3,auto")]
    layouts: Vec<String>,

    /// Queries; slow peers answer only the first of them
    #[arg(long, default_value_t = 4000)]
    queries: usize,
}

fn main() -> Result<()> {
    let mut args = Args::parse();
    ensure!(args.queries > 0, "--queries must be at least 1");
    if args.peers.is_empty() {
        args.peers = Peer::value_variants().to_vec();
    }
    avoid_huge_pages()?;
    let mut measured = 0;
    for &data in &args.data {
        match Source::new(data) {
            Ok(source) => measured += run(&args, data, &source)?,
            Err(error) => eprintln!("left out, data {}: {error:#}", data.name()),
        }
    }
    ensure!(measured > 0, "nothing could be measured");
    Ok(())
}

/// Makes all memory pages of this process the same size, those of mapped files too.
fn avoid_huge_pages() -> Result<()> {
    #[expect(unsafe_code, reason = "the standard library has no call for this flag")]
    // SAFETY: sets a flag of this process and touches no memory.
    let done = unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) };
    ensure!(done == 0, "cannot disable huge pages: {}", std::io::Error::last_os_error());
    Ok(())
}

/// Measures and prints all tables of a data set; returns how many.
fn run(args: &Args, data: Data, source: &Source) -> Result<usize> {
    let (mut sizes, mut tables) = (BTreeSet::new(), 0);
    for &log in &args.n {
        let set = source.take(1 << log);
        let n = set.fingerprints.len();
        // Real data may have no more fingerprints than the size before it.
        if !sizes.insert(n) {
            continue;
        }
        for &k in &args.k {
            let queries = set.queries(args.queries, k);
            println!("{n} {} fingerprints, k = {k}, 4k pages\n", data.name());
            println!(
                "| peer | p50 us | p99 us | mean us | disk bytes/fp | RAM bytes/fp | build s |"
            );
            println!("| --- | --: | --: | --: | --: | --: | --: |");
            let task = Task { k, fingerprints: &set.fingerprints, queries: &queries };
            measure(&task, &entrants(args, n, k)?)?;
            println!();
            tables += 1;
        }
    }
    Ok(tables)
}

/// Returns a row for each peer, and of fpdb one for each layout.
fn entrants(args: &Args, n: usize, k: u32) -> Result<Vec<Entrant>> {
    let mut all = Vec::new();
    for &peer in &args.peers {
        let name = peer.to_possible_value().context("a peer has no name")?.get_name().to_owned();
        let is_fpdb = matches!(peer, Peer::Fpdb);
        for preset in &args.layouts[..if is_fpdb { args.layouts.len() } else { 1 }] {
            let layout = match preset.as_str() {
                "auto" => Layout::auto(64, k, n as u64).0,
                preset => Layout::preset(preset, 64).context("--layouts")?,
            };
            let name = match preset.as_str() {
                _ if !is_fpdb => name.clone(),
                "auto" => format!("fpdb auto ({})", layout.name()),
                preset => format!("fpdb {preset}"),
            };
            all.push(Entrant { name, peer, layout });
        }
    }
    Ok(all)
}
