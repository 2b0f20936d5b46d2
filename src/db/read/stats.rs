//! Statistics about a database.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use crate::base::parallel::lock;
use crate::db::state::core::Core;
use crate::db::state::index_loader::IndexLoader;
use crate::file::paged::{FileSummary, Paged};
use crate::fingerprint::Ids;
use crate::fingerprint::{Fingerprint, Word};
use crate::index::bands::BandTable;
use crate::index::prediction::Prediction;
use crate::index::tables::table::Table;
use crate::query::QueryStats;
use crate::settings::{IndexSettings, PassageSettings, Settings};
use crate::store::manifest::Manifest;
use crate::store::segment::{IndexFiles, Loadable, Part, Segment, SegmentMeta};
use crate::store::version::Version;

/// Statistics about a database; see [`Db::stats`](crate::Db::stats). Sizes are in bytes.
///
/// # Examples
///
/// ```
/// # let db = fpdb::Db::options().in_memory()?;
/// db.insert(7, 1)?;
/// db.insert(7, 2)?;
/// db.flush()?;
/// let stats = db.stats();
/// assert_eq!((stats.entries, stats.rows), (2, 1));
/// println!("{} bytes, {} segments", stats.bytes_total, stats.segments.len());
/// let segment = &stats.segments[0];
/// assert_eq!(segment.bytes, segment.files.iter().map(|(_, bytes)| bytes).sum());
/// let table = &segment.tables[0];
/// assert!(table.bytes > table.bytes_blocks + table.bytes_index + table.bytes_filter);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Stats {
    /// Exact number of entries.
    pub entries: u64,
    /// Number of rows that each table has, over all segments. A fingerprint counts once per segment
    /// that has it, and until compaction it counts even if all its entries were removed. Entries in
    /// memory do not count.
    pub rows: u64,
    /// Number of tombstones that compaction has not dropped yet.
    pub removed: u64,
    /// The segments, oldest first.
    pub segments: Vec<SegmentStats>,
    /// Number of tables in the layout.
    pub tables: usize,
    /// Size of all files.
    pub bytes_total: u64,
    /// Size of the table files, with their keys, checksums and filters.
    pub bytes_tables: u64,
    /// Size of the postings, which hold the ids.
    pub bytes_ids: u64,
    /// Exact number of documents, with remembered duplicates; 0 in a database with user ids, which
    /// keeps none.
    pub documents: u64,
    /// Number of these that are duplicates of others, and so have no entry.
    pub duplicates: u64,
    /// Size of the files of documents.
    pub bytes_documents: u64,
    /// The part of these that holds the names, and finds documents by name and by id.
    pub bytes_names: u64,
    /// Size of the tombstones.
    pub bytes_tombstones: u64,
    /// Size of the live logs.
    pub bytes_log: u64,
    /// Bits of the table files per fingerprint, per table; 0 without fingerprints. Without
    /// compression, this would be the width.
    pub bits_per_fingerprint_per_table: f64,
    /// The same for the best possible code of a random set of this size:
    /// width - log2(fingerprints) + 1.443.
    pub entropy_bound_bits: f64,
    /// Bits of the postings per id that they hold; 0 without ids.
    pub bits_per_id: f64,
    /// The same for the best possible code of ids that are the numbers below their count in random
    /// order: log2(count) - 1.443.
    pub ids_bound_bits: f64,
    /// Size of what should be in memory for fast answers: directories, filters, the checksums of
    /// pages, the bitmaps of pages in memory, and the fingerprints of small segments.
    pub index_memory_bytes: u64,
    /// How many bytes of memory copies of directories, filters and small segments may take; see
    /// [`Options::index_memory`](crate::Options::index_memory).
    pub index_budget_bytes: u64,
    /// How many they take.
    pub index_loaded_bytes: u64,
    /// How many bytes of memory the pages of files may take; see
    /// [`Options::page_memory`](crate::Options::page_memory).
    pub page_budget_bytes: u64,
    /// How many they take, with those that earlier snapshots keep, and with memory that is set
    /// aside for entire files.
    pub page_memory_bytes: u64,
    /// Number of recent changes in memory.
    pub memtable_entries: usize,
    /// About how much memory they take.
    pub memtable_bytes: usize,
    /// Name of the layout; `None` in a database of sketches.
    pub layout: Option<String>,
    /// The recipe, if the database has one.
    pub recipe: Option<String>,
    /// The extraction, if the database has one.
    pub extraction: Option<String>,
    /// Whether documents are numbered by the caller or named.
    pub ids: Ids,
    /// Width of fingerprints in bits.
    pub bits: u32,
    /// The distance that the database was created for.
    pub max_distance: u32,
    /// Bytes per block of new segments; `None` in a database of sketches.
    pub block_size: Option<usize>,
    /// Version of the format, major and minor.
    #[cfg_attr(feature = "serde", serde(serialize_with = "serialize::version"))]
    pub format_version: (u16, u16),
    /// Bytes of all segments that flushes have written since the database was created. Bulk loads
    /// do not count.
    pub bytes_flushed: u64,
    /// Bytes of all segments that compaction has written since then.
    pub bytes_compacted: u64,
    /// How often each byte was written: bytes flushed and compacted, divided by bytes flushed; 0
    /// before the first flush.
    pub write_amplification: f64,
    /// How long writers have waited for flush and compaction since the database was opened.
    #[cfg_attr(
        feature = "serde",
        serde(rename = "stalled_seconds", serialize_with = "serialize::seconds")
    )]
    pub stalled: Duration,
    /// How many commits were refused with [`NoSpace`](crate::ErrorKind::NoSpace) since the database
    /// was opened. A commit that is tried again counts again.
    pub refused_writes: u64,
    /// What the queries of this handle and of its snapshots have read.
    pub queries: QueryStats,
    /// Number of changes to the set of files.
    pub generation: u64,
    /// Why the handle accepts no more writes, if it does not: a write failed, or it was closed.
    pub write_error: Option<String>,
    /// The last failure of flush, compaction or the copying of indexes to memory in the background,
    /// unless it has succeeded since.
    pub background_error: Option<String>,
}

