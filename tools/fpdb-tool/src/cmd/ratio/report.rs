//! The results: as JSON, as CSV, and in columns.

use std::io::{self, Write};

use fpdb::Stats;
use fpdb::reports::TableStats;
use serde::Serialize;

use super::bound::Branches;
use super::measure::Design;
use crate::output;

/// `fpdb.ratio/1`
#[derive(Serialize)]
pub(super) struct Report {
    pub(super) data: String,
    pub(super) bits: u32,
    pub(super) filter_bits: u32,
    pub(super) rows: Vec<Row>,
}

/// One set of fingerprints under one code. Parts that a code does not have are 0 or missing.
#[derive(Serialize)]
pub(super) struct Row {
    /// The number of entries.
    pub(super) n: u64,
    /// The number of distinct fingerprints, which figures per fingerprint are divided by.
    pub(super) fingerprints: u64,
    /// The name of the code: "fpdb" for a database.
    pub(super) codec: &'static str,
    /// Missing unless the row is about a database.
    pub(super) layout: Option<String>,
    pub(super) block_size: Option<usize>,
    pub(super) tables: usize,
    /// The sum over the tables, as are the next four.
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
    /// The entropy bound of this set: see [`Branches::entropy`].
    pub(super) entropy_bound_bits: f64,
    /// The entropy bound of uniformly random sets of this size.
    pub(super) uniform_bound_bits: f64,
    /// What the paper's code takes for this set in blocks of this size.
    pub(super) paper_bits: Option<f64>,
    /// What Huffman blocks take for a fingerprint after the first of its block. All else
    /// in the blocks is heads, first fingerprints and unused ends.
    pub(super) payload_bits: Option<f64>,
    /// Bits of the postings per fingerprint.
    pub(super) ids_bits: f64,
    /// The least that ids can take, in bits per fingerprint: see
    /// [`IdBound`](super::bound::IdBound).
    pub(super) ids_bound_bits: Option<f64>,
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
    /// Returns the row of `n` entries under a code that takes `bytes` for all of them.
    pub(super) fn of_other(n: u64, set: &Branches, codec: &'static str, bytes: u64) -> Self {
        let fingerprints = set.fingerprints();
        let (entropy, bits) = (set.entropy(), share(bytes * 8, fingerprints));
        Self {
            n,
            fingerprints,
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
            bytes_per_fingerprint: share(bytes, fingerprints),
            bits_per_fingerprint_per_table: bits,
            bits_above_entropy_bound: bits - entropy,
            entropy_bound_bits: entropy,
            uniform_bound_bits: set.uniform_entropy(),
            paper_bits: None,
            payload_bits: None,
            ids_bits: 0.0,
            ids_bound_bits: None,
            table_list: Vec::new(),
        }
    }

    /// Returns the row of a database with `n` entries.
    pub(super) fn of_database(
        n: u64,
        set: &Branches,
        design: &Design,
        stats: &Stats,
        tables: &[TableStats],
    ) -> Self {
        let sum = |part: fn(&TableStats) -> u64| tables.iter().map(part).sum::<u64>();
        let (blocks, index) = (sum(|t| t.bytes_blocks), sum(|t| t.bytes_index));
        let filters = sum(|t| t.bytes_filter);
        let bytes_total = stats.bytes_tables + stats.bytes_ids;
        let bits = stats.bits_per_fingerprint_per_table;
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
            bytes_per_fingerprint: share(bytes_total, stats.rows),
            bits_per_fingerprint_per_table: bits,
            bits_above_entropy_bound: bits - set.entropy(),
            paper_bits: Some(set.paper(design.block_size)),
            payload_bits: set.payload(),
            ids_bits: share(stats.bytes_ids * 8, stats.rows),
            table_list: tables.iter().map(Table::from).collect(),
            ..Self::of_other(n, set, "fpdb", stats.bytes_tables)
        }
    }

    /// Sets the fewest bits that all ids can take together.
    pub(super) fn with_ids_bound(self, bits: f64) -> Self {
        Self { ids_bound_bits: Some(bits / self.fingerprints.max(1) as f64), ..self }
    }

    /// Returns the bits per fingerprint and table that `bytes` in all tables are.
    pub(super) fn bits_per_table(&self, bytes: u64) -> f64 {
        share(bytes * 8, self.fingerprints * self.tables as u64)
    }
}

fn share(whole: u64, parts: u64) -> f64 {
    if parts == 0 { 0.0 } else { whole as f64 / parts as f64 }
}

/// Column headings.
pub(super) const COLUMNS: [&str; 15] = [
    "n", "code", "layout", "block", "payload", "blocks", "index", "filter", "rest", "table",
    "over", "paper", "ids", "ids over", "total",
];

/// What the columns hold.
pub(super) const LEGEND: &str = "\
n is the number of entries, block the size of a block in bytes. blocks, index (the directory over
the block keys), filter and rest (headers, checksums) are bits per fingerprint and table; table is
their sum, and over is what table takes above the entropy bound. payload is what blocks of the
Huffman code take for a fingerprint after the first of its block; the rest of blocks is heads, first
fingerprints and unused ends. paper is what the paper's code takes in blocks of that size, without
index and checksums. ids are bits per fingerprint, and ids over is what they take above the least
possible: log2 of the number of ways to distribute n ids among the fingerprints. total is bytes per
fingerprint: all tables and the ids.";

