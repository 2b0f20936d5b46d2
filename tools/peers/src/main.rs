//! Measures fpdb's engine beside what its users would take instead: one program, one table, in one
//! run, answers checked.
//!
//! All peers get the same fingerprints and the same queries, of which half are entries with 0 to
//! k + 1 bits flipped and half are strangers. Answers are compared with a scan, or where that would
//! take too long with each other. Then the peers are asked by turns, in one thread, so that a busy
//! machine slows all of them; a peer that is slow is asked fewer of the queries. See README.md for
//! what each column counts.

mod args;
mod check;
mod corpus;
mod data;
mod measure;
mod memory;
mod pages;
mod peer;
mod random;
mod report;

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use clap::Parser;

use args::{Args, Pages};
use data::Source;
use measure::{Task, measure};
use peer::{Entrant, Kind};

fn main() -> Result<()> {
    let mut args = Args::parse();
    if args.test {
        args.shrink();
    }
    args.check()?;
    let kinds = peer::named(&args.peers)?;
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

/// Lines on stderr, each said once.
#[derive(Default)]
struct Notes(BTreeSet<String>);

impl Notes {
    fn say(&mut self, line: String) {
        if !self.0.contains(&line) {
            eprintln!("{line}");
            self.0.insert(line);
        }
    }
}

/// All rows of a data set; tells how many.
fn run(args: &Args, kinds: &[&Kind], source: &Source, notes: &mut Notes) -> Result<usize> {
    let mut sizes = BTreeSet::new();
    let mut measured = 0;
    for &log in &args.n {
        let data = source.data.name();
        let set = match source.take(1 << log) {
            Ok(set) => set,
            Err(error) => {
                notes.say(format!("left out, data {data}: {error:#}"));
                return Ok(measured);
            }
        };
        let n = set.fingerprints.len();
        // Of real data there may be no more than was measured before.
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

/// The rows of these peers; why a peer has none goes to stderr.
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
            Err(error) => notes.say(format!("left out, {}: {error:#}", kind.name)),
        }
    }
    all
}
