//! Bulk load of documents, in the order of their keys, into a new database. storage-format.md,
//! "Bulk load".

use crate::base::error::Result;
use crate::base::parallel::lock;
use crate::base::progress::{Meter, Phase, Watch};
use crate::db::commit::install;
use crate::db::commit::session;
use crate::db::commit::space;
use crate::db::state::core::Core;
use crate::db::upkeep::flush;
use crate::db::write::load::{Load, MIN_FILTER, OPERATION, ReadEntries, add_segment, end};
use crate::db::write::load_space::{FOR_ENTRIES, FOR_ROWS, documents_space};
use crate::documents::SymbolTable;
use crate::file::scratch::Scratch;
use crate::fingerprint::{Document, Entry, Fingerprint};
use crate::store::segment::{Replaced, SegmentWriter};

/// Documents in the order of their keys.
pub(crate) type Documents<'a, F> = dyn Iterator<Item = Result<(Vec<u8>, Document<F>)>> + 'a;

/// Documents to load, in the order of their keys.
pub(crate) struct DocumentsToLoad<'a, F> {
    pub(crate) documents: &'a mut Documents<'a, F>,
    /// At most this many follow.
    pub(crate) most: u64,
    /// About as many bytes as they take.
    pub(crate) bytes: u64,
    /// Made from some of the keys.
    pub(crate) symbols: SymbolTable,
    /// The next id of a database with names.
    pub(crate) next_doc: u64,
}

/// Loads documents into a database that has none, as one segment or as few as can hold them, which
/// are durable afterwards. Returns their number.
pub(crate) fn load_documents<F: Fingerprint>(
    core: &Core<F>,
    given: DocumentsToLoad<'_, F>,
    watch: &Watch,
) -> Result<u64> {
    let DocumentsToLoad { documents, most, bytes, symbols, next_doc } = given;
    let mut documents = documents.peekable();
    let folder = &*session::own_folder(core)?;
    if documents.peek().is_none() {
        // The ids of removed documents do not come back.
        lock(&core.log.writer).next_doc = next_doc;
        install::manifest(core, folder, &mut |manifest| manifest.next_doc = next_doc)?;
        return Ok(0);
    }
    let meter = Meter::new(watch, Phase::Read, Some(most));
    let load = Load { core, folder, threads: core.threads(), meter, claim: None };
    let mut writer = flush::flush_all(core)?;
    let needed = documents_space(core, most, bytes);
    space::require_alone(core, &mut writer, needed, OPERATION)?;
    let (mut segments, mut count) = (Vec::new(), 0);
    while documents.peek().is_some() {
        let mut segment = SegmentWriter::new(folder, &core.settings, core.next_number(folder)?);
        segment.set_scratch(Scratch { files: load.scratch_files(), filter_memory: MIN_FILTER });
        let most = most.saturating_sub(count);
        let entries =
            load.read_documents(&mut segment, symbols.clone(), most, &mut documents, &mut count)?;
        if let Some((sorter, so_far)) = entries.filter(|_| core.settings.index.tables().is_some()) {
            load.meter.begin(Phase::Sort, so_far.read)?;
            let sorted = sorter.finish(&|more| load.meter.advance(more))?;
            load.write_tables(&mut segment, sorted, so_far)?;
        }
        segments.push(segment);
    }
    if let Some(rule) = core.settings.index.bands() {
        load.meter.begin(Phase::Write, count * u64::from(rule.bands))?;
    }
    writer.next_doc = next_doc;
    for mut segment in segments {
        segment.set_sort_memory(load.memory(FOR_ENTRIES + FOR_ROWS));
        segment.bands::<F>(load.threads, &|rows| match rows {
            0 => load.meter.check(),
            rows => load.meter.advance(rows),
        })?;
        add_segment(core, folder, segment.finish()?, next_doc)?;
    }
    load.meter.finish();
    drop(writer);
    end(core);
    Ok(count)
}

impl<'a, F: Fingerprint> Load<'a, F> {
    /// Writes documents until `segment` is full, and puts the entries of originals into a sorter,
    /// unless they are sketches. Adds the number of documents to `count`.
    fn read_documents(
        &self,
        segment: &mut SegmentWriter<'a>,
        symbols: SymbolTable,
        most: u64,
        documents: &mut Documents<'_, F>,
        count: &mut u64,
    ) -> Result<Option<ReadEntries<'a, F>>> {
        let mut entries = None;
        segment.documents(symbols, most, &mut |file| {
            let mut originals = std::iter::from_fn(|| {
                while !file.is_full(self.core.most_documents()) {
                    let pushed = documents.next()?.and_then(|(key, document)| {
                        *count += 1;
                        file.push(&key, Some(&document))?;
                        Ok(document.entry().and_then(Entry::word))
                    });
                    if let Some(entry) = pushed.transpose() {
                        return Some(entry);
                    }
                }
                None
            });
            entries = Some(self.read(&mut originals)?);
            Ok(Replaced::default())
        })?;
        Ok(entries)
    }
}
