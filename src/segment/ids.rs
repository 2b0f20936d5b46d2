//! The ids of fingerprints, read in their order.

use super::Segment;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::postings::{IdGroup, Ids};

/// Reads the ids of one fingerprint after another. Of fingerprints that follow each other in one block
/// of table 0, block and group are looked for once.
#[derive(Debug)]
pub(crate) struct IdReader<'a, F> {
    segment: &'a Segment<F>,
    /// Where the last fingerprint was.
    held: Option<Held<'a, F>>,
}

#[derive(Debug, Clone, Copy)]
struct Held<'a, F> {
    fingerprint: F,
    /// The last fingerprint of its block.
    key: F,
    block: usize,
    group: IdGroup<'a>,
}

impl<F: Fingerprint> Segment<F> {
    /// Returns a reader for the ids of several fingerprints.
    pub(crate) fn id_reader(&self) -> IdReader<'_, F> {
        IdReader { segment: self, held: None }
    }
}

impl<'a, F: Fingerprint> IdReader<'a, F> {
    /// Returns the ids of a fingerprint, ascending; `None` if the segment does not hold it.
    pub(crate) fn ids(&mut self, fingerprint: F) -> Result<Option<Ids<'a>>> {
        let Some(table) = self.segment.identity_table() else { return Ok(None) };
        let same_block = |held: &Held<'a, F>| (held.fingerprint..=held.key).contains(&fingerprint);
        let block = match self.held.filter(same_block) {
            Some(held) => held.block,
            None => table.find_block(fingerprint)?,
        };
        let Some(index) = table.place_in(block, fingerprint)? else { return Ok(None) };
        let held = match self.held.filter(|held| held.block == block) {
            Some(held) => Held { fingerprint, ..held },
            None => {
                let group = self.segment.postings.id_group(block, table.block_len(block)?)?;
                Held { fingerprint, key: table.key(block)?, block, group }
            }
        };
        self.held = Some(held);
        Ok(Some(held.group.ids(index)))
    }
}