/// Statistics about a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SegmentStats {
    /// Its number, with which the names of its files begin.
    pub id: u64,
    /// Number of entries. Newer segments may have removed some of them.
    pub entries: u64,
    /// Number of different fingerprints.
    pub fingerprints: u64,
    /// Number of entries in older segments that it removes.
    pub removed: u64,
    /// Size of all its files.
    pub bytes: u64,
    /// Names and sizes of its files.
    #[cfg_attr(feature = "serde", serde(serialize_with = "serialize::map"))]
    pub files: Vec<(String, u64)>,
    /// Its tables, in the order of the layout: those of blocks, or those of bands.
    pub tables: Vec<TableStats>,
}

/// Statistics about the file of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct TableStats {
    /// Size of the file: the parts below, and its header, checksums and footer.
    pub bytes: u64,
    /// Number of blocks; 0 for a table of bands.
    pub blocks: u64,
    /// Size of the blocks; 0 for a table of bands.
    pub bytes_blocks: u64,
    /// Size of the rows; 0 for a table of blocks.
    pub bytes_rows: u64,
    /// Size of the directory, over the block keys or the rows.
    pub bytes_index: u64,
    /// Size of the prefix filter; 0 without one.
    pub bytes_filter: u64,
    /// The lengths of the codewords in bits, by the highest bit in which two neighbours differ,
    /// from the least significant bit on; 0 for a bit without a codeword, nothing for a table of
    /// keys. Not serialized.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub code_lengths: Vec<u8>,
}

impl SegmentStats {
    fn of<F: Fingerprint>(segment: &Segment<F>) -> Self {
        let meta = segment.meta();
        let files: Vec<(String, u64)> =
            meta.files().iter().map(|(name, file)| (name.to_string(), file.len)).collect();
        Self {
            id: meta.id,
            entries: meta.entries,
            fingerprints: meta.fingerprints,
            removed: meta.removed,
            bytes: meta.bytes(),
            files,
            tables: match segment.part() {
                Part::Tables(part) => part.tables().iter().map(TableStats::of).collect(),
                Part::Bands(part) => part.tables().iter().map(TableStats::of_band).collect(),
            },
        }
    }
}

impl TableStats {
    fn of<W: Word>(table: &Table<W>) -> Self {
        let (bytes_blocks, bytes_index, bytes_filter) = table.part_sizes();
        Self {
            bytes: table.file().len(),
            blocks: table.blocks() as u64,
            bytes_blocks,
            bytes_rows: 0,
            bytes_index,
            bytes_filter,
            code_lengths: table.code_lengths(),
        }
    }

    fn of_band(band: &BandTable) -> Self {
        let (bytes_rows, bytes_index) = band.part_sizes();
        let (bytes, code_lengths) = (band.file().len(), Vec::new());
        let (blocks, bytes_blocks, bytes_filter) = (0, 0, 0);
        Self { bytes, blocks, bytes_blocks, bytes_rows, bytes_index, bytes_filter, code_lengths }
    }
}

