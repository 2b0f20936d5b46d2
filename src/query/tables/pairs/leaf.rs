//! Leaves: parts of a table that fit into the processor's cache, with a directory.

use std::ops::Range;

use crate::base::cpu;
use crate::fingerprint::Word;
use crate::index::tables::layout::Prefix;

/// Fingerprints that are compared before a check for more. A cell has one or two, so there are
/// rarely more, and the processor predicts that.
pub(super) const GROUP: usize = 4;

/// If a bit halves this many cells or more, the cells of its zero side are copied in runs.
const LONG_RUN: usize = 16;

/// Two fingerprints that are near each other.
pub(super) type Near<F> = (F, F);

/// The fingerprints of a table that begin with a prefix. The directory says where the fingerprints
/// of each *cell* begin: the cells are the values of the bits after the prefix.
#[derive(Debug)]
pub(super) struct Leaf<F> {
    pub(super) prefix: Prefix<F>,
    /// Bits after the prefix that choose a cell.
    pub(super) bits: u32,
    /// Where the leaf is among the rows.
    pub(super) rows: Range<usize>,
    /// Positions among the rows: of each cell's first fingerprint, and the end.
    directory: Box<[u32]>,
}

impl<F: Word> Leaf<F> {
    /// Makes the directory of a leaf with `1 << bits` cells. There are fewer than 2^32 rows.
    pub(super) fn new(all: &[F], rows: Range<usize>, prefix: Prefix<F>, bits: u32) -> Self {
        let mut leaf = Self { prefix, bits, rows, directory: vec![0; (1 << bits) + 1].into() };
        cpu::with_native_instructions(
            #[inline(always)]
            || leaf.fill_directory(all),
        );
        leaf
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "there are fewer than 2^32 rows")]
    fn fill_directory(&mut self, all: &[F]) {
        self.directory.fill(self.rows.start as u32);
        for position in self.rows.clone() {
            let cell = self.cell(all[position]);
            self.directory[cell + 1] = position as u32 + 1;
        }
        let mut before = 0;
        for end in &mut self.directory {
            before = before.max(*end);
            *end = before;
        }
    }

    /// Returns how many fingerprints share a cell with an average fingerprint of the leaf,
    /// including itself.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub(super) fn crowding(&self) -> f64 {
        let squares = self.directory.windows(2).map(|ends| {
            let len = u64::from(ends[1] - ends[0]);
            len * len
        });
        squares.sum::<u64>() as f64 / self.rows.len().max(1) as f64
    }

    /// The bits after the prefix, as a number.
    #[inline(always)]
    fn cell(&self, fingerprint: F) -> usize {
        // Two shifts, since one shift by all 64 bits is not defined.
        (fingerprint.wrapping_shl(self.prefix.depth).top64() >> 1 >> (63 - self.bits)) as usize
    }

    #[inline(always)]
    fn range(&self, cell: usize) -> Range<usize> {
        self.directory[cell] as usize..self.directory[cell + 1] as usize
    }

    /// Compares each of `others` with the fingerprints in the cell whose number differs from its
    /// own by `errors`. `all` are the rows, followed by [`GROUP`] others.
    pub(super) fn compare_with(
        &self,
        all: &[F],
        others: &[F],
        errors: usize,
        distance: u32,
        near: &mut Vec<Near<F>>,
    ) {
        cpu::with_native_instructions(
            #[inline(always)]
            || {
                for &other in others {
                    let Range { start, end } = self.range(self.cell(other) ^ errors);
                    compare(all, other, start, end, distance, near);
                }
            },
        );
    }

    /// Compares the fingerprints at `positions` with those that follow them in the same cell.
    pub(super) fn compare_within_cells(
        &self,
        all: &[F],
        positions: Range<usize>,
        distance: u32,
        near: &mut Vec<Near<F>>,
    ) {
        cpu::with_native_instructions(
            #[inline(always)]
            || {
                for position in positions {
                    let end = self.range(self.cell(all[position])).end;
                    compare(all, all[position], position + 1, end, distance, near);
                }
            },
        );
    }

    /// Replaces `zeros` by the fingerprints of the leaf in whose cell numbers `bit` is 0.
    pub(super) fn zero_side(&self, all: &[F], bit: u32, zeros: &mut Vec<F>) {
        let run = 1usize << bit;
        if run >= LONG_RUN {
            zeros.clear();
            for first in (0..1usize << self.bits).step_by(2 * run) {
                let rows = self.directory[first] as usize..self.directory[first + run] as usize;
                zeros.extend_from_slice(&all[rows]);
            }
            return;
        }
        zeros.resize(self.rows.len(), F::ZERO);
        let mut len = 0;
        cpu::with_native_instructions(
            #[inline(always)]
            || {
                for &row in &all[self.rows.clone()] {
                    // Without a branch, which would be mispredicted for every other row.
                    zeros[len] = row;
                    len += usize::from(self.cell(row) >> bit & 1 == 0);
                }
            },
        );
        zeros.truncate(len);
    }
}

/// Compares a fingerprint with the rows from `start` to `end`.
#[inline(always)]
fn compare<F: Word>(
    all: &[F],
    fingerprint: F,
    mut start: usize,
    end: usize,
    distance: u32,
    near: &mut Vec<Near<F>>,
) {
    let is_near = |row: &F| row.distance(fingerprint) <= distance;
    // The last group may reach beyond `end`: what is near is checked for that.
    while let Some(group) = all.get(start..).and_then(|rest| rest.first_chunk::<GROUP>()) {
        if group.iter().fold(false, |any, row| any | is_near(row)) {
            keep(near, fingerprint, &group[..end.saturating_sub(start).min(GROUP)], distance);
        }
        start += GROUP;
        if start >= end {
            return;
        }
    }
}

/// Rarely called: out of the way of the loop.
#[cold]
#[inline(never)]
fn keep<F: Word>(near: &mut Vec<Near<F>>, fingerprint: F, rows: &[F], distance: u32) {
    let found = rows.iter().filter(|row| row.distance(fingerprint) <= distance);
    near.extend(found.map(|&row| (fingerprint, row)));
}
