//! Permutations: a table's bit order as a few masks and rotations.

use super::keys::KeyRule;
use crate::fingerprint::Word;

/// A bit order, ready to apply.
///
/// Cells that move by the same amount move together. So a rotation of the cells is one rotation of
/// the word, and the identity is a rotation by zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Permutation<F> {
    terms: Box<[Term<F>]>,
}

/// The orders in which recent fingerprints are kept: the bit order of each table, or the keys.
#[derive(Debug, Clone)]
pub(crate) enum Orders<W> {
    Tables(Vec<Permutation<W>>),
    Keys(KeyRule),
}

/// The bits of `mask`, in the unpermuted word, are rotated left by `amount`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Term<F> {
    mask: F,
    amount: u32,
}

impl<F: Word> Permutation<F> {
    /// Makes the order that puts cell `order[0]` at the most significant end, then `order[1]`, and
    /// so on.
    ///
    /// `cells` are the widths in the unpermuted word, and their sum is `F::BITS`. `order` contains
    /// each cell once.
    pub(crate) fn new(cells: &[u8], order: &[u16]) -> Self {
        let mut terms: Vec<Term<F>> = Vec::new();
        let mut target = 0;
        for &cell in order {
            let cell = usize::from(cell);
            let source: u32 = cells[..cell].iter().map(|&w| u32::from(w)).sum();
            let width = u32::from(cells[cell]);
            let mask = F::prefix_mask(source + width) & !F::prefix_mask(source);
            let amount = (source + F::BITS - target) % F::BITS;
            match terms.iter_mut().find(|term| term.amount == amount) {
                Some(term) => term.mask = term.mask | mask,
                None => terms.push(Term { mask, amount }),
            }
            target += width;
        }
        Self { terms: terms.into() }
    }

    /// Returns the fingerprint with its bits in this order.
    #[inline]
    pub(crate) fn apply(&self, value: F) -> F {
        self.terms
            .iter()
            .fold(F::ZERO, |word, term| word | (value & term.mask).rotate_left(term.amount))
    }

    /// Returns the fingerprint whose permuted form this is.
    #[inline]
    pub(crate) fn invert(&self, permuted: F) -> F {
        self.terms.iter().fold(F::ZERO, |word, term| {
            word | (permuted.rotate_left(F::BITS - term.amount) & term.mask)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Layout;
    use crate::layout::tests::Rng;

    /// Permutes bit by bit. Position 0 is the most significant bit.
    fn permute_bit_by_bit<F: Word>(cells: &[u8], order: &[u16], value: F) -> F {
        let mut out = F::ZERO;
        let mut target = 0;
        for &cell in order {
            let source: u32 = cells[..cell as usize].iter().map(|&w| u32::from(w)).sum();
            for bit in 0..u32::from(cells[cell as usize]) {
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
                let order = layout.permutation::<F>(table);
                let moves = order.terms.iter().any(|term| term.amount != 0);
                assert_eq!(moves, table != 0, "{name} table {table}");
                for _ in 0..50 {
                    let value = rng.fingerprint::<F>();
                    let permuted = order.apply(value);
                    assert_eq!(
                        permuted,
                        permute_bit_by_bit(layout.cells(), layout.order(table), value)
                    );
                    assert_eq!(order.invert(permuted), value);
                }
            }
        }
    }

    #[test]
    fn permutation_equals_bit_by_bit_and_inverts() {
        check::<u64>();
        check::<u128>();
    }

    #[test]
    fn a_rotation_of_the_cells_is_one_rotation_of_the_word() {
        let layout = Layout::preset("ring-3", 64).unwrap();
        for table in 0..3 {
            assert_eq!(layout.permutation::<u64>(table).terms.len(), 1);
        }
    }
}
