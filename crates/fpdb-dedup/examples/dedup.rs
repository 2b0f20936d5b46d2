//! Drops the near-duplicates among texts: reads a text per line, and prints the numbers of the
//! lines to keep, from 0 on.
//!
//!     cargo run --release -p fpdb-dedup --example dedup < texts

use std::io::{BufRead, Write, stdin, stdout};

use fpdb::Jaccard;
use fpdb::text::Recipe;
use fpdb_dedup::Dedup;

/// Texts that are in memory at the same time.
const CHUNK: usize = 4096;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let recipe = Recipe::for_sketches("pairs/1")?;
    let mut dedup = Dedup::options(recipe, Jaccard::at_least(0.8)).start()?;
    let (mut lines, mut row, mut out) = (stdin().lock().lines(), 0u64, stdout().lock());
    loop {
        let texts = lines.by_ref().take(CHUNK).collect::<Result<Vec<String>, _>>()?;
        if texts.is_empty() {
            return Ok(());
        }
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        for verdict in dedup.add(&texts)? {
            if verdict.is_kept() {
                writeln!(out, "{row}")?;
            }
            row += 1;
        }
    }
}
