//! The fingerprints of a segment, block by block of table 0. Those of damaged blocks come from the
//! other tables, which hold the same set.

use std::collections::BTreeMap;
use std::ops::Range;

use super::damaged_segment::{DamagedSegment, undamaged};
use crate::base::error::Result;
use crate::file::paged::Sequential;
use crate::fingerprint::{Fingerprint, Word};
use crate::index::tables::table::Table;

/// Neighbouring blocks of table 0 that cannot be read.
struct Gap<W> {
    blocks: Range<usize>,
    /// The last fingerprint before them.
    low: Option<W>,
    /// The first fingerprint after them.
    high: Option<W>,
}

impl<W: Word> Gap<W> {
    fn of(gaps: &[Self], fingerprint: W) -> Option<&Self> {
        let at = gaps.partition_point(|gap| gap.high.is_some_and(|high| high <= fingerprint));
        gaps.get(at).filter(|gap| gap.low.is_none_or(|low| low < fingerprint))
    }
}

/// The fingerprints of a segment, as far as any table proves them.
pub(super) struct Blocks<'a, W> {
    table: Option<Sequential<'a, Table<W>>>,
    /// The fingerprints of blocks in gaps; none of a block whose fingerprints are not all known.
    filled: BTreeMap<usize, Vec<W>>,
    /// Number of blocks of table 0.
    count: usize,
}

impl<'a, W: Word> Blocks<'a, W> {
    /// Finds the gaps and fills them. Takes memory for all fingerprints in gaps.
    pub(super) fn of<F: Fingerprint<Word = W>>(segment: &'a DamagedSegment<F>) -> Result<Self> {
        let table = segment.tables.first().and_then(Option::as_ref);
        let (gaps, count) = match (table, &segment.postings) {
            (Some(table), _) => (gaps(table)?, table.blocks()),
            (None, postings) => {
                let count = postings.as_ref().map_or(0, |postings| postings.groups());
                (vec![Gap { blocks: 0..count, low: None, high: None }], count)
            }
        };
        let table = table.map(Sequential::new);
        let mut blocks = Self { table, filled: BTreeMap::new(), count };
        let proven = in_other_tables(segment, &gaps)?;
        for gap in gaps {
            let after_low = |f: &W| gap.low.is_some_and(|low| *f <= low);
            let below_high = |f: &W| gap.high.is_none_or(|high| *f < high);
            let first = proven.partition_point(after_low);
            let end = proven.partition_point(below_high);
            blocks.fill(segment, &gap.blocks, &proven[first..end])?;
        }
        Ok(blocks)
    }

    /// Divides the fingerprints of a gap among its blocks. The postings say how many each has.
    fn fill<F: Fingerprint>(
        &mut self,
        segment: &DamagedSegment<F>,
        gap: &Range<usize>,
        proven: &[W],
    ) -> Result<()> {
        let mut lens = Vec::with_capacity(gap.len());
        for block in gap.clone() {
            let len = segment.postings.as_ref().map(|postings| postings.group_len(block));
            lens.push(len.map_or(Ok(None), undamaged)?);
        }
        let lens: Option<Vec<usize>> = lens.into_iter().collect();
        // Otherwise it is not known which ids the fingerprints have.
        if let Some(lens) = lens.filter(|lens| lens.iter().sum::<usize>() == proven.len()) {
            let mut rest = proven;
            for (block, len) in gap.clone().zip(lens) {
                let (some, others) = rest.split_at(len);
                self.filled.insert(block, some.to_vec());
                rest = others;
            }
        }
        Ok(())
    }

    /// Returns the number of blocks.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Reads the fingerprints of a block into `out`. Returns false if they are not known.
    pub(super) fn read(&mut self, block: usize, out: &mut Vec<W>) -> Result<bool> {
        out.clear();
        if let Some(filled) = self.filled.get(&block) {
            out.extend_from_slice(filled);
            return Ok(true);
        }
        let Some(table) = &mut self.table else { return Ok(false) };
        Ok(undamaged(table.get()?.decode(block..block + 1, out))?.is_some())
    }
}

/// Returns the blocks of table 0 that cannot be read.
fn gaps<W: Word>(table: &Table<W>) -> Result<Vec<Gap<W>>> {
    let (mut gaps, mut open, mut last) = (Vec::<Gap<W>>::new(), false, None);
    let (mut reader, mut fingerprints) = (Sequential::new(table), Vec::new());
    for block in 0..table.blocks() {
        fingerprints.clear();
        match undamaged(reader.get()?.decode(block..block + 1, &mut fingerprints))? {
            Some(()) => {
                if let Some(gap) = gaps.last_mut().filter(|_| open) {
                    gap.high = fingerprints.first().copied();
                }
                open = false;
                last = fingerprints.last().copied();
            }
            None if open => gaps.last_mut().into_iter().for_each(|gap| gap.blocks.end = block + 1),
            None => {
                gaps.push(Gap { blocks: block..block + 1, low: last, high: None });
                open = true;
            }
        }
    }
    Ok(gaps)
}

/// Returns the fingerprints in the gaps that the other tables hold, ascending.
fn in_other_tables<F: Fingerprint>(
    segment: &DamagedSegment<F>,
    gaps: &[Gap<F::Word>],
) -> Result<Vec<F::Word>> {
    let mut proven = Vec::new();
    if gaps.is_empty() {
        return Ok(proven);
    }
    let mut fingerprints = Vec::new();
    for (table, order) in segment.tables.iter().zip(&segment.bit_orders).skip(1) {
        let Some(table) = table else { continue };
        let mut reader = Sequential::new(table);
        for block in 0..table.blocks() {
            fingerprints.clear();
            if undamaged(reader.get()?.decode(block..block + 1, &mut fingerprints))?.is_some() {
                let stored = fingerprints.iter().map(|&row| order.invert(row));
                proven.extend(stored.filter(|&fingerprint| Gap::of(gaps, fingerprint).is_some()));
            }
        }
        // Each table adds what the others lost.
        proven.sort_unstable();
        proven.dedup();
    }
    Ok(proven)
}
