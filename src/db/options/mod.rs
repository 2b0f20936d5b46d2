//! The options with which a database is created and opened.

mod matching;
pub(crate) mod mismatch;
pub(crate) mod names;
mod passages;
mod reading;
#[cfg(feature = "sim")]
mod testing;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::base::error::{Error, Result};
use crate::base::progress::{Progress, Watch};
use crate::db::options::names::{ExtractionName, RecipeName};
use crate::file::storage::{Disk, Storage};
use crate::fingerprint::Ids;
use crate::fingerprint::{Fingerprint, Sketch};
use crate::index::bands::Jaccard;
use crate::index::bands::MOST_ROWS;
use crate::index::rule::MatchRule;
use crate::index::tables::layout::{Costs, Layout};
use crate::settings::PassageSettings;

/// Which failures an acknowledged write survives.
///
/// # Examples
///
/// ```
/// use fpdb::{Db, Durability};
/// let db = Db::options().durability(Durability::Buffered).in_memory()?;
/// for id in 0..1000u64 {
///     db.insert(id << 32, id)?; // none of these waits for the disk
/// }
/// db.sync()?; // this makes them all durable
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Durability {
    /// A write returns once it is on the disk. It survives a crash of the process or the system,
    /// and a loss of power. Threads that write at the same time share a sync.
    #[default]
    Sync,
    /// A write returns once the operating system has it. It survives a crash of the process. The
    /// log is synced every second, by [`Db::sync`](crate::Db::sync) and by
    /// [`Db::close`](crate::Db::close). A loss of power destroys what was written after the last
    /// sync, and nothing else. Other processes that read see what has been synced.
    Buffered,
    /// As [`Buffered`](Self::Buffered), with this time between two syncs: a millisecond to a day.
    Every(Duration),
}

impl Durability {
    /// Returns the time between two syncs, if writes do not wait for one.
    pub(crate) fn interval(self) -> Option<Duration> {
        match self {
            Self::Sync => None,
            Self::Buffered => Some(DEFAULT_SYNC_INTERVAL),
            Self::Every(interval) => Some(interval.clamp(SHORTEST_INTERVAL, LONGEST_INTERVAL)),
        }
    }
}

/// Choices that are not stored in the database.
#[derive(Debug, Clone)]
pub(crate) struct Tuning {
    pub(crate) memtable_entries: usize,
    pub(crate) durability: Durability,
    pub(crate) bulk_memory: usize,
    pub(crate) background: bool,
    /// `None` for the default.
    pub(crate) threads: Option<usize>,
    /// `None` for the default.
    pub(crate) index_memory: Option<u64>,
    pub(crate) page_memory: Option<u64>,
    /// `None` for the default.
    pub(crate) candidate_pages: Option<usize>,
    pub(crate) trust_file_system: bool,
    /// The most documents of a segment of sketches.
    pub(crate) most_segment_documents: u64,
}

impl Tuning {
    /// Replaces the default of [`Options::threads`] by a number.
    pub(crate) fn resolved(self, on_disk: bool) -> Self {
        let processors = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = self.threads.unwrap_or_else(|| if on_disk { processors() } else { 1 });
        Self { threads: Some(threads), ..self }
    }

    /// Returns how many pages of documents one query may read, with this much memory for pages.
    pub(crate) fn most_candidate_pages(&self, page_memory: u64) -> usize {
        let default = page_memory / MEMORY_PER_CANDIDATE;
        let default = default.clamp(LEAST_CANDIDATE_PAGES, MOST_CANDIDATE_PAGES);
        self.candidate_pages.unwrap_or(usize::try_from(default).unwrap_or(usize::MAX))
    }
}

