//! The prefix filter: does any fingerprint of the table have these leading bits?
//!
//! A Bloom filter whose bits for one prefix are all in one 64-bit word, so that a check costs one
//! memory access (Putze, Sanders, Singler, 2007). 8 bits per fingerprint let about 3 % of absent
//! prefixes through, 10 bits 1.7 %. storage-format.md, "Prefix filter".

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::cpu;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::layout::filter_is_useful;
use crate::paged::Body;

/// Bits set in a word for one prefix.
const BITS_PER_PREFIX: u32 = 4;

/// Returns the index of the word that a prefix belongs to, and the bits that the prefix sets in it.
#[inline(always)]
fn place_of<F: Fingerprint>(fingerprint: F, depth: u32, words: u64) -> (u64, u64) {
    let hash = mix(fingerprint.top64() >> (64 - depth));
    let mask = (0..BITS_PER_PREFIX).fold(0, |mask, i| mask | 1 << (hash >> (6 * i) & 63));
    (product(hash, words).1, mask)
}

/// Returns the low and the high half of the product.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the halves are wanted")]
fn product(a: u64, b: u64) -> (u64, u64) {
    let product = u128::from(a) * u128::from(b);
    (product as u64, (product >> 64) as u64)
}

/// Spreads every input bit over the output (the multiply-and-fold of wyhash; the factor is derived
/// from the golden ratio, as in Fibonacci hashing).
#[inline(always)]
fn mix(x: u64) -> u64 {
    let (low, high) = product(x, 0x9e37_79b9_7f4a_7c15);
    low ^ high
}

/// Builds a filter in memory while its table is written.
#[derive(Debug)]
pub(super) struct FilterBuilder {
    depth: u32,
    words: Vec<u64>,
    /// A ring of words that are being prefetched, and the bits to set in them.
    pending: [(usize, u64); PENDING],
    oldest: usize,
}

/// Prefixes that wait for their words. The words are spread over the entire filter, which soon is
/// larger than any cache.
const PENDING: usize = 32;

impl FilterBuilder {
    /// Creates a filter with `bits` bits per fingerprint over the `depth` (1 to 64) leading bits of
    /// `count` fingerprints. Returns `None` if it would rarely rule a prefix out because most
    /// prefixes occur.
    pub(super) fn new(bits: u32, depth: u32, count: u64) -> Option<Self> {
        if bits == 0 || !filter_is_useful(depth, count) {
            return None;
        }
        let words = usize::try_from(count.saturating_mul(u64::from(bits)).div_ceil(64)).ok()?;
        Some(Self { depth, words: vec![0; words], pending: [(0, 0); PENDING], oldest: 0 })
    }

    #[inline]
    pub(super) fn add<F: Fingerprint>(&mut self, fingerprint: F) {
        let (word, mask) = place_of(fingerprint, self.depth, self.words.len() as u64);
        let word = usize::try_from(word).unwrap_or(usize::MAX);
        cpu::prefetch(&self.words, word);
        if let Some(oldest) = self.pending.get_mut(self.oldest) {
            let (word, mask) = std::mem::replace(oldest, (word, mask));
            self.set(word, mask);
        }
        self.oldest = (self.oldest + 1) % PENDING;
    }

    #[inline]
    fn set(&mut self, word: usize, mask: u64) {
        if let Some(word) = self.words.get_mut(word) {
            *word |= mask;
        }
    }

    /// Returns the number of leading bits that the filter checks.
    pub(super) fn depth(&self) -> u32 {
        self.depth
    }

    /// Returns the words of the filter over all fingerprints that were added.
    pub(super) fn finish(mut self) -> Vec<u64> {
        for (word, mask) in self.pending {
            self.set(word, mask);
        }
        self.words
    }
}

/// A filter in an open table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Filter {
    pub(super) depth: u32,
    pub(super) offset: usize,
    pub(super) words: u64,
}

/// A started check of one prefix: the offset of its word, and the bits that must be set in the
/// word.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FilterCheck {
    offset: usize,
    mask: u64,
}

impl Filter {
    /// Starts to check a prefix: prefetches the word that [`may_contain`](Self::may_contain) reads.
    #[inline(always)]
    pub(super) fn start_check<F: Fingerprint>(&self, body: &Body<'_>, prefix: F) -> FilterCheck {
        let (word, mask) = place_of(prefix, self.depth, self.words);
        // `word` is below the number of words, all of which are in the file.
        #[expect(clippy::cast_possible_truncation, reason = "the file is in the address space")]
        let offset = self.offset.wrapping_add(word as usize * 8);
        body.prefetch(offset);
        FilterCheck { offset, mask }
    }

    /// Returns false only if no fingerprint of the table has the first `depth` bits of the prefix.
    #[inline(always)]
    pub(super) fn may_contain(body: &Body<'_>, check: FilterCheck) -> Result<bool> {
        let FilterCheck { offset, mask } = check;
        Ok(body.word(offset)? & mask == mask)
    }
}
