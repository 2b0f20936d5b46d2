//! How to create and open a database.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::{Db, Reader, open};
use crate::codec::block_code::BlockCode;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::layout::{Costs, Layout};
use crate::settings::Ids;
use crate::storage::{Access, Disk, Storage};

/// When an acknowledged write is safe from what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Durability {
    /// A write returns once it is on the disk: it survives a crash of the process, of the system,
    /// and a loss of power. Writers that wait at the same time share one sync.
    #[default]
    Sync,
    /// A write returns once the operating system has it: it survives a crash of the process. The
    /// log is synced at [intervals](Options::sync_interval), by [`Db::sync`] and by
    /// [`Db::close`]; a loss of power takes what came after the last sync, and only that.
    Buffered,
}

/// Runtime choices, which a database does not remember.
#[derive(Debug, Clone)]
pub(super) struct Tuning {
    pub(super) memtable_entries: usize,
    pub(super) durability: Durability,
    pub(super) sync_interval: Duration,
    pub(super) bulk_memory: usize,
    pub(super) background: bool,
    /// `None` for the default.
    pub(super) threads: Option<usize>,
    pub(super) access: Access,
}

impl Tuning {
    /// With the default of [`Options::threads`] settled.
    pub(super) fn settled(self, on_disk: bool) -> Self {
        let processors = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = self.threads.unwrap_or_else(|| if on_disk { processors() } else { 1 });
        Self { threads: Some(threads), ..self }
    }
}

/// Options for creating and opening a database; made by [`Db::options`] for 64-bit fingerprints
/// and by [`Options::bits128`] for 128-bit ones.
///
/// What is *stored* is fixed when the database is created; given again at an open, it must agree.
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
#[derive(Debug, Clone)]
#[must_use]
pub struct Options<F = u64> {
    pub(super) max_distance: Option<u32>,
    pub(super) layout: Option<Layout>,
    pub(super) expected_entries: u64,
    pub(super) ids: Option<Ids>,
    pub(super) recipe: Option<String>,
    pub(super) block_size: Option<usize>,
    pub(super) code: Option<BlockCode>,
    pub(super) filter_bits: Option<u32>,
    pub(super) costs: Costs,
    pub(super) tuning: Tuning,
    pub(super) storage: Option<Arc<dyn Storage>>,
    width: std::marker::PhantomData<F>,
}

/// Distance of a new database unless it is told another.
pub(super) const DEFAULT_DISTANCE: u32 = 3;
/// Bytes of a block unless told otherwise.
pub(super) const DEFAULT_BLOCK: usize = 128;
const DEFAULT_EXPECTED: u64 = 1_000_000;
const DEFAULT_MEMTABLE: usize = 1 << 17;
const DEFAULT_BULK_MEMORY: usize = 256 << 20;
const DEFAULT_SYNC_INTERVAL: Duration = Duration::from_secs(1);
const SHORTEST_INTERVAL: Duration = Duration::from_millis(1);
const LONGEST_INTERVAL: Duration = Duration::from_secs(24 * 60 * 60);

impl Options<u128> {
    /// Options for a database of 128-bit fingerprints.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// let db = fpdb::Options::bits128().create(folder.path().join("wide.fpdb"))?;
    /// db.insert(1u128 << 100, 7)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bits128() -> Self {
        Self::new()
    }
}

impl<F: Fingerprint> Default for Options<F> {
    fn default() -> Self {
        Self::new()
    }
}

impl<F: Fingerprint> Options<F> {
    /// The defaults.
    pub fn new() -> Self {
        Self {
            max_distance: None,
            layout: None,
            expected_entries: DEFAULT_EXPECTED,
            ids: None,
            recipe: None,
            block_size: None,
            code: None,
            filter_bits: None,
            costs: Costs::default(),
            tuning: Tuning {
                memtable_entries: DEFAULT_MEMTABLE,
                durability: Durability::Sync,
                sync_interval: DEFAULT_SYNC_INTERVAL,
                bulk_memory: DEFAULT_BULK_MEMORY,
                background: true,
                access: Access::default(),
                threads: None,
            },
            storage: None,
            width: std::marker::PhantomData,
        }
    }

    /// The distance, in bits, up to which documents count as duplicates and queries are fast. More
    /// finds more near-duplicates (and more strangers) and costs time. 0 to 10; default 3; stored.
    pub fn max_distance(self, distance: u32) -> Self {
        Self { max_distance: Some(distance), ..self }
    }

