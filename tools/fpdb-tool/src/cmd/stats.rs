//! `stats`

use std::path::PathBuf;

use anyhow::Result;
use fpdb::{Description, Ids, Stats};

use crate::args::database::{self, by_width};
use crate::args::memory::MemoryArgs;
use crate::output::failure::Exit;
use crate::output::{self, Context, iec};

const EXAMPLE: &str = "\
Example:
  fpdb-tool stats crawl.fpdb";

/// Shows the number of entries and the space they take
///
/// The bits per fingerprint per table are computed from the sizes of the segments' table files, and
/// compared with what fingerprints take without compression. The
/// entropy bound is the least that any encoding of the same number of uniformly random fingerprints
/// can take.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    path: PathBuf,

    #[command(flatten)]
    memory: MemoryArgs,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        let description = fpdb::Description::read(&self.path)?;
        let stats = by_width!(description.bits, |options| {
            let options = self.memory.apply(options.index_memory(0));
            options.open_read_only(&self.path)?.stats()
        });
        if context.json {
            context.report("fpdb.stats/1", &stats)?;
        } else {
            output::rows(context.out, &rows(&stats, &description))?;
        }
        Ok(Exit::Done)
    }
}

fn rows(stats: &Stats, description: &Description) -> Vec<(&'static str, String)> {
    let bands = database::bands(&description.rule);
    let keeps_documents = stats.ids != Ids::User;
    let mut rows = vec![("entries", stats.entries.to_string())];
    if keeps_documents {
        let duplicates = stats.duplicates;
        rows.push(("documents", format!("{} ({duplicates} duplicates)", stats.documents)));
    }
    rows.push(("purpose", database::purpose(description)));
    rows.push(("ids", stats.ids.to_string()));
    match &bands {
        Some(bands) => rows.extend([
            ("fingerprints", "sketches".to_owned()),
            ("match rule", description.rule.to_string()),
            ("bands", bands.clone()),
        ]),
        None => rows.extend([
            ("fingerprints", format!("{} bits", stats.bits)),
            ("max distance", stats.max_distance.to_string()),
        ]),
    }
    if let (Some(layout), Some(bytes)) = (&stats.layout, stats.block_size) {
        rows.push(("layout", format!("{layout} ({} tables)", stats.tables)));
        rows.push(("block size", iec(bytes as u64)));
    }
    rows.extend([
        ("recipe", stats.recipe.clone().unwrap_or_else(|| "none".to_owned())),
        ("extraction", stats.extraction.clone().unwrap_or_else(|| "none".to_owned())),
        ("segments", stats.segments.len().to_string()),
        ("on disk", iec(stats.bytes_total)),
    ]);
    match bands {
        Some(_) => rows.push(("  bands", per_document(stats.bytes_tables, stats))),
        None => rows.extend([("  tables", tables(stats)), ("  ids", ids(stats))]),
    }
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
    let bits = stats.bits_per_fingerprint_per_table;
    format!(
        "{size}: {bits:.2} bits per fingerprint per table, {:.2} of raw (entropy bound {:.2})",
        bits / f64::from(stats.bits),
        stats.entropy_bound_bits
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
