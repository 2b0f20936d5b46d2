//! Bulk load: writes many entries as one segment, or as few, sorted within a given amount of
//! memory, without the log. storage-format.md, "Bulk load".

use std::sync::mpsc;

use crate::base::error::{Error, Result};
use crate::base::parallel::lock;
use crate::base::progress::{Meter, Phase, Watch};
use crate::db::commit::install;
use crate::db::commit::session;
use crate::db::commit::space;
use crate::db::state::core::{Core, Writer};
use crate::db::state::disk_space::Claim;
use crate::db::upkeep::compact;
use crate::db::upkeep::flush;
use crate::db::write::backpressure;
use crate::db::write::load_space::{
    FOR_ENTRIES, FOR_ROWS, most_space, segment_space, share, sorts,
};
use crate::file::scratch::{Scratch, ScratchFiles};
use crate::file::sorter::{Record, Sorted, Sorter};
use crate::file::storage::LockedFolder;
use crate::fingerprint::Ids;
use crate::fingerprint::{Entry, Fingerprint, Word};
use crate::index::tables::table::{Profile, Sample, zeros};
use crate::store::manifest::Manifest;
use crate::store::segment::{SegmentContents, SegmentMeta, SegmentWriter, TableContents};
use crate::store::version::Version;

/// What needs space, for messages.
pub(super) const OPERATION: &str = "a bulk load";

/// How many entries are read at a time. There are up to four batches in memory.
const BATCH: usize = 1 << 13;

/// The sixteenths of the memory for the filters of all tables that are written at the same time;
/// more if the others leave some.
const FOR_FILTERS: usize = 2;

/// Bytes of a filter that is in memory even if it exceeds its share.
pub(super) const MIN_FILTER: usize = 1 << 20;

/// Entries in any order.
type Entries<'a, F> = dyn Iterator<Item = Result<Entry<F>>> + 'a;

/// What a bulk load did.
///
/// # Examples
///
/// ```
/// # let db = fpdb::Db::options().in_memory()?;
/// use fpdb::{DocId, Entry};
/// let entry = Entry { fingerprint: 7, id: DocId(1) };
/// let report = db.bulk_load([Ok(entry), Ok(entry)])?;
/// assert_eq!((report.read, report.inserted), (2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[must_use]
#[non_exhaustive]
pub struct LoadReport {
    /// Number of entries read.
    pub read: u64,
    /// Number of entries that are new in the database.
    pub inserted: u64,
}

/// Loads entries as one segment, which is durable afterwards. Other writers wait while tables are
/// written.
pub(crate) fn load<F: Fingerprint>(
    core: &Core<F>,
    entries: &mut Entries<'_, F>,
    watch: &Watch,
) -> Result<LoadReport> {
    if core.settings.ids != Ids::User {
        return Err(Error::invalid(
            "only a database with user ids can be bulk loaded, because a document with a name or a \
             unique id may replace another one: insert in batches instead",
        )
        .at_path(core.storage.root()));
    }
    let folder = session::own_folder(core)?;
    // What cannot fit is refused at once, and not after hours.
    let least = entries.size_hint().0 as u64;
    let mut writer = lock(&core.log.writer);
    space::require_alone(core, &mut writer, most_space(core, least), OPERATION)?;
    let claim = space::claim(core, &mut writer, 0, OPERATION)?;
    drop(writer);
    let folder = &folder.counting(claim.written().clone());
    let total = match entries.size_hint() {
        (low, Some(high)) if low == high => Some(low as u64),
        _ => None,
    };
    let load = Load {
        core,
        folder,
        threads: core.threads(),
        meter: Meter::new(watch, Phase::Read, total),
        claim: Some(&claim),
    };
    let (sorter, so_far) = load.read(&mut words(entries))?;
    // Again, even if a flush has just failed.
    flush::flush_frozen(core)?;
    backpressure::wait_for_flush(core)?;
    let mut writer = flush::flush_all(core)?;
    // While the writer is held, nobody else asks for space.
    claim.end();
    load.meter.begin(Phase::Sort, so_far.read)?;
    let sorted = sorter.finish(&|more| load.meter.advance(more))?;
    let written = load.write(&mut writer, load.only_new(sorted)?, so_far)?;
    let inserted = written.as_ref().map_or(0, |meta| meta.entries);
    written.map_or(Ok(()), |meta| add_segment(core, folder, meta, 0))?;
    load.meter.finish();
    drop(writer);
    end(core);
    Ok(LoadReport { read: so_far.read, inserted })
}

