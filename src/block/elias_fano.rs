//! Blocks in the code of Elias and Fano: any fingerprint is found without decoding those before it.
//!
//! The low bits of each fingerprint are stored as they are. The bits above them are the quotient;
//! only its growth from one fingerprint to the next is stored, in unary. If the number of low bits
//! fits the block's spread, a fingerprint takes about two bits more than its low bits (Elias, 1974;
//! Vigna, *Quasi-succinct indices*, 2013). storage-format.md, "Elias–Fano block".

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::packed::{Coding, Job, Packed, other_code};
use crate::codec::bits::{
    BATCH, BATCH_REACH, LowBitWriter, batch_places, low_word, peek_low, select,
};
use crate::codec::bytes::PutFields;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;

/// Bytes before the first fingerprint: the count and the number of low bits.
const HEAD_LEN: usize = 3;

/// Most fingerprints of one quotient that a single load covers.
const MAX_CROWD: usize = 50;

/// Number of fingerprints by which the output grows: enough that it grows rarely, few enough that
/// the part in use stays in the first-level cache.
const GROWTH: usize = 1024;

/// Returns the largest number of low bits: as many as one load provides at any bit offset.
const fn max_low_bits<F: Fingerprint>() -> u32 {
    F::BITS - 7
}

/// Builds one block after another.
#[derive(Debug)]
pub(crate) struct Builder<F> {
    size: usize,
    fingerprints: Vec<F>,
    /// A number of low bits with which these fit into the block.
    low_bits: u32,
    lows: LowBitWriter<F>,
}

impl<F: Fingerprint> Builder<F> {
    /// Creates a builder of blocks of `size` bytes.
    pub(super) fn new(size: usize) -> Self {
        let low_bits = max_low_bits::<F>();
        Self { size, fingerprints: Vec::new(), low_bits, lows: LowBitWriter::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.fingerprints.is_empty()
    }

    /// Returns the last fingerprint of the block, which becomes its key.
    pub(super) fn last(&self) -> F {
        self.fingerprints.last().copied().unwrap_or(F::ZERO)
    }

    /// Does what [`BlockBuilder::push_all`](super::BlockBuilder::push_all) does.
    pub(super) fn push_all(&mut self, fingerprints: &[F]) -> usize {
        fingerprints.iter().take_while(|&&fingerprint| self.push(fingerprint)).count()
    }

    /// Adds a fingerprint greater than the last one. Returns false if the block has no room for it.
    #[must_use]
    #[inline]
    fn push(&mut self, fingerprint: F) -> bool {
        if let Some(&first) = self.fingerprints.first() {
            let room = (self.size - HEAD_LEN - F::BYTES) * 8;
            let after = self.fingerprints.len();
            if bits_of(first, fingerprint, after, self.low_bits) > room {
                let best = best_low_bits(first, fingerprint, after);
                if after >= usize::from(u16::MAX) || bits_of(first, fingerprint, after, best) > room
                {
                    return false;
                }
                self.low_bits = best;
            }
        }
        self.fingerprints.push(fingerprint);
        true
    }

    /// Appends the block to `out`, padded with zeros to its size, and begins the next one.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        let begin = out.len();
        let Some((&first, rest)) = self.fingerprints.split_first() else { return };
        let low_bits = best_low_bits(first, self.last(), rest.len());
        out.put_u16(u16::try_from(self.fingerprints.len()).unwrap_or(u16::MAX));
        out.put_u8(u8::try_from(low_bits).unwrap_or(0));
        out.put_fingerprint(first);
        let quotients = out.len() * 8;
        out.resize(begin + self.size, 0);
        // The low bits end with the block, so where they start depends on their number.
        let start = self.size * 8 - rest.len() * low_bits as usize;
        self.lows.start_at(start);
        for (rank, &fingerprint) in rest.iter().enumerate() {
            let bit = quotients + growth(first, fingerprint, low_bits) + rank + 1;
            if let Some(byte) = out.get_mut(bit / 8) {
                *byte |= 1 << (bit % 8);
            }
            self.lows.put(fingerprint & !F::MAX.wrapping_shl(low_bits), low_bits);
        }
        let to = out.get_mut(begin + start / 8..).unwrap_or_default();
        to.iter_mut().zip(self.lows.finish()).for_each(|(to, from)| *to |= from);
        self.fingerprints.clear();
        self.low_bits = max_low_bits::<F>();
    }
}

