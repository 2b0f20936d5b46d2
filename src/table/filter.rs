//! The prefix filter: does any fingerprint of the table have these leading bits?
//!
//! A Bloom filter whose bits for one key lie in one 64-bit word, so that a question costs one
//! memory access (Putze, Sanders, Singler, 2007). About 10 bits a key let 1.7 % of absent prefixes
//! through. storage-format.md, "Prefix filter".

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::paged::PagedFile;

/// Bits set in a word for one key.
const BITS_A_KEY: u32 = 4;

/// Where a prefix is looked up: the word's number, and the bits that are set in it.
#[inline(always)]
fn place<F: Fingerprint>(fingerprint: F, depth: u32, words: u64) -> (u64, u64) {
    let hash = mix(fingerprint.top64() >> (64 - depth));
    let word = (u128::from(hash) * u128::from(words)) >> 64;
    let mask = (0..BITS_A_KEY).fold(0, |mask, i| mask | 1 << (hash >> (6 * i) & 63));
    (u64::try_from(word).unwrap_or(0), mask)
}

/// A bijection that lets every input bit reach every output bit (Stafford's variant 13 of the
/// finaliser of MurmurHash3).
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Gathers a filter in memory while its table is written.
#[derive(Debug)]
pub(super) struct FilterBuilder {
    depth: u32,
    words: Vec<u64>,
}

impl FilterBuilder {
    /// A filter of `bits` a fingerprint over the `depth` (1 to 64) leading bits of `count`
    /// fingerprints; `None` where it could not say no, since most prefixes occur.
    pub(super) fn new(bits: u32, depth: u32, count: u64) -> Option<Self> {
        let most_occur = depth < 64 && 1u64 << depth < count.saturating_mul(2);
        if bits == 0 || count == 0 || !(1..=64).contains(&depth) || most_occur {
            return None;
        }
        let words = usize::try_from(count.saturating_mul(u64::from(bits)).div_ceil(64)).ok()?;
        Some(Self { depth, words: vec![0; words] })
    }

    pub(super) fn add<F: Fingerprint>(&mut self, fingerprint: F) {
        let (word, mask) = place(fingerprint, self.depth, self.words.len() as u64);
        if let Some(w) = usize::try_from(word).ok().and_then(|w| self.words.get_mut(w)) {
            *w |= mask;
        }
    }

    pub(super) fn depth(&self) -> u32 {
        self.depth
    }

    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }
}

/// A filter in a mapped file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Filter {
    pub(super) depth: u32,
    pub(super) offset: usize,
    pub(super) words: u64,
}

impl Filter {
    /// False only if no fingerprint of the table has the first `depth` bits of this one.
    #[inline(always)]
    pub(super) fn may_contain<F: Fingerprint>(&self, file: &PagedFile, prefix: F) -> Result<bool> {
        let (word, mask) = place(prefix, self.depth, self.words);
        let word = u64::read_le(file.bytes(self.offset_of(word), 8)?).unwrap_or(u64::MAX);
        Ok(word & mask == mask)
    }

    /// Fetches ahead what the question needs.
    #[inline(always)]
    pub(super) fn prefetch<F: Fingerprint>(&self, file: &PagedFile, prefix: F) {
        file.prefetch(self.offset_of(place(prefix, self.depth, self.words).0));
    }

    #[inline(always)]
    fn offset_of(&self, word: u64) -> usize {
        self.offset + usize::try_from(word).unwrap_or(0) * 8
    }
}
