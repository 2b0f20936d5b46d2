//! What the parts of a table take.

use std::io::Write;

use anyhow::Result;
use fpdb::reports::{SegmentStats, TableStats};
use fpdb::{Fingerprint, Snapshot};
use serde::Serialize;

use crate::output;

/// Most blocks of a table that are read.
const SAMPLE: u64 = 256;

/// What a table of a segment takes, in bits per fingerprint.
#[derive(Serialize)]
pub(crate) struct Parts {
    segment: u64,
    table: usize,
    pub(crate) blocks: u64,
    /// How many of them were read. If these are not all, codewords and remaining bits are
    /// estimates.
    blocks_read: u64,
    /// Counts and first fingerprints of blocks.
    pub(crate) first: f64,
    pub(crate) codewords: f64,
    pub(crate) remaining: f64,
    /// What is left at the ends of blocks.
    pub(crate) unused: f64,
    pub(crate) directory: f64,
    filter: f64,
    /// Header, checksums and footer.
    pub(crate) other: f64,
    total: f64,
    /// The lengths of the codewords in bits, by the highest bit in which two neighbours differ.
    code_lengths: Vec<u8>,
}

/// Returns what each table of blocks takes.
pub(crate) fn of_all<F: Fingerprint>(
    snapshot: &Snapshot<F>,
    segments: &[SegmentStats],
) -> Result<Vec<Parts>> {
    let tables = segments.iter().flat_map(|segment| {
        let with_blocks = segment.tables.iter().enumerate().filter(|(_, table)| table.blocks > 0);
        with_blocks.map(move |(number, table)| (segment, number, table))
    });
    tables.map(|(segment, number, table)| Parts::of(snapshot, segment, number, table)).collect()
}

impl Parts {
    fn of<F: Fingerprint>(
        snapshot: &Snapshot<F>,
        segment: &SegmentStats,
        number: usize,
        table: &TableStats,
    ) -> Result<Self> {
        let blocks_read = table.blocks.min(SAMPLE);
        let mut read = [0; 4];
        for i in 0..blocks_read {
            let block = table.blocks * i / blocks_read;
            let used = snapshot.block(segment.id, number, block)?.used_bits();
            read.iter_mut().zip(used).for_each(|(sum, bits)| *sum += bits);
        }
        let share = table.blocks as f64 / blocks_read as f64 / segment.fingerprints as f64;
        let [count, first, codewords, remaining] = read.map(|bits| bits as f64 * share);
        let bits = |bytes: u64| bytes as f64 * 8.0 / segment.fingerprints as f64;
        let known = table.bytes_blocks + table.bytes_index + table.bytes_filter;
        Ok(Self {
            segment: segment.id,
            table: number,
            blocks: table.blocks,
            blocks_read,
            first: count + first,
            codewords,
            remaining,
            unused: bits(table.bytes_blocks) - count - first - codewords - remaining,
            directory: bits(table.bytes_index),
            filter: bits(table.bytes_filter),
            other: bits(table.bytes.saturating_sub(known)),
            total: bits(table.bytes),
            code_lengths: table.code_lengths.clone(),
        })
    }

    fn line(&self) -> [String; 12] {
        let Self { first, codewords, remaining, unused, directory, filter, other, total, .. } =
            *self;
        let bits = [first, codewords, remaining, unused, directory, filter, other, total];
        let [first, codewords, remaining, unused, directory, filter, other, total] =
            bits.map(|bits| format!("{bits:.2}"));
        let [segment, table, blocks] =
            [self.segment, self.table as u64, self.blocks].map(|number| number.to_string());
        let lengths = lengths(&self.code_lengths);
        [
            segment, table, blocks, first, codewords, remaining, unused, directory, filter, other,
            total, lengths,
        ]
    }
}

/// Returns the bits of a segment's ids, per fingerprint.
pub(crate) fn bits_of_ids(segment: &SegmentStats) -> String {
    let files = segment.files.iter().filter(|(name, _)| name.ends_with(".ids"));
    let bytes: u64 = files.map(|(_, bytes)| bytes).sum();
    format!("{:.2}", bytes as f64 * 8.0 / segment.fingerprints.max(1) as f64)
}

pub(crate) fn print(parts: &[Parts], out: &mut dyn Write) -> Result<()> {
    if parts.is_empty() {
        return Ok(());
    }
    let header = [
        "segment",
        "table",
        "blocks",
        "first",
        "codewords",
        "remaining",
        "unused",
        "directory",
        "filter",
        "other",
        "total",
        "code lengths",
    ];
    output::table(out, header, &parts.iter().map(Parts::line).collect::<Vec<_>>())?;
    Ok(writeln!(out)?)
}

/// Writes the lengths of the codewords, the most significant bit first, with bits in a row that
/// have codewords of the same length together: `h47:3 h46-45:2`.
pub(crate) fn lengths(lengths: &[u8]) -> String {
    let bits: Vec<(usize, u8)> = lengths.iter().copied().enumerate().rev().collect();
    let runs = bits.chunk_by(|a, b| a.1 == b.1).filter(|run| run[0].1 > 0);
    let text = runs.map(|run| match run {
        [(bit, length)] => format!("h{bit}:{length}"),
        _ => format!("h{}-{}:{}", run[0].0, run[run.len() - 1].0, run[0].1),
    });
    text.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    #[test]
    fn equal_code_lengths_in_a_row_are_written_once() {
        assert_eq!(super::lengths(&[0, 2, 2, 0, 1, 0]), "h4:1 h2-1:2");
        assert_eq!(super::lengths(&[]), "");
    }
}
