//! `inspect`

mod file;
mod table;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use fpdb::{Description, Layout, SegmentStats};
use serde::Serialize;

use crate::database::by_width;
use crate::failure::Exit;
use crate::output::{self, Context, iec};

const EXAMPLE: &str = "\
Examples:
  fpdb-tool inspect crawl.fpdb
  fpdb-tool inspect crawl.fpdb --table 1 --block 0";

/// Shows the format, the layout, the segments and the files of a database
///
/// A table is sorted by its cells in the order shown. Cell 0 has the leading bits of the
/// fingerprint, and table 0 has the cells in ascending order.
///
/// With --file or --table, shows one file instead; of a table, its parts and the lengths of its
/// codewords. With --block, also a block of the table: its keys, which are fingerprints with their
/// bits in the order of the table, the bit in which each differs from the one before, and the length
/// of the codeword for it.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    path: PathBuf,

    #[command(flatten)]
    one: file::FileArgs,
}

/// `fpdb.inspect/1`. Sizes are in bytes.
#[derive(Serialize)]
struct Report {
    schema: &'static str,
    #[serde(flatten)]
    description: Description,
    /// Widths of the layout's cells in bits, the most significant cell first.
    cells: Vec<u8>,
    tables: Vec<TableReport>,
    segments: Vec<SegmentStats>,
    files: Vec<FileReport>,
}

#[derive(Serialize)]
struct TableReport {
    /// The cells in the order in which they sort the table.
    cell_order: Vec<u16>,
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
        if self.one.is_given() {
            let files = files(&self.path)?;
            let (path, one) = (&self.path, &self.one);
            by_width!(description.bits, |options| one.run(
                options,
                path,
                &files,
                &description,
                context
            )?);
            return Ok(Exit::Done);
        }
        let stats = by_width!(description.bits, |options| options
            .index_memory(0)
            .open_read_only(&self.path)?
            .stats());
        let layout = &description.layout;
        let report = Report {
            schema: "fpdb.inspect/1",
            cells: layout.cells().to_vec(),
            tables: (0..layout.tables()).map(|table| TableReport::of(layout, table)).collect(),
            segments: stats.segments,
            files: files(&self.path)?,
            description,
        };
        if context.json {
            context.report(&report)?;
        } else {
            print(&report, context)?;
        }
        Ok(Exit::Done)
    }
}

impl TableReport {
    fn of(layout: &Layout, table: usize) -> Self {
        Self { cell_order: layout.order(table).to_vec(), bit_order: bit_order(layout, table) }
    }
}

/// Returns the bits of the fingerprint in the order in which they sort a table.
fn bit_order(layout: &Layout, table: usize) -> Vec<u32> {
    let cells = layout.cells();
    let cell_bits = |&cell: &u16| {
        let cell = usize::from(cell);
        let above: u32 = cells[..cell].iter().map(|&width| u32::from(width)).sum();
        let top = layout.bits() - above;
        (top - u32::from(cells[cell])..top).rev()
    };
    layout.order(table).iter().flat_map(cell_bits).collect()
}

/// Returns the files in the folder, sorted by name.
fn files(path: &Path) -> Result<Vec<FileReport>> {
    let list = || -> std::io::Result<Vec<FileReport>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            match entry.metadata() {
                Ok(metadata) => files.push(FileReport { name, bytes: metadata.len() }),
                // A writer may delete a file that it no longer needs at any time.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        files.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(files)
    };
    list().with_context(|| format!("cannot list {}", path.display()))
}

fn print(report: &Report, context: &mut Context<'_>) -> Result<()> {
    let out = &mut *context.out;
    let Description { bits, max_distance, .. } = report.description;
    let description = &report.description;
    let (major, minor) = description.format_version;
    let or_none = |name: &Option<String>| name.clone().unwrap_or_else(|| "none".to_owned());
    output::rows(
        out,
        &[
            ("format", format!("{major}.{minor}")),
            ("fingerprints", format!("{bits} bits, max distance {max_distance}")),
            ("ids", description.ids.to_string()),
            ("recipe", or_none(&description.recipe)),
            ("extraction", or_none(&description.extraction)),
            ("block size", iec(description.block_size as u64)),
            ("layout", description.layout.to_string()),
            ("cells", format!("{} bits", list(&report.cells))),
        ],
    )?;
    writeln!(out)?;
    let tables = report.tables.iter().enumerate();
    let tables: Vec<_> = tables
        .map(|(i, table)| [i.to_string(), list(&table.cell_order), ranges(&table.bit_order)])
        .collect();
    output::table(out, ["table", "cells", "bits"], &tables)?;
    writeln!(out)?;
    let segments: Vec<_> = report
        .segments
        .iter()
        .map(|s| {
            [s.id.to_string(), s.entries.to_string(), s.fingerprints.to_string(), iec(s.bytes)]
        })
        .collect();
    output::table(out, ["segment", "entries", "fingerprints", "size"], &segments)?;
    writeln!(out)?;
    let files: Vec<_> = report.files.iter().map(|f| [f.name.clone(), iec(f.bytes)]).collect();
    output::table(out, ["file", "size"], &files)?;
    Ok(())
}

fn list<T: ToString>(items: &[T]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// Formats bits as descending ranges: `31..0 63..32`.
fn ranges(bits: &[u32]) -> String {
    let runs = bits.chunk_by(|a, b| *a == b + 1);
    runs.map(|run| format!("{}..{}", run[0], run[run.len() - 1])).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bit_order_follows_the_order_of_the_cells() {
        let layout = Layout::preset("half-2", 64).unwrap();
        assert_eq!(ranges(&bit_order(&layout, 0)), "63..0");
        assert_eq!(ranges(&bit_order(&layout, 1)), "31..0 63..32");
    }
}
