//! `stats`

use std::path::PathBuf;

use anyhow::Result;
use fpdb::{Ids, SegmentStats, Stats};
use serde::Serialize;

use crate::database::{by_width, format_version, id_kind};
use crate::failure::Exit;
use crate::output::{self, Context, iec};

const EXAMPLE: &str = "\
Example:
  fpdb-tool stats crawl.fpdb";

/// Shows the number of entries and the space they take
///
/// The bits per fingerprint per table are computed from the sizes of the segments' table files. The
/// entropy bound is the least that any encoding of the same number of uniformly random fingerprints
/// can take.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    path: PathBuf,
}

/// `fpdb.stats/1`. Sizes are in bytes.
#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    format_version: String,
    bits: u32,
    ids: &'static str,
    max_distance: u32,
    layout: &'a str,
    tables: usize,
    block_size: usize,
    code: &'static str,
    recipe: Option<&'a str>,
    extraction: Option<&'a str>,
    entries: u64,
    fingerprints: u64,
    documents: u64,
    duplicates: u64,
    removed: u64,
    segments: usize,
    bytes_total: u64,
    bytes_tables: u64,
    bytes_ids: u64,
    bytes_documents: u64,
    bytes_names: u64,
    bytes_tombstones: u64,
    bytes_log: u64,
    bits_per_fingerprint_per_table: f64,
    entropy_bound_bits: f64,
    bits_per_id: f64,
    ids_bound_bits: f64,
    index_memory_bytes: u64,
    index_budget_bytes: u64,
    index_loaded_bytes: u64,
    page_budget_bytes: u64,
    page_memory_bytes: u64,
    memtable_entries: usize,
    memtable_bytes: usize,
    bytes_flushed: u64,
    bytes_compacted: u64,
    write_amplification: f64,
    segment_list: Vec<Segment>,
    background_error: Option<&'a str>,
}

#[derive(Serialize)]
struct Segment {
    id: u64,
    entries: u64,
    fingerprints: u64,
    removed: u64,
    bytes: u64,
}

impl From<&SegmentStats> for Segment {
    fn from(s: &SegmentStats) -> Self {
        Self {
            id: s.id,
            entries: s.entries,
            fingerprints: s.fingerprints,
            removed: s.removed,
            bytes: s.bytes,
        }
    }
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        let description = fpdb::Description::read(&self.path)?;
        let stats = by_width!(description.bits, |options| options
            .index_memory(0)
            .open_read_only(&self.path)?
            .stats());
        if context.json {
            output::json_line(context.out, &report(&stats))?;
        } else {
            output::rows(context.out, &rows(&stats))?;
        }
        Ok(Exit::Done)
    }
}

fn report(stats: &Stats) -> Report<'_> {
    Report {
        schema: "fpdb.stats/1",
        format_version: format_version(stats.format_version),
        bits: stats.bits,
        ids: id_kind(stats.ids),
        max_distance: stats.max_distance,
        layout: &stats.layout,
        tables: stats.tables,
        block_size: stats.block_size,
        code: stats.code.name(),
        recipe: stats.recipe.as_deref(),
        extraction: stats.extraction.as_deref(),
        entries: stats.entries,
        fingerprints: stats.fingerprints,
        documents: stats.documents,
        duplicates: stats.duplicates,
        removed: stats.removed,
        segments: stats.segments.len(),
        bytes_total: stats.bytes_total,
        bytes_tables: stats.bytes_tables,
        bytes_ids: stats.bytes_ids,
        bytes_documents: stats.bytes_documents,
        bytes_names: stats.bytes_names,
        bytes_tombstones: stats.bytes_tombstones,
        bytes_log: stats.bytes_log,
        bits_per_fingerprint_per_table: stats.bits_per_fingerprint_per_table,
        entropy_bound_bits: stats.entropy_bound_bits,
        bits_per_id: stats.bits_per_id,
        ids_bound_bits: stats.ids_bound_bits,
        index_memory_bytes: stats.index_memory_bytes,
        index_budget_bytes: stats.index_budget_bytes,
        index_loaded_bytes: stats.index_loaded_bytes,
        page_budget_bytes: stats.page_budget_bytes,
        page_memory_bytes: stats.page_memory_bytes,
        memtable_entries: stats.memtable_entries,
        memtable_bytes: stats.memtable_bytes,
        bytes_flushed: stats.bytes_flushed,
        bytes_compacted: stats.bytes_compacted,
        write_amplification: stats.write_amplification,
        segment_list: stats.segments.iter().map(Segment::from).collect(),
        background_error: stats.background_error.as_deref(),
    }
}

