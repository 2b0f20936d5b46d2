//! How a block stores each of its fingerprints, for people who look at it.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::check::check;
use super::packed::{Packed, leading_difference};
use super::remaining::{remaining_bits, remaining_len};
use crate::base::error::Result;
use crate::fingerprint::Word;

/// A fingerprint of a block, in the table's bit order, and the bits that are stored of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stored<F> {
    pub fingerprint: F,
    /// `None` for the first fingerprint, which is stored in full.
    pub coded: Option<Coded<F>>,
}

/// What is stored of a fingerprint that follows another one. Codeword and remaining bits are
/// numbers of so many bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Coded<F> {
    /// The leading difference, counted from the lowest bit of the entire fingerprint.
    pub h: u32,
    pub codeword: (u64, u32),
    pub remaining: (F, u32),
}

/// Checks a block strictly, and returns how it stores its fingerprints.
pub(crate) fn stored<F: Word>(packed: &Packed<'_>) -> Result<Vec<Stored<F>>> {
    let (mut fingerprints, mut differences) = (Vec::new(), Vec::new());
    check(packed, |fingerprint: F| fingerprints.push(fingerprint))?;
    let pairs = fingerprints.iter().zip(fingerprints.iter().skip(1));
    // Zero bits of the table are not stored, so codewords do not count them.
    differences.extend(pairs.map(|(&a, &b)| leading_difference(a, b) - packed.zeros));
    // After the last one, no bit is left out.
    let nexts = differences.iter().copied().skip(1).chain([F::BITS - 1]);
    let coded = differences.iter().zip(nexts).zip(fingerprints.iter().skip(1));
    let coded = coded.map(|((&h, next), &fingerprint)| {
        let bits = remaining_bits(fingerprint.wrapping_shr(packed.zeros), h, next);
        let remaining = (bits, remaining_len(h, next));
        Some(Coded { h: h + packed.zeros, codeword: packed.code.word(h), remaining })
    });
    let all = fingerprints.iter().zip([None].into_iter().chain(coded));
    Ok(all.map(|(&fingerprint, coded)| Stored { fingerprint, coded }).collect())
}
