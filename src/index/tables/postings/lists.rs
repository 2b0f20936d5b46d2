//! Where each posting list of a section begins, for sections in which some fingerprint has several
//! ids: one bit per id, set if the id is the first of its list.
//!
//! To find a list without counting all bits before it, there are samples: the number of set bits
//! before each [`CHUNK`] of bits, except the first.

use std::ops::Range;

use crate::base::cpu;
use crate::base::error::Result;
use crate::file::codec::bits::{low_word, select};
use crate::file::codec::bytes::PutFields;
use crate::file::paged::PagedFile;

/// Bits between two samples.
const CHUNK: u64 = 512;

/// Samples that are read together.
const FEW_SAMPLES: usize = 64;

const CHUNK_BYTES: usize = 64;

/// Appends the number of ids, the samples and the bits. `repeated` are the places of the ids that
/// are not the first of their list.
pub(super) fn put(ids: usize, repeated: &[usize], out: &mut Vec<u8>) {
    out.put_u64(ids as u64);
    let mut words = vec![u64::MAX; ids.div_ceil(64)];
    if let Some(last) = words.last_mut() {
        *last >>= (64 - ids % 64) % 64;
    }
    for &place in repeated {
        if let Some(word) = words.get_mut(place / 64) {
            *word &= !(1 << (place % 64));
        }
    }
    let chunks = words.chunks(CHUNK_BYTES / 8);
    let mut before = 0;
    for chunk in chunks.take(samples(ids as u64)) {
        before += chunk.iter().map(|word| word.count_ones()).sum::<u32>();
        out.put_u32(before);
    }
    words.iter().for_each(|&word| out.put_u64(word));
}

fn samples(ids: u64) -> usize {
    usize::try_from(ids.saturating_sub(1) / CHUNK).unwrap_or(usize::MAX)
}

/// Returns the place of the set bit with `left` set bits before it, and of the next set bit.
#[inline(always)]
fn find_in(words: &[u8], mut left: u64) -> Option<(u64, Option<u64>)> {
    let words = words.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word));
    let mut words = words.zip((0..).step_by(64));
    loop {
        let (word, place) = words.next()?;
        let ones = u64::from(word.count_ones());
        if left < ones {
            let bit = select(word, usize::try_from(left).unwrap_or(0)) as u64;
            let after = (word & u64::MAX << bit << 1, place);
            let next = std::iter::once(after).chain(words).find(|&(word, _)| word != 0);
            let next = next.map(|(word, place)| place + u64::from(word.trailing_zeros()));
            return Some((place + bit, next));
        }
        left -= ones;
    }
}

/// The beginnings of the posting lists of one section.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lists<'a> {
    file: &'a PagedFile,
    /// The number of ids in all lists.
    ids: u64,
    samples_at: usize,
    bits_at: usize,
}

impl<'a> Lists<'a> {
    /// Reads the number of ids, which is at offset `at` of the file.
    pub(super) fn open(file: &'a PagedFile, at: usize) -> Result<Self> {
        let ids = low_word(file.bytes(at, 8)?, 0);
        let samples_at = at.saturating_add(8);
        let bits_at = samples_at.saturating_add(samples(ids).saturating_mul(4));
        Ok(Self { file, ids, samples_at, bits_at })
    }

    /// Returns the number of ids in all lists.
    pub(super) fn ids(&self) -> u64 {
        self.ids
    }

    /// Returns the offset in the file of what follows the bits.
    pub(super) fn end(&self) -> usize {
        let words = usize::try_from(self.ids.div_ceil(64)).unwrap_or(usize::MAX);
        self.bits_at.saturating_add(words.saturating_mul(8))
    }

    /// Returns the places of the ids in list number `list`. Empty only in a damaged file.
    pub(super) fn places(&self, list: u64) -> Result<Range<u64>> {
        let Some((start, end)) = self.find(list)? else { return Ok(self.ids..self.ids) };
        let end = match end {
            Some(end) => end,
            None => self.start(list.saturating_add(1))?,
        };
        Ok(start..end.min(self.ids))
    }

