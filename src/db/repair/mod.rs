//! Repair: a new database from what a damaged one still proves.
//!
//! Every table of a segment holds the same fingerprints, the postings say how many of them each
//! block of table 0 has, and the documents say again which entries there are. So what one file
//! lost, others prove. The damaged database is only read.

mod blocks;
mod damaged_segment;
mod documents;
mod entries;
mod logs;
mod manifests;
mod survey;
mod texts;

use std::path::Path;

use crate::base::error::Result;
use crate::base::inspection::Inspection;
use crate::base::progress::{Meter, Phase, Watch};
use crate::db::build::{BuildReport, Loss, LossKind, build};
use crate::db::handle::WriteHandle;
use crate::db::options::Options;
use crate::db::write::load::load;
use crate::db::write::load_documents::{DocumentsToLoad, load_documents};
use crate::documents::SymbolTable;
use crate::file::names::FileName;
use crate::fingerprint::Ids;
use crate::fingerprint::{Document, Fingerprint};
use crate::settings::Settings;
use crate::store::manifest::Manifest;
use crate::store::memtable::Memtable;
use crate::store::segment::SegmentMeta;
use damaged_segment::DamagedSegment;
use documents::{Changed, RepairedDocuments, lost_records};
use entries::{Read, live_entries};
use manifests::newest_manifest;
use survey::check_opening;
pub(crate) use survey::verify;
use texts::Texts;

/// Keys from which the symbols of the new file of documents are chosen.
const SAMPLED_KEYS: usize = 1 << 12;

/// Writes what `broken` still proves to a new database at `out`.
pub(crate) fn repair<F: Fingerprint>(
    options: Options<F>,
    broken: &Path,
    out: &Path,
) -> Result<BuildReport> {
    let storage = options.storage_at(broken);
    let mut report = BuildReport::default();
    let manifest = newest_manifest::<F>(&*storage, &mut report)?;
    options.check_agreement(&manifest.settings).map_err(|e| e.at_path(broken))?;
    let watch = options.watch.clone();
    let files: u64 = manifest.segments.iter().map(|segment| segment.bytes()).sum();
    let meter = Meter::new(&watch, Phase::Check, Some(files));
    let mut inspection = Inspection::new(Some(&meter));
    let mut segments = Vec::new();
    for meta in &manifest.segments {
        segments.push(DamagedSegment::open(&*storage, &manifest.settings, meta, &mut inspection)?);
    }
    meter.finish();
    report.damage.append(&mut inspection.into_errors());
    let recent = logs::replay(&*storage, &manifest, &mut report)?;
    check_opening::<F>(&storage, &manifest, &mut report)?;
    let salvage = Salvage { root: broken, manifest: &manifest, segments, recent };
    report.read = salvage.documents_before();
    let options = options.with_settings(&manifest.settings);
    build(options, out, |db| {
        match manifest.settings.ids {
            Ids::User => salvage.write_entries(db, &watch, &mut report)?,
            Ids::Unique | Ids::Names => salvage.write_documents(db, &watch, &mut report)?,
        }
        let (entries, documents) = db.reader().counts();
        report.written = if manifest.settings.ids == Ids::User { entries } else { documents };
        // A lost commit may have inserted what a later one changes.
        if report.losses.iter().any(|loss| loss.kind == LossKind::Log) {
            report.read = report.read.max(report.written);
        }
        Ok(report)
    })
}

impl<F: Fingerprint> Options<F> {
    /// Sets what the damaged database has.
    fn with_settings(mut self, found: &Settings) -> Self {
        (self.max_distance, self.similar) = (None, None);
        self.rule = Some(found.index.rule());
        self.ids = Some(found.ids);
        self.recipe.clone_from(&found.recipe);
        self.extraction.clone_from(&found.extraction);
        self.passages = found.passages;
        if let Some(tables) = found.index.tables() {
            self.layout = Some(tables.layout.clone());
            self.block_size = Some(tables.block_size);
            self.filter_bits = Some(tables.filter_bits);
        }
        self
    }
}

/// What is left of a database.
struct Salvage<'a, F: Fingerprint> {
    root: &'a Path,
    manifest: &'a Manifest,
    segments: Vec<DamagedSegment<F>>,
    recent: Memtable<F>,
}

