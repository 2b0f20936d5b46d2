//! `inspect`

mod bits;
mod block;
pub(crate) mod parts;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use fpdb::reports::SegmentStats;
use fpdb::{Description, Layout};
use serde::Serialize;

use crate::args::database::{self, by_width};
use crate::output::failure::Exit;
use crate::output::{self, Context, iec};
use bits::{bit_order, ranges};
use parts::Parts;

const EXAMPLE: &str = "\
Examples:
  fpdb-tool inspect crawl.fpdb
  fpdb-tool inspect crawl.fpdb --table 0
  fpdb-tool inspect crawl.fpdb --table 0 --block 17";

/// Shows the format, the layout, the segments, the tables and the files of a database, or the
/// blocks of a table
///
/// A table is sorted by its cells in the order shown. Cell 0 has the leading bits of the
/// fingerprint, and table 0 has the cells in ascending order. A database of sketches has a table of
/// each key instead.
///
/// What a table takes is in bits per fingerprint: the counts and the first fingerprints of its
/// blocks, the codewords, the remaining bits, what is unused at the ends of blocks, the directory,
/// the filter, and the rest, which is the header, the checksums and the footer. Codewords and
/// remaining bits are estimated from 256 blocks if there are more. The lengths of the codewords are
/// shown by h, the highest bit in which two neighbours differ: h47:3 means that the codeword of bit
/// 47 has 3 bits.
///
/// With --table, lists the blocks of a table: how many fingerprints each has, how many bits it
/// uses, and its first and last fingerprint with their bits in the order of the table. With
/// --block, shows what is stored of each fingerprint of a block, and the documents that have it: h
/// is the highest bit in which it differs from the one before, from 0 for the least significant
/// bit, and the remaining bits are those below h.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    path: PathBuf,

    /// List the blocks of this table; the first is 0
    #[arg(long, value_name = "NUMBER")]
    table: Option<usize>,

    /// Show what this block of the table stores; the first is 0
    #[arg(long, value_name = "NUMBER", requires = "table")]
    block: Option<u64>,

    /// The segment that has the table [default: the only one]
    #[arg(long, value_name = "SEGMENT", requires = "table")]
    segment: Option<u64>,
}

/// `fpdb.inspect/1`. Sizes are in bytes.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    description: Description,
    /// Widths of the layout's cells in bits, the most significant cell first. None for sketches.
    cells: Vec<u8>,
    /// None for sketches.
    tables: Vec<TableReport>,
    segments: Vec<SegmentStats>,
    /// What each table of each segment takes. None for sketches.
    parts: Vec<Parts>,
    files: Vec<FileReport>,
}

#[derive(Serialize)]
struct TableReport {
    /// The cells in the order in which they sort the table.
    cell_order: Vec<usize>,
    /// The same order in bits of the fingerprint. Bit 0 is the least significant.
    bit_order: Vec<u32>,
}

#[derive(Serialize)]
struct FileReport {
    name: String,
    bytes: u64,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        let description = fpdb::Description::read(&self.path)?;
        if let Some(table) = self.table {
            return self.show_table(table, &description, context);
        }
        let (segments, parts) = by_width!(description.bits, |options| {
            let db = options.index_memory(0).open_read_only(&self.path)?;
            let segments = db.stats().segments;
            let parts = parts::of_all(&db.snapshot(), &segments)?;
            (segments, parts)
        });
        let layout = description.layout.as_ref();
        let report = Report {
            cells: layout.map(|layout| layout.cells().to_vec()).unwrap_or_default(),
            tables: layout.map(TableReport::of_all).unwrap_or_default(),
            segments,
            parts,
            files: files(&self.path)?,
            description,
        };
        if context.json {
            context.report("fpdb.inspect/1", &report)?;
        } else {
            print(&report, context)?;
        }
        Ok(Exit::Done)
    }
}

impl TableReport {
    fn of_all(layout: &Layout) -> Vec<Self> {
        let of = |table| Self {
            cell_order: layout.order(table).to_vec(),
            bit_order: bit_order(layout, table),
        };
        (0..layout.tables()).map(of).collect()
    }
}

fn print(report: &Report, context: &mut Context<'_>) -> Result<()> {
    let out = &mut *context.out;
    output::rows(out, &settings(report))?;
    writeln!(out)?;
    if !report.tables.is_empty() {
        let tables = report.tables.iter().enumerate();
        let tables: Vec<_> = tables
            .map(|(i, table)| [i.to_string(), list(&table.cell_order), ranges(&table.bit_order)])
            .collect();
        output::table(out, ["table", "cells", "bits"], &tables)?;
        writeln!(out)?;
    }
    let segments: Vec<_> = report
        .segments
        .iter()
        .map(|s| {
            let [id, entries, count] = [s.id, s.entries, s.fingerprints].map(|n| n.to_string());
            [id, entries, count, iec(s.bytes), parts::bits_of_ids(s)]
        })
        .collect();
    output::table(out, ["segment", "entries", "fingerprints", "size", "bits of ids"], &segments)?;
    writeln!(out)?;
    parts::print(&report.parts, out)?;
    let files: Vec<_> = report.files.iter().map(|f| [f.name.clone(), iec(f.bytes)]).collect();
    output::table(out, ["file", "size"], &files)?;
    Ok(())
}

fn settings(report: &Report) -> Vec<(&'static str, String)> {
    let description = &report.description;
    let Description { bits, max_distance, rule, .. } = description;
    let (major, minor) = description.format_version;
    let or_none = |name: &Option<String>| name.clone().unwrap_or_else(|| "none".to_owned());
    let bands = database::bands(rule);
    let stored = match bands {
        Some(_) => ("sketches", rule.to_string()),
        None => ("fingerprints", format!("{bits} bits, max distance {max_distance}")),
    };
    let mut rows = vec![
        ("format", format!("{major}.{minor}")),
        stored,
        ("purpose", database::purpose(description)),
        ("ids", description.ids.to_string()),
        ("recipe", or_none(&description.recipe)),
        ("extraction", or_none(&description.extraction)),
        ("created by", or_none(&description.created_by)),
        ("written by", or_none(&description.written_by)),
    ];
    rows.extend(bands.map(|bands| ("bands", bands)));
    rows.extend(description.block_size.map(|bytes| ("block size", iec(bytes as u64))));
    if let Some(layout) = &description.layout {
        rows.push(("layout", layout.to_string()));
        rows.push(("cells", format!("{} bits", list(&report.cells))));
    }
    rows
}

fn list<T: ToString>(items: &[T]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// Returns the files in the folder, sorted by name.
fn files(path: &Path) -> Result<Vec<FileReport>> {
    let list = || -> io::Result<Vec<FileReport>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            match entry.metadata() {
                Ok(metadata) => files.push(FileReport { name, bytes: metadata.len() }),
                // A writer may delete a file that it no longer needs at any time.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        files.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(files)
    };
    list().with_context(|| format!("cannot list {}", path.display()))
}
