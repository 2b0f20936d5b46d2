//! One query in a segment with tables of columns, in the four steps of docs/design.md, "Columns".
//! As in a query of blocks, all lookups take one step before the next, a few lookups apart, so that
//! their waits for memory overlap.

use std::ops::Range;

use super::hit::{Hit, Hits};
use super::near::for_each_near;
use crate::columns::ColumnsView;
use crate::cpu;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::layout::{KEY_BITS, MatchTest, Plan, Probe, RowTest, TablePlan};
use crate::segment::Segment;
use crate::table::Table;

/// Lookups between the prefetch of a directory entry and its use, and between that of keys and
/// theirs.
const AHEAD: usize = 12;

/// Keys that are compared before a branch on whether any is near: nearly always none is.
const GROUP: usize = GROUP_ROWS as usize;
const GROUP_ROWS: u32 = 8;

/// What a search did.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    /// Rows whose keys were compared.
    pub(super) rows: u64,
    /// Blocks decoded.
    pub(super) blocks: usize,
}

/// The lookups of a query in one table.
struct TableLookups<'a> {
    view: ColumnsView<'a>,
    /// The bucket of the query.
    bucket: u32,
    bucket_bits: u8,
    /// The key of the query.
    key: u32,
    test: RowTest,
}

/// One lookup.
#[derive(Clone, Copy)]
struct RowLookup {
    /// The table's number among those searched.
    table: u32,
    /// The first bucket.
    bucket: u32,
    /// Number of buckets.
    buckets: u32,
    /// The rows in them, once the directory is read.
    rows: (u32, u32),
}

/// A row whose key is near: the number of its table among those searched, and its own.
type Candidate = (u32, u32);

impl<'a> TableLookups<'a> {
    #[expect(clippy::cast_possible_truncation, reason = "a bucket and a key have at most 32 bits")]
    fn new<F: Fingerprint>(segment: &'a Segment<F>, plan: &TablePlan<F>, query: F) -> Self {
        let columns = &segment.columns()[plan.number()];
        let bucket_bits = columns.bucket_bits();
        let leading = plan.order().apply(query).top64();
        Self {
            view: columns.view(),
            bucket: leading.checked_shr(64 - u32::from(bucket_bits)).unwrap_or(0) as u32,
            bucket_bits,
            key: (leading << bucket_bits >> KEY_BITS) as u32,
            test: RowTest::new(plan.stairs(), bucket_bits),
        }
    }

    /// Returns the lookup of a probe: the buckets that begin with its prefix.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "a bucket has at most 27 bits")]
    fn lookup(&self, table: u32, probe: &Probe) -> RowLookup {
        let depth = probe.depth.min(self.bucket_bits);
        let flips = probe.flips::<u64>().checked_shr(64 - u32::from(self.bucket_bits));
        let below = self.bucket_bits - depth;
        let bucket = (self.bucket ^ flips.unwrap_or(0) as u32) >> below << below;
        RowLookup { table, bucket, buckets: 1 << below, rows: (0, 0) }
    }

    /// Compares the keys of a lookup, and passes the candidates to `found`.
    #[inline(always)]
    fn compare(&self, lookup: &RowLookup, found: &mut Vec<Candidate>) -> Result<()> {
        // All buckets of a lookup agree in the errors of its prefix. Few rows pass with these
        // alone, so the errors in the other bits of their buckets are counted for them only.
        let prefix = (lookup.bucket ^ self.bucket) & !(lookup.buckets - 1);
        let Some(most) = self.test.most.checked_sub(prefix.count_ones()) else { return Ok(()) };
        let rows = lookup.rows.0 as usize..lookup.rows.1 as usize;
        let keys = self.view.keys_from(&rows, GROUP - 1)?;
        let (groups, rest) = keys.as_chunks::<GROUP>();
        let mut first = lookup.rows.0;
        for group in groups.iter().take(rows.len().div_ceil(GROUP)) {
            // A group may end with keys of rows that do not belong to the lookup.
            if group.iter().fold(false, |any, &key| any | (self.errors(key) <= most)) {
                self.add_candidates(lookup, first, group, found)?;
            }
            first += GROUP_ROWS;
        }
        if first < lookup.rows.1 {
            self.add_candidates(lookup, first, rest, found)?;
        }
        Ok(())
    }

    /// Returns the number of bits in which a key differs from the query's, of those that count.
    #[inline(always)]
    fn errors(&self, key: [u8; 4]) -> u32 {
        ((u32::from_le_bytes(key) ^ self.key) & self.test.mask).count_ones()
    }

    /// Passes the candidates among the rows of a lookup from `first` on, whose keys these are.
    fn add_candidates(
        &self,
        lookup: &RowLookup,
        first: u32,
        keys: &[[u8; 4]],
        found: &mut Vec<Candidate>,
    ) -> Result<()> {
        for (row, &key) in (first..lookup.rows.1).zip(keys) {
            let Some(most) = self.test.most.checked_sub(self.errors(key)) else { continue };
            let bucket = match lookup.buckets {
                1 => lookup.bucket,
                _ => self.view.bucket_of(row as usize, &lookup.range())?,
            };
            if (bucket ^ self.bucket).count_ones() <= most {
                found.push((lookup.table, row));
            }
        }
        Ok(())
    }
}

