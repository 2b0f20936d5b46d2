//! Measures the bits per fingerprint of each part of fpdb's tables, and compares them with the
//! entropy of the fingerprints, with zstd, and with the paper's code.
//!
//! `n` is the number of different fingerprints. `table` is the sum of the four columns before it,
//! and `over` what it takes above the entropy bound. `ids over` is what ids take above log2 of the
//! number of ways to distribute them. `total` is bytes per fingerprint: all tables and the ids.

use std::f64::consts::{LN_2, PI};

use anyhow::Result;
use clap::Parser;
use fpdb::reports::TableStats;
use fpdb::{Db, DocId, Entry, Layout, Stats};
use peers::data::{Data, Source};

/// zstd's default.
const LEVEL: i32 = 3;

/// Compares sizes with bounds and with other codes
#[derive(Parser)]
struct Args {
    /// Numbers of fingerprints, as exponents of two
    #[arg(long, value_delimiter = ',', default_value = "20,23")]
    n: Vec<u32>,

    #[arg(long, default_value = "uniform")]
    data: Data,

    #[arg(long, value_delimiter = ',', default_value = "half-2")]
    layouts: Vec<String>,

    /// Block sizes in bytes
    #[arg(long, value_delimiter = ',', default_value = "128,1024")]
    blocks: Vec<usize>,

    /// Bits of the prefix filter per fingerprint
    #[arg(long, default_value_t = 8)]
    filter_bits: u32,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let source = Source::new(args.data)?;
    println!(
        "| n | code | layout | block | blocks | index | filter | rest | table | over | paper | ids | ids over | total |"
    );
    println!("| --- | --- | --- |{}", " ---: |".repeat(11));
    for log in &args.n {
        let set = Set::new(source.take(1 << log).fingerprints);
        print_codes(&set.distinct)?;
        for layout in &args.layouts {
            for &block_size in &args.blocks {
                print_database(&args, layout, block_size, &set)?;
            }
        }
    }
    Ok(())
}

/// Fingerprints, of which several may be equal.
struct Set {
    all: Vec<u64>,
    /// In ascending order.
    distinct: Vec<u64>,
    /// log2 of the number of ways to distribute ids among them, per distinct fingerprint.
    ids_bound: f64,
}

impl Set {
    fn new(all: Vec<u64>) -> Self {
        let mut distinct = all.clone();
        distinct.sort_unstable();
        let equal = distinct.chunk_by(|a, b| a == b).map(|equal| ln_factorial(equal.len() as f64));
        let ln_ways = ln_factorial(all.len() as f64) - equal.sum::<f64>();
        distinct.dedup();
        let ids_bound = ln_ways / LN_2 / distinct.len() as f64;
        Self { all, distinct, ids_bound }
    }
}

fn print_codes(fingerprints: &[u64]) -> Result<()> {
    let (n, entropy) = (fingerprints.len() as f64, entropy(fingerprints));
    let (mut full, mut varints, mut last) = (Vec::new(), Vec::new(), 0);
    for &fingerprint in fingerprints {
        full.extend((fingerprint - last).to_le_bytes());
        write_varint(&mut varints, fingerprint - last);
        last = fingerprint;
    }
    let compressed = |bytes: &[u8]| Ok(zstd::bulk::compress(bytes, LEVEL)?.len() as f64 * 8.0 / n);
    let codes: [(&str, Result<f64>); 4] = [
        ("entropy bound", Ok(entropy)),
        ("raw", Ok(64.0)),
        ("zstd of differences", compressed(&full)),
        ("zstd of varints", compressed(&varints)),
    ];
    for (code, bits) in codes {
        let bits = bits?;
        let (over, total) = (bits - entropy, bits / 8.0);
        println!(
            "| {n} | {code} |  |  |  |  |  |  | {bits:.2} | {over:.2} |  |  |  | {total:.2} |"
        );
    }
    Ok(())
}

fn print_database(args: &Args, layout: &str, block_size: usize, set: &Set) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let options = Db::options().layout(Layout::preset(layout, 64)?);
    let options = options.block_size(block_size).filter_bits(args.filter_bits);
    let db = options.create(folder.path().join("db"))?;
    let entries = (0..).zip(&set.all);
    let entries = entries.map(|(id, &fingerprint)| Ok(Entry { fingerprint, id: DocId(id) }));
    let _ = db.bulk_load(entries)?;
    let stats = db.stats();
    let n = set.distinct.len() as f64;
    let [blocks, index, filter, rest] = parts(&stats).map(|bytes| bytes as f64 * 8.0 / n);
    let table = stats.bits_per_fingerprint_per_table;
    let (over, paper) = (table - entropy(&set.distinct), paper(&set.distinct, block_size));
    let ids = stats.bytes_ids as f64 * 8.0 / n;
    let (ids_over, total) =
        (ids - set.ids_bound, (stats.bytes_tables + stats.bytes_ids) as f64 / n);
    println!(
        "| {n} | fpdb | {layout} | {block_size} | {blocks:.2} | {index:.2} | {filter:.2} | {rest:.2} | {table:.2} | {over:.2} | {paper:.2} | {ids:.2} | {ids_over:.2} | {total:.2} |"
    );
    Ok(())
}

