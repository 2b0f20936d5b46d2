//! Reading the ids of many fingerprints of a segment.

use super::Segment;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::postings::{IdGroup, Ids};
use crate::table::Table;

/// Reads the ids of one fingerprint after another, fastest if the fingerprints ascend. The first few
/// fingerprints of a block are searched for in it; then it is decoded, which serves all others.
#[derive(Debug)]
pub(crate) struct IdReader<'a, F> {
    segment: &'a Segment<F>,
    /// The block of table 0 that was read last, and its ids.
    block: Option<(usize, IdGroup<'a>)>,
    /// How often that block was searched, and how often at most.
    searches: u32,
    most_searches: u32,
    /// The fingerprints of that block, if it is decoded.
    decoded: Vec<F>,
    /// Where their ids begin, if some fingerprint has several.
    starts: Vec<u64>,
}

impl<F: Fingerprint> Segment<F> {
    /// Returns a reader for the ids of several fingerprints. It searches a block for at most
    /// `most_searches` of them, at least one, before it decodes the block. Decoding takes a few
    /// times as long as a search, so this should be low only if many fingerprints are in one block.
    pub(crate) fn id_reader(&self, most_searches: u32) -> IdReader<'_, F> {
        let (decoded, starts) = (Vec::new(), Vec::new());
        IdReader { segment: self, block: None, searches: 0, most_searches, decoded, starts }
    }
}

impl<'a, F: Fingerprint> IdReader<'a, F> {
    /// Returns the ids of a fingerprint, ascending; `None` if the segment does not hold it.
    pub(crate) fn ids(&mut self, fingerprint: F) -> Result<Option<Ids<'a>>> {
        let decoded = self.decoded.first().zip(self.decoded.last());
        if decoded.is_some_and(|(&first, &last)| first <= fingerprint && fingerprint <= last) {
            return self.ids_in_decoded(fingerprint);
        }
        let Some(table) = self.segment.identity_table() else { return Ok(None) };
        if table.decoded().is_some() {
            let Some((number, index)) = table.locate(fingerprint)? else { return Ok(None) };
            let group = match self.block {
                Some((last, group)) if last == number => group,
                _ => self.segment.postings.id_group(number, table.block_len(number)?)?,
            };
            self.block = Some((number, group));
            return group.ids(index).map(Some);
        }
        let numbers = table.blocks_between(fingerprint, fingerprint)?;
        let current = self.block.filter(|(last, _)| numbers.contains(last));
        if current.is_some() && self.searches >= self.most_searches {
            self.decode(table)?;
            if let Some(ids) = self.ids_in_decoded(fingerprint)? {
                return Ok(Some(ids));
            }
        }
        let Some((number, index)) = table.locate_in(numbers, fingerprint)? else { return Ok(None) };
        let group = match current {
            Some((last, group)) if last == number => {
                self.searches += 1;
                group
            }
            _ => {
                self.searches = 1;
                self.segment.postings.id_group(number, table.block_len(number)?)?
            }
        };
        self.block = Some((number, group));
        self.decoded.clear();
        group.ids(index).map(Some)
    }

    /// Decodes the current block.
    fn decode(&mut self, table: &Table<F>) -> Result<()> {
        let Some((number, group)) = self.block else { return Ok(()) };
        self.decoded.clear();
        group.find_all(&mut self.starts)?;
        table.decode(number..number + 1, &mut self.decoded)
    }

    fn ids_in_decoded(&self, fingerprint: F) -> Result<Option<Ids<'a>>> {
        match (self.decoded.binary_search(&fingerprint), &self.block) {
            (Ok(index), Some((_, group))) => group.ids_from(&self.starts, index).map(Some),
            _ => Ok(None),
        }
    }
}
