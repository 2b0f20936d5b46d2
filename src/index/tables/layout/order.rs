//! Bit orders: how a table permutes the bits of its fingerprints.

use crate::fingerprint::Word;

/// The bit order of a table.
///
/// Cells that move by the same amount move together. So a rotation of the cells is one rotation of
/// the word, which is all that most tables need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BitOrder {
    /// The number of bits by which fingerprints are rotated to the left.
    Rotation(u32),
    /// Cells that move by different amounts.
    Moves(Box<[Move]>),
}

/// The bits of `mask`, in the unpermuted word, are rotated left by `amount`. Words of 64 bits have
/// their bits at the lower end of the mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Move {
    mask: u128,
    amount: u32,
}

impl BitOrder {
    /// Makes the order that puts cell `order[0]` at the most significant end, then `order[1]`, and
    /// so on.
    ///
    /// `cells` are the widths in the unpermuted word. `order` contains each cell once.
    pub(super) fn new(cells: &[u8], order: &[usize]) -> Self {
        let bits: u32 = cells.iter().map(|&width| u32::from(width)).sum();
        let mut moves: Vec<Move> = Vec::new();
        let mut target = 0;
        for &cell in order {
            let source: u32 = cells[..cell].iter().map(|&width| u32::from(width)).sum();
            let width = u32::from(cells[cell]);
            let ones = u128::MAX >> (u128::BITS - width);
            let mask = ones << (bits - source - width);
            let amount = (source + bits - target) % bits;
            match moves.iter_mut().find(|other| other.amount == amount) {
                Some(other) => other.mask |= mask,
                None => moves.push(Move { mask, amount }),
            }
            target += width;
        }
        match moves[..] {
            [Move { amount, .. }] => Self::Rotation(amount),
            _ => Self::Moves(moves.into()),
        }
    }

    /// Returns the fingerprint with its bits in this order.
    #[inline]
    pub(crate) fn apply<F: Word>(&self, value: F) -> F {
        match self {
            Self::Rotation(amount) => value.rotate_left(*amount),
            Self::Moves(moves) => moves.iter().fold(F::ZERO, |word, Move { mask, amount }| {
                word | (value & F::from_u128(*mask)).rotate_left(*amount)
            }),
        }
    }

    /// Returns the fingerprint whose permuted form this is.
    #[inline]
    pub(crate) fn invert<F: Word>(&self, permuted: F) -> F {
        match self {
            Self::Rotation(amount) => permuted.rotate_left(F::BITS - amount),
            Self::Moves(moves) => moves.iter().fold(F::ZERO, |word, Move { mask, amount }| {
                word | permuted.rotate_left(F::BITS - amount) & F::from_u128(*mask)
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::tables::layout::Layout;
    use crate::index::tables::layout::tests::Rng;

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
                let bit_order = layout.bit_order(table);
                for _ in 0..50 {
                    let value = rng.fingerprint::<F>();
                    let permuted = bit_order.apply(value);
                    let order = layout.order(table);
                    assert_eq!(permuted, permute_bit_by_bit(layout.cells(), order, value));
                    assert_eq!(bit_order.invert(permuted), value);
                }
            }
        }
    }

    #[test]
    fn every_order_equals_the_cells_bit_by_bit_and_inverts() {
        check::<u64>();
        check::<u128>();
    }

    #[test]
    fn tables_of_a_ring_are_rotations_of_the_word_and_those_of_designs_few_moves() {
        for bits in [64, 128] {
            for name in Layout::preset_names() {
                let layout = Layout::preset(name, bits).unwrap();
                for table in 0..layout.tables() {
                    match layout.bit_order(table) {
                        BitOrder::Rotation(amount) => assert_eq!(amount == 0, table == 0, "{name}"),
                        BitOrder::Moves(moves) => {
                            assert!(name.starts_with("paper-") && *name != "paper-4", "{name}");
                            assert!((2..=6).contains(&moves.len()), "{name}: {}", moves.len());
                        }
                    }
                }
            }
        }
    }
}
