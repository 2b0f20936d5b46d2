//! A table of a database, and a block of it.

use std::io::Write;
use std::path::Path;

use anyhow::{Result, bail};
use fpdb::reports::{SegmentStats, TableStats};
use fpdb::{Description, Word};
use serde::Serialize;

use super::bits::bit_order;
use super::kind::kind_of;
use crate::args::database::by_word;
use crate::output::{self, Context, iec};

/// `fpdb.inspect-table/1`. Sizes are in bytes.
#[derive(Serialize)]
pub(super) struct Report {
    kind: &'static str,
    segment: u64,
    table: usize,
    #[serde(flatten)]
    stats: TableStats,
    /// The lengths of the codewords in bits, by the highest bit in which two neighbours differ.
    code_lengths: Vec<u8>,
    /// Missing unless a block is requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    block: Option<Block>,
}

#[derive(Serialize)]
struct Block {
    number: u64,
    /// Where it begins in the file.
    offset: u64,
    count: usize,
    /// The keys of the first and the last fingerprint. A key has the bits of a fingerprint in the
    /// order of the table.
    first: String,
    last: String,
    fingerprints: Vec<Row>,
}

/// A fingerprint. All but the first of a block have a codeword, which says in which bit its key
/// differs from the one before.
#[derive(Serialize)]
struct Row {
    fingerprint: String,
    key: String,
    differing_bit: Option<u32>,
    code_length: Option<u8>,
}

impl Report {
    /// Returns what a segment says about a table.
    pub(super) fn of(segment: &SegmentStats, table: usize) -> Result<Self> {
        let Some(stats) = segment.tables.get(table).cloned() else {
            let tables = segment.tables.len();
            bail!("there is no table {table}: the segment has {tables}, from 0 on");
        };
        let code_lengths = stats.code_lengths.clone();
        // The files of a segment begin with its tables.
        let kind = segment.files.get(table).map_or("table", |(name, _)| kind_of(name));
        Ok(Self { kind, segment: segment.id, table, stats, code_lengths, block: None })
    }

    /// Reads a block of the table.
    pub(super) fn read_block(
        &mut self,
        path: &Path,
        description: &Description,
        number: u64,
    ) -> Result<()> {
        if self.stats.blocks == 0 {
            bail!("this table has keys, which are in no blocks: leave out --block");
        }
        let order = bit_order(&description.layout, self.table);
        let block = by_word!(description.bits, |options| {
            let snapshot = options.index_memory(0).open_read_only(path)?.snapshot();
            let fingerprints = snapshot.block(self.segment, self.table, number)?;
            fingerprints.map(|all| self.block(number, &all, &order))
        });
        if block.is_none() {
            let blocks = self.stats.blocks;
            bail!("there is no block {number}: the table has {blocks}, from 0 on");
        }
        self.block = block;
        Ok(())
    }

    fn block<F: Word>(&self, number: u64, fingerprints: &[F], order: &[u32]) -> Block {
        let offset = (number + 1) * (self.stats.bytes_blocks / self.stats.blocks);
        Block::of(number, offset, fingerprints, order, &self.code_lengths)
    }

    pub(super) fn print(&self, context: &mut Context<'_>) -> Result<()> {
        let out = &mut *context.out;
        let stats = &self.stats;
        let lengths = self.code_lengths.iter().enumerate().filter(|(_, length)| **length > 0);
        let lengths: Vec<_> = lengths.map(|(bit, length)| format!("{bit}:{length}")).collect();
        let mut rows = vec![
            ("segment", self.segment.to_string()),
            (self.kind, self.table.to_string()),
            ("size", iec(stats.bytes)),
        ];
        rows.push(("  index", iec(stats.bytes_index)));
        if stats.blocks == 0 {
            rows.push(("  rows", iec(stats.bytes_rows)));
        } else {
            let blocks = format!("{} in {} blocks", iec(stats.bytes_blocks), stats.blocks);
            rows.extend([("  blocks", blocks), ("  filter", iec(stats.bytes_filter))]);
            rows.push(("code lengths", lengths.join(" ")));
        }
        output::rows(out, &rows)?;
        if let Some(block) = &self.block {
            writeln!(out)?;
            block.print(out)?;
        }
        Ok(())
    }
}

impl Block {
    fn of<F: Word>(
        number: u64,
        offset: u64,
        fingerprints: &[F],
        order: &[u32],
        code_lengths: &[u8],
    ) -> Self {
        let keys: Vec<F> = fingerprints.iter().map(|&value| key(value, order)).collect();
        let differing_bit = |at: usize| {
            let (key, before) = (keys[at], keys[at.checked_sub(1)?]);
            Some(F::BITS - 1 - (key ^ before).leading_zeros())
        };
        let row = |(at, (&fingerprint, &key)): (usize, (&F, &F))| {
            let bit = differing_bit(at);
            let code_length = bit.and_then(|bit| code_lengths.get(bit as usize).copied());
            let (fingerprint, key) = (fingerprint.to_hex(), key.to_hex());
            Row { fingerprint, key, differing_bit: bit, code_length }
        };
        let hex = |key: Option<&F>| key.map_or_else(String::new, |key| key.to_hex());
        Self {
            number,
            offset,
            count: keys.len(),
            first: hex(keys.first()),
            last: hex(keys.last()),
            fingerprints: fingerprints.iter().zip(&keys).enumerate().map(row).collect(),
        }
    }

    fn print(&self, out: &mut dyn Write) -> Result<()> {
        output::rows(
            out,
            &[
                ("block", self.number.to_string()),
                ("offset", self.offset.to_string()),
                ("count", self.count.to_string()),
                ("first key", self.first.clone()),
                ("last key", self.last.clone()),
            ],
        )?;
        writeln!(out)?;
        let or_none = |number: Option<u32>| number.map_or("-".to_owned(), |n| n.to_string());
        let line = |row: &Row| {
            let [bit, length] = [row.differing_bit, row.code_length.map(u32::from)].map(or_none);
            [row.fingerprint.clone(), row.key.clone(), bit, length]
        };
        let lines: Vec<_> = self.fingerprints.iter().map(line).collect();
        Ok(output::table(out, ["fingerprint", "key", "bit", "code length"], &lines)?)
    }
}

/// Returns the fingerprint with its bits in this order.
fn key<F: Word>(fingerprint: F, order: &[u32]) -> F {
    order.iter().fold(F::ZERO, |key, &bit| key << 1 | (fingerprint >> bit & F::ONE))
}
