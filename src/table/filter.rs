//! The prefix filter: does any fingerprint of the table have these leading bits?
//!
//! A Bloom filter whose bits for one key lie in one 64-bit word, so that a question costs one
//! memory access (Putze, Sanders, Singler, 2007). 8 bits a key let about 3 % of absent prefixes
//! through, 10 bits 1.7 %. storage-format.md, "Prefix filter".

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::cpu;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::layout::filter_says_no;
use crate::paged::Body;

/// Bits set in a word for one key.
const BITS_A_KEY: u32 = 4;

/// The number of the word in which a prefix is looked up, and the bits that are set in it.
#[inline(always)]
fn place_of<F: Fingerprint>(fingerprint: F, depth: u32, words: u64) -> (u64, u64) {
    let hash = mix(fingerprint.top64() >> (64 - depth));
    let mask = (0..BITS_A_KEY).fold(0, |mask, i| mask | 1 << (hash >> (6 * i) & 63));
    (product(hash, words).1, mask)
}

/// Low and high half of the product.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "halves are asked for")]
fn product(a: u64, b: u64) -> (u64, u64) {
    let product = u128::from(a) * u128::from(b);
    (product as u64, (product >> 64) as u64)
}

/// Lets every input bit reach bits all over the output (the multiply-and-fold of wyhash; the factor
/// is the golden ratio's, as in Fibonacci hashing).
#[inline(always)]
fn mix(x: u64) -> u64 {
    let (low, high) = product(x, 0x9e37_79b9_7f4a_7c15);
    low ^ high
}

/// Gathers a filter in memory while its table is written.
#[derive(Debug)]
pub(super) struct FilterBuilder {
    depth: u32,
    words: Vec<u64>,
    /// Words on their way from memory, and the bits to set in them, in a ring.
    fetched: [(usize, u64); FETCHED],
    oldest: usize,
}

/// Keys that wait for their words: these are spread over all of a filter, which soon is larger than
/// any cache.
const FETCHED: usize = 32;

impl FilterBuilder {
    /// A filter of `bits` a fingerprint over the `depth` (1 to 64) leading bits of `count`
    /// fingerprints; `None` where it could not say no, since most prefixes occur.
    pub(super) fn new(bits: u32, depth: u32, count: u64) -> Option<Self> {
        if bits == 0 || !filter_says_no(depth, count) {
            return None;
        }
        let words = usize::try_from(count.saturating_mul(u64::from(bits)).div_ceil(64)).ok()?;
        Some(Self { depth, words: vec![0; words], fetched: [(0, 0); FETCHED], oldest: 0 })
    }

    #[inline]
    pub(super) fn add<F: Fingerprint>(&mut self, fingerprint: F) {
        let (word, mask) = place_of(fingerprint, self.depth, self.words.len() as u64);
        let word = usize::try_from(word).unwrap_or(usize::MAX);
        cpu::prefetch(&self.words, word);
        if let Some(oldest) = self.fetched.get_mut(self.oldest) {
            let (word, mask) = std::mem::replace(oldest, (word, mask));
            self.set(word, mask);
        }
        self.oldest = (self.oldest + 1) % FETCHED;
    }

    #[inline]
    fn set(&mut self, word: usize, mask: u64) {
        if let Some(word) = self.words.get_mut(word) {
            *word |= mask;
        }
    }

    pub(super) fn depth(&self) -> u32 {
        self.depth
    }

    /// The filter of all keys that were added.
    pub(super) fn finish(mut self) -> Vec<u64> {
        for (word, mask) in self.fetched {
            self.set(word, mask);
        }
        self.words
    }
}

/// A filter in a mapped file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Filter {
    pub(super) depth: u32,
    pub(super) offset: usize,
    pub(super) words: u64,
}

/// A question that was put to a filter: where the answer is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Question {
    offset: usize,
    mask: u64,
}

impl Filter {
    /// Fetches ahead what [`may_contain`](Self::may_contain) reads.
    #[inline(always)]
    pub(super) fn ask<F: Fingerprint>(&self, body: &Body<'_>, prefix: F) -> Question {
        let (word, mask) = place_of(prefix, self.depth, self.words);
        // Below the number of words, which lie in the file.
        #[expect(clippy::cast_possible_truncation, reason = "the file is in the address space")]
        let offset = self.offset.wrapping_add(word as usize * 8);
        body.prefetch(offset);
        Question { offset, mask }
    }

    /// False only if no fingerprint of the table has the first `depth` bits of the prefix.
    #[inline(always)]
    pub(super) fn may_contain(body: &Body<'_>, question: Question) -> Result<bool> {
        let Question { offset, mask } = question;
        Ok(body.word(offset)? & mask == mask)
    }
}