/// Returns entries as tables hold them.
fn words<'a, F: Fingerprint>(
    entries: &'a mut Entries<'_, F>,
) -> impl Iterator<Item = Result<Entry<F::Word>>> + 'a {
    entries.map(|entry| {
        let no_tables = || Error::invalid("a database of sketches has no tables of entries");
        entry.and_then(|entry| entry.word().ok_or_else(no_tables))
    })
}

/// Does what follows a load.
pub(super) fn end<F: Fingerprint>(core: &Core<F>) {
    // Manifests without the new segment name this log. Once it is removed, they are refused if one
    // is put back. If this fails, the load has still succeeded.
    let _ = flush::end_log(core);
    compact::compact_as_needed(core);
}

/// Adds the new segment, newer than all others.
pub(super) fn add_segment<F: Fingerprint>(
    core: &Core<F>,
    folder: &LockedFolder,
    meta: SegmentMeta,
    next_doc: u64,
) -> Result<()> {
    let count = |manifest: &mut Manifest| manifest.next_doc = manifest.next_doc.max(next_doc);
    let segment = install::open_new(core, folder, meta, &count)?;
    install::segments(core, folder, std::slice::from_ref(segment.meta()), &mut |manifest| {
        manifest.add_segment(segment.meta().clone());
        count(manifest);
    })?;
    core.current.update(|version| Version {
        segments: version.segments.iter().chain([&segment]).cloned().collect(),
        loads: version.loads + 1,
        ..version.clone()
    });
    Ok(())
}

/// A bulk load in progress.
pub(super) struct Load<'a, F: Fingerprint> {
    pub(super) core: &'a Core<F>,
    pub(super) folder: &'a LockedFolder,
    pub(super) threads: usize,
    pub(super) meter: Meter<'a>,
    /// The disk space for what does not fit in memory, as long as others write, too.
    pub(super) claim: Option<&'a Claim>,
}