impl<F: Fingerprint> Salvage<'_, F> {
    /// Returns how many documents the database had, or entries with user ids, as far as the
    /// manifest and the logs say.
    fn documents_before(&self) -> u64 {
        let metas = self.segments.iter().map(|segment| &segment.meta);
        let before = match self.manifest.settings.ids {
            Ids::User => {
                let gain = |meta: &SegmentMeta| meta.entries as i64 - meta.removed as i64;
                metas.map(gain).sum::<i64>() + self.recent.net_entries(u64::MAX)
            }
            Ids::Unique | Ids::Names => {
                let gain = SegmentMeta::document_gain;
                metas.map(gain).sum::<i64>() + self.recent.net_documents(u64::MAX)
            }
        };
        u64::try_from(before).unwrap_or(0)
    }

    fn write_entries(
        &self,
        db: &WriteHandle<F>,
        watch: &Watch,
        report: &mut BuildReport,
    ) -> Result<()> {
        let read = self.segments.iter().map(|_| Read::default()).collect::<Vec<_>>();
        let mut entries = live_entries(&self.segments, &self.recent, &read)?;
        let Some(passages) = self.manifest.settings.passages else {
            let _ = load(db.core(), &mut entries, watch)?;
            self.report_lost(&read, report);
            return Ok(());
        };
        let before = self.segments.iter().map(|_| Read::default()).collect::<Vec<_>>();
        let mut texts = Texts::of(passages, live_entries(&self.segments, &self.recent, &before)?)?;
        let mut entries = entries.filter(|entry| texts.keep(entry));
        let _ = load(db.core(), &mut entries, watch)?;
        drop(entries);
        self.report_lost(&read, report);
        texts.report(self.root, report);
        Ok(())
    }

    fn write_documents(
        &self,
        db: &WriteHandle<F>,
        watch: &Watch,
        report: &mut BuildReport,
    ) -> Result<()> {
        let lost_records = lost_records(&self.segments)?;
        let (segments, recent) = (&self.segments, &self.recent);
        // In a database of sketches, nothing else says which documents there are.
        let has_entries = self.manifest.settings.index.tables().is_some();
        let given = if !has_entries || lost_records.iter().all(|&lost| lost == 0) {
            RepairedDocuments::complete(segments, recent)?
        } else {
            let read = segments.iter().map(|_| Read::default()).collect::<Vec<_>>();
            let entries = live_entries(segments, recent, &read)?;
            let lost = || {
                let lost = segments.iter().zip(&read).map(|(segment, read)| read.lost(segment));
                lost.fold((0, 0), |sum, lost| (sum.0 + lost.0, sum.1 + lost.1))
            };
            let ids = self.manifest.settings.ids;
            let (given, changed) =
                RepairedDocuments::with_entries(segments, recent, ids, entries, lost)?;
            self.report_lost(&read, report);
            self.report_changed(changed, report);
            given
        };
        for (segment, lost) in self.segments.iter().zip(lost_records) {
            self.report_loss(
                report,
                LossKind::Documents,
                lost,
                FileName::Documents(segment.meta.id),
            );
        }
        self.load(db, watch, given)
    }

    fn load(
        &self,
        db: &WriteHandle<F>,
        watch: &Watch,
        mut documents: RepairedDocuments<'_, F>,
    ) -> Result<()> {
        let sample: Vec<(Vec<u8>, Document<F>)> =
            documents.by_ref().take(SAMPLED_KEYS).collect::<Result<_>>()?;
        let keys: Vec<&[u8]> = sample.iter().map(|(key, _)| key.as_slice()).collect();
        let symbols = SymbolTable::train(&keys);
        let records = |segment: &DamagedSegment<F>| {
            segment.meta.documents.map_or(0, |meta| meta.live) + segment.meta.entries
        };
        let recent = self.recent.documents(u64::MAX, None).len() as u64;
        let most = self.segments.iter().map(records).sum::<u64>() + recent;
        let bytes = self.segments.iter().map(|segment| segment.meta.bytes()).sum();
        let next_doc = self.recent.next_doc();
        let documents = &mut sample.into_iter().map(Ok).chain(documents);
        let given = DocumentsToLoad { documents, most, bytes, symbols, next_doc };
        load_documents(db.core(), given, watch).map(|_| ())
    }

    fn report_lost(&self, read: &[Read], report: &mut BuildReport) {
        for (segment, read) in self.segments.iter().zip(read) {
            let (id, (entries, removals)) = (segment.meta.id, read.lost(segment));
            let file = match segment.tables.first() {
                Some(Some(_)) => FileName::Postings(id),
                _ => FileName::Table(id, 0),
            };
            self.report_loss(report, LossKind::Entries, entries, file);
            self.report_loss(report, LossKind::Removals, removals, FileName::Tombstones(id));
        }
    }

    fn report_changed(&self, changed: Changed, report: &mut BuildReport) {
        let Changed { names, versions, contradictory } = changed;
        for (kind, count) in [
            (LossKind::Names, names),
            (LossKind::Versions, versions),
            (LossKind::Documents, contradictory),
        ] {
            if count > 0 {
                let path = self.root.to_owned();
                report.losses.push(Loss::new(kind, Some(count), path));
            }
        }
    }

    fn report_loss(&self, report: &mut BuildReport, kind: LossKind, count: u64, file: FileName) {
        if count > 0 {
            let path = self.root.join(file.to_string());
            report.losses.push(Loss::new(kind, Some(count), path));
        }
    }
}

#[cfg(test)]
mod tests;