    /// The tables and their bit orders. More tables cost storage and, asked cleverly, save time.
    /// Default: [`Layout::auto`] for the distance and the expected entries; stored.
    pub fn layout(self, layout: Layout) -> Self {
        Self { layout: Some(layout), ..self }
    }

    /// How many entries the default layout and filter should be best for. Default: a million; not
    /// stored.
    pub fn expected_entries(self, entries: u64) -> Self {
        Self { expected_entries: entries, ..self }
    }

    /// Whether documents are numbered by the caller or named. Default: [`Ids::User`]; stored.
    pub fn ids(self, ids: Ids) -> Self {
        Self { ids: Some(ids), ..self }
    }

    /// The name of the recipe that makes the fingerprints from text. Fingerprints of different
    /// recipes cannot be compared, so a database opened with another recipe than its own is
    /// refused; one that is empty and has none takes it on. Default: none, which agrees with any;
    /// stored.
    pub fn recipe(self, name: impl Into<String>) -> Self {
        Self { recipe: Some(name.into()), ..self }
    }

    /// Bytes of a block, the unit of decompression: a power of two from 128 to 4096. Smaller:
    /// faster queries, larger index in memory, slightly larger files. Default: 128; stored.
    pub fn block_size(self, bytes: usize) -> Self {
        Self { block_size: Some(bytes), ..self }
    }

    /// How fingerprints are written in blocks. Answers are the same. Default:
    /// [`BlockCode::EliasFano`]; stored.
    pub fn code(self, code: BlockCode) -> Self {
        Self { code: Some(code), ..self }
    }

    /// Bits a fingerprint and table of the prefix filters, which spare most probes that would find
    /// nothing: 0 to 32, 8 is a good choice, 0 is none. Costs that much disk and memory. Answers
    /// are the same. Default: 8 where the layout and the expected entries gain more time by it than
    /// it costs storage, by the rule of [`Layout::auto`], else 0; stored.
    pub fn filter_bits(self, bits: u32) -> Self {
        Self { filter_bits: Some(bits), ..self }
    }

    /// What queries cost on this machine, by which they are planned: how fast answers are found
    /// depends on it, and never which. Default: as measured on one server; not stored.
    pub fn costs(self, costs: Costs) -> Self {
        Self { costs, ..self }
    }

    /// How many recent entries are held in memory before they are written as a segment. More:
    /// fewer and larger segments, more memory (about 150 to 300 bytes an entry), a longer log to
    /// replay. While so many are being written, as many more come in at full speed; and as many again
    /// ever more slowly, each write waiting up to a millisecond. At least 1; default: 131,072; not
    /// stored.
    pub fn memtable_entries(mut self, entries: usize) -> Self {
        self.tuning.memtable_entries = entries.max(1);
        self
    }

