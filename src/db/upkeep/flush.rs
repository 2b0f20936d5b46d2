//! Flush: writes memtables as segments. storage-format.md, "Flush".

use std::sync::MutexGuard;
use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::base::error::Result;
use crate::base::events::Event;
use crate::base::parallel::lock;
use crate::db::commit::install;
use crate::db::commit::session;
use crate::db::commit::sync;
use crate::db::state::core::{Core, Writer};
use crate::db::upkeep::rotate;
use crate::file::names::FileName;
use crate::file::storage::LockedFolder;
use crate::fingerprint::{Entry, Fingerprint, Word};
use crate::index::tables::layout::BitOrder;
use crate::index::tables::table::Profile;
use crate::settings::{IndexSettings, Settings};
use crate::store::manifest::Manifest;
use crate::store::memtable::{Memtable, Net, RecentDocuments};
use crate::store::segment::{Replaced, SegmentContents, SegmentMeta, SegmentWriter, TableContents};
use crate::store::version::Version;

/// Writes everything in memory as segments, and returns the writer: while it is held, nothing else
/// is written.
pub(crate) fn flush_all<F: Fingerprint>(core: &Core<F>) -> Result<MutexGuard<'_, Writer>> {
    core.poison.check()?;
    // First without the permit, because others may wait for it.
    flush_frozen(core)?;
    let permit = sync::permit(core);
    core.poison.check()?;
    flush_frozen(core)?;
    let writer = lock(&core.log.writer);
    if core.current.get().active.is_empty() {
        return Ok(writer);
    }
    drop(writer);
    let writer = rotate::rotate(core, &permit)?;
    flush_frozen(core)?;
    Ok(writer)
}

/// Writes everything in memory as segments, and replaces the log even if it is empty.
pub(crate) fn end_log<F: Fingerprint>(core: &Core<F>) -> Result<()> {
    let permit = sync::permit(core);
    core.poison.check()?;
    flush_frozen(core)?;
    drop(rotate::rotate(core, &permit)?);
    flush_frozen(core)
}

/// Writes the frozen memtable as a segment, if there is one. If that fails, the memtable stays
/// frozen, and the next call tries again.
pub(crate) fn flush_frozen<F: Fingerprint>(core: &Core<F>) -> Result<()> {
    let _one_at_a_time = lock(&core.flushing);
    write_frozen(core)
}

/// Does the same for a write that finds no room, unless it failed less than a second ago.
pub(crate) fn flush_frozen_if_due<F: Fingerprint>(core: &Core<F>) -> Result<()> {
    let _one_at_a_time = lock(&core.flushing);
    core.signals.check_flush_at(Instant::now())?;
    write_frozen(core)
}

fn write_frozen<F: Fingerprint>(core: &Core<F>) -> Result<()> {
    let Some(frozen) = core.current.get().frozen.clone() else { return Ok(()) };
    let flushed = write_and_install(core, &frozen);
    if flushed.is_err() {
        // What was written has been removed.
        frozen.flushed().store(0, Ordering::Relaxed);
    }
    core.signals.flushed(&flushed);
    flushed
}

fn write_and_install<F: Fingerprint>(core: &Core<F>, frozen: &Memtable<F>) -> Result<()> {
    let folder = &*session::own_folder(core)?;
    let start = Instant::now();
    let counting = folder.counting(frozen.flushed().clone());
    let written = write_memtable(&counting, &core.settings, core.next_number(folder)?, frozen)?;
    let count = |manifest: &mut Manifest| {
        manifest.next_doc = manifest.next_doc.max(frozen.next_doc());
        manifest.last_seq = manifest.last_seq.max(frozen.last_seq());
    };
    let segment =
        written.map(|meta| install::open_new(core, &counting, meta, &count)).transpose()?;
    let meta = segment.as_ref().map(|segment| segment.meta().clone());
    let bytes = meta.as_ref().map_or(0, SegmentMeta::bytes);
    let mut ended = Vec::new();
    install::segments(core, folder, meta.as_slice(), &mut |manifest| {
        manifest.bytes_flushed += bytes;
        meta.clone().into_iter().for_each(|meta| manifest.add_segment(meta));
        // Everything in the logs before the last one is in segments now.
        let last = manifest.logs.pop();
        ended = std::mem::take(&mut manifest.logs);
        manifest.logs.extend(last);
        count(manifest);
    })?;
    install::version(core, |version| Version {
        segments: version.segments.iter().cloned().chain(segment).collect(),
        frozen: None,
        flushed: version.flushed.max(frozen.last_seq()),
        ..version.clone()
    });
    ended.iter().for_each(|log| install::remove_file(folder, FileName::Log(log.id.number)));
    core.fit_memory();
    let (path, duration) = (core.storage.root(), start.elapsed());
    let (segment, entries) = (meta.as_ref().map(|m| m.id), meta.as_ref().map_or(0, |m| m.entries));
    Event::Flushed { path, segment, entries, bytes, duration }.report();
    Ok(())
}

