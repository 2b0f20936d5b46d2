//! Imports documents: stores all of them under their ids.

use anyhow::Result;
use fpdb::text::Recipe;
use fpdb::{Db, Description, Fingerprint, Key, Options, Outcome};
use indicatif::ProgressBar;
use serde::Serialize;

use super::Args;
use crate::args::recipe;
use crate::input::{Document, DocumentFormat, Intake};
use crate::output::Context;
use crate::output::progress;

/// Documents per batch. A batch has one commit, and so one sync.
const BATCH: usize = 4096;
/// Bytes of documents that fill a batch, whatever their number.
const BATCH_BYTES: usize = 64 << 20;

/// `fpdb.import-documents/1`
#[derive(Serialize)]
struct Report {
    read: u64,
    /// Documents with a new id.
    inserted: u64,
    /// Documents whose id was there with another fingerprint, in the database or earlier in the
    /// input.
    updated: u64,
    /// Documents whose id was there with the same fingerprint.
    unchanged: u64,
    /// Documents without a fingerprint: too short or bad.
    skipped: u64,
    /// The skipped lines, rows, files and records that should be documents but are not.
    bad: u64,
    /// Records of archives that hold no page. They do not count as read.
    ignored: u64,
}

/// What became of the documents.
#[derive(Default)]
struct Stored {
    inserted: u64,
    updated: u64,
    unchanged: u64,
    too_short: u64,
}

/// A document's id and its fingerprint, if it has one.
type Named<F> = (String, Option<F>);

impl Args {
    pub(super) fn documents<F: Fingerprint>(
        &self,
        from: DocumentFormat,
        options: Options<F>,
        existing: Option<&Description>,
        context: &mut Context<'_>,
    ) -> Result<()> {
        self.check_documents()?;
        let names =
            recipe::Names { recipe: self.recipe.as_deref(), extraction: self.documents.extraction };
        let (target, recipe) =
            recipe::open_target(&self.path, options, existing, &self.new, names, "import")?;
        let done = self.store(&target.db, recipe, from, context);
        let succeeded = done.as_ref().is_ok_and(|(documents, _)| documents.verdict().is_ok());
        let closed = target.close(succeeded);
        let (documents, stored) = done?;
        closed?;
        let counts = &documents.counts;
        let (bad, ignored) = (counts.bad + counts.broken, counts.ignored());
        let Stored { inserted, updated, unchanged, too_short } = stored;
        let skipped = too_short + bad;
        let read = inserted + updated + unchanged + skipped;
        counts.report_ignored(context);
        let report = Report { read, inserted, updated, unchanged, skipped, bad, ignored };
        let sentence = format!(
            "read {read} documents: {inserted} inserted, {updated} updated, {unchanged} unchanged, \
             {skipped} skipped"
        );
        context.conclude("fpdb.import-documents/1", &report, sentence)?;
        documents.verdict()
    }

    /// Stores all documents. Also returns how they were read.
    fn store<F: Fingerprint>(
        &self,
        db: &Db<F>,
        recipe: Recipe<F>,
        from: DocumentFormat,
        context: &mut Context<'_>,
    ) -> Result<(Intake<Named<F>>, Stored)> {
        let bar = progress::over_files(context, &self.files);
        let fingerprint =
            move |document: Document| (document.id, recipe.fingerprint(&document.text).fingerprint);
        let stored = db.description().extraction.as_deref();
        let mut documents = self.documents.start(&self.files, from, stored, &bar, fingerprint)?;
        let counts = store(db, &mut documents, &bar, context);
        bar.finish_and_clear();
        Ok((documents, counts?))
    }
}

/// Stores all documents that have a fingerprint.
fn store<F: Fingerprint>(
    db: &Db<F>,
    documents: &mut Intake<Named<F>>,
    bar: &ProgressBar,
    context: &mut Context<'_>,
) -> Result<Stored> {
    let (mut stored, mut read) = (Stored::default(), 0);
    let mut batch = Vec::new();
    loop {
        batch.clear();
        let more = documents.fill(&mut batch, BATCH, BATCH_BYTES, context);
        let entries: Vec<_> = batch
            .iter()
            .filter_map(|item| Some((item.value.1?, Key::Name(&item.value.0))))
            .collect();
        if !entries.is_empty() {
            for outcome in db.write(&entries).run()? {
                match outcome {
                    Outcome::Updated { .. } => stored.updated += 1,
                    Outcome::Unchanged(_) => stored.unchanged += 1,
                    _ => stored.inserted += 1,
                }
            }
        }
        read += batch.len() as u64;
        stored.too_short += (batch.len() - entries.len()) as u64;
        progress::count(bar, read, (stored.too_short, "without a fingerprint"));
        if !more? {
            return Ok(stored);
        }
    }
}
