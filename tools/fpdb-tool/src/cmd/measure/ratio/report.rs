//! The figures: as JSON, as CSV, and in columns for people.

use std::io::{self, Write};

use fpdb::{Stats, TableStats};
use serde::Serialize;

use super::bound;
use super::measure::Design;
use crate::output;

/// `fpdb.ratio/1`
#[derive(Serialize)]
pub(super) struct Report {
    pub(super) schema: &'static str,
    pub(super) data: String,
    pub(super) bits: u32,
    pub(super) filter_bits: u32,
    pub(super) rows: Vec<Row>,
}

/// One code of one set. What other codes have no part of is 0, or missing.
#[derive(Serialize)]
pub(super) struct Row {
    /// Entries.
    pub(super) n: u64,
    /// Different ones: what is divided by.
    pub(super) fingerprints: u64,
    /// Of a database, its blocks' code.
    pub(super) codec: &'static str,
    /// Missing for other codes than those of databases.
    pub(super) layout: Option<String>,
    pub(super) block_size: Option<usize>,
    pub(super) tables: usize,
    /// Sums over the tables.
    pub(super) bytes_blocks: u64,
    pub(super) bytes_index: u64,
    pub(super) bytes_filters: u64,
    /// Headers, checksums and footers.
    pub(super) bytes_other: u64,
    pub(super) bytes_tables: u64,
    /// Postings.
    pub(super) bytes_ids: u64,
    pub(super) bytes_total: u64,
    pub(super) bytes_per_fingerprint: f64,
    pub(super) bits_per_fingerprint_per_table: f64,
    pub(super) bits_above_entropy_bound: f64,
    pub(super) entropy_bound_bits: f64,
    /// What the paper's code takes in blocks of this size.
    pub(super) paper_bits: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) table_list: Vec<Table>,
}

#[derive(Serialize)]
pub(super) struct Table {
    bytes: u64,
    bytes_blocks: u64,
    bytes_index: u64,
    bytes_filter: u64,
}

impl From<&TableStats> for Table {
    fn from(table: &TableStats) -> Self {
        Self {
            bytes: table.bytes,
            bytes_blocks: table.bytes_blocks,
            bytes_index: table.bytes_index,
            bytes_filter: table.bytes_filter,
        }
    }
}

impl Row {
    /// Of one table of `fingerprints` under another code.
    pub(super) fn of_other(bits: u32, n: u64, codec: &'static str, bytes: u64, all: u64) -> Self {
        let entropy = bound::entropy(bits, all);
        let taken = share(bytes * 8, all);
        Self {
            n,
            fingerprints: all,
            codec,
            layout: None,
            block_size: None,
            tables: 1,
            bytes_blocks: bytes,
            bytes_index: 0,
            bytes_filters: 0,
            bytes_other: 0,
            bytes_tables: bytes,
            bytes_ids: 0,
            bytes_total: bytes,
            bytes_per_fingerprint: share(bytes, all),
            bits_per_fingerprint_per_table: taken,
            bits_above_entropy_bound: taken - entropy,
            entropy_bound_bits: entropy,
            paper_bits: None,
            table_list: Vec::new(),
        }
    }

    /// Of a database with `n` entries.
    pub(super) fn of_database(
        design: &Design,
        n: u64,
        stats: &Stats,
        tables: &[TableStats],
    ) -> Self {
        let sum = |part: fn(&TableStats) -> u64| tables.iter().map(part).sum::<u64>();
        let (blocks, index) = (sum(|t| t.bytes_blocks), sum(|t| t.bytes_index));
        let (filters, all) = (sum(|t| t.bytes_filter), stats.fingerprints);
        let bytes_total = stats.bytes_tables + stats.bytes_ids;
        let paper = bound::paper(stats.bits, all, design.block_size);
        Self {
            layout: Some(design.layout.name().to_owned()),
            block_size: Some(design.block_size),
            tables: tables.len(),
            bytes_blocks: blocks,
            bytes_index: index,
            bytes_filters: filters,
            bytes_other: stats.bytes_tables - blocks - index - filters,
            bytes_ids: stats.bytes_ids,
            bytes_total,
            bytes_per_fingerprint: share(bytes_total, all),
            bits_per_fingerprint_per_table: stats.bits_per_fingerprint_per_table,
            bits_above_entropy_bound: stats.bits_per_fingerprint_per_table
                - bound::entropy(stats.bits, all),
            paper_bits: Some(paper),
            table_list: tables.iter().map(Table::from).collect(),
            ..Self::of_other(stats.bits, n, design.code.name(), stats.bytes_tables, all)
        }
    }
}

fn share(whole: u64, parts: u64) -> f64 {
    if parts == 0 { 0.0 } else { whole as f64 / parts as f64 }
}

