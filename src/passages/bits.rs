//! Bits by number.

use std::ops::Range;

/// A vector of bits.
#[derive(Debug, Default)]
pub(super) struct Bits {
    words: Vec<u64>,
    len: u64,
}

impl Bits {
    /// Makes this many bits, none of which is set.
    pub(super) fn zeros(len: u64) -> Self {
        Self { words: vec![0; word(len.next_multiple_of(64))], len }
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    pub(super) fn push(&mut self, bit: bool) {
        if self.len.is_multiple_of(64) {
            self.words.push(0);
        }
        self.len += 1;
        if bit {
            self.set(self.len - 1);
        }
    }

    pub(super) fn set(&mut self, bit: u64) {
        if let Some(word) = self.words.get_mut(word(bit)) {
            *word |= 1 << (bit % 64);
        }
    }

    pub(super) fn get(&self, bit: u64) -> bool {
        self.words.get(word(bit)).is_some_and(|word| word >> (bit % 64) & 1 != 0)
    }

    /// Returns the first of these bits that is set.
    pub(super) fn first(&self, bits: Range<u64>) -> Option<u64> {
        let mut at = word(bits.start);
        let mut found = self.words.get(at)? & u64::MAX << (bits.start % 64);
        // Not beyond the end: there may be many words without a bit.
        while found == 0 && at < word(bits.end) {
            at += 1;
            found = *self.words.get(at)?;
        }
        let first = at as u64 * 64 + u64::from(found.trailing_zeros());
        (found != 0 && first < bits.end).then_some(first)
    }

    /// Returns whether any of these bits is set.
    pub(super) fn any(&self, bits: Range<u64>) -> bool {
        self.first(bits).is_some()
    }
}

/// Words whose set bits are counted together.
const WORDS: usize = 8;

/// Bits whose set ones are counted.
pub(super) struct Counted<'a> {
    bits: &'a Bits,
    /// The set bits before every [`WORDS`] words.
    before: Vec<u64>,
}

impl Bits {
    /// Counts the bits that are set, so that the number of those between two places is known at
    /// once.
    pub(super) fn counted(&self) -> Counted<'_> {
        let mut count = 0;
        let parts = self.words.chunks(WORDS).map(|words| {
            count += words.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
            count
        });
        Counted { bits: self, before: std::iter::once(0).chain(parts).collect() }
    }
}

impl Counted<'_> {
    /// Returns how many bits are set up to and including this one.
    pub(super) fn up_to(&self, bit: u64) -> u64 {
        let (last, part) = (word(bit), word(bit) / WORDS);
        let words = self.bits.words.get(part * WORDS..=last).unwrap_or_default();
        let unwanted = words.last().map_or(0, |word| (word >> (bit % 64) >> 1).count_ones());
        let count: u64 = words.iter().map(|word| u64::from(word.count_ones())).sum();
        self.before.get(part).copied().unwrap_or(0) + count - u64::from(unwanted)
    }
}

/// Returns the number of the word that has a bit.
fn word(bit: u64) -> usize {
    usize::try_from(bit / 64).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_that_are_set_are_found() {
        for set in
            [(0..600).collect(), vec![], vec![0], vec![63], vec![64], vec![3, 64, 127, 128, 500]]
        {
            let (mut bits, mut zeros) = (Bits::default(), Bits::zeros(600));
            (0..600).for_each(|bit| bits.push(set.contains(&bit)));
            set.iter().for_each(|&bit| zeros.set(bit));
            assert_eq!((bits.len(), &bits.words), (600, &zeros.words));
            for from in 0..600 {
                assert_eq!(bits.get(from), set.contains(&from));
                let up_to = set.iter().filter(|&&bit| bit <= from).count();
                assert_eq!(bits.counted().up_to(from), up_to as u64);
                for to in from..600 {
                    let first = set.iter().copied().find(|bit| (from..to).contains(bit));
                    assert_eq!(bits.first(from..to), first);
                    assert_eq!(bits.any(from..to), first.is_some());
                }
            }
        }
    }
}