    /// Returns the place of the first id of list number `list`. Returns the number of ids if there
    /// are not as many lists.
    pub(super) fn start(&self, list: u64) -> Result<u64> {
        Ok(self.find(list)?.map_or(self.ids, |(start, _)| start.min(self.ids)))
    }

    /// Appends the place of each id in `places` that is the first of its list.
    pub(super) fn starts_in(&self, places: &Range<u64>, out: &mut Vec<u64>) -> Result<()> {
        let (first, end) = (places.start / 64, places.end.div_ceil(64));
        let at = self.bits_at.saturating_add(usize::try_from(first * 8).unwrap_or(usize::MAX));
        let len = usize::try_from(end.saturating_sub(first) * 8).unwrap_or(usize::MAX);
        let words = self.file.bytes(at, len)?;
        for (byte, place) in (0..words.len()).step_by(8).zip((first * 64..).step_by(64)) {
            let before = u64::MAX << places.start.saturating_sub(place);
            let mut word = low_word(words, byte) & before;
            while word != 0 {
                let start = place + u64::from(word.trailing_zeros());
                if start >= places.end {
                    return Ok(());
                }
                out.push(start);
                word &= word - 1;
            }
        }
        Ok(())
    }

    /// Returns where list number `list` begins and where the next list does, if that is near.
    /// Returns `None` if there are not as many lists.
    fn find(&self, list: u64) -> Result<Option<(u64, Option<u64>)>> {
        let (chunk, before) = self.chunk_of(list)?;
        let at = usize::try_from(chunk).unwrap_or(usize::MAX).saturating_mul(CHUNK_BYTES);
        let at = self.bits_at.saturating_add(at);
        let words = self.file.bytes(at, CHUNK_BYTES.min(self.end().saturating_sub(at)))?;
        let found = cpu::with_native_instructions(
            #[inline(always)]
            || find_in(words, list.saturating_sub(before)),
        );
        let place = |bit| chunk * CHUNK + bit;
        Ok(found.map(|(start, next)| (place(start), next.map(place))))
    }

    /// Returns the last chunk that has at most `list` beginnings before it, and how many it has.
    fn chunk_of(&self, list: u64) -> Result<(u64, u64)> {
        let (mut low, mut high, mut before) = (0, samples(self.ids), 0);
        // Nearly always there are few, and reading them together takes less time.
        let some =
            if high <= FEW_SAMPLES { self.file.bytes(self.samples_at, high * 4)? } else { &[] };
        while low < high {
            let middle = low + (high - low) / 2;
            let sample = match some.as_chunks().0.get(middle) {
                Some(&sample) => sample,
                None => self.sample(middle)?,
            };
            let sample = u64::from(u32::from_le_bytes(sample));
            if sample <= list {
                (low, before) = (middle + 1, sample);
            } else {
                high = middle;
            }
        }
        Ok((low as u64, before))
    }

    /// Checks that the samples are the numbers of set bits up to them.
    pub(super) fn check_samples(&self) -> Result<()> {
        let mut before = 0;
        for index in 0..samples(self.ids) {
            let at = self.bits_at.saturating_add(index.saturating_mul(CHUNK_BYTES));
            let chunk = self.file.bytes(at, CHUNK_BYTES)?;
            before += chunk.iter().map(|byte| byte.count_ones()).sum::<u32>();
            if u32::from_le_bytes(self.sample(index)?) != before {
                let message = "a sample of a section's lists is not the number of lists before it";
                return Err(self.file.corruption(self.samples_at, message));
            }
        }
        Ok(())
    }

    fn sample(&self, index: usize) -> Result<[u8; 4]> {
        let at = self.samples_at.saturating_add(index.saturating_mul(4));
        Ok(self.file.bytes(at, 4)?.first_chunk().copied().unwrap_or_default())
    }
}
