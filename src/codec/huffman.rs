//! The code of leading-difference positions: a length-limited canonical Huffman code.
//!
//! One code serves one table. It is made from the table's own distribution of h, the position of
//! the highest bit in which two neighbours differ (paper, section 3.2), and written as one length
//! per symbol; lengths determine the codewords. storage-format.md, "Huffman code".

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::error::{Error, Result};

/// Longest codeword in bits. Rarer symbols than 2^-11 cost next to nothing, and a decode table of
/// 2^11 two-byte slots (4 KiB) leaves room for others in the first-level cache.
pub(crate) const MAX_LENGTH: u32 = 11;

/// Symbols are bit positions of the widest fingerprint.
pub(crate) const MAX_SYMBOLS: usize = 128;

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
    pub(crate) fn add(&mut self, h: u32) {
        if let Some(count) = self.0.get_mut(h as usize) {
            *count += 1;
        }
    }
}

/// A canonical code: codewords of one length are consecutive numbers, given out in symbol order,
/// shorter ones first.
#[derive(Debug, Clone)]
pub(crate) struct Code {
    lengths: [u8; MAX_SYMBOLS],
    words: [u16; MAX_SYMBOLS],
    decoder: Box<Decoder>,
}

/// The part of a code that decoding needs: by the next `MAX_LENGTH` bits, symbol << 8 | length +
/// symbol; 0 where no codeword leads. The sum is what a decoder waits for: that many bits on begins
/// the next codeword.
#[derive(Debug, Clone)]
pub(crate) struct Decoder([u16; SLOTS]);

impl Decoder {
    /// The codeword that leads `peeked` (next bit on top): its symbol, and its length and symbol
    /// added up; the sum is no greater than the symbol if no codeword leads.
    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "11 bits are less than 2048")]
    pub(crate) fn decode(&self, peeked: u64) -> (u32, u32) {
        let slot = self.0[(peeked >> (64 - MAX_LENGTH)) as usize];
        (u32::from(slot >> 8), u32::from(slot & 0xff))
    }
}

impl Code {
    /// The best code for a distribution with no codeword over `MAX_LENGTH` bits.
    pub(crate) fn from_histogram(histogram: &Histogram) -> Self {
        // Made by package-merge, the lengths satisfy Kraft's equality by construction.
        Self::assign(package_merge(&histogram.0))
    }

    /// The code with these lengths, one for each symbol of a width; 0 where a symbol has no
    /// codeword.
    ///
    /// Refused: a length over the limit; lengths that leave codewords unused or overlap, except
    /// that a single symbol has one of one bit, and that there may be no symbol at all.
    pub(crate) fn from_lengths(given: &[u8]) -> Result<Self> {
        let mut lengths = [0u8; MAX_SYMBOLS];
        let mut used = 0usize;
        let mut kraft = 0usize;
        for (to, &length) in lengths.iter_mut().zip(given) {
            if u32::from(length) > MAX_LENGTH {
                return Err(Error::corruption(format!("code length {length} over {MAX_LENGTH}")));
            }
            *to = length;
            if length > 0 {
                used += 1;
                kraft += SLOTS >> length;
            }
        }
        let sound = match used {
            0 => true,
            1 => kraft == SLOTS / 2,
            _ => kraft == SLOTS,
        };
        if !sound || given.len() > MAX_SYMBOLS {
            return Err(Error::corruption("code lengths do not make a complete code"));
        }
        Ok(Self::assign(lengths))
    }

    /// Gives out codewords; `lengths` must be sound.
    fn assign(lengths: [u8; MAX_SYMBOLS]) -> Self {
        let decoder = Box::new(Decoder([0; SLOTS]));
        let mut code = Self { lengths, words: [0; MAX_SYMBOLS], decoder };
        let mut slots = code.decoder.0.iter_mut();
        let mut next = 0usize;
        for length in 1..=MAX_LENGTH {
            for (symbol, word) in code.words.iter_mut().enumerate() {
                if lengths.get(symbol).is_none_or(|&l| u32::from(l) != length) {
                    continue;
                }
                let span = SLOTS >> length;
                *word = u16::try_from(next >> (MAX_LENGTH - length)).unwrap_or(0);
                let slot = symbol << 8 | (length as usize + symbol);
                let slot = u16::try_from(slot).unwrap_or(0);
                slots.by_ref().take(span).for_each(|s| *s = slot);
                next += span;
            }
        }
        code
    }

