//! Bits by number.

use std::ops::Range;

/// Bits, of which the last ones may be added.
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

    /// Returns the first bit from `from` on that is set.
    pub(super) fn next(&self, from: u64) -> Option<u64> {
        let mut at = word(from);
        let mut bits = self.words.get(at)? & u64::MAX << (from % 64);
        while bits == 0 {
            at += 1;
            bits = *self.words.get(at)?;
        }
        Some(at as u64 * 64 + u64::from(bits.trailing_zeros()))
    }

    /// Returns whether any of these bits is set.
    pub(super) fn any(&self, bits: Range<u64>) -> bool {
        self.next(bits.start).is_some_and(|next| next < bits.end)
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
        for set in [vec![], vec![0], vec![63], vec![64], vec![3, 64, 127, 128, 500]] {
            let (mut bits, mut zeros) = (Bits::default(), Bits::zeros(600));
            (0..600).for_each(|bit| bits.push(set.contains(&bit)));
            set.iter().for_each(|&bit| zeros.set(bit));
            assert_eq!((bits.len(), &bits.words), (600, &zeros.words));
            for from in 0..600 {
                assert_eq!(bits.get(from), set.contains(&from));
                assert_eq!(bits.next(from), set.iter().copied().find(|&bit| bit >= from));
                for to in from..600 {
                    let any = set.iter().any(|bit| (from..to).contains(bit));
                    assert_eq!(bits.any(from..to), any);
                }
            }
        }
    }
}
