//! Random fingerprints, for tests.

use crate::fingerprint::Word;

/// A seeded generator of random numbers.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 ^ self.0 >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 7
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    pub(crate) fn fingerprint<F: Word>(&mut self) -> F {
        F::from_u128((0..4).fold(0, |all, _| all << 40 ^ u128::from(self.next())))
    }

    /// Returns the fingerprint with up to this many bits flipped.
    pub(crate) fn flip<F: Word>(&mut self, fingerprint: F, errors: u64) -> F {
        (0..errors).fold(fingerprint, |f, _| {
            f ^ F::ONE << u32::try_from(self.below(u64::from(F::BITS))).unwrap()
        })
    }
}
