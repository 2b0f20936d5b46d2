//! Measures a lower bound for a query: the time to read random cache lines, either as many at a
//! time as a query looks up in filters, so that they wait together, or one after another.
//!
//!     cargo bench --bench lines -- [--mib 16,128,1024] [--lines 44]

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "prints a table of figures")]

mod common;

use std::hint::black_box;
use std::time::Instant;

use common::{Random, option, percentile};
use memmap2::MmapMut;

const ROUNDS: usize = 20_000;
/// Bytes per cache line.
const LINE: usize = 64;

fn main() {
    let test = common::is_test();
    let sizes = option("--mib", if test { "1" } else { "16,128,1024" }.to_string());
    let lines = option("--lines", 44usize);
    println!("| MiB | pages | ns per line, {lines} at a time | ns, one after another |");
    println!("| --- | --- | --- | --- |");
    for size in sizes.split(',') {
        let bytes = size.parse::<usize>().expect("a number of MiB") << 20;
        for huge in [false, true] {
            let memory = random_bytes(bytes, huge);
            let pages = if huge { "huge" } else { "4k" };
            let (together, alone) = (together(&memory, lines), alone(&memory));
            println!("| {size} | {pages} | {together:.1} | {alone:.1} |");
        }
    }
}

/// Pages are 4 KiB unless huge ones are requested and the system has them.
fn random_bytes(len: usize, huge: bool) -> MmapMut {
    let mut memory = MmapMut::map_anon(len).expect("memory");
    #[cfg(target_os = "linux")]
    {
        use memmap2::Advice::{HugePage, NoHugePage};
        // A system without huge pages refuses both.
        let _ = memory.advise(if huge { HugePage } else { NoHugePage });
    }
    let mut random = Random(7);
    memory.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&random.next().to_le_bytes()));
    memory
}

/// Returns the first word of a line.
fn word(memory: &[u8], line: u64) -> u64 {
    let start = usize::try_from(line).expect("a line of it") * LINE;
    memory[start..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
}

/// Returns the time per line of many lines that do not depend on each other: a median over the
/// rounds.
fn together(memory: &[u8], lines: usize) -> f64 {
    let count = (memory.len() / LINE) as u64;
    let mut random = Random(1);
    let mut times: Vec<_> = (0..if common::is_test() { 10 } else { ROUNDS })
        .map(|_| {
            let places: Vec<u64> = (0..lines).map(|_| random.below(count)).collect();
            let start = Instant::now();
            black_box(places.iter().fold(0, |sum, &line| sum ^ word(memory, line)));
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    percentile(&times, 0.5) * 1e3 / lines as f64
}

/// Returns the mean time per line if each line contains the position of the next.
fn alone(memory: &[u8]) -> f64 {
    let (count, rounds) =
        ((memory.len() / LINE) as u64, if common::is_test() { 10 } else { 1 << 20 });
    let (mut line, mut random) = (0, Random(2));
    let start = Instant::now();
    for _ in 0..rounds {
        line = (word(memory, line) ^ random.next()) % count;
    }
    black_box(line);
    start.elapsed().as_secs_f64() * 1e9 / f64::from(rounds)
}
