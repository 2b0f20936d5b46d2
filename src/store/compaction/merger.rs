//! Merges segments into one, or into fewer.

use std::sync::Arc;

use super::documents::Remaining;
use super::sizes::MergeSizes;
use super::survey::{Survey, Surveyor};
use crate::base::error::{Error, Result};
use crate::documents::SymbolTable;
use crate::file::paged::Sequential;
use crate::file::storage::LockedFolder;
use crate::fingerprint::{Entry, Fingerprint, Word};
use crate::index::tables::table::{Profile, Sample, Table};
use crate::settings::{IndexSettings, Settings};
use crate::store::merge::{Merge, Rows};
use crate::store::segment::{
    Replaced, Segment, SegmentContents, SegmentMeta, SegmentWriter, TableContents,
};

/// Merges a run of segments, contiguous in age, into one, or into several if it has too many
/// documents for one. Those have different keys.
pub(crate) struct Merger<'a, F: Fingerprint> {
    pub folder: &'a LockedFolder,
    pub settings: &'a Settings,
    /// The segments to merge, oldest first.
    pub inputs: &'a [Arc<Segment<F>>],
    /// Whether no older segment exists, so that tombstones have nothing left to remove.
    pub is_oldest: bool,
    /// Called after each batch of rows, with their number. It may do more urgent work first, and
    /// its error ends the merge.
    pub pause: &'a (dyn Fn(u64) -> Result<()> + Sync),
    /// How many tables are written in parallel.
    pub threads: usize,
    /// The most documents that a segment may have.
    pub most_documents: u64,
}

