//! A block of a table, for people who look at it.

use std::ops::Range;

use crate::base::error::{Error, Result};
use crate::db::read::reader::Reader;
use crate::fingerprint::{Fingerprint, Word};
use crate::index::tables::block::Stored;

/// A block of a table and how it stores its fingerprints; see
/// [`Snapshot::block`](crate::Snapshot::block).
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Block<F = u64> {
    /// Its size in bytes.
    pub bytes: usize,
    /// Its fingerprints, in the order of the table.
    pub rows: Vec<BlockRow<F>>,
}

/// A fingerprint of a [`Block`]. The first one of a block is stored in full. Of each other one, the
/// block has the codeword of [`h`](Self::h) and the remaining bits.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct BlockRow<F = u64> {
    /// The fingerprint.
    pub fingerprint: F,
    /// The fingerprint with its bits in the order of the table, which is sorted by it.
    pub permuted: F,
    /// The highest bit in which `permuted` differs from the one before, counted from the least
    /// significant bit; `None` for the first fingerprint.
    pub h: Option<u32>,
    /// The codeword of `h` in binary; empty for the first fingerprint.
    pub codeword: String,
    /// The bits of `permuted` below `h` in binary; empty for the first fingerprint. A bit that the
    /// next fingerprint implies is left out.
    pub remaining: String,
}

impl<F: Fingerprint> Block<F> {
    /// Returns how many bits it uses: for the number of fingerprints, for the first fingerprint,
    /// for the codewords and for the remaining bits. The others are zero.
    ///
    /// # Examples
    ///
    /// ```
    /// let db = fpdb::Db::options().in_memory()?;
    /// db.write(&[(0b1101_1001, 1), (0b1101_1011, 2)]).run()?;
    /// db.flush()?;
    /// let block = db.snapshot().block(db.stats().segments[0].id, 0, 0)?;
    /// assert_eq!((block.bytes * 8, block.used_bits()), (1024, [16, 64, 1, 1]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn used_bits(&self) -> [u64; 4] {
        let sum = |bits: fn(&BlockRow<F>) -> usize| {
            self.rows.iter().map(|row| bits(row) as u64).sum::<u64>()
        };
        [16, F::BITS.into(), sum(|row| row.codeword.len()), sum(|row| row.remaining.len())]
    }
}

impl<F: Fingerprint> Reader<F> {
    /// Returns a block of a table.
    pub(crate) fn block(&self, segment: u64, table: usize, block: u64) -> Result<Block<F>> {
        if self.settings.index.tables().is_none() {
            let message = "a database of sketches has tables of bands, which are in no blocks";
            return Err(Error::invalid(message));
        }
        let orders = self.planner.tables().bit_orders();
        let Some(order) = orders.get(table) else {
            let what = format!("table {table} does not exist: this database");
            return Err(Error::invalid(has(&what, "tables", 0..orders.len() as u64)));
        };
        self.read(|view| {
            let segments = &view.version.segments;
            let found = segments.iter().find(|found| found.meta().id == segment);
            let Some(stored) = found.and_then(|found| found.table(table)) else {
                return Err(self.no_segment(segment));
            };
            let blocks = stored.blocks() as u64;
            let number = usize::try_from(block).ok().filter(|_| block < blocks);
            let Some(number) = number else {
                let of = format!("table {table} of segment {segment}");
                let what = format!("block {block} does not exist: {of}");
                return Err(Error::invalid(has(&what, "blocks", 0..blocks)));
            };
            let rows = stored.stored(number)?;
            let rows = rows.iter().map(|row| BlockRow::of(row, order.invert(row.fingerprint)));
            Ok(Block { bytes: stored.block_size(), rows: rows.collect() })
        })
    }

    fn no_segment(&self, segment: u64) -> Error {
        let ids = self.version.segments.iter().map(|segment| segment.meta().id.to_string());
        let ids = ids.collect::<Vec<_>>().join(", ");
        let there_is = if ids.is_empty() { "there is none yet".to_owned() } else { ids };
        Error::invalid(format!("segment {segment} does not exist: this database has {there_is}"))
    }
}

/// Says which of several things there are.
fn has(what: &str, things: &str, numbers: Range<u64>) -> String {
    match numbers.end.checked_sub(1) {
        Some(last) => format!("{what} has {things} {} to {last}", numbers.start),
        None => format!("{what} has no {things}"),
    }
}

impl<F: Fingerprint> BlockRow<F> {
    fn of(row: &Stored<F::Word>, fingerprint: F::Word) -> Self {
        let codeword = row.coded.map(|coded| binary(coded.codeword.0.into(), coded.codeword.1));
        let remaining = row.coded.map(|coded| {
            let (bits, len) = coded.remaining;
            binary(bits.to_u128(), len)
        });
        Self {
            fingerprint: F::of_word(fingerprint),
            permuted: F::of_word(row.fingerprint),
            h: row.coded.map(|coded| coded.h),
            codeword: codeword.unwrap_or_default(),
            remaining: remaining.unwrap_or_default(),
        }
    }
}

fn binary(value: u128, len: u32) -> String {
    (0..len).rev().map(|bit| if value >> bit & 1 == 1 { '1' } else { '0' }).collect()
}