/// Searches a segment.
pub(super) fn search<F: Fingerprint>(
    segment: &Segment<F>,
    plan: &Plan<F>,
    query: F,
    test: MatchTest<'_, F>,
    source: usize,
    hits: &mut Hits<F>,
) -> Result<Counts> {
    let Some(table) = segment.identity_table() else { return Ok(Counts::default()) };
    let tables: Vec<TableLookups<'_>> =
        plan.tables().iter().map(|table| TableLookups::new(segment, table, query)).collect();
    let mut lookups = Vec::with_capacity(plan.probe_count());
    for ((number, lookup), plan) in (0..).zip(&tables).zip(plan.tables()) {
        lookups.extend(plan.probes().iter().map(|probe| lookup.lookup(number, probe)));
    }
    let mut found = Vec::new();
    // All reads of the disk are under way before the first is waited for.
    let is_cold = segment.columns().iter().any(|columns| columns.is_cold());
    let rows = if is_cold {
        find_cold(&tables, &mut lookups, &mut found)?
    } else {
        cpu::with_native_instructions(
            #[inline(always)]
            || find_candidates(&tables, &mut lookups, &mut found),
        )?
    };
    let blocks = blocks_of(&tables, &found, table, is_cold)?;
    search_blocks(table, &blocks, query, test, source, hits)?;
    Ok(Counts { rows, blocks: blocks.len() })
}

/// Steps 1 and 2. Returns the number of rows that were compared.
#[inline(always)]
fn find_candidates(
    tables: &[TableLookups<'_>],
    lookups: &mut [RowLookup],
    found: &mut Vec<Candidate>,
) -> Result<u64> {
    let mut rows = 0u64;
    for at in 0..lookups.len() + 2 * AHEAD {
        if let Some(lookup) = lookups.get(at) {
            tables[lookup.table as usize].view.prefetch_directory(&lookup.range());
        }
        if let Some(lookup) = at.checked_sub(AHEAD).and_then(|at| lookups.get_mut(at)) {
            let range = lookup.read_directory(tables)?;
            tables[lookup.table as usize].view.prefetch_keys(&range);
            rows += range.len() as u64;
        }
        if let Some(lookup) = at.checked_sub(2 * AHEAD).and_then(|at| lookups.get(at)) {
            let before = found.len();
            tables[lookup.table as usize].compare(lookup, found)?;
            for &(table, row) in &found[before..] {
                tables[table as usize].view.prefetch_block(row as usize);
            }
        }
    }
    Ok(rows)
}

/// Does the same where parts of the files are not in memory.
#[cold]
fn find_cold(
    tables: &[TableLookups<'_>],
    lookups: &mut [RowLookup],
    found: &mut Vec<Candidate>,
) -> Result<u64> {
    for lookup in &*lookups {
        tables[lookup.table as usize].view.fetch_directory(&lookup.range());
    }
    let mut rows = 0;
    for lookup in &mut *lookups {
        let range = lookup.read_directory(tables)?;
        tables[lookup.table as usize].view.fetch_keys(&range);
        rows += range.len() as u64;
    }
    for lookup in &*lookups {
        tables[lookup.table as usize].compare(lookup, found)?;
    }
    for &(table, row) in &*found {
        tables[table as usize].view.fetch_block(row as usize);
    }
    Ok(rows)
}

impl RowLookup {
    #[inline(always)]
    fn range(&self) -> Range<u32> {
        self.bucket..self.bucket + self.buckets
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "there are fewer than 2^32 rows")]
    fn read_directory(&mut self, tables: &[TableLookups<'_>]) -> Result<Range<usize>> {
        let rows = tables[self.table as usize].view.rows_of(&self.range())?;
        self.rows = (rows.start as u32, rows.end as u32);
        Ok(rows)
    }
}

/// Step 3: returns the blocks of the candidates, ascending, each once.
fn blocks_of<F: Fingerprint>(
    tables: &[TableLookups<'_>],
    found: &[Candidate],
    table: &Table<F>,
    is_cold: bool,
) -> Result<Vec<usize>> {
    let in_table_0 = table.view();
    let mut blocks = Vec::with_capacity(found.len());
    for &(number, row) in found {
        let (view, row) = (&tables[number as usize].view, row as usize);
        let block = view.blocks(&(row..row + 1))?.next().map_or(usize::MAX, |block| block as usize);
        if block >= table.blocks() {
            return Err(view.no_such_block(row));
        }
        in_table_0.prefetch_block(block);
        blocks.push(block);
    }
    blocks.sort_unstable();
    blocks.dedup();
    if is_cold || table.is_cold() {
        blocks.iter().for_each(|&block| table.fetch(block..block + 1));
    }
    Ok(blocks)
}

/// Step 4. No fingerprint is found twice, since each is in one block.
fn search_blocks<F: Fingerprint>(
    table: &Table<F>,
    blocks: &[usize],
    query: F,
    test: MatchTest<'_, F>,
    source: usize,
    hits: &mut Hits<F>,
) -> Result<()> {
    let mut fingerprints = Vec::new();
    for &block in blocks {
        fingerprints.clear();
        table.decode(block..block + 1, &mut fingerprints)?;
        for_each_near(&fingerprints, query, test.distance, |fingerprint| {
            if test.accepts(fingerprint ^ query) {
                let hit = Hit::new(fingerprint.distance(query), fingerprint, source);
                hits.push(Hit { block: u32::try_from(block).ok(), ..hit });
            }
        });
    }
    Ok(())
}
