//! Reading the ids of many fingerprints of a segment.

use super::Segment;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::postings::{IdGroup, Ids};

/// Reads the ids of one fingerprint after another. For ascending fingerprints in the same block of
/// table 0, the block and its ids are found only once.
#[derive(Debug)]
pub(crate) struct IdReader<'a, F> {
    segment: &'a Segment<F>,
    /// The place of the fingerprint that was read last.
    last: Option<Place<'a, F>>,
}

#[derive(Debug, Clone, Copy)]
struct Place<'a, F> {
    fingerprint: F,
    /// The last fingerprint of the block.
    key: F,
    block: usize,
    group: IdGroup<'a>,
}

impl<F: Fingerprint> Segment<F> {
    /// Returns a reader for the ids of several fingerprints.
    pub(crate) fn id_reader(&self) -> IdReader<'_, F> {
        IdReader { segment: self, last: None }
    }
}

impl<'a, F: Fingerprint> IdReader<'a, F> {
    /// Returns the ids of a fingerprint, ascending; `None` if the segment does not hold it.
    pub(crate) fn ids(&mut self, fingerprint: F) -> Result<Option<Ids<'a>>> {
        let Some(table) = self.segment.identity_table() else { return Ok(None) };
        let same_block = |last: &Place<'a, F>| (last.fingerprint..=last.key).contains(&fingerprint);
        let block = match self.last.filter(same_block) {
            Some(last) => last.block,
            None => table.find_block(fingerprint)?,
        };
        let Some(index) = table.place_in(block, fingerprint)? else { return Ok(None) };
        let place = match self.last.filter(|last| last.block == block) {
            Some(last) => Place { fingerprint, ..last },
            None => {
                let group = self.segment.postings.id_group(block, table.block_len(block)?)?;
                Place { fingerprint, key: table.key(block)?, block, group }
            }
        };
        self.last = Some(place);
        place.group.ids(index).map(Some)
    }
}