impl<'a, F: Fingerprint> Load<'a, F> {
    pub(super) fn scratch_files(&self) -> ScratchFiles<'a> {
        ScratchFiles::InDatabase(self.folder)
    }

    /// Returns this many sixteenths of the memory.
    pub(super) fn memory(&self, sixteenths: usize) -> usize {
        share(self.core.tuning.bulk_memory, sixteenths)
    }

    /// Returns a sorter for entries.
    fn sorter(&self, sixteenths: usize) -> Sorter<'a, Entry<F::Word>> {
        Sorter::new(self.scratch_files(), self.memory(sixteenths), self.threads)
    }

    /// Returns a sorter for the rows of one of `tables` tables that are sorted at the same time.
    fn row_sorter(&self, tables: usize) -> Sorter<'a, F::Word> {
        Sorter::new(self.scratch_files(), self.memory(FOR_ROWS) / tables, 1)
    }

    /// Puts all entries into a sorter, and returns what they have in common. With more than one
    /// thread, another thread sorts while this one gets entries from the iterator.
    pub(super) fn read(&self, entries: &mut Entries<'_, F::Word>) -> Result<ReadEntries<'a, F>> {
        let mut entries = Batches { entries, so_far: ReadSoFar::default() };
        let mut sorter = self.sorter(FOR_ENTRIES);
        let mut batch = entries.fill(Vec::with_capacity(BATCH))?;
        if self.threads > 1 && batch.len() == BATCH {
            let sorter = self.read_in_parallel(sorter, batch, &mut entries)?;
            return Ok((sorter, entries.so_far));
        }
        while !batch.is_empty() {
            self.claim_space(entries.so_far.read)?;
            push_all(&mut sorter, &batch)?;
            self.meter.advance(batch.len() as u64)?;
            batch = entries.fill(batch)?;
        }
        Ok((sorter, entries.so_far))
    }

    /// Claims the disk space for this many entries, unless they fit in memory.
    fn claim_space(&self, entries: u64) -> Result<()> {
        let Some(claim) = self.claim else { return Ok(()) };
        let bytes = entries * Entry::<F::Word>::LEN as u64;
        let is_in_memory = bytes <= self.memory(FOR_ENTRIES) as u64 / 2;
        if is_in_memory || bytes <= claim.most() {
            return Ok(());
        }
        space::grow(self.core, claim, bytes - claim.most(), OPERATION)
    }

    fn read_in_parallel(
        &self,
        mut sorter: Sorter<'a, Entry<F::Word>>,
        first: Vec<Entry<F::Word>>,
        entries: &mut Batches<'_, F::Word>,
    ) -> Result<Sorter<'a, Entry<F::Word>>> {
        let (to_sort, batches) = mpsc::sync_channel::<Vec<Entry<F::Word>>>(1);
        let (sorted, to_fill) = mpsc::channel();
        std::thread::scope(|scope| {
            let sort = scope.spawn(move || {
                for batch in batches {
                    push_all(&mut sorter, &batch)?;
                    // Nobody needs the memory of the last batches.
                    let _ = sorted.send(batch);
                }
                Ok(sorter)
            });
            let read = || {
                let mut batch = first;
                while !batch.is_empty() {
                    let len = batch.len() as u64;
                    self.claim_space(entries.so_far.read)?;
                    if to_sort.send(batch).is_err() {
                        // The other thread has failed, and returns its error.
                        return Ok(());
                    }
                    self.meter.advance(len)?;
                    batch = entries.fill(to_fill.try_recv().unwrap_or_default())?;
                }
                Ok(())
            };
            let read = read();
            drop(to_sort);
            let sorter = sort.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            read.and(sorter)
        })
    }

    /// Returns the entries that the database does not have. They are looked up in order.
    fn only_new(&self, entries: Sorted<'a, Entry<F::Word>>) -> Result<Sorted<'a, Entry<F::Word>>> {
        let version = self.core.current.get();
        if version.segments.is_empty() {
            return Ok(entries);
        }
        let mut new = self.sorter(FOR_ROWS + FOR_FILTERS);
        let entries = entries.with_passes(1);
        entries.for_each(&mut |some| {
            version.look_up(some, u64::MAX, |entry, exists| match exists {
                true => Ok(()),
                false => new.push(entry),
            })
        })?;
        drop(entries);
        new.finish(&|_| Ok(()))
    }

    fn write(
        &self,
        writer: &mut Writer,
        entries: Sorted<'a, Entry<F::Word>>,
        so_far: ReadSoFar,
    ) -> Result<Option<SegmentMeta>> {
        if entries.is_empty() {
            return Ok(None);
        }
        let core = self.core;
        // Before the first file is written.
        let needed = segment_space(core, entries.len(), so_far.greatest_id, 0);
        space::require_alone(core, writer, needed, OPERATION)?;
        let mut segment =
            SegmentWriter::new(self.folder, &core.settings, core.next_number(self.folder)?);
        self.write_tables(&mut segment, entries, so_far)?;
        segment.finish().map(Some)
    }

    /// Returns how many tables are sorted at a time.
    fn sorts(&self) -> usize {
        sorts(self.core, self.threads)
    }

    pub(super) fn write_tables(
        &self,
        writer: &mut SegmentWriter<'a>,
        entries: Sorted<'a, Entry<F::Word>>,
        so_far: ReadSoFar,
    ) -> Result<()> {
        let core = self.core;
        let tables = core.settings.index.table_count();
        self.meter.begin(Phase::Write, so_far.read * tables as u64)?;
        // Entries on disk need less than their share while they are read. The rest is for filters.
        let used = entries.memory() + self.memory(FOR_ROWS);
        let left = core.tuning.bulk_memory.saturating_sub(used).max(self.memory(FOR_FILTERS));
        let filter_memory = (left / self.threads.min(tables)).max(MIN_FILTER);
        writer.set_scratch(Scratch { files: self.scratch_files(), filter_memory });
        let entries = entries.with_passes(tables);
        let used = F::Word::from_u128(so_far.used);
        let contents = Contents { load: self, entries, sorts: self.sorts(), used };
        writer.tables(&contents, self.threads)
    }
}