/// Returns by how much the quotient of `last` exceeds the quotient of `first`.
#[inline(always)]
fn growth<F: Fingerprint>(first: F, last: F, low_bits: u32) -> usize {
    let growth = last.wrapping_shr(low_bits).wrapping_sub(first.wrapping_shr(low_bits));
    usize::try_from(growth.to_u128()).unwrap_or(usize::MAX)
}

/// Returns the bits that a block takes after its first fingerprint if `after` others follow, of
/// which `last` is the last.
#[inline]
fn bits_of<F: Fingerprint>(first: F, last: F, after: usize, low_bits: u32) -> usize {
    let lows = after * (low_bits as usize + 1);
    growth(first, last, low_bits).saturating_add(lows + 1)
}

/// Returns the number of low bits that takes the least room.
fn best_low_bits<F: Fingerprint>(first: F, last: F, after: usize) -> u32 {
    let Some(after_log) = after.checked_ilog2() else { return 0 };
    let range_log = F::BITS - 1 - last.wrapping_sub(first).leading_zeros().min(F::BITS - 1);
    // Such that 2^middle is between half and twice the mean difference of neighbours.
    let middle = range_log.saturating_sub(after_log);
    let tried = (middle.saturating_sub(2)..=middle).map(|l| l.min(max_low_bits::<F>()));
    tried.min_by_key(|&l| bits_of(first, last, after, l)).unwrap_or(0)
}

/// An opened block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block<'a, F> {
    /// The block, and bytes after it.
    bytes: &'a [u8],
    first: F,
    low_bits: u32,
    /// Number of fingerprints after the first.
    after: usize,
    /// The byte offset at which the quotients begin.
    quotients: usize,
    /// The bit offset at which the low bits begin; the quotients end before it.
    lows: usize,
}

impl<'a, F: Fingerprint> Block<'a, F> {
    /// Reads the start of the block.
    #[inline(always)]
    pub(super) fn open(block: &Packed<'a>) -> Result<Self> {
        let Packed { bytes, size, coding } = *block;
        let Coding::EliasFano = coding else { return Err(other_code()) };
        let (count, low_bits, first) = match (bytes, bytes.get(HEAD_LEN..).and_then(F::read_le)) {
            (&[a, b, low_bits, ..], Some(first)) => (u16::from_le_bytes([a, b]), low_bits, first),
            _ => (0, 0, F::ZERO),
        };
        let (after, low_bits) = (usize::from(count).wrapping_sub(1), u32::from(low_bits));
        let quotients = HEAD_LEN + F::BYTES;
        let lows_len = after.wrapping_mul(low_bits as usize);
        let end = size * 8;
        if count == 0 || low_bits > max_low_bits::<F>() || lows_len > end - quotients * 8 {
            let message = "the start of the block has a value that is not allowed";
            return Err(Error::corruption(message));
        }
        Ok(Self { bytes, first, low_bits, after, quotients, lows: end - lows_len })
    }

    /// Visits the fingerprints from `low` to `high` with their places in the block, in order.
    #[inline(always)]
    fn within(&self, low: F, high: F, mut visit: impl FnMut(usize, F)) -> Result<()> {
        if (low..=high).contains(&self.first) {
            visit(0, self.first);
        }
        if self.after == 0 || high <= self.first {
            return Ok(());
        }
        let growth = growth(self.first, low.max(self.first), self.low_bits);
        let Some(position) = self.after_zero(growth) else { return Ok(()) };
        // The bits before `position` are the zeros up to and including this one, and a one per
        // fingerprint.
        let rank = position.wrapping_sub(self.quotients * 8).wrapping_sub(growth).wrapping_sub(1);
        self.visit_from(position, rank, |place, fingerprint| {
            if fingerprint >= low && fingerprint <= high {
                visit(place, fingerprint);
            }
            fingerprint <= high
        })
    }

