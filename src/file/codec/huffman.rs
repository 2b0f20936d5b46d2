//! The code of leading differences: a length-limited canonical Huffman code.
//!
//! Each table has its own code, made from the table's distribution of h, the position of the
//! highest bit in which two neighbours differ (paper, section 3.2). The code is stored as one
//! length per symbol; the lengths determine the codewords. storage-format.md, "Huffman code".

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::base::error::{Error, Result};

/// Length of the longest codeword in bits. Symbols rarer than 2^-11 cost next to nothing, and the
/// decode tables of two tables, 2^11 slots of 8 bytes each, fit in the first-level cache.
pub(crate) const MAX_LENGTH: u32 = 11;

/// Number of symbols: the bit positions of the widest fingerprint.
pub(crate) const MAX_SYMBOLS: usize = 128;

/// Slots of a decode table.
const SLOTS: usize = 1 << MAX_LENGTH;

/// How often each h occurs in a table.
#[derive(Debug, Clone)]
pub(crate) struct Histogram([u64; MAX_SYMBOLS]);

impl Default for Histogram {
    fn default() -> Self {
        Self([0; MAX_SYMBOLS])
    }
}

impl Histogram {
    /// Counts one occurrence of `h`.
    pub(crate) fn add(&mut self, h: u32) {
        if let Some(count) = self.0.get_mut(h as usize) {
            *count += 1;
        }
    }

    /// Returns the distribution of h - `lowest`, without the lowest ones.
    pub(crate) fn above(&self, lowest: u32) -> Self {
        let mut above = Self::default();
        above
            .0
            .iter_mut()
            .zip(self.0.iter().skip(lowest as usize))
            .for_each(|(to, &count)| *to = count);
        above
    }

    /// Returns this distribution with a count for every h below `bits`, a tiny one if the h does
    /// not occur here. The code of the result is total, which a code made from a sample must be.
    pub(crate) fn smoothed(&self, bits: u32) -> Self {
        let mut smoothed = self.clone();
        for count in smoothed.0.iter_mut().take(bits as usize) {
            *count = count.saturating_mul(1 << 8).max(1);
        }
        smoothed
    }
}

/// A canonical code: codewords of equal length are consecutive numbers in symbol order, and shorter
/// codewords come first.
#[derive(Debug, Clone)]
pub(crate) struct Code {
    lengths: [u8; MAX_SYMBOLS],
    words: [u16; MAX_SYMBOLS],
    decoder: Decoder,
}

/// Most codewords that are decoded at once.
pub(crate) const MAX_RUN: usize = 4;

/// The part of a code that decoding needs, indexed by the next `MAX_LENGTH` bits: all codewords
/// that these bits contain in full, at most [`MAX_RUN`].
#[derive(Debug, Clone)]
pub(crate) struct Decoder(Box<[Run; SLOTS]>);

/// A few codewords in a row: the symbols in the four lowest bytes, first symbol lowest, then a byte
/// each for the number of symbols and for the length of their codewords.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Run(u64);

impl Decoder {
    /// Decodes the codewords at the start of `peeked`, whose top bit comes first. The run has no
    /// symbol if `peeked` does not begin with a codeword.
    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "a number of 11 bits is below 2048")]
    pub(crate) fn decode(&self, peeked: u64) -> Run {
        self.0[(peeked >> (64 - MAX_LENGTH)) as usize]
    }

    /// Creates the decoder of a code, given the symbols and lengths of its codewords in their
    /// order.
    fn new(words: &[(u8, u8)]) -> Self {
        let mut runs = Box::new([Run::default(); SLOTS]);
        Run::default().fill(&mut *runs, words);
        Self(runs)
    }
}

impl Run {
    /// Returns the symbols, little-endian, one per byte. Bytes after the last symbol are zero.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the low half is wanted")]
    pub(crate) fn symbols(self) -> [u8; MAX_RUN] {
        (self.0 as u32).to_le_bytes()
    }

    /// Returns the number of symbols.
    #[inline(always)]
    pub(crate) fn count(self) -> u32 {
        (self.0 >> 32) as u32 & 0xff
    }