/// Returns the bytes of an average table: of its blocks, index and filter, and of the rest.
fn parts(stats: &Stats) -> [u64; 4] {
    let tables: Vec<&TableStats> = stats.segments.iter().flat_map(|s| &s.tables).collect();
    let sum = |part: fn(&TableStats) -> u64| tables.iter().map(|table| part(table)).sum::<u64>();
    let known = [sum(|t| t.bytes_blocks), sum(|t| t.bytes_index), sum(|t| t.bytes_filter)];
    let rest = stats.bytes_tables - known.iter().sum::<u64>();
    [known[0], known[1], known[2], rest].map(|bytes| bytes / stats.tables as u64)
}

fn write_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Returns how many neighbours of a sorted set share d leading bits and differ in the next, by d.
fn branches(fingerprints: &[u64]) -> [u64; 64] {
    let mut counts = [0; 64];
    for neighbours in fingerprints.windows(2) {
        counts[(neighbours[0] ^ neighbours[1]).leading_zeros() as usize] += 1;
    }
    counts
}

/// Returns the bits per fingerprint that any code takes on average which treats all sets as equally
/// likely whose neighbours first differ at each bit equally often.
///
/// Of the N distinct prefixes of d bits, c have fingerprints in both halves: one of C(N, c)
/// choices. The others have them in one of two halves each, so 2^(N - c) choices.
fn entropy(fingerprints: &[u64]) -> f64 {
    let (mut prefixes, mut ln) = (1.0, 0.0);
    for count in branches(fingerprints).map(|count| count as f64) {
        ln += ln_factorial(prefixes) - ln_factorial(count) - ln_factorial(prefixes - count);
        ln += (prefixes - count) * LN_2;
        prefixes += count;
    }
    ln / LN_2 / fingerprints.len() as f64
}

/// Returns the bits per fingerprint that the paper's code (Manku, Jain, Das Sarma 2007, section
/// 3.2) takes in blocks of this size, without index and checksums. A block holds its first
/// fingerprint in full; for each of the others, it holds the Huffman code of h, the position of the
/// highest bit in which the fingerprint differs from the one before, and the h bits below.
fn paper(fingerprints: &[u64], block_size: usize) -> f64 {
    let counts = branches(fingerprints).map(|count| count as f64);
    let below: f64 = (0..64).rev().zip(counts).map(|(h, count)| f64::from(h) * count).sum();
    let next = (below + huffman(counts.to_vec())) / (fingerprints.len() - 1) as f64;
    let (n, block) = (fingerprints.len() as f64, 8.0 * block_size as f64);
    // On average, half a fingerprint's space is left at the end of a block.
    let in_block = 1.0 + ((block - 64.0) / next - 0.5).max(0.0);
    (n / in_block).ceil() * block / n
}

/// Returns the weighted length of a Huffman code: the sum of all weights that its construction
/// joins.
fn huffman(mut weights: Vec<f64>) -> f64 {
    weights.retain(|&weight| weight > 0.0);
    weights.sort_by(|a, b| b.total_cmp(a));
    let mut cost = 0.0;
    while let [.., a, b] = weights[..] {
        weights.truncate(weights.len() - 2);
        let place = weights.partition_point(|&weight| weight > a + b);
        weights.insert(place, a + b);
        cost += a + b;
    }
    cost
}

/// Returns ln(n!), by Stirling's series where that is as good as exact.
fn ln_factorial(n: f64) -> f64 {
    if n < 32.0 {
        return (1..=n as u32).map(|i| f64::from(i).ln()).sum();
    }
    let series = 1.0 / (12.0 * n) - 1.0 / (360.0 * n.powi(3));
    n * (n.ln() - 1.0) + (2.0 * PI * n).ln() / 2.0 + series
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// All sets of numbers of four bits, grouped by where their neighbours first differ. The
    /// numbers are followed by 60 bits that are the same in all.
    #[test]
    fn entropy_counts_the_sets_that_branch_the_same_way() {
        let mut groups: HashMap<[u64; 64], (u32, f64)> = HashMap::new();
        for set in 1u32..1 << 16 {
            let members: Vec<u64> =
                (0..16).filter(|i| set >> i & 1 == 1).map(|i| i << 60).collect();
            // Of each of these bits, one of two values was possible.
            let bits = (entropy(&members) - 60.0) * members.len() as f64;
            groups.entry(branches(&members)).or_insert((0, bits)).0 += 1;
        }
        assert_eq!(groups.len(), 86);
        for (sets, bits) in groups.into_values() {
            assert!((bits - f64::from(sets).log2()).abs() < 1e-9, "{sets}: {bits}");
        }
    }

    #[test]
    fn huffman_code_has_the_length_computed_by_hand() {
        assert_eq!(huffman(vec![0.5, 0.125, 0.0, 0.25, 0.125]), 1.75);
        assert_eq!(huffman(vec![1.0, 1.0, 1.0]), 5.0);
        assert_eq!(huffman(vec![1.0]), 0.0);
    }
}
