//! Measures what other programs make of a list of names, such as `cargo bench --bench names --
//! --write LIST` writes: zstd of the entire list, and a set of the crate fst.
//!
//! The argument is a file with one name per line.

use std::collections::BTreeSet;
use std::hint::black_box;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

/// Level of zstd.
const LEVEL: i32 = 19;

fn main() -> Result<()> {
    let list = std::env::args_os().nth(1).context("the argument is a file of names")?;
    let text = std::fs::read_to_string(list)?;
    let names: BTreeSet<&str> = text.lines().filter(|name| !name.is_empty()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    ensure!(!names.is_empty(), "the list has no names");
    let row = |what: &str, bytes: usize| {
        println!("| {what} | {:.2} |", bytes as f64 / names.len() as f64);
    };
    println!("{} names\n\n| what | bytes per name |\n| --- | ---: |", names.len());
    let sorted = names.join("\n") + "\n";
    row("sorted list", sorted.len());
    let compressed = zstd::bulk::compress(sorted.as_bytes(), LEVEL)?;
    row(&format!("zstd -{LEVEL} of the sorted list"), compressed.len());
    let set = fst::Set::from_iter(&names)?;
    row("fst::Set", set.as_fst().as_bytes().len());

    // A step without a common factor with most counts, so that lookups are in no order.
    let picked = || (0..names.len()).map(|i| names[i * 982_451 % names.len()]).take(200_000);
    ensure!(picked().all(|name| set.contains(name)), "a name is not in the set");
    let start = Instant::now();
    let found = picked().filter(|name| black_box(set.contains(black_box(name)))).count();
    let each = start.elapsed().as_nanos() as f64 / found as f64;
    println!("\nfst::Set, present name: {each:.0} ns");
    Ok(())
}