    /// Returns the length of all codewords in bits.
    #[inline(always)]
    pub(crate) fn len(self) -> u32 {
        (self.0 >> 40) as u32
    }

    /// Fills the slots whose bits begin with this run. Each codeword that may follow begins an
    /// equal share of them, in the order of the codewords, as long as it is not longer than what is
    /// left of the bits.
    fn fill(self, slots: &mut [Self], words: &[(u8, u8)]) {
        if self.count() as usize == MAX_RUN {
            return slots.fill(self);
        }
        let mut rest = slots;
        for &(symbol, length) in words {
            let share = SLOTS >> (self.len() + u32::from(length));
            // The codewords that follow are no shorter.
            if share == 0 {
                break;
            }
            if let Some(own) = rest.split_off_mut(..share) {
                self.with(symbol, length).fill(own, words);
            }
        }
        rest.fill(self);
    }

    /// Returns this run followed by a codeword.
    fn with(self, symbol: u8, length: u8) -> Self {
        let symbols = self.0 | u64::from(symbol) << (8 * self.count());
        Self(symbols + (1 << 32 | u64::from(length) << 40))
    }
}

impl Code {
    /// Returns the best code for a distribution among those with no codeword longer than
    /// `MAX_LENGTH` bits.
    pub(crate) fn from_histogram(histogram: &Histogram) -> Self {
        // The lengths satisfy Kraft's equality because package-merge made them.
        Self::assign(package_merge(&histogram.0))
    }

    /// Returns the code with these lengths, one for each bit position of a fingerprint; 0 means
    /// that the symbol has no codeword.
    ///
    /// Returns an error if a length exceeds the limit, or if the codewords would overlap or would
    /// not use all bit strings. There are two exceptions: a code may have no symbol at all, or a
    /// single symbol with a codeword of one bit.
    pub(crate) fn from_lengths(given: &[u8]) -> Result<Self> {
        let mut lengths = [0u8; MAX_SYMBOLS];
        let mut used = 0usize;
        let mut kraft = 0usize;
        for (to, &length) in lengths.iter_mut().zip(given) {
            if u32::from(length) > MAX_LENGTH {
                return Err(Error::corruption(format!(
                    "a code length is {length}, the longest allowed is {MAX_LENGTH}"
                )));
            }
            *to = length;
            if length > 0 {
                used += 1;
                kraft += SLOTS >> length;
            }
        }
        let is_valid = match used {
            0 => true,
            1 => kraft == SLOTS / 2,
            _ => kraft == SLOTS,
        };
        if !is_valid || given.len() > MAX_SYMBOLS {
            return Err(Error::corruption("the code lengths do not form a complete prefix code"));
        }
        Ok(Self::assign(lengths))
    }

    /// Assigns codewords to valid lengths.
    fn assign(lengths: [u8; MAX_SYMBOLS]) -> Self {
        let mut order: Vec<(u8, u8)> =
            (0u8..).zip(lengths).filter(|&(_, length)| length > 0).collect();
        order.sort_by_key(|&(_, length)| length);
        let mut words = [0; MAX_SYMBOLS];
        let mut next = 0usize;
        for &(symbol, length) in &order {
            if let Some(word) = words.get_mut(usize::from(symbol)) {
                *word = u16::try_from(next >> (MAX_LENGTH - u32::from(length))).unwrap_or(0);
            }
            next += SLOTS >> length;
        }
        Self { lengths, words, decoder: Decoder::new(&order) }
    }

    /// Returns the lengths of the first `symbols` symbols, as a table's footer stores them.
    pub(crate) fn lengths(&self, symbols: u32) -> &[u8] {
        self.lengths.get(..symbols as usize).unwrap_or(&self.lengths)
    }

    /// Returns the codeword of `h` and its length, which is 0 if there is no codeword.
    pub(crate) fn word(&self, h: u32) -> (u64, u32) {
        let word = self.words.get(h as usize).copied().unwrap_or(0);
        let length = self.lengths.get(h as usize).copied().unwrap_or(0);
        (u64::from(word), u32::from(length))
    }

    /// Returns the part of the code that decoding needs.
    pub(crate) fn decoder(&self) -> &Decoder {
        &self.decoder
    }
}

