//! The blocks of a table, and what a block stores.

use anyhow::{Result, bail};
use fpdb::reports::{Block, BlockRow, SegmentStats};
use fpdb::{Description, Fingerprint, Ids, ReadOnlyDb, Snapshot};
use serde::Serialize;

use super::Args;
use super::parts::lengths;
use crate::args::database::{SKETCH_BITS, by_word};
use crate::output::failure::Exit;
use crate::output::{self, Context, json_line};

/// Ids of a fingerprint that a line of text has room for.
const FEW: usize = 3;

/// A record of `fpdb.inspect-table/1`. Fingerprints have their bits in the order of the table.
#[derive(Serialize)]
struct BlockRecord {
    r#type: &'static str,
    block: u64,
    count: usize,
    /// Of all bits of the block.
    used_bits: u64,
    first: String,
    last: String,
}

/// The summary of `fpdb.inspect-table/1`.
#[derive(Serialize)]
struct TableReport {
    segment: u64,
    table: usize,
    blocks: u64,
    fingerprints: u64,
    code_lengths: Vec<u8>,
}

/// `fpdb.inspect-block/1`
#[derive(Serialize)]
struct BlockReport {
    segment: u64,
    table: usize,
    block: u64,
    bytes: usize,
    count_bits: u64,
    first_bits: u64,
    codeword_bits: u64,
    remaining_bits: u64,
    fingerprints: Vec<RowRecord>,
}

#[derive(Serialize)]
struct RowRecord {
    fingerprint: String,
    /// The fingerprint with its bits in the order of the table.
    permuted: String,
    h: Option<u32>,
    codeword: String,
    code_length: usize,
    remaining: String,
    /// All documents of the database that have the fingerprint.
    ids: Vec<u64>,
    names: Vec<String>,
}

impl Args {
    /// Lists the blocks of a table, or shows one of them.
    pub(super) fn show_table(
        &self,
        table: usize,
        description: &Description,
        context: &mut Context<'_>,
    ) -> Result<Exit> {
        if description.bits == SKETCH_BITS {
            bail!(
                "a database of sketches has tables of bands, which are in no blocks: leave out \
                 --table"
            );
        }
        by_word!(description.bits, |options| {
            let db = options.index_memory(0).open_read_only(&self.path)?;
            let segments = db.stats().segments;
            let segment = self.choose_segment(&segments)?;
            match self.block {
                Some(block) => {
                    let names = description.ids == Ids::Names;
                    let report = BlockReport::new(&db.snapshot(), (segment, table, block), names)?;
                    if context.json {
                        context.report("fpdb.inspect-block/1", &report)?;
                    } else {
                        report.print(context)?;
                    }
                }
                None => list(&db, segment, table, context)?,
            }
        });
        Ok(Exit::Done)
    }

    fn choose_segment(&self, segments: &[SegmentStats]) -> Result<u64> {
        match (self.segment, segments) {
            (Some(segment), _) => Ok(segment),
            (None, [only]) => Ok(only.id),
            (None, []) => bail!(
                "the database has no segment yet, its entries are in the log: fpdb-tool compact \
                 writes them into one"
            ),
            (None, _) => {
                let ids: Vec<_> = segments.iter().map(|segment| segment.id.to_string()).collect();
                bail!(
                    "the database has {} segments: choose one with --segment, of {}",
                    ids.len(),
                    ids.join(", ")
                )
            }
        }
    }
}

/// Lists the blocks of a table.
fn list<F: Fingerprint>(
    db: &ReadOnlyDb<F>,
    segment: u64,
    table: usize,
    context: &mut Context<'_>,
) -> Result<()> {
    let (snapshot, segments) = (db.snapshot(), db.stats().segments);
    let stats = segments.iter().find(|found| found.id == segment);
    let stats = stats.and_then(|segment| segment.tables.get(table)).cloned();
    let Some(stats) = stats else {
        // The error says what there is.
        snapshot.block(segment, table, 0)?;
        bail!("segment {segment} has no table {table}");
    };
    if !context.json {
        writeln!(context.out, "code lengths  {}\n", lengths(&stats.code_lengths))?;
        writeln!(
            context.out,
            "{:>10}  {:>5}  {:>9}  {:34}  last",
            "block", "count", "bits used", "first"
        )?;
    }
    let mut fingerprints = 0;
    for number in 0..stats.blocks {
        let block = snapshot.block(segment, table, number)?;
        fingerprints += block.rows.len() as u64;
        let record = BlockRecord::new(number, &block);
        if context.json {
            json_line(context.out, &record)?;
        } else {
            let BlockRecord { block, count, used_bits, first, last, .. } = record;
            writeln!(context.out, "{block:>10}  {count:>5}  {used_bits:>9}  {first:34}  {last}")?;
        }
    }
    if context.json {
        let (blocks, code_lengths) = (stats.blocks, stats.code_lengths);
        let report = TableReport { segment, table, blocks, fingerprints, code_lengths };
        context.summary("fpdb.inspect-table/1", &report)?;
    }
    Ok(())
}