    /// Visits the fingerprints from `low` to `high`, apart from the first, and possibly others. The
    /// flag passed to `visit` is false for values that are not in the block.
    ///
    /// Usually the range has one quotient with no, one or two fingerprints. Two are visited in any
    /// case, because the processor would often mispredict their number, which costs more.
    #[inline(always)]
    fn candidates(&self, low: F, high: F, mut visit: impl FnMut(bool, F)) -> Result<()> {
        if self.after == 0 || high <= self.first {
            return Ok(());
        }
        let growth = growth(self.first, low.max(self.first), self.low_bits);
        let Some(position) = self.after_zero(growth) else { return Ok(()) };
        let rank = position.wrapping_sub(self.quotients * 8).wrapping_sub(growth).wrapping_sub(1);
        let crowd = (self.word(position / 8) >> (position % 8)).trailing_ones() as usize;
        // The low bits may follow directly after the last quotient.
        let crowd = crowd.min(self.after.saturating_sub(rank));
        let one_quotient = low.wrapping_shr(self.low_bits) == high.wrapping_shr(self.low_bits);
        if !one_quotient || crowd > MAX_CROWD {
            return self.visit_from(position, rank, |_, fingerprint| {
                visit(true, fingerprint);
                fingerprint <= high
            });
        }
        let quotient = high.wrapping_shr(self.low_bits).wrapping_shl(self.low_bits);
        let low_bits = self.low_bits as usize;
        let mut at = self.lows.wrapping_add(rank.wrapping_mul(low_bits));
        for place in 0..crowd.max(2) {
            visit(place < crowd, quotient | peek_low(self.bytes, at, self.low_bits));
            at = at.wrapping_add(low_bits);
        }
        Ok(())
    }

    /// Returns how many fingerprints a search for the range from `low` to `high` compares: the
    /// first of the block, and those in the range but at least two.
    pub(super) fn count_candidates(&self, low: F, high: F) -> Result<usize> {
        let mut inside = 0;
        self.within(low, high, |_, _| inside += 1)?;
        Ok(1 + self.after.min(inside.max(2)))
    }

    /// Returns the place of a fingerprint, if the block holds it.
    pub(super) fn place(&self, fingerprint: F) -> Result<Option<usize>> {
        let mut found = None;
        self.within(fingerprint, fingerprint, |place, _| found = Some(place))?;
        Ok(found)
    }

    /// Writes all fingerprints in order to `out`, beginning at index `start`, and returns the index
    /// after them. `out` grows as needed; its contents after that index are meaningless.
    ///
    /// Writes full batches, usually with all ones of a batch from one load, so that no branch
    /// depends on the positions of the ones.
    #[inline(always)]
    fn fill(self, out: &mut Vec<F>, start: usize) -> Result<usize> {
        let end = start.saturating_add(1 + self.after);
        if out.len() < end.saturating_add(BATCH) {
            out.resize(end + GROWTH, F::ZERO);
        }
        let to = out.get_mut(start..).and_then(<[F]>::split_first_mut);
        let Some((first, rest)) = to else { return Ok(end) };
        *first = self.first;
        let (mut bit, mut low) = (self.quotients * 8, self.lows);
        // The quotient of a one at `bit`. The first bit is the zero of the first fingerprint's
        // quotient.
        let mut quotient = self.first.wrapping_shr(self.low_bits).wrapping_sub(F::ONE);
        let mut left = self.after;
        for batch in rest.as_chunks_mut().0 {
            if left == 0 {
                break;
            }
            let wanted = left.min(BATCH);
            let word = self.word(bit / 8) >> (bit % 8);
            let byte = low / 8;
            let lows = self.bytes.get(byte..byte.wrapping_add(BATCH_REACH));
            let lows = lows.filter(|_| word.count_ones() as usize >= wanted);
            if let Some(lows) = lows.and_then(<[u8]>::first_chunk) {
                let passed = self.fill_batch(word, &mut quotient, lows, batch);
                bit = bit.wrapping_add(passed);
            } else {
                let rank = self.after - left;
                let last = self.fill_batch_slowly(bit, rank, batch)?;
                bit = self.position_of_one(last, rank + wanted) + 1;
                quotient = last.wrapping_shr(self.low_bits);
            }
            low = low.wrapping_add(BATCH * self.low_bits as usize);
            left -= wanted;
        }
        let last = out.get(end.wrapping_sub(1)).copied().unwrap_or(self.first);
        self.expect_one(last, self.after)?;
        Ok(end)
    }