/// What the bounds are.
pub(super) const BOUNDS: &str = "\
The entropy bound of the measured fingerprints is log2 of the number of sets whose sorted
neighbours first differ at each bit as often as theirs do, divided by the number of fingerprints. A
code goes below it, and over is negative, only if it uses other patterns in the data, such as bits
that neighbours have in common, or sorts by another order of the bits, as all tables but the first
do. The uniform bound, for uniformly random fingerprints, is log2(C(2^bits, n)) / n. The more the
fingerprints cluster, the further the entropy bound is below it.";

impl Report {
    pub(super) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        output::table(out, COLUMNS, &self.lines())
    }

    /// Returns the rows in columns, headed by [`COLUMNS`]. The bounds of each n come first.
    pub(super) fn lines(&self) -> Vec<[String; COLUMNS.len()]> {
        let mut lines = Vec::new();
        let mut n = None;
        for row in &self.rows {
            if n.replace(row.n) != Some(row.n) {
                lines.push(row.bound_line("entropy bound", row.entropy_bound_bits));
                lines.push(row.bound_line("uniform bound", row.uniform_bound_bits));
            }
            lines.push(row.line());
        }
        lines
    }

    /// Returns the report as CSV with one header. It contains the bytes that all other figures
    /// follow from.
    pub(super) fn csv(&self) -> Result<Vec<u8>, csv::Error> {
        let mut csv = csv::Writer::from_writer(Vec::new());
        for (number, row) in self.rows.iter().enumerate() {
            let record = self.csv_record(row);
            if number == 0 {
                csv.write_record(record.iter().map(|(name, _)| name))?;
            }
            csv.write_record(record.iter().map(|(_, value)| value))?;
        }
        csv.into_inner().map_err(|e| e.into_error().into())
    }

    /// Returns the columns of a row: the name of each, and its value.
    fn csv_record(&self, row: &Row) -> [(&'static str, String); 24] {
        let optional = |value: Option<String>| value.unwrap_or_default();
        [
            ("data", self.data.clone()),
            ("bits", self.bits.to_string()),
            ("n", row.n.to_string()),
            ("fingerprints", row.fingerprints.to_string()),
            ("codec", row.codec.to_owned()),
            ("layout", optional(row.layout.clone())),
            ("block_size", optional(row.block_size.map(|bytes| bytes.to_string()))),
            ("tables", row.tables.to_string()),
            ("filter_bits", if row.layout.is_some() { self.filter_bits } else { 0 }.to_string()),
            ("bytes_blocks", row.bytes_blocks.to_string()),
            ("bytes_index", row.bytes_index.to_string()),
            ("bytes_filters", row.bytes_filters.to_string()),
            ("bytes_other", row.bytes_other.to_string()),
            ("bytes_tables", row.bytes_tables.to_string()),
            ("bytes_ids", row.bytes_ids.to_string()),
            ("bytes_total", row.bytes_total.to_string()),
            ("bytes_per_fingerprint", format!("{:.4}", row.bytes_per_fingerprint)),
            (
                "bits_per_fingerprint_per_table",
                format!("{:.4}", row.bits_per_fingerprint_per_table),
            ),
            ("entropy_bound_bits", format!("{:.4}", row.entropy_bound_bits)),
            ("uniform_bound_bits", format!("{:.4}", row.uniform_bound_bits)),
            ("paper_bits", optional(row.paper_bits.map(|bits| format!("{bits:.4}")))),
            ("payload_bits", optional(row.payload_bits.map(|bits| format!("{bits:.4}")))),
            ("ids_bits", format!("{:.4}", row.ids_bits)),
            ("ids_bound_bits", optional(row.ids_bound_bits.map(|bits| format!("{bits:.4}")))),
        ]
    }
}

impl Row {
    fn line(&self) -> [String; COLUMNS.len()] {
        let bits = |bytes: u64| format!("{:.2}", self.bits_per_table(bytes));
        let optional =
            |bits: Option<f64>| bits.map_or_else(|| "-".to_owned(), |bits| format!("{bits:.2}"));
        let of_database = |text: String| if self.layout.is_some() { text } else { "-".to_owned() };
        [
            self.n.to_string(),
            self.codec.to_owned(),
            self.layout.clone().unwrap_or_else(|| "-".to_owned()),
            self.block_size.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string()),
            optional(self.payload_bits),
            of_database(bits(self.bytes_blocks)),
            of_database(bits(self.bytes_index)),
            of_database(bits(self.bytes_filters)),
            of_database(bits(self.bytes_other)),
            bits(self.bytes_tables),
            format!("{:.2}", self.bits_above_entropy_bound),
            optional(self.paper_bits),
            of_database(format!("{:.2}", self.ids_bits)),
            optional(self.ids_bound_bits.map(|bound| self.ids_bits - bound)),
            format!("{:.2}", self.bytes_per_fingerprint),
        ]
    }

    fn bound_line(&self, name: &str, bits: f64) -> [String; COLUMNS.len()] {
        let mut line: [String; COLUMNS.len()] = std::array::from_fn(|_| "-".to_owned());
        line[0] = self.n.to_string();
        line[1] = name.to_owned();
        line[9] = format!("{bits:.2}");
        line[10] = format!("{:.2}", bits - self.entropy_bound_bits);
        line[14] = format!("{:.2}", bits / 8.0);
        line
    }
}
