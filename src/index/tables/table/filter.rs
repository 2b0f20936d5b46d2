//! The prefix filter: does any fingerprint of the table have these leading bits?
//!
//! A Bloom filter whose bits for one prefix are all in one 64-bit word, so that a check costs one
//! memory access (Putze, Sanders, Singler, 2007). 8 bits per fingerprint let about 3 % of absent
//! prefixes through, 10 bits 1.7 %. storage-format.md, "Prefix filter".

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::base::error::Result;
use crate::file::codec::bits::low_word;
use crate::file::codec::prefix_hash::{GROUP, HashGroup, hash_of_prefix};
use crate::file::paged::Body;
use crate::fingerprint::Word;

/// Most words of a filter.
pub(super) const MAX_WORDS: u64 = u32::MAX as u64;

/// Bits set in a word for one prefix.
const BITS_PER_PREFIX: u32 = 4;

/// Returns the index of the word that a prefix with this hash belongs to, and the bits that the
/// prefix sets in it. `words` is below 2^32.
#[inline(always)]
pub(super) fn place_of(hash: u64, words: u64) -> (u64, u64) {
    let mask = (0..BITS_PER_PREFIX).fold(0, |mask, i| mask | 1 << (hash >> (6 * i) & 63));
    ((hash >> 32).wrapping_mul(words) >> 32, mask)
}

/// A filter in an open table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Filter {
    pub(super) depth: u32,
    pub(super) offset: usize,
    /// At most [`MAX_WORDS`].
    pub(super) words: u64,
}

/// Prefixes that are checked together: some groups of hashes.
pub(crate) const CHECKED_TOGETHER: usize = 32;

/// Prefixes that are checked together if the filter is near: two groups of hashes.
pub(crate) const NEAR_TOGETHER: usize = 16;

/// Words of a filter that is small enough for the second-level cache.
const NEAR_WORDS: u64 = 1 << 15;

/// Checks in progress: for each prefix the index of its word, and the bits that must be set in it.
#[derive(Debug)]
pub(crate) struct FilterChecks {
    words: [u64; CHECKED_TOGETHER],
    masks: [u64; CHECKED_TOGETHER],
    groups: usize,
}

impl FilterChecks {
    /// Makes room for checks.
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self { words: [0; CHECKED_TOGETHER], masks: [0; CHECKED_TOGETHER], groups: 0 }
    }

    /// Computes the places of at most [`CHECKED_TOGETHER`] prefixes in a filter with this number of
    /// words. The processor computes several at a time.
    #[inline(always)]
    fn start(&mut self, query: u64, flips: &[HashGroup], words: u64) {
        self.groups = flips.len();
        let places = self.words.iter_mut().zip(&mut self.masks);
        for ((word, mask), flips) in places.zip(flips.as_flattened()) {
            (*word, *mask) = place_of(query ^ flips, words);
        }
    }

    /// Returns a bit for each prefix, beginning with the lowest: 0 if any of its bits is not set in
    /// its word, which `word` returns for the prefix's number. There is no branch on that, because
    /// the processor would mispredict it.
    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "numbers below CHECKED_TOGETHER")]
    fn passing(&self, word: impl Fn(usize) -> u64) -> u32 {
        let mut passing = 0;
        for number in 0..CHECKED_TOGETHER.min(self.groups * GROUP) {
            let missing = self.masks[number] & !word(number);
            passing |= u32::from(missing == 0) << number;
        }
        passing
    }
}

/// A filter whose words are read without a prefetch, since they are in the cache after the first
/// queries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NearFilter<'a> {
    words: &'a [[u8; 8]],
}

impl NearFilter<'_> {
    /// Returns a bit for each prefix, beginning with the lowest: 0 only if no fingerprint of the
    /// table begins with the prefix. `query` is the hash of the query's prefix, and `flips` are
    /// the hashes of the bits by which at most [`NEAR_TOGETHER`] prefixes differ from it.
    #[inline(always)]
    pub(crate) fn passing(&self, query: u64, flips: &[HashGroup]) -> u32 {
        // The processor computes several places at a time.
        let (mut words, mut masks) = ([0; NEAR_TOGETHER], [0; NEAR_TOGETHER]);
        let flips = flips.as_flattened();
        for ((word, mask), flips) in words.iter_mut().zip(&mut masks).zip(flips) {
            (*word, *mask) = place_of(query ^ flips, self.words.len() as u64);
        }
        // No branch depends on the bits, because the processor would mispredict it.
        let places = words.iter().zip(&masks).take(flips.len()).rev();
        places.fold(0, |passing, (&word, mask)| {
            passing << 1 | u32::from(mask & !word_at(self.words, word) == 0)
        })
    }
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "filters are in the address space")]
fn word_at(words: &[[u8; 8]], index: u64) -> u64 {
    words.get(index as usize).map_or(0, |&word| u64::from_le_bytes(word))
}

impl Filter {
    /// Returns the filter as a near one, unless it is too large.
    #[inline(always)]
    pub(super) fn near<'a>(&self, body: &Body<'a>) -> Result<Option<NearFilter<'a>>> {
        if self.words > NEAR_WORDS {
            return Ok(None);
        }
        let bytes = body.bytes_of_pages(self.offset, self.offset_of(self.words) - self.offset)?;
        Ok(Some(NearFilter { words: bytes.as_chunks().0 }))
    }

    /// Starts to check up to [`CHECKED_TOGETHER`] prefixes, given hashes as for
    /// [`NearFilter::passing`]: prefetches the words that [`passing`](Self::passing) reads.
    #[inline(always)]
    pub(super) fn start_checks(
        &self,
        body: &Body<'_>,
        query: u64,
        flips: &[HashGroup],
        checks: &mut FilterChecks,
    ) {
        checks.start(query, flips, self.words);
        for &word in checks.words.iter().take(checks.groups * GROUP) {
            body.prefetch(self.offset_of(word));
        }
    }

    /// Does what [`NearFilter::passing`] does, for checks that were started.
    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "numbers below CHECKED_TOGETHER")]
    pub(super) fn passing(&self, body: &Body<'_>, checks: &FilterChecks) -> Result<u32> {
        let Some(words) = body.complete_from(self.offset) else {
            return self.passing_in_pages(body, checks);
        };
        let words = words.as_chunks().0;
        Ok(checks.passing(
            #[inline(always)]
            |number| word_at(words, checks.words[number]),
        ))
    }

    /// Does what [`passing`](Self::passing) does if the filter is not copied.
    #[inline(never)]
    #[expect(clippy::indexing_slicing, reason = "numbers below CHECKED_TOGETHER")]
    fn passing_in_pages(&self, body: &Body<'_>, checks: &FilterChecks) -> Result<u32> {
        let mut found = [0; CHECKED_TOGETHER];
        let words = checks.words.iter().take(checks.groups * GROUP);
        for (found, &word) in found.iter_mut().zip(words) {
            *found = low_word(body.bytes(self.offset_of(word), 8)?, 0);
        }
        Ok(checks.passing(|number| found[number]))
    }

    /// Returns the index of the word of a fingerprint, and the bits that it sets in it.
    #[inline]
    pub(super) fn place_of<F: Word>(&self, fingerprint: F) -> (u64, u64) {
        let prefix = fingerprint.top64() & u64::prefix_mask(self.depth);
        place_of(hash_of_prefix(prefix), self.words)
    }

    /// Returns the offset of a word in the file.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "filters are in the address space")]
    pub(super) fn offset_of(&self, word: u64) -> usize {
        self.offset.wrapping_add(word as usize * 8)
    }
}