/// Options for creating and opening a database. [`Db::options`](crate::Db::options) returns those
/// for 64-bit fingerprints and [`Options::bits128`] those for 128-bit ones.
///
/// *Stored* options are fixed when the database is created. If they are given again when it is
/// opened, they must agree.
///
/// # Examples
///
/// ```
/// use fpdb::{Db, DocId, Durability};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("crawl.fpdb");
/// let db = Db::options()
///     .max_distance(6)
///     .expected_entries(50_000_000)
///     .durability(Durability::Buffered)
///     .open_or_create(path)?;
/// db.insert(0x2c2a_1290_908a_898a, DocId(1))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// With other choices than the default ones:
///
/// ```
/// use std::ops::ControlFlow;
/// use fpdb::{Db, Layout};
/// let db = Db::options()
///     .layout(Layout::preset("ring-3", 64)?)
///     .block_size(1024)
///     .filter_bits(8)
///     .index_memory(64 << 20)
///     .page_memory(256 << 20)
///     .bulk_memory(1 << 30)
///     .background(false) // a flush also compacts, in the thread that calls it
///     .on_progress(|progress| {
///         eprintln!("{}: {} of {:?}", progress.phase, progress.done, progress.total);
///         ControlFlow::Continue(())
///     })
///     .in_memory()?;
/// let (description, stats) = (db.description(), db.stats());
/// assert_eq!((stats.tables, stats.block_size, description.filter_bits), (3, Some(1024), Some(8)));
/// assert_eq!(stats.index_budget_bytes, 64 << 20);
/// assert_eq!(stats.page_budget_bytes, 256 << 20);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Options<F = u64> {
    pub(crate) max_distance: Option<u32>,
    pub(crate) similar: Option<Jaccard>,
    /// The rule itself, for a database with its layout.
    pub(crate) rule: Option<MatchRule>,
    pub(crate) layout: Option<Layout>,
    pub(crate) expected_entries: u64,
    pub(crate) ids: Option<Ids>,
    pub(crate) recipe: Option<String>,
    /// What is wrong with these options, for the call that uses them.
    pub(crate) invalid: Option<Error>,
    pub(crate) extraction: Option<String>,
    /// How the windows of a new index of passages are hashed.
    pub(crate) passages: Option<PassageSettings>,
    /// Whether an index of passages may be opened for writing.
    pub(crate) is_for_index: bool,
    pub(crate) block_size: Option<usize>,
    pub(crate) filter_bits: Option<u32>,
    pub(crate) costs: Costs,
    pub(crate) tuning: Tuning,
    pub(crate) storage: Option<Arc<dyn Storage>>,
    pub(crate) watch: Watch,
    width: std::marker::PhantomData<F>,
}

/// Similarity of a new database of sketches.
pub(crate) const DEFAULT_SIMILARITY: f64 = 0.8;
/// Maximum distance of a new database.
pub(crate) const DEFAULT_DISTANCE: u32 = 3;
/// Bytes per block of a new database.
pub(crate) const DEFAULT_BLOCK: usize = 128;
const DEFAULT_EXPECTED: u64 = 1_000_000;
const DEFAULT_MEMTABLE: usize = 1 << 17;
const DEFAULT_BULK_MEMORY: usize = 256 << 20;
const LEAST_CANDIDATE_PAGES: u64 = 1 << 12;
const MOST_CANDIDATE_PAGES: u64 = 1 << 20;
/// Bytes of the memory for pages for each page that a query may read.
const MEMORY_PER_CANDIDATE: u64 = 1 << 6;
const DEFAULT_SYNC_INTERVAL: Duration = Duration::from_secs(1);
const SHORTEST_INTERVAL: Duration = Duration::from_millis(1);
const LONGEST_INTERVAL: Duration = Duration::from_secs(24 * 60 * 60);

impl Options<u128> {
    /// Returns options for a database of 128-bit fingerprints.
    ///
    /// ```
    /// let db = fpdb::Options::bits128().in_memory()?;
    /// db.insert(1u128 << 100, 7)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bits128() -> Self {
        Self::default()
    }
}

impl Options<Sketch> {
    /// Returns options for a database of sketches, which finds documents by their Jaccard
    /// [similarity](Self::similar).
    ///
    /// ```
    /// use fpdb::{Options, Sketch};
    /// let db = Options::sketches().in_memory()?;
    /// db.insert(Sketch::new([5; 128], &[1, 2, 3]), 7)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sketches() -> Self {
        Self::default()
    }
}

impl<F: Fingerprint> Default for Options<F> {
    fn default() -> Self {
        Self {
            max_distance: None,
            similar: None,
            rule: None,
            layout: None,
            expected_entries: DEFAULT_EXPECTED,
            ids: None,
            recipe: None,
            invalid: None,
            extraction: None,
            passages: None,
            is_for_index: false,
            block_size: None,
            filter_bits: None,
            costs: Costs::default(),
            tuning: Tuning {
                memtable_entries: DEFAULT_MEMTABLE,
                durability: Durability::Sync,
                bulk_memory: DEFAULT_BULK_MEMORY,
                background: true,
                index_memory: None,
                page_memory: None,
                candidate_pages: None,
                trust_file_system: false,
                threads: None,
                most_segment_documents: MOST_ROWS,
            },
            storage: None,
            watch: Watch::default(),
            width: std::marker::PhantomData,
        }
    }
}

