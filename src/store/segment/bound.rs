//! The most bytes that a new segment can take: what a writer needs to know before it begins, so
//! that it does not fill the disk.

use crate::file::paged::PAGE;
use crate::file::sorter::copies;
use crate::fingerprint::Fingerprint;
use crate::index::bands::{self, Row};
use crate::index::tables::block::bound::{most_blocks, most_remaining_bits};
use crate::index::tables::table::{TableOptions, most_index_bytes};
use crate::settings::{IndexSettings, Settings};
use crate::store::segment::BandsPlan;
use crate::store::segment::Segment;
use crate::store::segment::writer::SORT_MEMORY;

/// What a new segment will hold at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Expected {
    /// Different fingerprints.
    pub fingerprints: u64,
    pub entries: u64,
    /// Tombstones.
    pub removed: u64,
    /// The greatest id.
    pub greatest_id: u64,
    /// Bytes of the file of documents. An estimate, because keys are compressed.
    pub documents: u64,
    /// For each table, the most bits that remain of the fingerprints in the Huffman code, if that
    /// is known. Otherwise it follows from their number.
    pub remaining: Vec<u64>,
}

impl Expected {
    /// Returns what a segment of this many entries holds at most.
    pub(crate) fn of_entries(entries: u64, greatest_id: u64) -> Self {
        let (fingerprints, remaining) = (entries, Vec::new());
        Self { fingerprints, entries, removed: 0, greatest_id, documents: 0, remaining }
    }

    /// Returns what the merge of these segments holds at most.
    ///
    /// With `greatest_id`, the ids have as many bits as the greatest one. Otherwise they have 64.
    pub(crate) fn of_merge<'s, F: Fingerprint + 's>(
        segments: impl Iterator<Item = &'s Segment<F>> + Clone,
        greatest_id: Option<u64>,
    ) -> Self {
        let sum = |of: &dyn Fn(&Segment<F>) -> u64| segments.clone().map(of).sum::<u64>();
        let tables =
            segments.clone().find_map(Segment::tables).map_or(0, |part| part.tables().len());
        // A fingerprint of the merge is nearer to the one before it than in its input, so no more
        // of its bits remain, except for the first of each input. Removing one leaves at most as
        // many bits to the next one as both had. In an input, the remaining bits of a block's
        // fingerprints fit into the block with the bits of the first, which has all of them.
        let remaining = |table: usize| {
            sum(&|segment| {
                let table = segment.table(table);
                table.map_or(0, |table| table.block_bytes()) * 8
                    + u64::from(<F::Word as Fingerprint>::BITS)
            })
        };
        Self {
            fingerprints: sum(&|segment| segment.meta().fingerprints),
            entries: sum(&|segment| segment.meta().entries),
            removed: sum(&|segment| segment.meta().removed),
            greatest_id: greatest_id.unwrap_or(u64::MAX),
            documents: sum(&|segment| segment.meta().documents.map_or(0, |d| d.file.len)),
            remaining: (0..tables).map(remaining).collect(),
        }
    }
}

/// Returns the most bytes that the files of a new segment take on disk.
pub(crate) fn most_bytes(settings: &Settings, expected: &Expected) -> u64 {
    let MostBytes { first, others, spare } = MostBytes::of(settings, expected);
    first + others.iter().sum::<u64>() + spare
}

/// The most bytes that the files of a new segment take on disk, by what they are made of.
#[derive(Debug)]
pub(crate) struct MostBytes {
    /// Table 0 and what is written with it.
    pub first: u64,
    /// Each other table, of blocks or bands.
    pub others: Vec<u64>,
    /// The spare, which is written last.
    pub spare: u64,
}

impl MostBytes {
    pub(crate) fn of(settings: &Settings, expected: &Expected) -> Self {
        let documents = file(expected.documents);
        match &settings.index {
            IndexSettings::Tables(tables) => {
                let bits = tables.layout.bits();
                let table = |table: usize| {
                    let remaining = expected.remaining.get(table).copied();
                    let options = tables.options(table);
                    file(table_body(bits, options, expected.fingerprints, remaining))
                };
                let blocks = blocks_of(bits, tables.options(0), expected.fingerprints, None);
                let tombstones = expected.removed * (u64::from(bits) / 8 + 8);
                let ids = file(postings_body(expected, blocks)) + file(tombstones);
                let others = (1..tables.layout.tables()).map(table);
                Self::with_spare(table(0) + documents + ids, others.collect())
            }
            IndexSettings::Bands(rule) => {
                let pages = expected.documents / PAGE as u64;
                let band = file(bands::most_body_bytes(expected.fingerprints, pages));
                Self::with_spare(documents, vec![band; rule.bands as usize])
            }
        }
    }

    fn with_spare(first: u64, others: Vec<u64>) -> Self {
        // The checksums of each page, a footer of each file, and the manifest.
        let checksums = (first + others.iter().sum::<u64>()) / 1000;
        let spare = (checksums + (1 << 13)).next_multiple_of(PAGE as u64) + PAGE as u64;
        Self { first, others, spare }
    }
}

/// Returns the most bytes of scratch files that the tables of bands take, by default and on this
/// many threads: for their rows, and for the numbers of pages. No part of a file is given back
/// before its end.
pub(crate) fn bands_scratch(settings: &Settings, fingerprints: u64, threads: usize) -> u64 {
    let Some(rule) = settings.index.bands() else { return 0 };
    let plan = BandsPlan::new(rule, fingerprints, threads, SORT_MEMORY);
    let rows = plan.bytes_on_disk(fingerprints, copies::<Row>(fingerprints, plan.memory));
    rows.saturating_mul(plan.tables_at_a_time(rule) as u64)
        .saturating_add(plan.bytes_of_pages(fingerprints).saturating_mul(plan.threads as u64))
}

/// Returns the most bytes that a file takes on disk whose body has this length: with checksums and
/// footer, and with what the file system adds.
fn file(body: u64) -> u64 {
    // The header takes the place of a block, and file systems round up.
    let body = body + 2 * PAGE as u64;
    let pages = body.div_ceil(PAGE as u64);
    let checksums = 4 * (pages + pages / 1000 + 2);
    (pages + checksums.div_ceil(PAGE as u64) + 1) * PAGE as u64
}

fn blocks_of(bits: u32, options: TableOptions, count: u64, remaining: Option<u64>) -> u64 {
    let most = most_remaining_bits(bits, count);
    let remaining = remaining.map_or(most, |remaining| remaining.min(most));
    most_blocks(options.block_size, bits, count, remaining)
}

fn table_body(bits: u32, options: TableOptions, count: u64, remaining: Option<u64>) -> u64 {
    let blocks = blocks_of(bits, options, count, remaining);
    let filter = (count * u64::from(options.filter_bits)).div_ceil(64) * 8;
    let lengths = u64::from(bits);
    blocks * options.block_size as u64 + most_index_bytes(bits, blocks) + filter + lengths
}

/// Each section has a head, and possibly the wide ends of its groups and a bit and samples per id.
fn postings_body(expected: &Expected, blocks: u64) -> u64 {
    let sections = blocks / 48 + 1;
    let width = u64::from(u64::BITS - expected.greatest_id.leading_zeros());
    let ids = (expected.entries * (width + 1)).div_ceil(8) + expected.entries / 128;
    ids + sections * 320
}
