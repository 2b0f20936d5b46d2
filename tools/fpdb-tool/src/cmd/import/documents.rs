//! Documents, all stored under their ids.

use anyhow::Result;
use fpdb::{Db, Description, Key, Options};
use serde::Serialize;

use super::Args;
use crate::input::{Document, From, Intake};
use crate::output::Context;
use crate::progress;
use crate::recipe::{self, Width};

/// Documents to a commit, and so to a sync.
const BATCH: usize = 4096;
/// Bytes of documents from which on a batch is full, whatever their number.
const BATCH_BYTES: usize = 64 << 20;

#[derive(Serialize)]
struct Imported {
    schema: &'static str,
    read: u64,
    inserted: u64,
    /// Without a fingerprint: too short, or bad.
    skipped: u64,
    /// Of those skipped, what should be documents and are none.
    bad: u64,
    /// Records of archives that are not about a page. They do not count as read.
    ignored: u64,
}

impl Args {
    pub(super) fn documents<F: Width>(
        &self,
        from: From,
        options: Options<F>,
        found: Option<&Description>,
        context: &mut Context<'_>,
    ) -> Result<()> {
        self.check_documents()?;
        let asked = self.recipe.as_deref();
        let (db, recipe) = recipe::open(&self.path, options, found, &self.new, asked, "import")?;
        let bar = progress::over_files(context, &self.files);
        let make =
            move |document: Document| (document.id, recipe.fingerprint(&document.text).fingerprint);
        let mut documents = self.documents.start(&self.files, from, &bar, make)?;
        let stored = store(&db, &mut documents, context);
        bar.finish_and_clear();
        let closed = db.close();
        let (inserted, too_short) = stored?;
        closed?;
        let counts = &documents.counts;
        let (bad, ignored) = (counts.bad + counts.broken, counts.ignored());
        let skipped = too_short + bad;
        let read = inserted + skipped;
        counts.tell(context);
        let imported =
            Imported { schema: "fpdb.import-documents/1", read, inserted, skipped, bad, ignored };
        let told = format!("read {read} documents: {inserted} inserted, {skipped} skipped");
        context.conclude(&imported, told)?;
        documents.verdict()
    }
}

/// Stores all documents that have a fingerprint. Returns how many have one and how many not.
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
        let entries: Vec<_> =
            batch.iter().filter_map(|item| Some((item.made.1?, Key::Name(&item.made.0)))).collect();
        if !entries.is_empty() {
            db.insert_batch(&entries)?;
        }
        inserted += entries.len() as u64;
        too_short += (batch.len() - entries.len()) as u64;
        if !more? {
            return Ok((inserted, too_short));
        }
    }
}