impl Stats {
    /// Returns the figures of a version and its files.
    pub(crate) fn gather<F: Fingerprint>(
        settings: &Settings,
        version: &Version<F>,
        (entries, documents): (u64, u64),
        manifest: &Manifest,
        bytes_log: u64,
        indexes: &IndexLoader,
    ) -> Self {
        let metas = || version.segments.iter().map(|s| s.meta());
        let sum = |of: &dyn Fn(&SegmentMeta) -> u64| metas().map(of).sum::<u64>();
        let len_of = |files: &[FileSummary]| files.iter().map(|file| file.len).sum();
        let bytes_tables = sum(&|m| match &m.index {
            IndexFiles::Tables(files) => len_of(&files.tables),
            IndexFiles::Bands(files) => len_of(files),
        });
        let tables = |m: &SegmentMeta| match &m.index {
            IndexFiles::Tables(files) => Some((files.postings.len, files.tombstones)),
            IndexFiles::Bands(_) => None,
        };
        let bytes_ids = sum(&|m| tables(m).map_or(0, |(ids, _)| ids));
        let bytes_documents = sum(&|m| m.documents.map_or(0, |documents| documents.file.len));
        let files = version.segments.iter().filter_map(|s| s.documents());
        let bytes_names = files.map(|documents| documents.names_bytes()).sum();
        let bytes_tombstones =
            sum(&|m| tables(m).and_then(|(_, removed)| removed).map_or(0, |file| file.len));
        let ids = sum(&|m| m.entries);
        let (rows, tables) = (sum(&|m| m.fingerprints), settings.index.table_count());
        Self {
            entries,
            rows,
            removed: sum(&|m| m.removed),
            segments: version.segments.iter().map(|s| SegmentStats::of(s)).collect(),
            tables,
            bytes_total: sum(&SegmentMeta::bytes) + bytes_log,
            bytes_tables,
            bytes_ids,
            documents,
            duplicates: if settings.ids.identify_documents() {
                documents.saturating_sub(entries)
            } else {
                0
            },
            bytes_documents,
            bytes_names,
            bytes_tombstones,
            bytes_log,
            bits_per_fingerprint_per_table: share(bytes_tables * 8, rows * tables as u64),
            entropy_bound_bits: entropy_bound(settings.bits(), rows),
            bits_per_id: share(bytes_ids * 8, ids),
            ids_bound_bits: ids_bound(ids),
            index_memory_bytes: version.segments.iter().map(|s| s.index_memory()).sum(),
            index_budget_bytes: indexes.budget(),
            index_loaded_bytes: version.loaded_indexes_len(),
            page_budget_bytes: version.pages.limit(),
            page_memory_bytes: version.pages.used(),
            memtable_entries: version.memtables().map(|m| m.len()).sum(),
            memtable_bytes: version.memtables().map(|m| m.memory()).sum(),
            layout: settings.index.tables().map(|tables| tables.layout.name().to_owned()),
            recipe: settings.recipe.clone(),
            extraction: settings.extraction.clone(),
            ids: settings.ids,
            bits: settings.bits(),
            max_distance: settings.index.rule().distance(),
            block_size: settings.index.tables().map(|tables| tables.block_size),
            format_version: (crate::file::codec::header::MAJOR, crate::file::codec::header::MINOR),
            bytes_flushed: manifest.bytes_flushed,
            bytes_compacted: manifest.bytes_compacted,
            write_amplification: share(
                manifest.bytes_flushed + manifest.bytes_compacted,
                manifest.bytes_flushed,
            ),
            stalled: Duration::ZERO,
            refused_writes: 0,
            write_error: None,
            queries: QueryStats::default(),
            generation: manifest.generation,
            background_error: indexes.failure(),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn share(whole: u64, parts: u64) -> f64 {
    if parts == 0 { 0.0 } else { whole as f64 / parts as f64 }
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn entropy_bound(bits: u32, rows: u64) -> f64 {
    if rows == 0 { 0.0 } else { f64::from(bits) - (rows as f64).log2() + std::f64::consts::LOG2_E }
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn ids_bound(ids: u64) -> f64 {
    // For very few ids, it would be negative.
    if ids == 0 { 0.0 } else { ((ids as f64).log2() - std::f64::consts::LOG2_E).max(0.0) }
}

impl Stats {
    /// Returns the figures of a database that is open for writing.
    pub(crate) fn of_core<F: Fingerprint>(
        core: &Core<F>,
        entries: (u64, u64),
        version: &Version<F>,
    ) -> Self {
        let log = core.log.bytes.load(Relaxed);
        let manifest = lock(&core.manifest).clone();
        Self {
            stalled: Duration::from_nanos(core.stalled.load(Relaxed)),
            refused_writes: core.refused.load(Relaxed),
            queries: core.planner.counters().sum(),
            write_error: core.poison.check().err().map(|error| error.to_string()),
            background_error: core.signals.message().or_else(|| core.indexes.failure()),
            ..Self::gather(&core.settings, version, entries, &manifest, log, &core.indexes)
        }
    }
}

/// What the manifest alone says about a database of any width; see
/// [`read`](Self::read).
///
/// # Examples
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("db");
/// fpdb::Db::options().max_distance(6).create(&path)?.close()?;
/// let found = fpdb::Description::read(&path)?;
/// assert_eq!((found.bits, found.max_distance), (64, 6));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Description {
    /// Width of fingerprints in bits: 64 or 128.
    pub bits: u32,
    /// Whether documents are numbered by the caller or named.
    pub ids: Ids,
    /// The recipe, if the database has one.
    pub recipe: Option<String>,
    /// The extraction, if the database has one.
    pub extraction: Option<String>,
    /// How texts are made into entries, if the database is an index of passages, which only
    /// `passages::Index` writes to.
    pub passages: Option<PassageSettings>,
    /// The tables and their bit orders; `None` in a database of sketches, which has no such tables.
    pub layout: Option<crate::Layout>,
    /// The number of bits beyond which fingerprints never match: the distance of
    /// [`rule`](Self::rule).
    pub max_distance: u32,
    /// Which differences between two fingerprints make them near-duplicates.
    pub rule: crate::MatchRule,
    /// Bytes per block of new segments; `None` in a database of sketches.
    pub block_size: Option<usize>,
    /// Bits per fingerprint of the prefix filters, 0 without filters; `None` in a database of
    /// sketches.
    pub filter_bits: Option<u32>,
    /// Version of the format, major and minor.
    #[cfg_attr(feature = "serde", serde(serialize_with = "serialize::version"))]
    pub format_version: (u16, u16),
    /// Number of changes to the set of files.
    pub generation: u64,
    /// The program that created the database, with its version, such as `fpdb 0.1.0`.
    pub created_by: Option<String>,
    /// The program that opened the database for writing last.
    pub written_by: Option<String>,
    #[cfg_attr(feature = "serde", serde(skip))]
    index: IndexSettings,
}

impl Description {
    /// Predicts the size of a database with this layout and rule, for a number of entries, and the
    /// time of its queries.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::{Db, Layout};
    ///
    /// let of = |layout| -> fpdb::Result<_> {
    ///     let options = Db::options().max_distance(6).layout(Layout::preset(layout, 64)?);
    ///     Ok(options.in_memory()?.description().predict(10_000_000))
    /// };
    /// let (small, fast) = (of("half-2")?, of("ring-4")?);
    /// assert!(small.disk_bytes < fast.disk_bytes && small.query_us > fast.query_us);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    #[must_use]
    pub fn predict(&self, entries: u64) -> Prediction {
        self.index.predict(entries)
    }

    pub(crate) fn of(manifest: Manifest) -> Self {
        let writers = manifest.writers();
        let [created_by, written_by] =
            writers.map_or([None, None], |by| [Some(by.created_by), Some(by.written_by)]);
        let settings = manifest.settings;
        let tables = settings.index.tables();
        Self {
            bits: settings.bits(),
            ids: settings.ids,
            recipe: settings.recipe,
            extraction: settings.extraction,
            passages: settings.passages,
            layout: tables.map(|tables| tables.layout.clone()),
            max_distance: settings.index.rule().distance(),
            rule: settings.index.rule(),
            block_size: tables.map(|tables| tables.block_size),
            filter_bits: tables.map(|tables| tables.filter_bits),
            format_version: (crate::file::codec::header::MAJOR, crate::file::codec::header::MINOR),
            generation: manifest.generation,
            created_by,
            written_by,
            index: settings.index,
        }
    }
}

/// Fields in the forms that people expect in JSON.
#[cfg(feature = "serde")]
mod serialize {
    use std::time::Duration;

    use serde::Serializer;

    pub(super) fn version<S: Serializer>(
        (major, minor): &(u16, u16),
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{major}.{minor}"))
    }

    pub(super) fn seconds<S: Serializer>(
        time: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(time.as_secs_f64())
    }

    pub(super) fn map<S: Serializer>(
        pairs: &[(String, u64)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
    }
}