/// The entries to read.
struct Batches<'a, F> {
    entries: &'a mut Entries<'a, F>,
    so_far: ReadSoFar,
}

/// The entries that have been read, and what is known of them.
pub(super) type ReadEntries<'a, F> = (Sorter<'a, Entry<<F as Fingerprint>::Word>>, ReadSoFar);

/// What is known of the entries that have been read.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ReadSoFar {
    /// How many there are.
    pub(super) read: u64,
    greatest_id: u64,
    /// The bits that any of the fingerprints has.
    used: u128,
}

impl<F: Word> Batches<'_, F> {
    /// Replaces the contents of `batch` with the next entries; with none at the end.
    fn fill(&mut self, mut batch: Vec<Entry<F>>) -> Result<Vec<Entry<F>>> {
        batch.clear();
        for entry in (&mut self.entries).take(BATCH) {
            batch.push(entry?);
        }
        self.so_far.read += batch.len() as u64;
        let greatest = batch.iter().map(|entry| entry.id.0).max().unwrap_or(0);
        self.so_far.greatest_id = self.so_far.greatest_id.max(greatest);
        let used = batch.iter().fold(F::ZERO, |used, entry| used | entry.fingerprint);
        self.so_far.used |= used.to_u128();
        Ok(batch)
    }
}

fn push_all<R: Record>(sorter: &mut Sorter<'_, R>, records: &[R]) -> Result<()> {
    records.iter().try_for_each(|&record| sorter.push(record))
}

/// The contents of the new segment.
struct Contents<'l, 'a, F: Fingerprint> {
    load: &'l Load<'a, F>,
    entries: Sorted<'a, Entry<F::Word>>,
    /// How many tables are sorted at a time, sharing the memory.
    sorts: usize,
    /// The bits that any of the fingerprints has.
    used: F::Word,
}

impl<F: Fingerprint> SegmentContents<F::Word> for Contents<'_, '_, F> {
    fn profile(&self) -> Result<Profile> {
        let mut sample = Sample::default();
        self.entries.sample(&mut |some| {
            sample.add(some.iter().map(|entry| entry.fingerprint));
            Ok(())
        })?;
        Ok(Profile::estimate::<F::Word>(&sample, self.entries.len(), zeros(self.used)))
    }

    fn for_each_entry(&self, push: &mut dyn FnMut(&[Entry<F::Word>]) -> Result<()>) -> Result<()> {
        self.entries.for_each(&mut |some| {
            push(some)?;
            self.load.meter.advance(some.len() as u64)
        })
    }

    fn table(&self, table: usize) -> Result<Box<dyn TableContents<F::Word> + '_>> {
        let order = &self.load.core.planner.tables().bit_orders()[table];
        let mut rows = self.load.row_sorter(self.sorts);
        let mut last = None;
        self.entries.for_each_unordered(&mut |some| {
            for entry in some {
                if last != Some(entry.fingerprint) {
                    last = Some(entry.fingerprint);
                    rows.push(order.apply(entry.fingerprint))?;
                }
            }
            Ok(())
        })?;
        let rows = rows.finish(&|_| Ok(()))?.with_passes(1);
        let zeros = zeros(order.apply(self.used));
        Ok(Box::new(TableRows { meter: &self.load.meter, rows, zeros }))
    }
}

/// The contents of one table of the new segment.
struct TableRows<'s, 'a, F: Word> {
    meter: &'s Meter<'a>,
    rows: Sorted<'a, F>,
    zeros: u32,
}

impl<F: Word> TableContents<F> for TableRows<'_, '_, F> {
    fn profile(&self) -> Result<Profile> {
        let mut sample = Sample::default();
        self.rows.sample(&mut |some| {
            sample.add(some.iter().copied());
            Ok(())
        })?;
        Ok(Profile::estimate::<F>(&sample, self.rows.len(), self.zeros))
    }

    fn for_each(&self, push: &mut dyn FnMut(&[F]) -> Result<()>) -> Result<()> {
        self.rows.for_each(&mut |some| {
            push(some)?;
            self.meter.advance(some.len() as u64)
        })
    }
}
