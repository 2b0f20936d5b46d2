//! Prefixes: the leading bits that some fingerprints of a table share.

use crate::fingerprint::Word;

/// All fingerprints that begin with the same `depth` bits, in a table's bit order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Prefix<F> {
    /// The leading bits, followed by zeros.
    pub(crate) bits: F,
    /// 0 to `F::BITS`.
    pub(crate) depth: u32,
}

impl<F: Word> Prefix<F> {
    /// Every fingerprint.
    pub(crate) const ALL: Self = Self { bits: F::ZERO, depth: 0 };

    /// Returns the lowest fingerprint with this prefix.
    #[inline]
    pub(crate) fn low(self) -> F {
        self.bits
    }

    /// Returns the highest fingerprint with this prefix.
    #[inline]
    pub(crate) fn high(self) -> F {
        self.bits | !F::prefix_mask(self.depth)
    }

    /// Returns the two prefixes that are one bit longer. `depth` must be less than `F::BITS`.
    pub(crate) fn halves(self) -> [Self; 2] {
        let bit = F::ONE << (F::BITS - 1 - self.depth);
        [self.bits, self.bits | bit].map(|bits| Self { bits, depth: self.depth + 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_cover_the_prefix_without_a_gap() {
        let mut prefix = Prefix::<u64>::ALL;
        while prefix.depth < 64 {
            let [zero, one] = prefix.halves();
            assert_eq!((zero.low(), one.high()), (prefix.low(), prefix.high()));
            assert_eq!(zero.high() + 1, one.low());
            prefix = one;
        }
        assert_eq!(prefix.low(), u64::MAX);
    }
}
