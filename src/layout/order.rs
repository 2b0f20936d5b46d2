//! Rotations: the bit orders of tables.

use super::keys::KeyRule;
use crate::fingerprint::Word;

/// A bit order: the number of bits by which the fingerprints of a table are rotated to the left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rotation(pub(super) u32);

/// The orders in which recent fingerprints are kept: the bit order of each table, or the keys.
#[derive(Debug, Clone)]
pub(crate) enum Orders {
    Tables(Vec<Rotation>),
    Keys(KeyRule),
}

impl Rotation {
    /// Returns the fingerprint with its bits in this order.
    #[inline]
    pub(crate) fn apply<F: Word>(self, value: F) -> F {
        value.rotate_left(self.0)
    }

    /// Returns the fingerprint whose permuted form this is.
    #[inline]
    pub(crate) fn invert<F: Word>(self, permuted: F) -> F {
        permuted.rotate_left(F::BITS - self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Layout;
    use crate::layout::tests::Rng;

    /// Permutes bit by bit. Position 0 is the most significant bit.
    fn permute_bit_by_bit<F: Word>(cells: &[u8], order: &[usize], value: F) -> F {
        let mut out = F::ZERO;
        let mut target = 0;
        for &cell in order {
            let source: u32 = cells[..cell].iter().map(|&w| u32::from(w)).sum();
            for bit in 0..u32::from(cells[cell]) {
                let one = (value >> (F::BITS - 1 - source - bit)) & F::ONE;
                out = out | (one << (F::BITS - 1 - target));
                target += 1;
            }
        }
        out
    }

    fn check<F: Word>() {
        let mut rng = Rng::new(1);
        for name in Layout::preset_names() {
            let layout = Layout::preset(name, F::BITS).unwrap();
            for table in 0..layout.tables() {
                let rotation = layout.rotation(table);
                for _ in 0..50 {
                    let value = rng.fingerprint::<F>();
                    let permuted = rotation.apply(value);
                    let order = layout.order(table);
                    assert_eq!(permuted, permute_bit_by_bit(layout.cells(), &order, value));
                    assert_eq!(rotation.invert(permuted), value);
                }
            }
        }
    }

    #[test]
    fn rotation_equals_the_cells_bit_by_bit_and_inverts() {
        check::<u64>();
        check::<u128>();
    }
}
