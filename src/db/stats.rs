//! What a database is made of, in numbers.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::core::Core;
use crate::codec::block_code::BlockCode;
use crate::fingerprint::Fingerprint;
use crate::manifest::Manifest;
use crate::paged::FileSummary;
use crate::segment::{Segment, SegmentMeta};
use crate::settings::{Ids, Settings};
use crate::table::Table;
use crate::version::Version;

/// A database in numbers. Sizes are bytes.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Live entries, exactly.
    pub entries: u64,
    /// Rows of a table over all segments: different fingerprints, counted again in each segment
    /// that has them and until compaction where all entries were removed. Without recent ones.
    pub fingerprints: u64,
    /// Tombstones not yet compacted away.
    pub removed: u64,
    /// Segments, oldest first.
    pub segments: Vec<SegmentStats>,
    /// Tables of the layout.
    pub tables: usize,
    /// All files together.
    pub bytes_total: u64,
    /// Table files, with their keys, checksums and filters.
    pub bytes_tables: u64,
    /// Postings: the ids.
    pub bytes_ids: u64,
    /// Document names.
    pub bytes_names: u64,
    /// Tombstones.
    pub bytes_tombstones: u64,
    /// Live append logs.
    pub bytes_log: u64,
    /// Table bits over rows and tables; 0 without rows. Raw fingerprints would take their width.
    pub bits_per_fingerprint_per_table: f64,
    /// The same for the best code of a random set of this size: width - log2(rows) + 1.443.
    pub entropy_bound_bits: f64,
    /// What should be in memory for fast answers: keys, filters, marks of checked pages.
    pub index_memory_bytes: u64,
    /// Recent changes in memory.
    pub memtable_entries: usize,
    /// About what they occupy.
    pub memtable_bytes: usize,
    /// The layout's name.
    pub layout: String,
    /// The recipe, if the database has one.
    pub recipe: Option<String>,
    /// Kind of document ids.
    pub ids: Ids,
    /// Width of fingerprints.
    pub bits: u32,
    /// The database's distance.
    pub max_distance: u32,
    /// Bytes of a block of new segments.
    pub block_size: usize,
    /// Code of the blocks of new segments.
    pub code: BlockCode,
    /// Bytes of the segments that recent entries were ever written as. Bulk loads do not count.
    pub bytes_flushed: u64,
    /// Bytes of the segments that compaction ever wrote.
    pub bytes_compacted: u64,
    /// How often each byte was written: bytes flushed and compacted over bytes flushed; 0 before the
    /// first flush.
    pub write_amplification: f64,
    /// How long writers have waited for flush and compaction since the database was opened.
    pub stalled: Duration,
    /// Counts changes of the set of files.
    pub generation: u64,
    /// What went wrong in the background last, unless it has succeeded since.
    pub background_error: Option<String>,
}

/// A segment in numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SegmentStats {
    /// Its number, which its files' names begin with.
    pub id: u64,
    /// Entries, of which newer segments may have removed some.
    pub entries: u64,
    /// Different fingerprints.
    pub fingerprints: u64,
    /// Entries of older segments that it removes.
    pub removed: u64,
    /// Bytes of all its files.
    pub bytes: u64,
    /// Its files with their sizes.
    pub files: Vec<(String, u64)>,
    /// Its tables, in the order of the layout.
    pub tables: Vec<TableStats>,
}

/// The file of a table in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableStats {
    /// Bytes of the file. What is in none of its parts is header, checksums and footer.
    pub bytes: u64,
    /// Of these, the blocks.
    pub bytes_blocks: u64,
    /// The index: keys of the blocks, and the directory over them.
    pub bytes_index: u64,
    /// The prefix filter; 0 without.
    pub bytes_filter: u64,
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
            tables: segment.tables().iter().zip(&meta.tables).map(TableStats::of).collect(),
        }
    }
}

impl TableStats {
    fn of<F: Fingerprint>((table, file): (&Table<F>, &FileSummary)) -> Self {
        let (bytes_blocks, bytes_index, bytes_filter) = table.part_sizes();
        Self { bytes: file.len, bytes_blocks, bytes_index, bytes_filter }
    }
}