    /// Writes a batch whose ones are in `word`, given the quotient of a one at the word's lowest
    /// bit and the bytes from where the low bits begin. Returns the number of bits that it
    /// consumed.
    #[inline(always)]
    fn fill_batch(
        &self,
        mut word: u64,
        quotient: &mut F,
        lows: &[u8; BATCH_REACH],
        batch: &mut [F; BATCH],
    ) -> usize {
        let mut one = 0;
        for (to, &(byte, shift)) in batch.iter_mut().zip(batch_places(self.lows, self.low_bits)) {
            one = word.trailing_zeros();
            let above = quotient.wrapping_add(F::from_u128(one.into()));
            let below = low_word::<F>(lows, byte.into()).wrapping_shr(shift.into());
            let mask = !F::MAX.wrapping_shl(self.low_bits);
            *to = above.wrapping_shl(self.low_bits) | below & mask;
            word &= word.wrapping_sub(1);
            // Ones do not count towards a quotient: before the next one, there is one more of them.
            *quotient = quotient.wrapping_sub(F::ONE);
        }
        *quotient = quotient.wrapping_add(F::from_u128(u128::from(one) + 1));
        one as usize + 1
    }

    /// Writes a batch whose ones are far apart or that is near the end of the file. Returns its
    /// last fingerprint.
    #[cold]
    #[inline(never)]
    fn fill_batch_slowly(self, bit: usize, rank: usize, batch: &mut [F; BATCH]) -> Result<F> {
        let (mut to, mut last) = (batch.iter_mut(), (self.first, rank));
        self.visit_from(bit, rank, |rank, fingerprint| {
            let Some(to) = to.next() else { return false };
            *to = fingerprint;
            last = (fingerprint, rank);
            true
        })?;
        let (last, rank) = last;
        self.expect_one(last, rank)?;
        Ok(last)
    }

    /// Returns the bit offset of a fingerprint's one, given the number of fingerprints before it.
    #[inline(always)]
    fn position_of_one(&self, fingerprint: F, rank: usize) -> usize {
        let growth = growth(self.first, fingerprint, self.low_bits);
        growth.saturating_add((self.quotients * 8).wrapping_add(rank))
    }

    /// Returns an error if that bit is outside the quotients.
    #[inline(always)]
    fn expect_one(&self, fingerprint: F, rank: usize) -> Result<()> {
        if self.position_of_one(fingerprint, rank) < self.lows {
            Ok(())
        } else {
            Err(too_few_ones())
        }
    }

    /// Returns the bit offset after the zero with this number, counted from 0; `None` if there are
    /// fewer zeros.
    #[inline(always)]
    fn after_zero(&self, mut number: usize) -> Option<usize> {
        let mut at = self.quotients;
        while at * 8 < self.lows {
            let word = self.word(at);
            let zeros = word.count_zeros() as usize;
            if number < zeros {
                return Some(at * 8 + select(!word, number) + 1);
            }
            number -= zeros;
            at += 8;
        }
        None
    }

    /// Loads the word at a byte offset.
    #[inline(always)]
    fn word(&self, at: usize) -> u64 {
        low_word(self.bytes, at)
    }

    /// Visits the fingerprints whose ones are at `position` or after it, until `visit` returns
    /// false. `rank` is the number of ones before `position`.
    #[inline(always)]
    fn visit_from(
        &self,
        position: usize,
        rank: usize,
        mut visit: impl FnMut(usize, F) -> bool,
    ) -> Result<()> {
        let base = self.first.wrapping_shr(self.low_bits);
        let mut at = position / 8;
        let mut word = self.word(at) & (u64::MAX << (position % 8));
        let mut low = self.lows.wrapping_add(rank.wrapping_mul(self.low_bits as usize));
        for rank in rank..self.after {
            while word == 0 {
                at += 8;
                if at * 8 >= self.lows {
                    return Err(too_few_ones());
                }
                word = self.word(at);
            }
            let position = (at * 8).wrapping_add(word.trailing_zeros() as usize);
            word &= word.wrapping_sub(1);
            // The zeros before the one, without the zero of the first fingerprint's quotient.
            let growth = position.wrapping_sub(self.quotients * 8).wrapping_sub(rank + 1);
            let quotient = base.wrapping_add(F::from_u128(growth as u128));
            let lows = peek_low(self.bytes, low, self.low_bits);
            low = low.wrapping_add(self.low_bits as usize);
            if !visit(rank + 1, quotient.wrapping_shl(self.low_bits) | lows) {
                break;
            }
        }
        Ok(())
    }
}

