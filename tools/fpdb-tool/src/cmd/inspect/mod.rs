//! `inspect`

mod bits;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use fpdb::reports::SegmentStats;
use fpdb::{Description, Layout};
use serde::Serialize;

use crate::args::database::{self, SKETCH_BITS, by_width};
use crate::output::failure::Exit;
use crate::output::{self, Context, iec};
use bits::{bit_order, ranges};

const EXAMPLE: &str = "\
Example:
  fpdb-tool inspect crawl.fpdb";

/// Shows the format, the layout, the segments and the files of a database
///
/// A table is sorted by its cells in the order shown. Cell 0 has the leading bits of the
/// fingerprint, and table 0 has the cells in ascending order. A database of sketches has a table of
/// each key instead.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    path: PathBuf,
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
        let segments = by_width!(description.bits, |options| {
            options.index_memory(0).open_read_only(&self.path)?.stats().segments
        });
        let layout = Some(&description.layout).filter(|_| description.bits != SKETCH_BITS);
        let tables = layout.map_or(0, Layout::tables);
        let report = Report {
            cells: layout.map(|layout| layout.cells().to_vec()).unwrap_or_default(),
            tables: (0..tables).map(|n| TableReport::of(&description.layout, n)).collect(),
            segments,
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
    fn of(layout: &Layout, table: usize) -> Self {
        Self { cell_order: layout.order(table).to_vec(), bit_order: bit_order(layout, table) }
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
            [s.id.to_string(), s.entries.to_string(), s.fingerprints.to_string(), iec(s.bytes)]
        })
        .collect();
    output::table(out, ["segment", "entries", "fingerprints", "size"], &segments)?;
    writeln!(out)?;
    let files: Vec<_> = report.files.iter().map(|f| [f.name.clone(), iec(f.bytes)]).collect();
    output::table(out, ["file", "size"], &files)?;
    Ok(())
}

fn settings(report: &Report) -> Vec<(&'static str, String)> {
    let description = &report.description;
    let Description { bits, max_distance, rule, .. } = description;
    let (major, minor) = description.format_version;
    let or_none = |name: &Option<String>| name.clone().unwrap_or_else(|| "none".to_owned());
    let keys = database::keys(rule);
    let stored = match keys {
        Some(_) => ("sketches", rule.to_string()),
        None => ("fingerprints", format!("{bits} bits, max distance {max_distance}")),
    };
    let mut rows = vec![
        ("format", format!("{major}.{minor}")),
        stored,
        ("ids", description.ids.to_string()),
        ("recipe", or_none(&description.recipe)),
        ("extraction", or_none(&description.extraction)),
    ];
    match keys {
        Some(keys) => rows.push(("keys", keys)),
        None => rows.extend([
            ("block size", iec(description.block_size as u64)),
            ("layout", description.layout.to_string()),
            ("cells", format!("{} bits", list(&report.cells))),
        ]),
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