impl Stats {
    /// Of a version and the files that it stands for.
    pub(super) fn gather<F: Fingerprint>(
        settings: &Settings,
        version: &Version<F>,
        entries: u64,
        manifest: &Manifest,
        bytes_log: u64,
    ) -> Self {
        let metas = || version.segments.iter().map(|s| s.meta());
        let sum = |of: &dyn Fn(&SegmentMeta) -> u64| metas().map(of).sum::<u64>();
        let bytes_tables = sum(&|m| m.tables.iter().map(|file| file.len).sum());
        let bytes_ids = sum(&|m| m.postings.len);
        let bytes_names = sum(&|m| m.names.map_or(0, |file| file.len));
        let bytes_tombstones = sum(&|m| m.tombstones.map_or(0, |file| file.len));
        let (rows, tables) = (sum(&|m| m.fingerprints), settings.layout.tables());
        Self {
            entries,
            fingerprints: rows,
            removed: sum(&|m| m.removed),
            segments: version.segments.iter().map(|s| SegmentStats::of(s)).collect(),
            tables,
            bytes_total: bytes_tables + bytes_ids + bytes_names + bytes_tombstones + bytes_log,
            bytes_tables,
            bytes_ids,
            bytes_names,
            bytes_tombstones,
            bytes_log,
            bits_per_fingerprint_per_table: share(bytes_tables * 8, rows * tables as u64),
            entropy_bound_bits: entropy_bound(settings.layout.bits(), rows),
            index_memory_bytes: version.segments.iter().map(|s| s.index_memory()).sum(),
            memtable_entries: version.memtables().map(|m| m.len()).sum(),
            memtable_bytes: version.memtables().map(|m| m.memory()).sum(),
            layout: settings.layout.name().to_owned(),
            recipe: settings.recipe.clone(),
            ids: settings.ids,
            bits: settings.layout.bits(),
            max_distance: settings.max_distance,
            block_size: settings.block_size,
            code: settings.code,
            bytes_flushed: manifest.bytes_flushed,
            bytes_compacted: manifest.bytes_compacted,
            write_amplification: share(
                manifest.bytes_flushed + manifest.bytes_compacted,
                manifest.bytes_flushed,
            ),
            stalled: Duration::ZERO,
            generation: manifest.generation,
            background_error: None,
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

impl<F: Fingerprint> Core<F> {
    pub(super) fn stats(&self, entries: u64, version: &Version<F>) -> Stats {
        let log = self.log_bytes.load(Relaxed);
        let manifest = super::core::lock(&self.manifest).clone();
        let mut stats = Stats::gather(&self.settings, version, entries, &manifest, log);
        stats.stalled = Duration::from_nanos(self.stalled.load(Relaxed));
        stats.background_error = self.signals.message();
        stats
    }
}

/// What can be learnt of a database from its manifest alone, whatever its width.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Description {
    /// Width of fingerprints: 64 or 128.
    pub bits: u32,
    /// Kind of document ids.
    pub ids: Ids,
    /// The recipe, if the database has one.
    pub recipe: Option<String>,
    /// The layout.
    pub layout: crate::Layout,
    /// The database's distance.
    pub max_distance: u32,
    /// Bytes of a block of new segments.
    pub block_size: usize,
    /// Code of the blocks of new segments.
    pub code: BlockCode,
    /// Bits a fingerprint of the prefix filters; 0 without.
    pub filter_bits: u32,
    /// Version of the format, major and minor.
    pub format_version: (u16, u16),
    /// Counts changes of the set of files.
    pub generation: u64,
}

impl Description {
    pub(super) fn of(manifest: Manifest) -> Self {
        let settings = manifest.settings;
        Self {
            bits: settings.layout.bits(),
            ids: settings.ids,
            recipe: settings.recipe,
            layout: settings.layout,
            max_distance: settings.max_distance,
            block_size: settings.block_size,
            code: settings.code,
            filter_bits: settings.filter_bits,
            format_version: (crate::codec::header::MAJOR, crate::codec::header::MINOR),
            generation: manifest.generation,
        }
    }
}