/// Returns the code lengths of least total cost with none longer than `MAX_LENGTH` (package-merge:
/// Larmore and Hirschberg, 1990). Equal weights are ordered by symbol, and a single symbol comes
/// before a package of the same weight, so that equal distributions always give equal codes.
fn package_merge(counts: &[u64; MAX_SYMBOLS]) -> [u8; MAX_SYMBOLS] {
    let mut singles: Vec<(u64, Vec<usize>)> = counts
        .iter()
        .enumerate()
        .filter(|&(_, &count)| count > 0)
        .map(|(symbol, &count)| (count, vec![symbol]))
        .collect();
    singles.sort();
    let mut lengths = [0u8; MAX_SYMBOLS];
    let mut chosen: Vec<(u64, Vec<usize>)> = Vec::new();
    if singles.len() == 1 {
        chosen = singles.clone();
    } else {
        for _ in 0..MAX_LENGTH {
            let mut merged = singles.clone();
            merged.append(&mut chosen);
            merged.sort_by_key(|&(weight, _)| weight);
            chosen = merged.chunks_exact(2).map(package).collect();
        }
        chosen.truncate(singles.len().saturating_sub(1));
    }
    for symbol in chosen.iter().flat_map(|(_, symbols)| symbols) {
        if let Some(length) = lengths.get_mut(*symbol) {
            *length += 1;
        }
    }
    lengths
}

