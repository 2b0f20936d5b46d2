//! Columns of a leaf: numbers of equal width side by side, least significant bit first.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::file::codec::bits::{LowBitWriter, peek_low};

/// Returns the number of bits that hold every value up to `greatest`, inclusive.
pub(super) fn width_of(greatest: u64) -> u32 {
    u64::BITS - greatest.leading_zeros()
}

/// Returns the bytes that `count` numbers of this width take.
pub(super) fn len_of(count: usize, width: u32) -> usize {
    count.saturating_mul(width as usize).div_ceil(8)
}

/// Numbers of equal width.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column<'a> {
    /// From the first number on, usually with bytes that follow the last one, so that it takes no
    /// special case to read that one.
    bytes: &'a [u8],
    width: u32,
    /// What is added to each number.
    base: u64,
}

impl<'a> Column<'a> {
    pub(super) fn new(bytes: &'a [u8], width: u32, base: u64) -> Self {
        Self { bytes, width, base }
    }

    /// Returns the number at this place.
    #[inline(always)]
    pub(super) fn get(&self, index: usize) -> u64 {
        let position = index.wrapping_mul(self.width as usize);
        self.base.wrapping_add(peek_low(self.bytes, position, self.width))
    }
}

/// The least and the greatest of the numbers of a column that is being made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) least: u64,
    greatest: u64,
}

impl Span {
    /// No numbers yet.
    pub(super) const EMPTY: Self = Self { least: u64::MAX, greatest: 0 };

    /// Returns the span from 0 to this number.
    pub(super) fn up_to(greatest: u64) -> Self {
        Self { least: 0, greatest }
    }

    pub(super) fn add(&mut self, number: u64) {
        self.least = self.least.min(number);
        self.greatest = self.greatest.max(number);
    }

    /// Returns the bits of each number after the least one is subtracted.
    pub(super) fn width(&self) -> u32 {
        width_of(self.greatest.saturating_sub(self.least))
    }

    /// Appends a column.
    pub(super) fn put(&self, numbers: &[u64], out: &mut Vec<u8>) {
        let mut bits = LowBitWriter::default();
        numbers.iter().for_each(|number| bits.put(number - self.least, self.width()));
        out.extend_from_slice(bits.finish());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_width_round_trip() {
        for width in 0..=64 {
            let mask = u64::MAX.checked_shr(64 - width).unwrap_or(0);
            let numbers: Vec<u64> =
                (0..100u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask).collect();
            let mut bits = LowBitWriter::default();
            numbers.iter().for_each(|&number| bits.put(number, width));
            let bytes = bits.finish();
            assert_eq!(bytes.len(), len_of(numbers.len(), width));
            let column = Column::new(bytes, width, 7);
            for (i, number) in numbers.iter().enumerate() {
                assert_eq!(column.get(i), number.wrapping_add(7), "{width}");
            }
        }
    }

    #[test]
    fn column_of_a_span_holds_the_least_and_the_greatest_number() {
        for numbers in [vec![5], vec![0, u64::MAX], vec![7, 9, 8], vec![]] {
            let mut span = Span::EMPTY;
            numbers.iter().for_each(|&number| span.add(number));
            let mut bytes = Vec::new();
            span.put(&numbers, &mut bytes);
            assert_eq!(bytes.len(), len_of(numbers.len(), span.width()));
            let column = Column::new(&bytes, span.width(), span.least);
            assert!(numbers.iter().enumerate().all(|(i, &number)| column.get(i) == number));
        }
    }
}
