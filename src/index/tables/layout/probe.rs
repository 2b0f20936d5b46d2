//! One prefix lookup of a plan.

use crate::fingerprint::Word;

/// Number of leading bits in which a probe may flip some.
pub(super) const MAX_FLIPPED: u8 = 64;

/// One prefix lookup in a table: it finds the entries whose `depth` leading bits, in the table's
/// bit order, equal the query's with some flipped.
///
/// It takes 16 bytes at every width: plans for wide distances have thousands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Probe {
    /// 0 to the fingerprints' width.
    pub(crate) depth: u8,
    /// The flipped bits, in the table's bit order. They are within the leading `depth` bits.
    pub(super) flips: u64,
}

impl Probe {
    /// The probe that finds everything.
    pub(super) const ALL: Self = Self { depth: 0, flips: 0 };

    /// Returns the flipped bits of a fingerprint.
    #[inline(always)]
    pub(crate) fn flips<F: Word>(&self) -> F {
        F::from_u128(u128::from(self.flips) << (F::BITS - u64::BITS))
    }

    /// Returns the probe of the leading `depth` bits with these flips.
    #[cfg(test)]
    pub(super) fn of<F: Word>(depth: u8, flips: F) -> Self {
        Self { depth, flips: flips.top64() }
    }

    /// Flips one more of the bits. Those beyond [`MAX_FLIPPED`] cannot be flipped.
    pub(super) fn flip(&mut self, bit: u8) {
        debug_assert!(bit < MAX_FLIPPED);
        self.flips |= 1 << (MAX_FLIPPED - 1 - bit);
    }
}