impl BlockRecord {
    fn new<F: Fingerprint>(number: u64, block: &Block<F>) -> Self {
        let permuted = |row: Option<&BlockRow<F>>| row.map(|row| row.permuted.to_hex());
        Self {
            r#type: "block",
            block: number,
            count: block.rows.len(),
            used_bits: block.used_bits().iter().sum(),
            first: permuted(block.rows.first()).unwrap_or_default(),
            last: permuted(block.rows.last()).unwrap_or_default(),
        }
    }
}

impl BlockReport {
    fn new<F: Fingerprint>(
        snapshot: &Snapshot<F>,
        (segment, table, block): (u64, usize, u64),
        names: bool,
    ) -> Result<Self> {
        let stored = snapshot.block(segment, table, block)?;
        let [count_bits, first_bits, codeword_bits, remaining_bits] = stored.used_bits();
        let bytes = stored.bytes;
        let rows = stored.rows.into_iter().map(|row| RowRecord::new(snapshot, row, names));
        let fingerprints = rows.collect::<Result<_>>()?;
        Ok(Self {
            segment,
            table,
            block,
            bytes,
            count_bits,
            first_bits,
            codeword_bits,
            remaining_bits,
            fingerprints,
        })
    }

    fn print(&self, context: &mut Context<'_>) -> Result<()> {
        let out = &mut *context.out;
        let Self { count_bits, first_bits, codeword_bits, remaining_bits, .. } = self;
        let used = count_bits + first_bits + codeword_bits + remaining_bits;
        let rows = [
            ("segment", self.segment.to_string()),
            ("table", self.table.to_string()),
            ("block", self.block.to_string()),
            ("fingerprints", self.fingerprints.len().to_string()),
            ("bits", (self.bytes * 8).to_string()),
            ("  count", count_bits.to_string()),
            ("  first", first_bits.to_string()),
            ("  codewords", codeword_bits.to_string()),
            ("  remaining", remaining_bits.to_string()),
            ("  unused", (self.bytes as u64 * 8).saturating_sub(used).to_string()),
        ];
        output::rows(out, &rows)?;
        writeln!(out)?;
        let header =
            ["fingerprint", "permuted", "h", "codeword", "code length", "documents", "remaining"];
        let lines: Vec<_> = self.fingerprints.iter().map(RowRecord::line).collect();
        Ok(output::table(out, header, &lines)?)
    }
}

impl RowRecord {
    fn new<F: Fingerprint>(snapshot: &Snapshot<F>, row: BlockRow<F>, names: bool) -> Result<Self> {
        let ids = snapshot.ids(row.fingerprint)?;
        let names = if names { snapshot.names(&ids)? } else { Vec::new() };
        Ok(Self {
            fingerprint: row.fingerprint.to_hex(),
            permuted: row.permuted.to_hex(),
            h: row.h,
            code_length: row.codeword.len(),
            codeword: row.codeword,
            remaining: row.remaining,
            ids: ids.iter().map(|id| id.0).collect(),
            names: names.into_iter().flatten().collect(),
        })
    }

    fn line(&self) -> [String; 7] {
        let h = self.h.map_or_else(|| "-".to_owned(), |h| h.to_string());
        let length = self.code_length.to_string();
        let (fingerprint, permuted) = (self.fingerprint.clone(), self.permuted.clone());
        let [codeword, remaining] =
            [&self.codeword, &self.remaining].map(|bits| if bits.is_empty() { "-" } else { bits });
        let (codeword, remaining) = (codeword.to_owned(), remaining.to_owned());
        [fingerprint, permuted, h, codeword, length, self.documents(), remaining]
    }

    /// Names or ids, the first few.
    fn documents(&self) -> String {
        let ids = || self.ids.iter().map(u64::to_string).collect();
        let mut few = if self.names.is_empty() { ids() } else { self.names.clone() };
        few.truncate(FEW);
        if self.ids.len() > FEW {
            few.push(format!("and {} more", self.ids.len() - FEW));
        }
        if few.is_empty() { "-".to_owned() } else { few.join(" ") }
    }
}