/// Titles of the columns for people.
pub(super) const COLUMNS: [&str; 13] = [
    "n", "code", "layout", "block", "blocks", "index", "filter", "rest", "table", "over", "paper",
    "ids", "total",
];

/// What the columns hold.
pub(super) const LEGEND: &str = "\
blocks, index (keys and a directory over them), filter and rest (headers, checksums) are bits a
fingerprint and table; table is their sum, and over is how much of it is above the entropy bound.
paper is what the paper's code takes in such blocks, without index and checksums. ids are bits a
fingerprint. total is bytes a fingerprint: all tables and the ids. Entropy bound and paper are those
of uniform fingerprints.";

impl Report {
    pub(super) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        output::table(out, COLUMNS, &self.lines())
    }

    /// The rows in columns, headed by [`COLUMNS`]; each n begins with its entropy bound.
    pub(super) fn lines(&self) -> Vec<[String; 13]> {
        let mut lines = Vec::new();
        let mut n = None;
        for row in &self.rows {
            if n.replace(row.n) != Some(row.n) {
                lines.push(row.bound_line());
            }
            lines.push(row.line());
        }
        lines
    }

    /// As CSV with one header. Raw figures, so that all others can be worked out.
    pub(super) fn csv(&self) -> Result<Vec<u8>, csv::Error> {
        let mut csv = csv::Writer::from_writer(Vec::new());
        csv.write_record(CSV_COLUMNS)?;
        for row in &self.rows {
            csv.write_record(self.csv_record(row))?;
        }
        csv.into_inner().map_err(|e| e.into_error().into())
    }

    fn csv_record(&self, row: &Row) -> [String; 20] {
        let optional = |value: Option<String>| value.unwrap_or_default();
        [
            self.data.clone(),
            self.bits.to_string(),
            row.n.to_string(),
            row.fingerprints.to_string(),
            row.codec.to_owned(),
            optional(row.layout.clone()),
            optional(row.block_size.map(|bytes| bytes.to_string())),
            row.tables.to_string(),
            if row.layout.is_some() { self.filter_bits } else { 0 }.to_string(),
            row.bytes_blocks.to_string(),
            row.bytes_index.to_string(),
            row.bytes_filters.to_string(),
            row.bytes_other.to_string(),
            row.bytes_tables.to_string(),
            row.bytes_ids.to_string(),
            row.bytes_total.to_string(),
            format!("{:.4}", row.bytes_per_fingerprint),
            format!("{:.4}", row.bits_per_fingerprint_per_table),
            format!("{:.4}", row.entropy_bound_bits),
            optional(row.paper_bits.map(|bits| format!("{bits:.4}"))),
        ]
    }
}

const CSV_COLUMNS: [&str; 20] = [
    "data",
    "bits",
    "n",
    "fingerprints",
    "codec",
    "layout",
    "block_size",
    "tables",
    "filter_bits",
    "bytes_blocks",
    "bytes_index",
    "bytes_filters",
    "bytes_other",
    "bytes_tables",
    "bytes_ids",
    "bytes_total",
    "bytes_per_fingerprint",
    "bits_per_fingerprint_per_table",
    "entropy_bound_bits",
    "paper_bits",
];

impl Row {
    fn line(&self) -> [String; 13] {
        let bits =
            |bytes: u64| format!("{:.2}", share(bytes * 8, self.fingerprints * self.tables as u64));
        let ours = |text: String| if self.layout.is_some() { text } else { "-".to_owned() };
        [
            self.n.to_string(),
            self.codec.to_owned(),
            self.layout.clone().unwrap_or_else(|| "-".to_owned()),
            self.block_size.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string()),
            ours(bits(self.bytes_blocks)),
            ours(bits(self.bytes_index)),
            ours(bits(self.bytes_filters)),
            ours(bits(self.bytes_other)),
            bits(self.bytes_tables),
            format!("{:.2}", self.bits_above_entropy_bound),
            self.paper_bits.map_or_else(|| "-".to_owned(), |bits| format!("{bits:.2}")),
            ours(format!("{:.2}", share(self.bytes_ids * 8, self.fingerprints))),
            format!("{:.2}", self.bytes_per_fingerprint),
        ]
    }

    fn bound_line(&self) -> [String; 13] {
        let mut line: [String; 13] = std::array::from_fn(|_| "-".to_owned());
        line[0] = self.n.to_string();
        line[1] = "entropy bound".to_owned();
        line[8] = format!("{:.2}", self.entropy_bound_bits);
        line[9] = "0.00".to_owned();
        line[12] = format!("{:.2}", self.entropy_bound_bits / 8.0);
        line
    }
}
