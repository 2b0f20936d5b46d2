//! Finding the ids of many fingerprints of a segment.

use super::Segment;
use crate::base::error::Result;
use crate::fingerprint::{Fingerprint, Word};
use crate::index::tables::postings::{Ids, Postings};
use crate::index::tables::table::{Lookup, Table};

/// Fingerprints whose blocks are found before any of them is read, so that the waits for memory
/// overlap: few enough that the blocks stay in the nearest caches.
const TOGETHER: usize = 64;

/// If a block has at least this many of the fingerprints, decoding it once takes less time than
/// searching it for each.
const DECODE_FROM: usize = 2;

/// Memory for [`Segment::find_ids`], kept from call to call.
#[derive(Debug)]
pub(crate) struct IdFinder<F> {
    /// The lookup of each fingerprint in table 0, with the fingerprint's number.
    lookups: Vec<(usize, Lookup<F>)>,
    /// The fingerprints of a block.
    decoded: Vec<F>,
    /// Where their ids begin, if some fingerprint has several.
    starts: Vec<u64>,
}

impl<F> IdFinder<F> {
    pub(crate) fn new() -> Self {
        Self { lookups: Vec::new(), decoded: Vec::new(), starts: Vec::new() }
    }
}

impl<F: Fingerprint> Segment<F> {
    /// Passes the ids of each fingerprint that the segment holds to `found`, with the fingerprint's
    /// number. Takes the fingerprints with their numbers and, if it is known, the block of table 0
    /// that holds them. Fastest if they ascend.
    pub(crate) fn find_ids<'a>(
        &'a self,
        mut fingerprints: impl Iterator<Item = (usize, F::Word, Option<u32>)>,
        finder: &mut IdFinder<F::Word>,
        mut found: impl FnMut(usize, Ids<'a>),
    ) -> Result<()> {
        let Some(part) = self.tables() else { return Ok(()) };
        let (table, postings) = (part.first(), part.postings());
        if table.decoded().is_some() {
            for (number, fingerprint, _) in fingerprints {
                if let Some(place) = table.locate(fingerprint)? {
                    found(number, ids_at(table, postings, place)?);
                }
            }
            return Ok(());
        }
        let view = table.view();
        // All reads of the disk are under way before the first is waited for.
        let together = if table.is_cold() { usize::MAX } else { TOGETHER };
        loop {
            finder.lookups.clear();
            let left = fingerprints.size_hint().1.unwrap_or(0);
            finder.lookups.reserve(left.min(TOGETHER));
            for (number, fingerprint, block) in fingerprints.by_ref().take(together) {
                let lookup = match block {
                    Some(block) => Lookup::in_block(fingerprint, block as usize),
                    None => view.start_lookup(fingerprint, <F::Word as Fingerprint>::BITS),
                };
                finder.lookups.push((number, lookup));
            }
            if finder.lookups.is_empty() {
                return Ok(());
            }
            for (_, lookup) in &mut finder.lookups {
                if lookup.blocks().is_empty() {
                    view.find_blocks(lookup)?;
                }
                postings.prefetch(lookup.blocks())?;
            }
            read_blocks(table, postings, finder, &mut found)?;
        }
    }
}

/// Reads the blocks of all lookups.
fn read_blocks<'a, W: Word>(
    table: &'a Table<W>,
    postings: &'a Postings,
    finder: &mut IdFinder<W>,
    found: &mut impl FnMut(usize, Ids<'a>),
) -> Result<()> {
    let IdFinder { lookups, decoded, starts } = finder;
    for same in lookups.chunk_by(|(_, a), (_, b)| a.blocks() == b.blocks()) {
        let Some(blocks) = same.first().map(|(_, lookup)| lookup.blocks()) else { continue };
        if blocks.len() != 1 || same.len() < DECODE_FROM {
            for &(number, Lookup { low, .. }) in same {
                if let Some(place) = table.locate_in(blocks.clone(), low)? {
                    found(number, ids_at(table, postings, place)?);
                }
            }
            continue;
        }
        decoded.clear();
        table.decode(blocks.clone(), decoded)?;
        let group = postings.id_group(blocks.start, decoded.len())?;
        group.find_all(starts)?;
        for &(number, Lookup { low, .. }) in same {
            if let Ok(index) = decoded.binary_search(&low) {
                found(number, group.ids_from(starts, index)?);
            }
        }
    }
    Ok(())
}

/// Returns the ids of the fingerprint at this place: its block, and its index in the block.
fn ids_at<'a, W: Word>(
    table: &Table<W>,
    postings: &'a Postings,
    (block, index): (usize, usize),
) -> Result<Ids<'a>> {
    postings.id_group(block, table.block_len(block)?)?.ids(index)
}