#[cold]
fn too_few_ones() -> Error {
    Error::corruption("the block has fewer fingerprints than its count says")
}

/// Does what [`decode_all`](super::decode_all) does.
#[inline(always)]
pub(super) fn decode_all<'a, F: Fingerprint>(
    blocks: impl Iterator<Item = Result<Packed<'a>>>,
    out: &mut Vec<F>,
) -> Result<()> {
    let mut end = out.len();
    for block in blocks {
        end = Block::open(&block?)?.fill(out, end)?;
    }
    out.truncate(end);
    Ok(())
}

/// Does what [`visit_all`](super::visit_all) does.
#[inline(always)]
pub(super) fn visit_all<'a, F: Fingerprint>(
    blocks: impl Iterator<Item = Result<Packed<'a>>>,
    mut visit: impl FnMut(F),
) -> Result<()> {
    let (mut decoded, mut end) = (Vec::new(), 0);
    for block in blocks {
        end = Block::open(&block?)?.fill(&mut decoded, end)?;
        if end >= GROWTH {
            visit_slice(decoded.get(..end).unwrap_or_default(), &mut visit);
            end = 0;
        }
    }
    visit_slice(decoded.get(..end).unwrap_or_default(), &mut visit);
    Ok(())
}

/// Visits each fingerprint, eight per iteration.
#[inline(always)]
fn visit_slice<F: Fingerprint>(fingerprints: &[F], visit: &mut impl FnMut(F)) {
    let (eights, rest) = fingerprints.as_chunks::<8>();
    for eight in eights {
        eight.iter().for_each(|&fingerprint| visit(fingerprint));
    }
    rest.iter().for_each(|&fingerprint| visit(fingerprint));
}

/// Does what [`search`](super::search) does.
#[inline(always)]
pub(super) fn search<'a, F: Fingerprint, T: Copy>(
    mut next: impl FnMut() -> Result<Option<Job<'a, F, T>>>,
    distance: u32,
    mut found: impl FnMut(T, F),
) -> Result<()> {
    while let Some(job) = next()? {
        let block = Block::open(&job.block)?;
        job.offer(true, block.first, distance, &mut found);
        block.candidates(
            job.low,
            job.high,
            #[inline(always)]
            |is_present, fingerprint| job.offer(is_present, fingerprint, distance, &mut found),
        )?;
    }
    Ok(())
}