fn rows(stats: &Stats) -> Vec<(&'static str, String)> {
    let keeps_documents = stats.ids != Ids::User;
    let mut rows = vec![("entries", stats.entries.to_string())];
    if keeps_documents {
        let duplicates = stats.duplicates;
        rows.push(("documents", format!("{} ({duplicates} duplicates)", stats.documents)));
    }
    rows.extend([
        ("fingerprints", format!("{} of {} bits", stats.fingerprints, stats.bits)),
        ("ids", id_kind(stats.ids).to_owned()),
        ("max distance", stats.max_distance.to_string()),
        ("layout", format!("{} ({} tables)", stats.layout, stats.tables)),
        ("block size", iec(stats.block_size as u64)),
        ("block code", stats.code.name().to_owned()),
        ("recipe", stats.recipe.clone().unwrap_or_else(|| "none".to_owned())),
        ("extraction", stats.extraction.clone().unwrap_or_else(|| "none".to_owned())),
        ("segments", stats.segments.len().to_string()),
        ("on disk", iec(stats.bytes_total)),
        ("  tables", tables(stats)),
        ("  ids", ids(stats)),
    ]);
    if keeps_documents {
        rows.push(("  documents", per_document(stats.bytes_documents, stats)));
    }
    if stats.ids == Ids::Names {
        rows.push(("    names", per_document(stats.bytes_names, stats)));
    }
    rows.extend([
        ("  tombstones", iec(stats.bytes_tombstones)),
        ("  logs", iec(stats.bytes_log)),
        ("index memory", iec(stats.index_memory_bytes)),
        (
            "memtable",
            format!("{} entries, {}", stats.memtable_entries, iec(stats.memtable_bytes as u64)),
        ),
    ]);
    if stats.bytes_flushed > 0 {
        rows.push(("written", written(stats)));
    }
    if let Some(error) = &stats.background_error {
        rows.push(("failed", error.clone()));
    }
    rows
}

fn written(stats: &Stats) -> String {
    format!(
        "{} by flush, {} by compaction: each byte {:.1} times",
        iec(stats.bytes_flushed),
        iec(stats.bytes_compacted),
        stats.write_amplification
    )
}

/// Returns a size, also per document unless some documents are only in the log.
fn per_document(bytes: u64, stats: &Stats) -> String {
    let size = iec(bytes);
    if bytes == 0 || stats.documents == 0 || stats.memtable_entries > 0 {
        return size;
    }
    format!("{size}: {:.1} bytes per document", bytes as f64 / stats.documents as f64)
}

fn tables(stats: &Stats) -> String {
    let size = iec(stats.bytes_tables);
    if stats.segments.is_empty() {
        return size;
    }
    format!(
        "{size}: {:.2} bits per fingerprint per table (entropy bound {:.2})",
        stats.bits_per_fingerprint_per_table, stats.entropy_bound_bits
    )
}

fn ids(stats: &Stats) -> String {
    let size = iec(stats.bytes_ids);
    if stats.segments.is_empty() {
        return size;
    }
    format!(
        "{size}: {:.2} bits per id (bound {:.2} in random order)",
        stats.bits_per_id, stats.ids_bound_bits
    )
}
