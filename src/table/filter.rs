//! The prefix filter: does any fingerprint of the table have these leading bits?
//!
//! A Bloom filter whose bits for one key lie in one 64-bit word, so that a question costs one
//! memory access (Putze, Sanders, Singler, 2007). 8 bits a key let about 3 % of absent prefixes
//! through, 10 bits 1.7 %. storage-format.md, "Prefix filter".

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::layout::filter_says_no;
use crate::paged::PagedFile;

/// Bits set in a word for one key.
const BITS_A_KEY: u32 = 4;

/// Where a prefix is looked up.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    /// The word's number.
    word: u64,
    /// The bits that are set in it.
    mask: u64,
}

impl Place {
    #[inline(always)]
    fn of<F: Fingerprint>(fingerprint: F, depth: u32, words: u64) -> Self {
        let hash = mix(fingerprint.top64() >> (64 - depth));
        let mask = (0..BITS_A_KEY).fold(0, |mask, i| mask | 1 << (hash >> (6 * i) & 63));
        Self { word: product(hash, words).1, mask }
    }
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
}

impl FilterBuilder {
    /// A filter of `bits` a fingerprint over the `depth` (1 to 64) leading bits of `count`
    /// fingerprints; `None` where it could not say no, since most prefixes occur.
    pub(super) fn new(bits: u32, depth: u32, count: u64) -> Option<Self> {
        if bits == 0 || !filter_says_no(depth, count) {
            return None;
        }
        let words = usize::try_from(count.saturating_mul(u64::from(bits)).div_ceil(64)).ok()?;
        Some(Self { depth, words: vec![0; words] })
    }

    pub(super) fn add<F: Fingerprint>(&mut self, fingerprint: F) {
        let Place { word, mask } = Place::of(fingerprint, self.depth, self.words.len() as u64);
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
    /// Where to ask for a prefix; fetched ahead.
    #[inline(always)]
    pub(super) fn aim<F: Fingerprint>(&self, file: &PagedFile, prefix: F) -> Place {
        let place = Place::of(prefix, self.depth, self.words);
        file.prefetch(self.offset_of(place));
        place
    }

    /// False only if no fingerprint of the table has the first `depth` bits of that prefix.
    #[inline(always)]
    pub(super) fn may_contain(&self, file: &PagedFile, place: Place) -> Result<bool> {
        let word = u64::read_le(file.bytes(self.offset_of(place), 8)?).unwrap_or(u64::MAX);
        Ok(word & place.mask == place.mask)
    }

    #[inline(always)]
    fn offset_of(&self, place: Place) -> usize {
        self.offset + usize::try_from(place.word).unwrap_or(0) * 8
    }
}
