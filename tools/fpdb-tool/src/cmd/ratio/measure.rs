//! Builds tables of fingerprints in memory, and measures them.

use anyhow::Result;
use fpdb::{DocId, Entry, Layout, Options, Word};
use serde::Serialize;

use super::compress;
use crate::cmd::inspect::parts::{self, Parts};

/// The sizes of blocks in bytes that a database can have.
const BLOCK_SIZES: [usize; 6] = [128, 256, 512, 1024, 2048, 4096];

/// Most random fingerprints that are made, and most of a part of more.
const MOST: u64 = 1 << 24;
const PART: u64 = 1 << 20;

/// Bits of the directory per block: a slot of 64 bytes for 26 blocks.
const DIRECTORY_BITS: f64 = 64.0 * 8.0 / 26.0;

/// Different fingerprints, ascending.
pub(super) struct Set<F> {
    pub(super) fingerprints: Vec<F>,
    /// They are one of 2^part parts of a larger set: those that begin with so many zeros.
    part: u32,
    /// The size of the entire set.
    pub(super) count: u64,
}

/// What a code takes, per fingerprint.
#[derive(Serialize)]
pub(super) struct Code {
    pub(super) name: String,
    pub(super) bits: f64,
    /// Of what fingerprints take without compression.
    pub(super) ratio: f64,
    /// What the parts of a table take.
    #[serde(flatten)]
    pub(super) parts: Option<OfBlocks>,
}

/// What a table with blocks of one size takes, in bits per fingerprint.
#[derive(Serialize, Clone, Copy)]
pub(super) struct OfBlocks {
    block_size: usize,
    first: f64,
    codewords: f64,
    remaining: f64,
    unused: f64,
    directory: f64,
    other: f64,
}

impl<F: Word> Set<F> {
    pub(super) fn of(mut fingerprints: Vec<F>) -> Self {
        fingerprints.sort_unstable();
        fingerprints.dedup();
        let count = fingerprints.len() as u64;
        Self { fingerprints, part: 0, count }
    }

    /// Returns random fingerprints: the same for the same number. Of a large set, those of one part
    /// are as random as all are, except for their leading bits.
    pub(super) fn random(count: u64) -> Self {
        let halvings = (0..).find(|&part| count >> part <= PART).unwrap_or(0);
        let part = if count <= MOST { 0 } else { halvings };
        let mut state = 0;
        let mut random = || u128::from(next(&mut state)) << 64 | u128::from(next(&mut state));
        let fingerprints = (0..count >> part).map(|_| F::from_u128(random()) >> part).collect();
        let set = Self::of(fingerprints);
        if part == 0 { set } else { Self { part, count, ..set } }
    }

    pub(super) fn codes(&self) -> Result<Vec<Code>> {
        let n = self.fingerprints.len() as f64;
        let code = |name: &str, bits: f64| Code {
            name: name.to_owned(),
            bits,
            ratio: bits / f64::from(F::BITS),
            parts: None,
        };
        let mut codes = vec![code("raw", F::BITS.into())];
        let compressed = compress::all(&self.fingerprints)?;
        codes
            .extend(compressed.into_iter().map(|(name, bytes)| code(name, bytes as f64 * 8.0 / n)));
        let mut bound = 0.0;
        for block_size in BLOCK_SIZES {
            let (parts, of_random) = self.table(block_size)?;
            bound = of_random;
            let name = format!("blocks of {block_size} B");
            codes.push(Code {
                parts: Some(parts),
                ..code(&name, parts.named().map(|(_, bits)| bits).iter().sum())
            });
        }
        codes.push(code("entropy bound", bound - f64::from(self.part)));
        Ok(codes)
    }

    /// Returns what the parts of a table take, and the entropy bound.
    fn table(&self, block_size: usize) -> Result<(OfBlocks, f64)> {
        let options = Options::<F>::default().layout(Layout::preset("single", F::BITS)?);
        let options = options.block_size(block_size).filter_bits(0).background(false);
        let db = options.index_memory(0).in_memory()?;
        let entries = self.fingerprints.iter();
        let entries = entries.map(|&fingerprint| Ok(Entry { fingerprint, id: DocId(0) }));
        let _ = db.bulk_load(entries)?;
        let stats = db.stats();
        let built = parts::of_all(&db.snapshot(), &stats.segments)?;
        let blocks: f64 = built.iter().map(|table| table.blocks as f64).sum();
        let per_block = DIRECTORY_BITS * blocks / self.fingerprints.len() as f64;
        let sum = |part: fn(&Parts) -> f64| built.iter().map(part).sum();
        // The keys of a part alone crowd a few slots of its directory. In the entire table, they do
        // not.
        let directory = if self.part > 0 { per_block } else { sum(|parts| parts.directory) };
        let of_blocks = OfBlocks {
            block_size,
            first: sum(|parts| parts.first),
            codewords: sum(|parts| parts.codewords),
            remaining: sum(|parts| parts.remaining),
            unused: sum(|parts| parts.unused),
            directory,
            other: sum(|parts| parts.other),
        };
        Ok((of_blocks, stats.entropy_bound_bits))
    }
}

impl OfBlocks {
    /// Returns what each part takes, with its name.
    pub(super) fn named(&self) -> [(&'static str, f64); 6] {
        [
            ("first", self.first),
            ("codewords", self.codewords),
            ("remaining", self.remaining),
            ("unused", self.unused),
            ("directory", self.directory),
            ("other", self.other),
        ]
    }
}

impl Code {
    pub(super) fn line(&self) -> [String; 9] {
        let of = |part: usize| {
            self.parts.map_or_else(String::new, |parts| format!("{:.2}", parts.named()[part].1))
        };
        let (bits, ratio) = (format!("{:.2}", self.bits), format!("{:.3}", self.ratio));
        [self.name.clone(), bits, ratio, of(0), of(1), of(2), of(3), of(4), of(5)]
    }
}

/// Returns the next random number (SplitMix64: Steele, Lea and Flood, OOPSLA 2014).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_larger_random_set_takes_as_much_per_fingerprint_as_all_of_it() {
        let all = Set::<u64>::random(1 << 20).table(1024).unwrap();
        let fingerprints =
            Set::<u64>::random(1 << 18).fingerprints.iter().map(|f| f >> 2).collect();
        let part =
            Set { part: 2, count: 1 << 20, ..Set::<u64>::of(fingerprints) }.table(1024).unwrap();
        let sum = |parts: &OfBlocks| parts.named().iter().map(|(_, bits)| bits).sum::<f64>();
        assert!((sum(&all.0) - sum(&part.0)).abs() < 0.1);
        // What is in the blocks is estimated from some of them.
        for ((name, of_all), (_, of_part)) in all.0.named().into_iter().zip(part.0.named()) {
            assert!((of_all - of_part).abs() < 0.3, "{name}: {of_all} and {of_part}");
        }
        assert!((all.1 - (part.1 - 2.0)).abs() < 0.01);
    }
}