impl<F: Fingerprint> Merger<'_, F> {
    /// Writes the output, oldest first, or nothing if nothing is left. `number` returns the numbers
    /// of the new segments. Takes 8 bytes of memory or more per removed entry, the block keys of
    /// each table that is being written, and 24 bytes per document.
    ///
    /// The output may be several segments if no older segment exists or nothing was removed, and is
    /// never more segments than the inputs.
    pub(crate) fn run(&self, number: &dyn Fn() -> Result<u64>) -> Result<Vec<SegmentMeta>> {
        let documents = self.inputs.iter().map(|s| s.meta().document_gain()).sum::<i64>();
        // With older segments, records of removed documents are kept.
        let has_documents =
            documents > 0 || !self.is_oldest && self.inputs.iter().any(|s| s.documents().is_some());
        let writers = match &self.settings.index {
            IndexSettings::Tables(_) => {
                let survey = self.survey()?;
                if survey.is_empty() && !has_documents {
                    return Ok(Vec::new());
                }
                vec![self.write_entries(number()?, &survey, has_documents)?]
            }
            IndexSettings::Bands(_) if !has_documents => return Ok(Vec::new()),
            IndexSettings::Bands(_) => self.write_sketches(number)?,
        };
        let counts = writers.iter().map(SegmentWriter::counts);
        self.check_counts(counts.fold((0, 0), |sum, more| (sum.0 + more.0, sum.1 + more.1)))?;
        let mut written =
            writers.into_iter().map(SegmentWriter::finish).collect::<Result<Vec<_>>>()?;
        self.set_ages(&mut written);
        debug_assert!(
            written.iter().map(SegmentMeta::bytes).sum::<u64>()
                <= MergeSizes::new(self.settings, self.inputs, self.threads)
                    .most(0..self.inputs.len())
                || written.iter().any(|segment| segment.documents.is_some()),
            "a merge is larger than the most it can be"
        );
        Ok(written)
    }

    /// Divides the ages of the inputs among the output, because ages must differ.
    fn set_ages(&self, written: &mut [SegmentMeta]) {
        let (mut inputs, left) = (self.inputs.iter(), written.len());
        for (segment, left) in written.iter_mut().zip((0..left).rev()) {
            let Some(oldest) = inputs.next() else { return };
            let newest = if left == 0 { inputs.next_back() } else { None }.unwrap_or(oldest);
            segment.ages = *oldest.meta().ages.start()..=*newest.meta().ages.end();
        }
    }

    /// Writes the only segment of a database with tables of entries.
    fn write_entries(
        &self,
        number: u64,
        survey: &Survey<F::Word>,
        has_documents: bool,
    ) -> Result<SegmentWriter<'_>> {
        let mut writer = SegmentWriter::new(self.folder, self.settings, number);
        writer.tables(&Output { merger: self, survey }, self.threads)?;
        writer.tombstones(&survey.tombstones)?;
        if has_documents {
            let mut documents = Remaining::new(self.inputs, self.is_oldest, self.pause)?;
            self.write_documents(&mut writer, self.symbols()?, &mut documents, u64::MAX)?;
        }
        Ok(writer)
    }

    /// Returns about how many rows a merge of these segments passes to `pause`.
    pub(crate) fn work(settings: &Settings, inputs: &[Arc<Segment<F>>]) -> u64 {
        let rows: u64 = inputs.iter().map(|s| s.meta().fingerprints).sum();
        let entries: u64 = inputs.iter().map(|s| s.meta().entries).sum();
        let sorted_tables = settings.index.sorted_tables() as u64;
        let surveys = u64::from(inputs.iter().any(|s| s.meta().removed > 0));
        let records: u64 = inputs.iter().filter_map(|s| s.documents()).map(|d| d.records()).sum();
        (1 + surveys) * entries + sorted_tables * rows + records
    }

    fn entries(&self) -> Result<Merge<'_, F::Word>> {
        Merge::of_segments(self.inputs.iter().map(|s| &**s), F::Word::ZERO)
    }

    fn survey(&self) -> Result<Survey<F::Word>> {
        if self.inputs.iter().all(|s| s.meta().removed == 0) {
            // Every entry is kept.
            let entries = self.inputs.iter().map(|s| s.meta().entries).sum();
            return Ok(Survey::without_removals(entries));
        }
        let mut surveyor = Surveyor::new(self.is_oldest);
        let mut merge = self.entries()?;
        loop {
            let batch = merge.next_batch()?;
            if batch.is_empty() {
                return Ok(surveyor.finish());
            }
            batch.iter().for_each(|merged| surveyor.add(merged));
            (self.pause)(batch.len() as u64)?;
        }
    }

    /// Estimates the profile of a table of the output from parts of the inputs' tables. `gone` has
    /// the fingerprints to leave out, ascending, in the table's bit order.
    fn profile(&self, table: usize, gone: &[F::Word]) -> Result<Profile> {
        let tables = self.inputs.iter().filter_map(|s| s.table(table));
        let mut sample = Sample::default();
        for low in tables.max_by_key(|table| table.blocks()).map_or(Ok(vec![]), sampled)? {
            let mut rows = Rows::of_segments(self.inputs.iter().map(|s| &**s), table, low)?;
            let batch = rows.next_batch()?;
            let is_gone = |row: &F::Word| gone.binary_search(row).is_ok();
            let kept = || batch.iter().copied().filter(|row| gone.is_empty() || !is_gone(row));
            sample.add(kept());
            let dropped = batch.len() - kept().count() + rows.repeated();
            sample.add_dropped(dropped as u64);
        }
        let rows = self.inputs.iter().map(|s| s.meta().fingerprints).sum();
        let zeros = self.inputs.iter().filter_map(|s| s.table(table)).map(Table::zeros).min();
        Ok(Profile::estimate::<F::Word>(&sample, rows, zeros.unwrap_or(0)))
    }

    /// Passes the fingerprints in table `table` of the inputs to `visit`, in batches: each once, in
    /// the table's bit order, without those in `gone`.
    fn for_each_row(
        &self,
        table: usize,
        gone: &[F::Word],
        mut visit: impl FnMut(&[F::Word]) -> Result<()>,
    ) -> Result<()> {
        let mut gone = gone.iter().copied().peekable();
        let mut kept = Vec::new();
        let mut rows = Rows::of_segments(self.inputs.iter().map(|s| &**s), table, F::Word::ZERO)?;
        loop {
            let batch = rows.next_batch()?;
            let Some(&last) = batch.last() else { return Ok(()) };
            let len = batch.len() as u64;
            if gone.peek().is_some_and(|&g| g <= last) {
                kept.clear();
                kept.extend(batch.iter().filter(|&&row| {
                    while gone.next_if(|&g| g < row).is_some() {}
                    gone.peek() != Some(&row)
                }));
                visit(&kept)?;
            } else {
                visit(batch)?;
            }
            (self.pause)(len)?;
        }
    }

    /// Writes the segments of a database of sketches: more than one if there are too many
    /// documents.
    fn write_sketches(&self, number: &dyn Fn() -> Result<u64>) -> Result<Vec<SegmentWriter<'_>>> {
        let (symbols, mut documents) =
            (self.symbols()?, Remaining::new(self.inputs, self.is_oldest, self.pause)?);
        let (mut writers, mut are_left) = (Vec::new(), true);
        while are_left {
            let mut writer = SegmentWriter::new(self.folder, self.settings, number()?);
            let is_last = !self.can_split() || writers.len() + 1 == self.inputs.len();
            let most = if is_last { u64::MAX } else { self.most_documents };
            are_left = self.write_documents(&mut writer, symbols.clone(), &mut documents, most)?;
            writer.bands::<F>(self.threads, &self.pause)?;
            writers.push(writer);
        }
        Ok(writers)
    }

    /// Whether the output may be several segments: only what replaces nothing can be divided.
    fn can_split(&self) -> bool {
        let replaces = |meta: &SegmentMeta| {
            meta.removed > 0 || meta.documents.is_some_and(|d| d.removed.max(d.replaced) > 0)
        };
        self.is_oldest || !self.inputs.iter().any(|segment| replaces(segment.meta()))
    }

    /// Chooses the symbols of the output from some of the keys.
    fn symbols(&self) -> Result<SymbolTable> {
        let mut sample = Vec::new();
        for documents in self.inputs.iter().filter_map(|s| s.documents()) {
            sample
                .append(&mut documents.sample(SAMPLED_LEAVES.div_ceil(self.inputs.len() as u64))?);
        }
        Ok(SymbolTable::train(&sample.iter().map(Vec::as_slice).collect::<Vec<_>>()))
    }

    /// Writes up to `most` documents. Returns whether others are left.
    fn write_documents(
        &self,
        writer: &mut SegmentWriter<'_>,
        symbols: SymbolTable,
        documents: &mut Remaining<'_, F>,
        most: u64,
    ) -> Result<bool> {
        let mut are_left = false;
        let records = self.inputs.iter().filter_map(|s| s.documents()).map(|d| d.records()).sum();
        writer.documents(symbols, records, &mut |file| {
            are_left = documents.write(file, most)?;
            if are_left { Ok(Replaced::default()) } else { self.replaced(documents.dropped()) }
        })?;
        Ok(are_left)
    }

    /// Returns how many documents of older segments the output replaces, after these were dropped.
    fn replaced(&self, dropped: Replaced) -> Result<Replaced> {
        let replaced_before: u64 =
            self.inputs.iter().filter_map(|s| s.meta().documents).map(|d| d.replaced).sum();
        let removed_before: u64 = self.inputs.iter().map(|s| s.meta().removed).sum();
        // Each document that was dropped was replaced by exactly one record. Without keys, the
        // count is that of tombstones, which belong to entries.
        let originals = match &self.settings.index {
            IndexSettings::Tables(_) => removed_before,
            IndexSettings::Bands(_) => dropped.originals,
        };
        let documents = replaced_before.checked_sub(dropped.documents);
        match documents.zip(removed_before.checked_sub(originals)) {
            Some((documents, originals)) if !self.is_oldest || documents + originals == 0 => {
                Ok(Replaced { documents, originals })
            }
            _ => Err(Error::corruption(format!(
                "compaction dropped {} documents, {originals} of them originals, but \
                 {replaced_before} and {removed_before} were replaced, so an input is damaged: \
                 run verify",
                dropped.documents
            ))),
        }
    }

    /// Checks that each dropped tombstone dropped one entry with it, and that no other entry was
    /// lost.
    fn check_counts(&self, (left, tombstones): (u64, u64)) -> Result<()> {
        let entries: u64 = self.inputs.iter().map(|s| s.meta().entries).sum();
        let removed: u64 = self.inputs.iter().map(|s| s.meta().removed).sum();
        let dropped = (entries.checked_sub(left), removed.checked_sub(tombstones));
        if matches!(dropped, (Some(entries), Some(tombstones)) if entries == tombstones) {
            return Ok(());
        }
        Err(Error::corruption(format!(
            "compaction of {entries} entries and {removed} tombstones would leave {left} and \
             {tombstones}, so an input is damaged: run verify"
        ))
        .at_path(self.folder.storage().root()))
    }
}

