//! `dedup`

mod batch;
mod report;

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::ValueEnum;
use fpdb::text::Recipe;
use fpdb::{Durability, Options};
use serde::Serialize;

use crate::database::{self, NewDatabase, by_width};
use crate::failure::Outcome;
use crate::input::{self, Document, DocumentArgs, DocumentFormat};
use crate::memory::MemoryArgs;
use crate::output::{self, Context, printable};
use crate::progress;
use crate::recipe::{self, Width};
use batch::{Deduplicator, Prepared, Printer};
use report::Report;

const EXAMPLE: &str = "\
Example:
  fpdb-tool dedup crawl.fpdb pages.ndjson.gz > novel.ndjson";

/// Prints the novel documents and stores their fingerprints
///
/// Reads documents from files and folders, in the order given. A document is a duplicate if its
/// fingerprint is within the database's max distance of one stored earlier, in this run or before.
/// All other documents are novel. dedup prints them, and stores their fingerprints under their ids:
///
/// - lines of NDJSON and text, and rows of tables below their header, as they are in the file
///
/// - all others, such as pages, as one line of NDJSON: {"id": "...", "text": "..."}, for pages also
///   with "extraction", the name of the extraction that made the text
///
/// A document is printed before it is stored. So if the run is interrupted, the next run over the
/// same files may print some documents again, but none is lost. After a complete run, all documents
/// of the same files are duplicates.
///
/// Documents with too few features for a fingerprint count as skipped, and are printed only with
/// --keep-skipped. Damage in an archive is reported and does not stop the run, but the exit code is
/// 2 unless --skip-bad is given.
///
/// The database needs ids of kind `names`. It is created if it is missing.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// The database, created if missing
    #[arg(value_name = "DB")]
    path: PathBuf,

    /// Files, plain or compressed with gzip or zstd, and folders, in which hidden files are left
    /// out; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Format of the files
    #[arg(long, value_enum, default_value = "auto")]
    from: DocumentFormat,

    /// Recipe that turns texts into fingerprints [default: the database's recipe, else `default`]
    #[arg(long, value_name = "NAME")]
    recipe: Option<String>,

    /// What to print of a novel document
    #[arg(long, value_enum, default_value = "document")]
    print: Print,

    /// Write a report of the duplicates to this file, replacing it, as NDJSON with a summary record
    /// last
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// Also print documents with too few features for a fingerprint
    #[arg(long)]
    keep_skipped: bool,

    /// Which failures the stored documents survive
    #[arg(long, value_enum, default_value = "sync")]
    durability: DurabilityArg,

    #[command(flatten)]
    documents: DocumentArgs,

    #[command(flatten)]
    new: NewDatabase,

    /// Width of the fingerprints in bits, 64 or 128 [default: 64]
    #[arg(long, value_parser = database::parse_bits, help_heading = "A new database")]
    bits: Option<u32>,

    #[command(flatten)]
    memory: MemoryArgs,
}

/// `--print`
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum Print {
    /// The document: its line or row, or else NDJSON
    Document,
    /// The id on one line, with control characters escaped
    Id,
}

/// `--durability`
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum DurabilityArg {
    /// Power failures: every batch is synced
    Sync,
    /// Crashes of this process: the system chooses when to write, and the end of the run syncs
    Buffered,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Outcome> {
        input::check_all(&self.files)?;
        input::check_apart("the database", &self.path, &self.files)?;
        self.check_report()?;
        let existing = database::find(&self.path)?;
        let bits = database::width(existing.as_ref(), self.bits)?;
        by_width!(bits, |options| {
            let options = self.memory.apply(options, &self.path);
            self.dedup(options, existing.as_ref(), context)
        })
    }

    /// Refuses a report that would go to standard output or replace an input file.
    fn check_report(&self) -> Result<()> {
        let Some(report) = &self.report else { return Ok(()) };
        if report.as_os_str() == "-" {
            bail!("standard output is for novel documents: give --report a file");
        }
        input::check_apart("--report", report, &self.files)
    }

    fn dedup<F: Width>(
        &self,
        options: Options<F>,
        existing: Option<&fpdb::Description>,
        context: &mut Context<'_>,
    ) -> Result<Outcome> {
        let options = options.durability(match self.durability {
            DurabilityArg::Sync => Durability::Sync,
            DurabilityArg::Buffered => Durability::Buffered,
        });
        let names =
            recipe::Names { recipe: self.recipe.as_deref(), extraction: self.documents.extraction };
        let (db, recipe) = recipe::open(&self.path, options, existing, &self.new, names, "dedup")?;
        let report = Report::create(self.report.as_deref())?;
        let bar = progress::over_files(context, &self.files);
        let print = self.print;
        let prepare = move |document| prepare(document, &recipe, print);
        let mut documents =
            self.documents.start(&self.files, self.from, db.extraction(), &bar, prepare)?;
        documents.one_table = print == Print::Document;
        let mut deduplicator = Deduplicator {
            db: &db,
            keep_skipped: self.keep_skipped,
            report,
            printer: Printer::default(),
        };
        let done = deduplicator.run(&mut documents, context);
        bar.finish_and_clear();
        let report = deduplicator.report;
        // Closed even if the run failed, so that what is stored by now is durable.
        let closed = db.close();
        done?;
        closed?;
        let summary = report.finish()?;
        documents.counts.report_ignored(context);
        if context.json {
            // Standard output is only for novel documents.
            output::json_line(context.err, &summary)?;
        } else {
            context.say(summary);
        }
        documents.verdict()?;
        Ok(Outcome::Done)
    }
}

/// A document as NDJSON.
#[derive(Serialize)]
struct Line<'a> {
    id: &'a str,
    text: &'a str,
    /// The extraction that made the text of a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    extraction: Option<&'static str>,
}

/// Computes the fingerprint of a document and what to print if it is novel.
fn prepare<F: Width>(document: Document, recipe: &Recipe<F>, print: Print) -> Prepared<F> {
    let Document { id, text, raw, extraction } = document;
    let fingerprint = recipe.fingerprint(&text).fingerprint;
    let output = match (print, raw) {
        (Print::Id, _) => (printable(&id) + "\n").into_bytes(),
        (Print::Document, Some(raw)) => raw,
        (Print::Document, None) => {
            let mut line = Vec::with_capacity(id.len() + text.len() + 32);
            // Serializing strings into memory cannot fail.
            let _ = output::json_line(&mut line, &Line { id: &id, text: &text, extraction });
            line
        }
    };
    Prepared { id, fingerprint, output }
}
