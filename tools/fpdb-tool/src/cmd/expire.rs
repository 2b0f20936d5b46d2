//! `expire`

use std::path::PathBuf;

use anyhow::Result;
use fpdb::{Durability, Fingerprint, Options};
use indicatif::ProgressBar;
use serde::Serialize;

use crate::args::database::{self, by_width};
use crate::args::stamp;
use crate::args::writing::WritingArgs;
use crate::output::Context;
use crate::output::failure::Exit;
use crate::output::progress;

const EXAMPLE: &str = "\
Examples:
  fpdb-tool expire crawl.fpdb --before 30d --dry-run
  fpdb-tool expire crawl.fpdb --before 2026-01-31";

/// Removes documents with old stamps
///
/// Removes all documents whose stamp is less than STAMP. A stamp is a number that dedup --stamp
/// gave the document when it was last seen: a time in seconds, the number of a crawl, or whatever
/// you choose. Documents without a stamp stay. Documents are removed a thousand at a time, so an
/// interrupted run has removed some of them, and another run removes the rest. `compact` returns
/// the space to the disk.
///
/// With --dry-run, opens the database read-only and only counts.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    path: PathBuf,

    /// Remove documents with a smaller stamp: a number, a time in UTC such as 2026-01-31, or a
    /// duration such as 30d, which means so long ago
    #[arg(long, value_name = "STAMP", value_parser = stamp::parse, allow_negative_numbers = true)]
    before: u64,

    /// Count the documents, and remove none
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    memory: WritingArgs,
}

/// `fpdb.expire/1`
#[derive(Serialize)]
struct Report {
    examined: u64,
    /// Documents removed, or that would be.
    removed: u64,
    dry_run: bool,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        let description = fpdb::Description::read(&self.path)?;
        database::need_documents(&description, "expire")?;
        let bar = progress::of_operation(context);
        let done = by_width!(description.bits, |options| {
            let options = self.memory.apply(options.index_memory(0));
            if self.dry_run { self.count(options, &bar) } else { self.expire(options, &bar) }
        });
        bar.finish_and_clear();
        let (examined, removed) = done?;
        let dry_run = self.dry_run;
        let report = Report { examined, removed, dry_run };
        let verb = if dry_run { "would be removed" } else { "removed" };
        let sentence = format!("examined {examined} documents: {removed} {verb}");
        context.conclude("fpdb.expire/1", &report, sentence)?;
        Ok(Exit::Done)
    }

    /// Removes the old documents. Returns how many it examined and removed.
    fn expire<F: Fingerprint>(&self, options: Options<F>, bar: &ProgressBar) -> Result<(u64, u64)> {
        // One sync at the end serves all removals.
        let db = options.durability(Durability::Buffered).open(&self.path)?;
        let expired = db.on_progress(progress::on(bar)).expire(self.before);
        // Removals before an error are kept.
        let closed = db.sync().and_then(|()| db.close());
        let report = expired?;
        closed?;
        Ok((report.examined, report.removed))
    }

    /// Counts the documents, and the old ones among them.
    fn count<F: Fingerprint>(&self, options: Options<F>, bar: &ProgressBar) -> Result<(u64, u64)> {
        let db = options.open_read_only(&self.path)?;
        let snapshot = db.snapshot();
        bar.set_length(db.stats().documents);
        bar.set_message("checking");
        let (mut examined, mut old) = (0, 0);
        for document in snapshot.documents()? {
            let (_, document) = document?;
            examined += 1;
            bar.inc(1);
            old += u64::from(document.stamp.is_some_and(|stamp| stamp < self.before));
        }
        Ok((examined, old))
    }
}
