//! Building a prefix filter while its table is written.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::filter::{MAX_WORDS, place_of};
use crate::base::cpu;
use crate::base::error::Result;
use crate::file::codec::prefix_hash::hash_of_prefix;
use crate::file::scratch::Scratch;
use crate::file::sorter::Sorter;
use crate::fingerprint::Word;
use crate::index::tables::layout::filter_is_useful;

/// Fingerprints that are added together. The words of one such group are prefetched while the table
/// gets the fingerprints of the next: they are spread over the entire filter, which soon is larger
/// than any cache.
const ADDED_TOGETHER: usize = 32;

/// Builds a filter in memory if it fits, otherwise by sorting the hashes of all prefixes.
#[derive(Debug)]
pub(super) struct FilterBuilder<'a> {
    depth: u32,
    /// The leading `depth` bits.
    prefix_mask: u64,
    words: u64,
    /// The leading bits of fingerprints that wait for others.
    waiting: [u64; ADDED_TOGETHER],
    count: usize,
    target: Target<'a>,
}

#[derive(Debug)]
enum Target<'a> {
    /// The words of the filter.
    Memory(Box<FilterWords>),
    /// The hashes of the prefixes. The higher a hash, the later is its word.
    Sorter(Box<Sorter<'a, u64>>),
}

#[derive(Debug)]
struct FilterWords {
    words: Vec<u64>,
    /// Words that are being prefetched, and the bits to set in them.
    prefetched: [(u64, u64); ADDED_TOGETHER],
}

impl FilterWords {
    /// Prefetches the words of these hashes, and sets the bits of those before.
    fn add(&mut self, hashes: &[u64]) {
        let count = self.words.len() as u64;
        let mut places = [(0, 0); ADDED_TOGETHER];
        cpu::with_native_instructions(
            #[inline(always)]
            || {
                for (place, &hash) in places.iter_mut().zip(hashes) {
                    *place = place_of(hash, count);
                }
            },
        );
        for &(word, _) in &places {
            cpu::prefetch(&self.words, usize::try_from(word).unwrap_or(usize::MAX));
        }
        for (word, mask) in std::mem::replace(&mut self.prefetched, places) {
            let word = usize::try_from(word).unwrap_or(usize::MAX);
            if let Some(word) = self.words.get_mut(word) {
                *word |= mask;
            }
        }
    }
}

impl<'a> FilterBuilder<'a> {
    /// Creates a filter with `bits` bits per fingerprint over the `depth` (1 to 64) leading bits of
    /// `count` fingerprints. Returns `None` if it would rarely rule a prefix out because most
    /// prefixes occur. Without scratch space, the filter is in memory.
    pub(super) fn new(
        bits: u32,
        depth: u32,
        count: u64,
        scratch: Option<Scratch<'a>>,
    ) -> Result<Option<Self>> {
        if bits == 0 || !filter_is_useful(depth, count) {
            return Ok(None);
        }
        let words = count.saturating_mul(u64::from(bits)).div_ceil(64).min(MAX_WORDS);
        let target = match scratch.filter(|scratch| words * 8 > scratch.filter_memory as u64) {
            Some(Scratch { files, filter_memory }) => {
                Target::Sorter(Box::new(Sorter::new(files, filter_memory, 1)))
            }
            None => Target::Memory(Box::new(FilterWords {
                words: vec![0; usize::try_from(words).unwrap_or(usize::MAX)],
                prefetched: [(0, 0); ADDED_TOGETHER],
            })),
        };
        let prefix_mask = u64::prefix_mask(depth);
        let waiting = [0; ADDED_TOGETHER];
        Ok(Some(Self { depth, prefix_mask, words, waiting, count: 0, target }))
    }

    pub(super) fn add_all<F: Word>(&mut self, mut fingerprints: &[F]) -> Result<()> {
        while !fingerprints.is_empty() {
            let places = self.waiting.get_mut(self.count..).unwrap_or_default();
            let count = places.len().min(fingerprints.len());
            places.iter_mut().zip(fingerprints).for_each(|(to, from)| *to = from.top64());
            fingerprints = fingerprints.get(count..).unwrap_or_default();
            self.count += count;
            if self.count == ADDED_TOGETHER {
                self.end_group()?;
            }
        }
        Ok(())
    }

    /// Adds the fingerprints that wait.
    #[inline(never)]
    fn end_group(&mut self) -> Result<()> {
        let mut hashes = [0; ADDED_TOGETHER];
        cpu::with_native_instructions(
            #[inline(always)]
            || {
                for (hash, &top) in hashes.iter_mut().zip(&self.waiting) {
                    *hash = hash_of_prefix(top & self.prefix_mask);
                }
            },
        );
        let hashes = hashes.get(..self.count).unwrap_or_default();
        self.count = 0;
        match &mut self.target {
            Target::Memory(words) => words.add(hashes),
            Target::Sorter(sorter) => hashes.iter().try_for_each(|&hash| sorter.push(hash))?,
        }
        Ok(())
    }

    /// Returns the number of leading bits that the filter checks.
    pub(super) fn depth(&self) -> u32 {
        self.depth
    }

    /// Returns the number of words of the filter.
    pub(super) fn words(&self) -> u64 {
        self.words
    }

    /// Passes the words of the filter over all fingerprints that were added to `put`, in order.
    pub(super) fn finish(mut self, mut put: impl FnMut(u64) -> Result<()>) -> Result<()> {
        self.end_group()?;
        let sorter = match self.target {
            Target::Memory(mut words) => {
                // Sets the bits that wait for their words.
                words.add(&[]);
                return words.words.into_iter().try_for_each(put);
            }
            Target::Sorter(sorter) => sorter,
        };
        let (mut next, mut bits) = (0, 0);
        sorter.finish(&|_| Ok(()))?.with_passes(1).for_each(&mut |hashes| {
            for &hash in hashes {
                let (word, mask) = place_of(hash, self.words);
                while next < word {
                    put(std::mem::take(&mut bits))?;
                    next += 1;
                }
                bits |= mask;
            }
            Ok(())
        })?;
        while next < self.words {
            put(std::mem::take(&mut bits))?;
            next += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::file::scratch::ScratchFiles;
    use crate::file::storage::{LockedFolder, Sim, Storage};

    #[test]
    fn filter_is_the_same_in_memory_and_beyond_the_memory_limit() {
        let sim = Sim::new();
        sim.create_root().unwrap();
        let storage: Arc<dyn Storage> = sim.clone();
        let folder = LockedFolder::lock(&storage).unwrap();
        let files = ScratchFiles::InDatabase(&folder);
        for count in [1u64, 31, 32, 33, 1000, 100_000] {
            let fingerprints: Vec<u64> =
                (0..count).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
            let build = |scratch| {
                let mut builder = FilterBuilder::new(8, 40, count, scratch).unwrap().unwrap();
                fingerprints.chunks(7).for_each(|some| builder.add_all(some).unwrap());
                let (words, mut all) = (builder.words(), Vec::new());
                let put = |word| {
                    all.push(word);
                    Ok(())
                };
                builder.finish(put).unwrap();
                assert_eq!(all.len() as u64, words);
                all
            };
            let in_memory = build(None);
            assert!(in_memory.iter().any(|&word| word != 0));
            for filter_memory in [0, 1 << 12, 1 << 16, 1 << 20] {
                assert_eq!(build(Some(Scratch { files, filter_memory })), in_memory, "{count}");
            }
        }
        assert_eq!(sim.list().unwrap().unwrap(), ["LOCK"]);
    }
}
