//! `stats`

mod bits;

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use fpdb::{Description, Fingerprint, Ids, Options, ReadOnlyDb, Snapshot, Stats, Word};
use serde::Serialize;

use crate::args::database::{self, SKETCH_BITS, by_width, by_word};
use crate::args::memory::MemoryArgs;
use crate::output::failure::Exit;
use crate::output::progress;
use crate::output::{self, Context, iec};
use bits::{Bits, Survey};

const EXAMPLE: &str = "\
Examples:
  fpdb-tool stats crawl.fpdb
  fpdb-tool stats crawl.fpdb --bits";

/// Shows the number of entries and the space they take
///
/// The bits per fingerprint per table are computed from the sizes of the segments' table files. The
/// entropy bound is the least that any encoding of the same number of uniformly random fingerprints
/// can take.
///
/// With --bits, also looks for bits of the fingerprints that carry no information, and for the
/// fingerprint that most entries share. Bits are judged by up to 131,072 distinct fingerprints,
/// chosen at random.
/// A bit is constant if it is the same in 99 % of them, a copy if it is equal or opposite to a lower
/// bit in 99 % of them, and biased if it is set in less than a quarter or more than three quarters.
/// The exit code is 1 if one bit in eight is constant or a copy, as after a hash of half the width.
/// Databases of sketches have no such bits.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    path: PathBuf,

    /// Read all fingerprints, and judge their bits
    #[arg(long)]
    bits: bool,

    #[command(flatten)]
    memory: MemoryArgs,
}

/// `fpdb.stats/1`: the library's statistics, under their names there. Sizes are in bytes.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    stats: Stats,
    #[serde(flatten)]
    quality: Option<Quality>,
}

/// What `--bits` adds.
#[derive(Serialize)]
struct Quality {
    bit_quality: Bits,
    /// The fingerprint of most entries.
    hottest: Option<Hottest>,
}

#[derive(Serialize)]
struct Hottest {
    fingerprint: String,
    entries: u64,
    /// An entry with this fingerprint.
    id: u64,
    name: Option<String>,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        let description = fpdb::Description::read(&self.path)?;
        let bits = description.bits;
        if self.bits && bits == SKETCH_BITS {
            bail!("--bits judges fingerprints, and this database has sketches: leave it out");
        }
        let stats = by_width!(bits, |options| self.open(options)?.stats());
        let mut report = Report { stats, quality: None };
        if self.bits {
            report.quality = Some(by_word!(bits, |options| self.judge(options, context)?));
        }
        if context.json {
            context.report("fpdb.stats/1", &report)?;
        } else {
            let quality = report.quality.iter().flat_map(Quality::rows);
            let rows = rows(&report.stats, &description);
            output::rows(context.out, &rows.into_iter().chain(quality).collect::<Vec<_>>())?;
        }
        let is_faulty = report.quality.is_some_and(|quality| quality.bit_quality.is_faulty());
        Ok(if is_faulty { Exit::CheckFailed } else { Exit::Done })
    }

    fn open<F: Fingerprint>(&self, options: Options<F>) -> fpdb::Result<ReadOnlyDb<F>> {
        self.memory.apply(options.index_memory(0)).open_read_only(&self.path)
    }

    fn judge<F: Word>(&self, options: Options<F>, context: &Context<'_>) -> Result<Quality> {
        let db = self.open(options)?;
        let bar = progress::working(context, "reading entries");
        let quality = Quality::of(&db.snapshot(), db.description().ids);
        bar.finish_and_clear();
        quality.with_context(|| format!("cannot read {}", self.path.display()))
    }
}

impl Quality {
    fn of<F: Word>(snapshot: &Snapshot<F>, ids: Ids) -> Result<Self> {
        let mut survey = Survey::new();
        for entry in snapshot.iter() {
            survey.add(entry?);
        }
        let name = |id| if ids == Ids::Names { snapshot.name(id) } else { Ok(None) };
        let hottest = survey.hottest.map(|group| {
            anyhow::Ok(Hottest {
                fingerprint: group.fingerprint.to_hex(),
                entries: group.entries,
                id: group.example.0,
                name: name(group.example)?,
            })
        });
        Ok(Self { bit_quality: survey.bits(), hottest: hottest.transpose()? })
    }

    fn rows(&self) -> Vec<(&'static str, String)> {
        let hottest = self.hottest.as_ref().map(|Hottest { fingerprint, entries, id, name }| {
            let example = name.clone().unwrap_or_else(|| id.to_string());
            format!("{fingerprint}, in {entries} entries, such as {example}")
        });
        let mut rows = self.bit_quality.rows();
        rows.push(("most frequent", hottest.unwrap_or_else(|| "none".to_owned())));
        rows
    }
}

fn rows(stats: &Stats, description: &Description) -> Vec<(&'static str, String)> {
    let keys = database::keys(&description.rule);
    let keeps_documents = stats.ids != Ids::User;
    let mut rows = vec![("entries", stats.entries.to_string())];
    if keeps_documents {
        let duplicates = stats.duplicates;
        rows.push(("documents", format!("{} ({duplicates} duplicates)", stats.documents)));
    }
    rows.push(("ids", stats.ids.to_string()));
    match &keys {
        Some(keys) => rows.extend([
            ("fingerprints", "sketches".to_owned()),
            ("match rule", description.rule.to_string()),
            ("keys", keys.clone()),
        ]),
        None => rows.extend([
            ("fingerprints", format!("{} bits", stats.bits)),
            ("max distance", stats.max_distance.to_string()),
            ("layout", format!("{} ({} tables)", stats.layout, stats.tables)),
            ("block size", iec(stats.block_size as u64)),
        ]),
    }
    rows.extend([
        ("recipe", stats.recipe.clone().unwrap_or_else(|| "none".to_owned())),
        ("extraction", stats.extraction.clone().unwrap_or_else(|| "none".to_owned())),
        ("segments", stats.segments.len().to_string()),
        ("on disk", iec(stats.bytes_total)),
    ]);
    match keys {
        Some(_) => rows.push(("  keys", per_document(stats.bytes_tables, stats))),
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