/// Returns whether databases of this type hold sketches.
pub(crate) fn is_sketch<F: Fingerprint>() -> bool {
    F::ZERO.word().is_none()
}

impl<F> Options<F> {
    /// Refuses options for tables, which a database of sketches does not have.
    pub(crate) fn expect_no_tables(&self) -> Result<()> {
        let has_any =
            self.layout.is_some() || self.block_size.is_some() || self.filter_bits.is_some();
        if has_any {
            return Err(Error::invalid(
                "a database of sketches has no layout, blocks or filters: leave these options out",
            ));
        }
        Ok(())
    }
}

impl<F: Fingerprint> Options<F> {
    /// Sets the tables and their bit orders. More tables take more space and can save time.
    /// Default: [`Layout::auto`] for the distance and the expected entries; stored.
    pub fn layout(self, layout: Layout) -> Self {
        Self { layout: Some(layout), ..self }
    }

    /// Sets for how many entries the default layout and filter are chosen. The database works with
    /// any number. Default: a million; not stored.
    pub fn expected_entries(self, entries: u64) -> Self {
        Self { expected_entries: entries, ..self }
    }

    /// Sets whether the caller numbers documents or names them. Default: [`Ids::User`], and
    /// [`Ids::Unique`] for sketches; stored.
    ///
    /// ```
    /// use fpdb::{Db, Ids};
    /// let db = Db::options().ids(Ids::Names).in_memory()?;
    /// db.insert(7, "https://example.org/")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ids(self, ids: Ids) -> Self {
        Self { ids: Some(ids), ..self }
    }

    /// Sets the recipe that makes the fingerprints from text: a built-in recipe's name, a
    /// `&Recipe`, or a [name of your own](RecipeName::custom). Fingerprints of different recipes
    /// cannot be compared, so opening a database with a recipe other than its own fails. An unknown
    /// name is refused. An empty database without a recipe takes this one. Default: none, which
    /// agrees with any; stored.
    ///
    /// ```
    /// # #[cfg(feature = "text")] {
    /// let db = fpdb::Db::options().recipe("default").in_memory()?;
    /// assert_eq!(db.description().recipe.as_deref(), Some("pairs/1"));
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn recipe(self, recipe: impl Into<RecipeName>) -> Self {
        match recipe.into().get() {
            Ok(name) => Self { recipe: Some(name), ..self },
            Err(error) => Self { invalid: Some(error), ..self },
        }
    }

    /// Sets the extraction that makes the texts from web pages: the name of one of `fpdb-web`, or a
    /// [name of your own](ExtractionName::custom). Texts of different extractions cannot be
    /// compared, so opening a database with an extraction other than its own fails. An unknown name
    /// is refused. An empty database without an extraction takes this one. Default: none, which
    /// agrees with any; stored.
    ///
    /// ```
    /// use fpdb::{Db, ErrorKind};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("crawl.fpdb");
    /// let db = Db::options().extraction("main/1").create(&path)?;
    /// assert_eq!(db.description().extraction.as_deref(), Some("main/1"));
    /// db.close()?;
    /// let error = Db::options().extraction("strip/1").open(&path).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Unsupported);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn extraction(self, name: impl Into<ExtractionName>) -> Self {
        match name.into().get() {
            Ok(name) => Self { extraction: Some(name), ..self },
            Err(error) => Self { invalid: Some(error), ..self },
        }
    }

    /// Sets the bytes per block, the unit of decompression: a power of two from 128 to 4096.
    /// Smaller blocks make queries faster, the index in memory larger, and files slightly larger.
    /// Default: 128; stored.
    pub fn block_size(self, bytes: usize) -> Self {
        Self { block_size: Some(bytes), ..self }
    }

    /// Sets the size of the prefix filters in bits per fingerprint, per table: 0 to 32. Filters
    /// avoid most probes that would find nothing, and take that much disk space and memory. They do
    /// not change any answer. 8 is a good choice, and 0 means no filters. Default: 8 if, for the
    /// layout and the expected entries, filters save more time than their space is worth, by the
    /// rule of [`Layout::auto`], and 0 otherwise; stored.
    pub fn filter_bits(self, bits: u32) -> Self {
        Self { filter_bits: Some(bits), ..self }
    }

    /// Sets how many recent entries are kept in memory before they are written as a segment. More
    /// entries mean fewer and larger segments, more memory (about 150 to 300 bytes per entry, and
    /// 370 to 430 with sketches), and a longer log to replay.
    ///
    /// While that many entries are being written, the same number can be inserted at full speed.
    /// After that, the same number again can be inserted more and more slowly, with a delay of up
    /// to a millisecond per write. At least 1; default: 131,072; not stored.
    pub fn memtable_entries(mut self, entries: usize) -> Self {
        self.tuning.memtable_entries = entries.max(1);
        self
    }

    /// Sets which failures an acknowledged write survives. Default: [`Durability::Sync`]; not
    /// stored.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.tuning.durability = durability;
        self
    }

    /// Sets how many bytes a bulk load may use for sorting and for building prefix filters, in all
    /// its [threads](Self::threads) together. Beyond that it uses scratch files, which takes half
    /// as long again. About 30 bytes per entry of 64 bits and 60 per entry of 128 bits keep
    /// everything in memory; up to twice as much if several threads write three or more tables.
    /// Default: 256 MiB; not stored.
    ///
    /// In addition, a bulk load takes up to 4 MiB, and 4 MiB for each of its threads (at most one
    /// per table), no matter how many entries there are: mainly buffers of the files that it is
    /// writing.
    pub fn bulk_memory(mut self, bytes: usize) -> Self {
        self.tuning.bulk_memory = bytes;
        self
    }

    /// Sets how many threads a bulk load and a full compaction use to sort and to write tables in
    /// parallel, and a [batch of queries](crate::Db::query_batch) to answer. Compaction in the
    /// background uses one fewer, but at least one. The number does not change what is written or
    /// answered. With 1, all of this work is done in the calling thread. Default: the number of
    /// processors available to the process, and 1 on a storage other than the disk, so that
    /// simulations can be repeated; not stored.
    pub fn threads(mut self, threads: usize) -> Self {
        self.tuning.threads = Some(threads.max(1));
        self
    }

    /// Sets whether flush, compaction and the syncs of [`Durability::Buffered`] run in background
    /// threads, and what queries need is [loaded](Self::page_memory) there. Otherwise they run in
    /// the caller's thread: a write that finds the memtable full flushes and compacts, and an
    /// explicit flush or bulk load compacts too. Only [`Db::warm`](crate::Db::warm) loads what
    /// queries need. The log is then synced at a flush, by [`Db::sync`](crate::Db::sync) and by
    /// [`Db::close`](crate::Db::close). Default: true; not stored.
    pub fn background(mut self, background: bool) -> Self {
        self.tuning.background = background;
        self
    }

    /// Sets the function to which long operations report their progress: all operations of the
    /// handle that is opened, and [`build`](Self::build). See
    /// [`Db::on_progress`](crate::Db::on_progress). Default: none; not stored.
    pub fn on_progress(
        self,
        report: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        Self { watch: Watch::new(report), ..self }
    }

    /// Sets whether to write to a database on a file system whose locks and syncs may not work: one
    /// that reaches another machine, the host of a virtual machine, or a program (on Linux NFS,
    /// SMB, CIFS, AFS, Coda, Ceph, Lustre, GPFS, BeeGFS, 9P, vboxsf and all of FUSE, such as sshfs
    /// and virtiofs). Otherwise that fails with [`Io`](crate::ErrorKind::Io), whose source is
    /// [`Unsupported`](std::io::ErrorKind::Unsupported). Reading does not.
    ///
    /// Set it only if you know that locks hold between all processes that may open the database,
    /// and that a sync reaches the disk. Two writers at the same time destroy a database. Default:
    /// false; not stored.
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let options = fpdb::Db::options().trust_file_system(true);
    /// options.create(folder.path().join("crawl.fpdb"))?.close()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn trust_file_system(mut self, trust: bool) -> Self {
        self.tuning.trust_file_system = trust;
        self
    }

    /// Returns the kind of ids of a new database.
    pub(crate) fn new_ids(&self) -> Ids {
        self.ids.unwrap_or(if is_sketch::<F>() { Ids::Unique } else { Ids::User })
    }

    /// Fails if an option has a value that no database can have.
    pub(crate) fn check(&self) -> Result<()> {
        self.invalid.clone().map_or(Ok(()), Err)
    }

    pub(crate) fn storage_at(&self, path: &Path) -> Arc<dyn Storage> {
        match &self.storage {
            Some(storage) => storage.at(path),
            None => {
                let disk = Disk::new(path).trust_file_system(self.tuning.trust_file_system);
                Arc::new(match self.tuning.page_memory {
                    Some(bytes) => disk.page_memory(bytes),
                    None => disk,
                })
            }
        }
    }
}