/// Leaves of the inputs' documents from whose keys the symbols of the output are chosen.
const SAMPLED_LEAVES: u64 = 32;

/// Blocks between two sampled places of a table. A few hundred blocks are read at each.
const SAMPLE_EVERY: usize = 1 << 11;
/// Most places of a table that are sampled.
const MAX_SAMPLES: usize = 256;

/// Returns the fingerprints at evenly spaced places of a table.
fn sampled<W: Word>(table: &Table<W>) -> Result<Vec<W>> {
    let blocks = table.blocks();
    // A segment that only removes entries has no blocks.
    let places = (blocks / SAMPLE_EVERY).clamp(1, MAX_SAMPLES).min(blocks);
    let mut rows = Vec::new();
    let mut reader = Sequential::new(table);
    let first = |place| {
        let block = blocks * place / places;
        rows.clear();
        reader.get()?.decode(block..block + 1, &mut rows)?;
        // No block is empty.
        Ok(rows.first().copied().unwrap_or(W::ZERO))
    };
    (0..places).map(first).collect()
}

/// The contents of the merged segment.
struct Output<'a, F: Fingerprint> {
    merger: &'a Merger<'a, F>,
    survey: &'a Survey<F::Word>,
}

impl<F: Fingerprint> SegmentContents<F::Word> for Output<'_, F> {
    fn profile(&self) -> Result<Profile> {
        self.merger.profile(0, &self.survey.gone)
    }

    fn for_each_entry(&self, push: &mut dyn FnMut(&[Entry<F::Word>]) -> Result<()>) -> Result<()> {
        let mut merge = self.merger.entries()?;
        let mut live = Vec::new();
        loop {
            let batch = merge.next_batch()?;
            if batch.is_empty() {
                return Ok(());
            }
            let len = batch.len() as u64;
            live.clear();
            let merged = batch.iter().filter(|merged| merged.net.inserted);
            live.extend(merged.map(|merged| merged.entry));
            push(&live)?;
            (self.merger.pause)(len)?;
        }
    }

    fn table(&self, table: usize) -> Result<Box<dyn TableContents<F::Word> + '_>> {
        let bit_orders = self.merger.settings.bit_orders();
        let mut gone: Vec<F::Word> =
            self.survey.gone.iter().map(|&f| bit_orders[table].apply(f)).collect();
        gone.sort_unstable();
        Ok(Box::new(OutputTable { merger: self.merger, table, gone }))
    }
}

/// The contents of one table of the merged segment.
struct OutputTable<'a, F: Fingerprint> {
    merger: &'a Merger<'a, F>,
    table: usize,
    /// Fingerprints to leave out, in the table's bit order.
    gone: Vec<F::Word>,
}

impl<F: Fingerprint> TableContents<F::Word> for OutputTable<'_, F> {
    fn profile(&self) -> Result<Profile> {
        self.merger.profile(self.table, &self.gone)
    }

    fn for_each(&self, push: &mut dyn FnMut(&[F::Word]) -> Result<()>) -> Result<()> {
        self.merger.for_each_row(self.table, &self.gone, push)
    }
}