/// Combines the items of a pair.
fn package(pair: &[(u64, Vec<usize>)]) -> (u64, Vec<usize>) {
    let weight = pair.iter().map(|(weight, _)| weight).sum();
    (weight, pair.iter().flat_map(|(_, symbols)| symbols.iter().copied()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_of(counts: &[(u32, u64)]) -> Code {
        let mut histogram = Histogram::default();
        for &(symbol, count) in counts {
            for _ in 0..count {
                histogram.add(symbol);
            }
        }
        Code::from_histogram(&histogram)
    }

    /// Returns the least cost without a length limit, by plain Huffman merging.
    fn huffman_cost(counts: &[u64]) -> u64 {
        let mut weights = counts.to_vec();
        let mut cost = 0;
        while weights.len() > 1 {
            weights.sort_unstable_by(|a, b| b.cmp(a));
            let sum = weights.pop().unwrap() + weights.pop().unwrap();
            cost += sum;
            weights.push(sum);
        }
        cost
    }

    #[test]
    fn small_code_matches_the_one_made_by_hand() {
        // Symbols 9, 5, 6, 7 have weights 1, 2, 4, 4. Of equal weights, the lower symbol counts as
        // the lighter.
        let code = code_of(&[(9, 1), (5, 2), (7, 4), (6, 4)]);
        assert_eq!(&code.lengths(10)[5..10], [3, 2, 1, 0, 3]);
        assert_eq!(code.word(7), (0b0, 1));
        assert_eq!(code.word(6), (0b10, 2));
        assert_eq!(code.word(5), (0b110, 3));
        assert_eq!(code.word(9), (0b111, 3));
    }

    #[test]
    fn cost_equals_unlimited_huffman_if_no_length_reaches_the_limit() {
        let counts: Vec<u64> = (0..40u64).map(|i| 100 + i * i % 37).collect();
        let pairs: Vec<(u32, u64)> = (0..).zip(counts.iter().copied()).collect();
        let code = code_of(&pairs);
        let cost: u64 = pairs.iter().map(|&(s, c)| c * u64::from(code.word(s).1)).sum();
        assert_eq!(cost, huffman_cost(&counts));
    }

    #[test]
    fn skewed_weights_give_a_complete_code_within_the_limit() {
        let mut histogram = Histogram::default();
        for s in 0..60 {
            histogram.0[s] = 1 << s;
        }
        let code = Code::from_histogram(&histogram);
        assert!(code.lengths(60).iter().all(|&l| (1..=11).contains(&l)));
        let again = Code::from_lengths(code.lengths(64)).unwrap();
        assert_eq!(again.words, code.words);
    }

    fn first_of(run: Run) -> Option<u8> {
        (run.count() > 0).then(|| run.symbols()[0])
    }

    #[test]
    fn every_codeword_decodes_to_its_symbol() {
        let pairs: Vec<(u32, u64)> = (0..128).map(|s| (s, u64::from(s) * 7 + 1)).collect();
        let code = code_of(&pairs);
        for (symbol, _) in pairs {
            let (word, length) = code.word(symbol);
            for after in [0, u64::MAX >> length] {
                let run = code.decoder().decode(word << (64 - length) | after);
                assert_eq!(first_of(run).map(u32::from), Some(symbol));
                assert!(run.len() >= length);
            }
        }
    }

    #[test]
    fn codewords_in_a_row_are_decoded_at_once() {
        // Lengths 1, 2, 3, 3 for the symbols 6, 7, 5, 9.
        let code = code_of(&[(9, 1), (5, 2), (7, 3), (6, 7)]);
        let rows: [&[u32]; 4] = [&[6, 7, 5, 9], &[9, 7, 9, 9], &[6, 6, 6, 6], &[5, 6, 9, 7]];
        for row in rows {
            let (mut bits, mut used) = (0, 0);
            for &symbol in row {
                let (word, length) = code.word(symbol);
                used += length;
                bits |= word << (64 - used);
            }
            let run = code.decoder().decode(bits);
            let symbols: Vec<u32> = run.symbols().into_iter().map(u32::from).collect();
            assert_eq!(symbols[..run.count() as usize], *row);
            assert_eq!(run.len(), used);
        }
    }

    #[test]
    fn every_slot_has_as_many_codewords_as_fit() {
        let few = [(9, 1), (5, 2), (7, 3), (6, 7)];
        let many: Vec<(u32, u64)> = (0..128).map(|s| (s, u64::from(s) * 7 + 1)).collect();
        let skewed: Vec<(u32, u64)> = (0..14).map(|s| (s, 1 << s)).collect();
        for counts in [&[(3, 5)][..], &few, &many, &skewed] {
            let code = code_of(counts);
            for slot in 0..SLOTS as u64 {
                let (mut symbols, mut used) = (Vec::new(), 0);
                while symbols.len() < MAX_RUN
                    && let Some((symbol, length)) = (0..128).find_map(|symbol| {
                        let (word, length) = code.word(symbol);
                        let fits = length > 0 && used + length <= MAX_LENGTH;
                        let rest =
                            (slot << used & (SLOTS as u64 - 1)).checked_shr(MAX_LENGTH - length);
                        (fits && rest == Some(word)).then_some((symbol, length))
                    })
                {
                    symbols.push(u8::try_from(symbol).unwrap());
                    used += length;
                }
                let run = code.decoder().decode(slot << (64 - MAX_LENGTH));
                assert_eq!(run.symbols()[..run.count() as usize], symbols);
                assert_eq!(run.len(), used);
                assert!(run.symbols()[symbols.len()..].iter().all(|&none| none == 0));
            }
        }
    }

    #[test]
    fn single_symbol_takes_one_bit_and_no_symbol_none() {
        let code = code_of(&[(3, 5)]);
        assert_eq!(code.word(3), (0, 1));
        assert_eq!(first_of(code.decoder().decode(0)), Some(3));
        assert_eq!(first_of(code.decoder().decode(u64::MAX)), None);
        assert_eq!(code.decoder().decode(u64::MAX).len(), 0);
        let code = Code::from_lengths(code.lengths(64)).unwrap();
        assert_eq!(first_of(code.decoder().decode(0)), Some(3));
        let code = Code::from_lengths(&[0; 64]).unwrap();
        assert_eq!(first_of(code.decoder().decode(0)), None);
    }

    #[test]
    fn invalid_lengths_are_rejected() {
        let mut lengths = [0u8; 64];
        lengths[0] = 12;
        assert!(Code::from_lengths(&lengths).is_err(), "too long");
        lengths[0] = 2;
        assert!(Code::from_lengths(&lengths).is_err(), "one symbol of two bits");
        lengths[..3].copy_from_slice(&[1, 1, 1]);
        assert!(Code::from_lengths(&lengths).is_err(), "overlapping");
        lengths[..3].copy_from_slice(&[1, 2, 0]);
        assert!(Code::from_lengths(&lengths).is_err(), "a codeword unused");
    }
}