    /// The lengths of the first `symbols` symbols, as written in a table.
    pub(crate) fn lengths(&self, symbols: u32) -> &[u8] {
        self.lengths.get(..symbols as usize).unwrap_or(&self.lengths)
    }

    /// The codeword of `h` and its length. `h` must have occurred in the histogram.
    #[inline]
    pub(crate) fn word(&self, h: u32) -> (u64, u32) {
        let word = self.words.get(h as usize).copied().unwrap_or(0);
        let length = self.lengths.get(h as usize).copied().unwrap_or(0);
        debug_assert!(length > 0, "no codeword for {h}");
        (u64::from(word), u32::from(length))
    }

    pub(crate) fn decoder(&self) -> &Decoder {
        &self.decoder
    }
}

/// Code lengths of least total cost with none over `MAX_LENGTH` (Larmore and Hirschberg, 1990).
/// Equal weights are ordered by symbol, and a single symbol comes before a package of the same
/// weight, so that one distribution always gives one code.
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

/// Items of a pair taken together.
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

    /// Least cost by plain Huffman merging, where the limit does not bite.
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
    fn a_small_code_is_the_one_made_by_hand() {
        // Weights 1, 2, 4, 4 at symbols 9, 5, 6, 7: of equal weights the lower symbol is taken as
        // the lighter.
        let code = code_of(&[(9, 1), (5, 2), (7, 4), (6, 4)]);
        assert_eq!(&code.lengths(10)[5..10], [3, 2, 1, 0, 3]);
        assert_eq!(code.word(7), (0b0, 1));
        assert_eq!(code.word(6), (0b10, 2));
        assert_eq!(code.word(5), (0b110, 3));
        assert_eq!(code.word(9), (0b111, 3));
    }

    #[test]
    fn costs_equal_unlimited_huffman_where_the_limit_does_not_bite() {
        let counts: Vec<u64> = (0..40u64).map(|i| 100 + i * i % 37).collect();
        let pairs: Vec<(u32, u64)> = (0..).zip(counts.iter().copied()).collect();
        let code = code_of(&pairs);
        let cost: u64 = pairs.iter().map(|&(s, c)| c * u64::from(code.word(s).1)).sum();
        assert_eq!(cost, huffman_cost(&counts));
    }

    #[test]
    fn skewed_weights_stay_within_the_limit_and_complete() {
        let mut histogram = Histogram::default();
        for s in 0..60 {
            histogram.0[s] = 1 << s;
        }
        let code = Code::from_histogram(&histogram);
        assert!(code.lengths(60).iter().all(|&l| (1..=11).contains(&l)));
        let again = Code::from_lengths(code.lengths(64)).unwrap();
        assert_eq!(again.words, code.words);
    }

    #[test]
    fn every_codeword_decodes_to_its_symbol() {
        let pairs: Vec<(u32, u64)> = (0..128).map(|s| (s, u64::from(s) * 7 + 1)).collect();
        let code = code_of(&pairs);
        for (symbol, _) in pairs {
            let (word, length) = code.word(symbol);
            let expected = (symbol, length + symbol);
            assert_eq!(code.decoder().decode(word << (64 - length)), expected);
            assert_eq!(
                code.decoder().decode(word << (64 - length) | (u64::MAX >> length)),
                expected
            );
        }
    }

    #[test]
    fn one_symbol_has_one_bit_and_none_has_none() {
        let code = code_of(&[(3, 5)]);
        assert_eq!(code.word(3), (0, 1));
        assert_eq!(code.decoder().decode(0), (3, 4));
        assert_eq!(code.decoder().decode(u64::MAX), (0, 0));
        Code::from_lengths(code.lengths(64)).unwrap();
        Code::from_lengths(&[0; 64]).unwrap();
    }

    #[test]
    fn unsound_lengths_are_refused() {
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
