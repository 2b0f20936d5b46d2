//! Compares fpdb's engine with what its users would use instead: one program, one run, one table,
//! checked answers.
//!
//! All peers get the same fingerprints and the same queries. Half of the queries are entries with 0
//! to k + 1 bits flipped, half are strangers. Answers are compared with a scan, or with each other
//! where a scan would take too long. Then the peers take turns to answer, in one thread, so that a
//! busy machine slows all of them; a slow peer gets fewer of the queries. README.md says what each
//! column counts.

mod args;
mod check;
mod corpus;
mod data;
mod measure;
mod memory;
mod pages;
mod peer;
mod peers;
mod random;
mod report;
mod scan;
#[allow(dead_code, reason = "shared with the other programs")]
mod stores;

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use clap::Parser;

use args::{Args, Pages};
use data::Source;
use measure::{Task, measure};
use peer::Entrant;
use peers::Kind;

fn main() -> Result<()> {
    let mut args = Args::parse();
    if args.test {
        args.shrink(peers::ALL.iter().map(|kind| kind.name));
    }
    args.check()?;
    let kinds = peers::named(&args.peers)?;
    match args.engines.pages {
        Pages::Small => pages::make_small()?,
        Pages::Huge => pages::make_huge()?,
    }
    let (mut measured, mut notes) = (0, Notes::default());
    for &data in &args.data {
        measured += run(&args, &kinds, &Source::new(data), &mut notes)?;
    }
    ensure!(measured > 0, "nothing could be measured");
    if args.test {
        println!("{measured} rows measured, all answers right");
    }
    Ok(())
}

/// Lines on stderr, each printed once.
#[derive(Default)]
struct Notes(BTreeSet<String>);

impl Notes {
    fn print(&mut self, line: String) {
        if !self.0.contains(&line) {
            eprintln!("{line}");
            self.0.insert(line);
        }
    }
}

/// Measures and prints all rows of a data set; returns how many.
fn run(args: &Args, kinds: &[&Kind], source: &Source, notes: &mut Notes) -> Result<usize> {
    let mut sizes = BTreeSet::new();
    let mut measured = 0;
    for &log in &args.n {
        let data = source.data.name();
        let set = match source.take(1 << log) {
            Ok(set) => set,
            Err(error) => {
                notes.print(format!("left out, data {data}: {error:#}"));
                return Ok(measured);
            }
        };
        let n = set.fingerprints.len();
        // Real data may have no more fingerprints than the size before it.
        if !sizes.insert(n) {
            continue;
        }
        for &k in &args.k {
            let queries = set.queries(args.queries, k);
            let fingerprints = &set.fingerprints;
            let task = Task { args, data, k, fingerprints, queries: &queries };
            let records = measure(&task, &entrants(args, kinds, n, k, notes))?;
            match (args.test, args.json) {
                (true, _) => {}
                (false, true) => report::print_json(&records)?,
                (false, false) => report::print_table(&records),
            }
            measured += records.len();
        }
    }
    Ok(measured)
}

/// Returns the rows of these peers. The reason why a peer has none goes to stderr.
fn entrants<'a>(
    args: &'a Args,
    kinds: &[&Kind],
    n: usize,
    k: u32,
    notes: &mut Notes,
) -> Vec<Entrant<'a>> {
    let mut all = Vec::new();
    for kind in kinds {
        match (kind.entrants)(&args.engines, n, k) {
            Ok(entrants) => all.extend(entrants),
            Err(error) => notes.print(format!("left out, {}: {error:#}", kind.name)),
        }
    }
    all
}