/// Writes the changes of a memtable as segment `id`. Returns `None` if there are no changes.
pub(crate) fn write_memtable<F: Fingerprint>(
    folder: &LockedFolder,
    settings: &Settings,
    id: u64,
    memtable: &Memtable<F>,
) -> Result<Option<SegmentMeta>> {
    let documents = memtable.documents(u64::MAX, None);
    let mut writer = SegmentWriter::new(folder, settings, id);
    match &settings.index {
        IndexSettings::Tables(_) => {
            let changes = memtable.net_changes(u64::MAX);
            let all = |is: fn(&Net) -> bool| -> Vec<Entry<F::Word>> {
                changes.iter().filter(|(_, net)| is(net)).map(|&(entry, _)| entry).collect()
            };
            let (entries, tombstones) = (all(|net| net.inserted), all(|net| net.removes_older));
            if entries.is_empty() && tombstones.is_empty() && documents.is_empty() {
                return Ok(None);
            }
            writer.tables(&Contents::new(settings, &entries), 1)?;
            writer.tombstones(&tombstones)?;
            write_documents(&mut writer, documents)?;
        }
        IndexSettings::Bands(_) if documents.is_empty() => return Ok(None),
        IndexSettings::Bands(_) => {
            write_documents(&mut writer, documents)?;
            writer.bands::<F>(1, &|_| Ok(()))?;
        }
    }
    writer.finish().map(Some)
}

fn write_documents<F: Fingerprint>(
    writer: &mut SegmentWriter<'_>,
    mut documents: RecentDocuments<'_, F>,
) -> Result<()> {
    if documents.is_empty() {
        return Ok(());
    }
    let symbols = documents.symbols();
    let (replaced, originals) = documents.replaced();
    writer.documents(symbols, documents.len() as u64, &mut |builder| {
        let mut key = Vec::new();
        while let Some(document) = documents.next(&mut key) {
            builder.push(&key, document.as_ref())?;
        }
        Ok(Replaced { documents: replaced, originals })
    })
}

/// The contents of a memtable as a segment.
struct Contents<'a, F> {
    bit_orders: Vec<BitOrder>,
    entries: &'a [Entry<F>],
    /// The fingerprints of the entries, each once.
    fingerprints: Vec<F>,
}

impl<'a, W: Word> Contents<'a, W> {
    fn new(settings: &Settings, entries: &'a [Entry<W>]) -> Self {
        let mut fingerprints: Vec<W> = entries.iter().map(|entry| entry.fingerprint).collect();
        fingerprints.dedup();
        Self { bit_orders: settings.bit_orders(), entries, fingerprints }
    }
}

impl<W: Word> SegmentContents<W> for Contents<'_, W> {
    fn profile(&self) -> Result<Profile> {
        Ok(Profile::of(&self.fingerprints))
    }

    fn for_each_entry(&self, push: &mut dyn FnMut(&[Entry<W>]) -> Result<()>) -> Result<()> {
        push(self.entries)
    }

    fn table(&self, table: usize) -> Result<Box<dyn TableContents<W> + '_>> {
        let order = &self.bit_orders[table];
        let mut permuted: Vec<W> = self.fingerprints.iter().map(|&f| order.apply(f)).collect();
        permuted.sort_unstable();
        Ok(Box::new(SortedTable(permuted)))
    }
}

/// The contents of a table, in memory.
struct SortedTable<F>(Vec<F>);

impl<W: Word> TableContents<W> for SortedTable<W> {
    fn profile(&self) -> Result<Profile> {
        Ok(Profile::of(&self.0))
    }

    fn for_each(&self, push: &mut dyn FnMut(&[W]) -> Result<()>) -> Result<()> {
        push(&self.0)
    }
}