    /// What an acknowledged write survives. Default: [`Durability::Sync`]; not stored.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.tuning.durability = durability;
        self
    }

    /// How often the log is synced under [`Durability::Buffered`], from a millisecond to a day.
    /// Default: every second; not stored.
    pub fn sync_interval(mut self, interval: Duration) -> Self {
        self.tuning.sync_interval = interval.clamp(SHORTEST_INTERVAL, LONGEST_INTERVAL);
        self
    }

    /// Bytes that a bulk load may hold for sorting, in all its [threads](Self::threads) together;
    /// beyond, it sorts on disk, which takes half as long again. Some 30 bytes an entry of 64 bits,
    /// 60 of 128, keep it in memory, and half as many more where several threads write three tables
    /// or more. Default: 256 MiB; not stored.
    pub fn bulk_memory(mut self, bytes: usize) -> Self {
        self.tuning.bulk_memory = bytes;
        self
    }

    /// Threads that a bulk load and a full compaction may use, to sort and to write tables side by
    /// side, and a [batch of queries](Db::query_batch). Compaction in the background takes one less,
    /// if that is not none. What they write and answer does not depend on it. At least 1, and with 1
    /// none is started. Default: as many as this process has processors, and 1 on another
    /// storage than the disk, so that simulations can be repeated; not stored.
    pub fn threads(mut self, threads: usize) -> Self {
        self.tuning.threads = Some(threads.max(1));
        self
    }

    /// Whether flush, compaction and the syncs of [`Durability::Buffered`] run in threads of their
    /// own. If not, the call that finds the memtable full, flushes it or loads in bulk also compacts;
    /// and the log is synced then, by [`Db::sync`] and by
    /// [`Db::close`]. Default: true; not stored.
    pub fn background(mut self, background: bool) -> Self {
        self.tuning.background = background;
        self
    }

    /// How the files of segments are read. Default: [`Access::Mapped`]; not stored.
    pub fn access(mut self, access: Access) -> Self {
        self.tuning.access = access;
        self
    }

    /// Uses another storage than the disk, for tests: [`storage::Sim`](crate::storage::Sim). Only
    /// with the feature `sim`.
    #[cfg(feature = "sim")]
    pub fn storage(self, storage: Arc<dyn Storage>) -> Self {
        Self { storage: Some(storage), ..self }
    }

    pub(super) fn storage_at(&self, path: &Path) -> Arc<dyn Storage> {
        match &self.storage {
            Some(storage) => storage.at(path),
            None => Arc::new(Disk::new(path).access(self.tuning.access)),
        }
    }

    /// Creates a database in a folder that is missing or empty. A folder whose creation was broken
    /// off counts as empty.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if there is a database or anything else; `InvalidArgument` for options that
    /// no database can have; `Locked`; `Io`.
    pub fn create(self, path: impl AsRef<Path>) -> Result<Db<F>> {
        open::open(self, path.as_ref(), open::Mode::Create)
    }

    /// Opens a database for reading and writing. Takes milliseconds, whatever its size: what was
    /// in the log is written as a segment.
    ///
    /// Files are mapped into memory. Nobody but fpdb may change them while they are open: a file
    /// truncated from outside makes a read fault, which ends the process.
    ///
    /// # Errors
    ///
    /// `NotFound`; `Locked` if another handle or process writes; `Unsupported` for another width,
    /// recipe or version; `InvalidArgument` if another stored option differs; `Corruption`; `Io`.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Db<F>> {
        open::open(self, path.as_ref(), open::Mode::Open)
    }

    /// Opens a database, or creates it if there is none.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open) and [`create`](Self::create).
    pub fn open_or_create(self, path: impl AsRef<Path>) -> Result<Db<F>> {
        open::open(self, path.as_ref(), open::Mode::OpenOrCreate)
    }

    /// Opens a database for reading, beside the one process that may be writing to it. Takes no
    /// lock and writes nothing.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open), without `Locked`.
    pub fn open_read_only(self, path: impl AsRef<Path>) -> Result<Reader<F>> {
        Reader::open(self, path.as_ref())
    }

    /// Refuses a stored option that differs from the database's.
    pub(super) fn agree(&self, settings: &crate::settings::Settings) -> Result<()> {
        let differs = |what: &str, asked: String, found: String| {
            Err(Error::invalid(format!("{what} {asked} asked for, but the database has {found}")))
        };
        if settings.layout.bits() != F::BITS {
            return Err(Error::new(
                crate::ErrorKind::Unsupported,
                format!(
                    "the database has {}-bit fingerprints, {}-bit ones were asked for: use {}",
                    settings.layout.bits(),
                    F::BITS,
                    if F::BITS == 64 { "Options::bits128()" } else { "Db::options()" }
                ),
            ));
        }
        if let (Some(asked), Some(found)) = (&self.recipe, &settings.recipe)
            && asked != found
        {
            return Err(other_recipe(asked, &format!("recipe {found}")));
        }
        if let Some(k) = self.max_distance.filter(|&k| k != settings.max_distance) {
            return differs("max distance", k.to_string(), settings.max_distance.to_string());
        }
        if let Some(layout) = self.layout.as_ref().filter(|&l| *l != settings.layout) {
            return differs("layout", layout.to_string(), settings.layout.to_string());
        }
        if let Some(ids) = self.ids.filter(|&ids| ids != settings.ids) {
            return differs("ids", format!("{ids:?}"), format!("{:?}", settings.ids));
        }
        if let Some(size) = self.block_size.filter(|&size| size != settings.block_size) {
            return differs("block size", size.to_string(), settings.block_size.to_string());
        }
        if let Some(code) = self.code.filter(|&code| code != settings.code) {
            return differs("block code", code.to_string(), settings.code.to_string());
        }
        match self.filter_bits.filter(|&bits| bits != settings.filter_bits) {
            Some(bits) => {
                differs("filter bits", bits.to_string(), settings.filter_bits.to_string())
            }
            None => Ok(()),
        }
    }
}

/// The refusal of a recipe that is not that of the fingerprints in a database.
pub(super) fn other_recipe(asked: &str, found: &str) -> Error {
    Error::new(
        crate::ErrorKind::Unsupported,
        format!(
            "recipe {asked} asked for, but the database's fingerprints come from {found}: they \
             cannot be compared"
        ),
    )
}
