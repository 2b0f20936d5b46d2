//! Reading the ids of many fingerprints of a segment.

use super::Segment;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::postings::{IdGroup, Ids};
use crate::table::Table;

/// Reads the ids of one fingerprint after another, fastest if the fingerprints ascend. The block of
/// a single fingerprint is searched; if the next one is in the same block, the block is decoded,
/// which then serves all others in it.
#[derive(Debug)]
pub(crate) struct IdReader<'a, F> {
    segment: &'a Segment<F>,
    /// The block of table 0 that was read last, and its ids.
    block: Option<(usize, IdGroup<'a>)>,
    /// The fingerprints of that block, if it is decoded.
    decoded: Vec<F>,
}

impl<F: Fingerprint> Segment<F> {
    /// Returns a reader for the ids of several fingerprints.
    pub(crate) fn id_reader(&self) -> IdReader<'_, F> {
        IdReader { segment: self, block: None, decoded: Vec::new() }
    }
}

impl<'a, F: Fingerprint> IdReader<'a, F> {
    /// Returns the ids of a fingerprint, ascending; `None` if the segment does not hold it.
    pub(crate) fn ids(&mut self, fingerprint: F) -> Result<Option<Ids<'a>>> {
        let Some(table) = self.segment.identity_table() else { return Ok(None) };
        let place = if self.decoded_has(fingerprint) {
            self.decoded.binary_search(&fingerprint).ok()
        } else {
            self.find(table, fingerprint)?
        };
        match (place, &self.block) {
            (Some(index), Some((_, group))) => group.ids(index).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns whether the decoded block is where table 0 would have this fingerprint.
    fn decoded_has(&self, fingerprint: F) -> bool {
        let range = self.decoded.first().zip(self.decoded.last());
        range.is_some_and(|(&first, &last)| first <= fingerprint && fingerprint <= last)
    }

    /// Makes the fingerprint's block the current one. Returns its place in the block.
    fn find(&mut self, table: &Table<F>, fingerprint: F) -> Result<Option<usize>> {
        let numbers = table.blocks_between(fingerprint, fingerprint)?;
        let last = self.block.map(|(last, _)| last);
        if let Some(last) = last.filter(|last| numbers.contains(last)) {
            self.decoded.clear();
            table.decode(last..last + 1, &mut self.decoded)?;
            if let Ok(place) = self.decoded.binary_search(&fingerprint) {
                return Ok(Some(place));
            }
        }
        let Some((number, place)) = table.locate_in(numbers, fingerprint)? else { return Ok(None) };
        self.decoded.clear();
        let group = self.segment.postings.id_group(number, table.block_len(number)?)?;
        self.block = Some((number, group));
        Ok(Some(place))
    }
}
