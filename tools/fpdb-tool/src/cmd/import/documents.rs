//! Imports documents: stores all of them under their ids.

use anyhow::Result;
use fpdb::{Db, Description, Key, Options};
use serde::Serialize;

use super::Args;
use crate::input::{Document, DocumentFormat, Intake};
use crate::output::Context;
use crate::progress;
use crate::recipe::{self, Width};

/// Documents per batch. A batch has one commit, and so one sync.
const BATCH: usize = 4096;
/// Bytes of documents that fill a batch, whatever their number.
const BATCH_BYTES: usize = 64 << 20;

/// `fpdb.import-documents/1`
#[derive(Serialize)]
struct Report {
    schema: &'static str,
    read: u64,
    inserted: u64,
    /// Documents without a fingerprint: too short or bad.
    skipped: u64,
    /// The skipped lines, rows, files and records that should be documents but are not.
    bad: u64,
    /// Records of archives that hold no page. They do not count as read.
    ignored: u64,
}

impl Args {
    pub(super) fn documents<F: Width>(
        &self,
        from: DocumentFormat,
        options: Options<F>,
        existing: Option<&Description>,
        context: &mut Context<'_>,
    ) -> Result<()> {
        self.check_documents()?;
        let names =
            recipe::Names { recipe: self.recipe.as_deref(), extraction: self.documents.extraction };
        let (db, recipe) = recipe::open(&self.path, options, existing, &self.new, names, "import")?;
        let bar = progress::over_files(context, &self.files);
        let fingerprint =
            move |document: Document| (document.id, recipe.fingerprint(&document.text).fingerprint);
        let mut documents = self.documents.start(
            &self.files,
            from,
            db.description().extraction.as_deref(),
            &bar,
            fingerprint,
        )?;
        let stored = store(&db, &mut documents, context);
        bar.finish_and_clear();
        let closed = db.close();
        let (inserted, too_short) = stored?;
        closed?;
        let counts = &documents.counts;
        let (bad, ignored) = (counts.bad + counts.broken, counts.ignored());
        let skipped = too_short + bad;
        let read = inserted + skipped;
        counts.report_ignored(context);
        let report =
            Report { schema: "fpdb.import-documents/1", read, inserted, skipped, bad, ignored };
        let sentence = format!("read {read} documents: {inserted} inserted, {skipped} skipped");
        context.conclude(&report, sentence)?;
        documents.verdict()
    }
}

/// Stores all documents that have a fingerprint. Returns the number of documents with and without
/// one.
fn store<F: Width>(
    db: &Db<F>,
    documents: &mut Intake<(String, Option<F>)>,
    context: &mut Context<'_>,
) -> Result<(u64, u64)> {
    let (mut inserted, mut too_short) = (0, 0);
    let mut batch = Vec::new();
    loop {
        batch.clear();
        let more = documents.fill(&mut batch, BATCH, BATCH_BYTES, context);
        let entries: Vec<_> = batch
            .iter()
            .filter_map(|item| Some((item.value.1?, Key::Name(&item.value.0))))
            .collect();
        if !entries.is_empty() {
            db.write(&entries).run()?;
        }
        inserted += entries.len() as u64;
        too_short += (batch.len() - entries.len()) as u64;
        if !more? {
            return Ok((inserted, too_short));
        }
    }
}