/// Checks a block strictly: the fingerprints ascend, and the bits between quotients and low bits
/// are zero. Passes each fingerprint to `visit`.
pub(super) fn check<F: Fingerprint>(
    bytes: &[u8],
    size: usize,
    mut visit: impl FnMut(F),
) -> Result<()> {
    let block = Block::<F>::open(&Packed { bytes, size, coding: &Coding::EliasFano })?;
    if block.after == 0 && block.low_bits != 0 {
        return Err(Error::corruption("a block of one fingerprint has low bits"));
    }
    let mut all = Vec::new();
    let end = block.fill(&mut all, 0)?;
    all.truncate(end);
    if !all.is_sorted_by(|a, b| a < b) {
        return Err(Error::corruption("the block's fingerprints do not ascend"));
    }
    all.into_iter().for_each(&mut visit);
    // All ones among these bits were read as fingerprints. Any other one should not be set.
    let bit = |bit: usize| usize::from(bytes.get(bit / 8).copied().unwrap_or(0) >> (bit % 8) & 1);
    if (block.quotients * 8..block.lows).map(bit).sum::<usize>() != block.after {
        return Err(Error::corruption("bits are set after the block's last quotient"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(block: &[u8]) -> Packed<'_> {
        Packed { bytes: block, size: block.len(), coding: &Coding::EliasFano }
    }

    fn build<F: Fingerprint>(values: &[F], size: usize) -> (Vec<u8>, usize) {
        let mut builder = Builder::new(size);
        let taken = builder.push_all(values);
        let mut out = Vec::new();
        builder.finish(&mut out);
        assert!(builder.is_empty());
        (out, taken)
    }

    fn read<F: Fingerprint>(block: &[u8]) -> Result<Vec<F>> {
        decode(packed(block))
    }

    /// Decodes a block that other bytes follow, so that every batch is loaded at once.
    fn read_inside<F: Fingerprint>(block: &[u8]) -> Result<Vec<F>> {
        let file = [block, &[0xff; BATCH_REACH]].concat();
        decode(Packed { bytes: &file, ..packed(block) })
    }

    /// Decodes a block twice in a row, visits it twice in a row, and compares the results.
    fn decode<F: Fingerprint>(block: Packed<'_>) -> Result<Vec<F>> {
        let (mut all, mut visited) = (vec![F::ONE], Vec::new());
        decode_all([Ok(block), Ok(block)].into_iter(), &mut all)?;
        visit_all([Ok(block), Ok(block)].into_iter(), |fingerprint| visited.push(fingerprint))?;
        assert_eq!(all.split_off(1), visited);
        let again = visited.split_off(visited.len() / 2);
        assert_eq!(visited, again);
        Ok(again)
    }

    /// Returns ascending values: spread ones, runs, and crowds that share their leading bits.
    fn values<F: Fingerprint>() -> Vec<F> {
        let mut values = vec![F::ZERO, F::MAX];
        let mut x = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835_u128;
        for i in 0..400u32 {
            x = x.wrapping_mul(0xda94_2042_e4dd_58b5_0000_0000_0000_0001 | 3).rotate_left(29);
            let near = values[values.len() - 1] ^ (F::ONE << (i % F::BITS));
            values.extend([F::from_u128(x), near, F::from_u128(u128::from(i / 2))]);
            values.push(F::from_u128(0x1234_5678_9abc_0000 + (x >> 115)));
        }
        values.sort_unstable();
        values.dedup();
        values
    }

    fn near<F: Fingerprint>(block: &[u8], query: F, low: F, high: F, distance: u32) -> Vec<F> {
        let mut job = Some(Job { block: packed(block), query, low, high, tag: () });
        let mut found = Vec::new();
        search(|| Ok(job.take()), distance, |(), f| found.push(f)).unwrap();
        found.sort_unstable();
        found
    }

    fn round_trip<F: Fingerprint>() {
        let values = values::<F>();
        for size in [128, 256, 512, 1024, 2048, 4096] {
            let mut rest = &values[..];
            while !rest.is_empty() {
                let (block, taken) = build(rest, size);
                let (inside, after) = rest.split_at(taken);
                assert_eq!(block.len(), size);
                assert_eq!(read::<F>(&block).unwrap(), inside);
                assert_eq!(read_inside::<F>(&block).unwrap(), inside);
                assert_eq!(packed(&block).len().unwrap(), taken);
                check(&block, size, |_: F| ()).unwrap();
                check_lookups(&block, inside);
                rest = after;
            }
        }
    }

    /// Checks that ranges of many widths around some of the values are found in full, and places.
    fn check_lookups<F: Fingerprint>(block: &[u8], inside: &[F]) {
        let opened = Block::<F>::open(&packed(block)).unwrap();
        for (place, &value) in inside.iter().enumerate().step_by(1 + inside.len() / 50) {
            assert_eq!(opened.place(value).unwrap(), Some(place));
            let absent = value.wrapping_add(F::ONE);
            assert_eq!(opened.place(absent).unwrap().is_some(), inside.contains(&absent));
            for depth in [0, 1, F::BITS / 4, F::BITS / 2, F::BITS - 5, F::BITS] {
                for prefix in [value, absent, value ^ F::ONE << (F::BITS / 2)] {
                    let mask = F::prefix_mask(depth);
                    let (low, high) = (prefix & mask, prefix | !mask);
                    let query = value ^ F::ONE;
                    let among = inside.iter().copied().filter(|f| (low..=high).contains(f));
                    let mut expected: Vec<F> = among.collect();
                    assert_eq!(near(block, query, low, high, F::BITS), expected);
                    expected.retain(|f| f.distance(query) <= 3);
                    assert_eq!(near(block, query, low, high, 3), expected);
                }
            }
        }
    }

    #[test]
    fn blocks_of_every_size_round_trip_and_answer_at_both_widths() {
        round_trip::<u64>();
        round_trip::<u128>();
    }

    #[test]
    fn small_block_matches_the_one_made_by_hand() {
        // One low bit takes the least room: the quotients are 2, 3, 6, the low bits of the last two
        // 0 and 1.
        let (block, taken) = build(&[5u64, 6, 13], 128);
        assert_eq!(taken, 3);
        assert_eq!(block[..3], [3, 0, 1]);
        assert_eq!(block[3..11], 5u64.to_le_bytes());
        // A zero for 2; a zero and a one for 3; zeros for 4, 5 and 6, and a one.
        assert_eq!(block[11], 0b0100_0100);
        assert_eq!(block[127], 0b1000_0000);
        assert!(block[12..127].iter().all(|&byte| byte == 0));
    }

    #[test]
    fn runs_of_neighbours_and_single_fingerprints_round_trip() {
        let run: Vec<u64> = (1000..9000).collect();
        let (block, taken) = build(&run, 1024);
        assert!(taken > 4000, "{taken} neighbours in 1024 bytes");
        assert_eq!(read::<u64>(&block).unwrap(), run[..taken]);
        assert_eq!(read_inside::<u64>(&block).unwrap(), run[..taken]);
        for value in [0, 7, u128::MAX] {
            let (block, taken) = build(&[value], 128);
            assert_eq!((read::<u128>(&block).unwrap(), taken), (vec![value], 1));
            assert_eq!(near(&block, value, 0, u128::MAX, 0), [value]);
        }
    }

    #[test]
    fn flipped_bits_never_panic_and_check_finds_those_that_change_an_answer() {
        let all: Vec<u64> = values().into_iter().step_by(9).collect();
        let (good, taken) = build(&all, 256);
        for bit in 0..good.len() * 8 {
            let mut block = good.clone();
            block[bit / 8] ^= 1 << (bit % 8);
            let strict = check(&block, block.len(), |_: u64| ());
            let in_order = read::<u64>(&block).is_ok_and(|v| v.is_sorted_by(|a, b| a < b));
            // Only the page checksum can find a change that keeps the order.
            let same = read::<u64>(&block).ok().as_deref() == Some(&all[..taken]);
            assert!(strict.is_err() || (in_order && !same), "bit {bit}");
            let _ = read_inside::<u64>(&block);
            if let Ok(opened) = Block::<u64>::open(&packed(&block)) {
                for &value in &all[..taken] {
                    let _ = opened.place(value);
                    near(&block, value, value & !0xffff, value | 0xffff, 3);
                }
            }
        }
        for len in 0..good.len() {
            let _ = read::<u64>(&good[..len]);
        }
    }

    #[test]
    fn missing_one_bit_is_damage() {
        let squares: Vec<u64> = (1..5000).map(|i| i * i * i).collect();
        for size in [128, 1024] {
            let (good, _) = build(&squares, size);
            let opened = Block::<u64>::open(&packed(&good)).unwrap();
            for bit in opened.quotients * 8..opened.lows {
                let mut block = good.clone();
                block[bit / 8] &= !(1 << (bit % 8));
                let same = block == good;
                assert_eq!(read::<u64>(&block).is_ok(), same, "{size}, bit {bit}");
                assert_eq!(read_inside::<u64>(&block).is_ok(), same, "{size}, bit {bit}");
            }
        }
    }

    #[test]
    fn block_of_one_fingerprint_has_no_low_bits() {
        let (mut block, _) = build(&[7u64], 128);
        check(&block, 128, |f: u64| assert_eq!(f, 7)).unwrap();
        block[2] = 1;
        assert!(check(&block, 128, |_: u64| ()).is_err());
    }

    #[test]
    fn invalid_start_of_a_block_is_damage() {
        for start in [[0, 0, 0], [1, 0, 58], [200, 0, 57], [255, 255, 1]] {
            let mut block = vec![0; 128];
            block[..3].copy_from_slice(&start);
            assert!(read::<u64>(&block).is_err(), "{start:?}");
        }
    }
}
