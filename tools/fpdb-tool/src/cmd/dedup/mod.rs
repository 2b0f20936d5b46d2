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
use crate::input::{self, Document, DocumentArgs, From};
use crate::output::{self, Context, printable};
use crate::progress;
use crate::recipe::{self, Width};
use batch::{Deduplicator, Made, Printer};
use report::Report;

/// Documents to a batch: they share one commit, and so one sync.
const BATCH_DOCUMENTS: usize = 256;
/// Bytes from which on a batch is full, whatever the number of its documents.
const BATCH_BYTES: usize = 8 << 20;

/// Prints the documents that are novel, and remembers them
///
/// Reads documents from files and folders, in the order given. One whose fingerprint is within the
/// database's distance of one that is stored or printed before is a duplicate. The others are
/// printed, and stored under their ids:
///
/// - lines, of NDJSON and text, and rows of tables, under their header, as they are in the file;
///
/// - others, such as pages, as a line of NDJSON each: {"id": "...", "text": "..."}.
///
/// A document is printed before it is stored. So if the run is interrupted, the next run over the
/// same files may print some again, but none is lost. A file given again after a run that finished
/// yields duplicates only.
///
/// Documents with too few features to have a fingerprint are counted as skipped, and not printed
/// unless --keep-skipped is given. Damage in an archive does not stop the run, but it is told, and
/// the exit code is 2 at the end, unless --skip-bad is given.
///
/// The database needs ids of kind `names`. If there is none, it is made.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The database, made if it is missing
    #[arg(value_name = "DB")]
    path: PathBuf,

    /// Files, plain or compressed with gzip or zstd, and folders, of which all files are read but
    /// hidden ones; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// What the files hold
    #[arg(long, value_enum, default_value = "auto")]
    from: From,

    /// How to make fingerprints of texts [default: the database's recipe, else `default`]
    #[arg(long, value_name = "NAME")]
    recipe: Option<String>,

    /// What to print of a novel document
    #[arg(long, value_enum, default_value = "document")]
    print: Print,

    /// Where to report duplicates, as NDJSON with a summary last; the file is replaced
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// Print documents that have too few features for a fingerprint
    #[arg(long)]
    keep_skipped: bool,

    /// What the stored documents survive
    #[arg(long, value_enum, default_value = "sync")]
    durability: DurabilityArg,

    #[command(flatten)]
    documents: DocumentArgs,

    #[command(flatten)]
    new: NewDatabase,

    /// Width of the fingerprints, 64 or 128 [default: 64]
    #[arg(long, value_parser = database::parse_bits, help_heading = "A new database")]
    bits: Option<u32>,
}

/// `--print`
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum Print {
    /// All of it: its line or row, or else NDJSON
    Document,
    /// Its id, on a line of its own, with control characters escaped
    Id,
}

/// `--durability`
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum DurabilityArg {
    /// Power cuts: every batch is synced
    Sync,
    /// Crashes of this process: the system writes when it likes, and at the end
    Buffered,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Outcome> {
        input::check_all(&self.files)?;
        input::check_apart("the database", &self.path, &self.files)?;
        self.check_report()?;
        let found = database::find(&self.path)?;
        let bits = database::width(found.as_ref(), self.bits)?;
        by_width!(bits, |options| self.dedup(options, found.as_ref(), context))
    }

    /// Refuses a report in the place of something that it would spoil.
    fn check_report(&self) -> Result<()> {
        let Some(report) = &self.report else { return Ok(()) };
        if report.as_os_str() == "-" {
            bail!("standard output is for novel lines: give --report a file");
        }
        input::check_apart("--report", report, &self.files)
    }

    fn dedup<F: Width>(
        &self,
        options: Options<F>,
        found: Option<&fpdb::Description>,
        context: &mut Context<'_>,
    ) -> Result<Outcome> {
        let options = options.durability(match self.durability {
            DurabilityArg::Sync => Durability::Sync,
            DurabilityArg::Buffered => Durability::Buffered,
        });
        let recipe = self.recipe.as_deref();
        let (db, recipe) = recipe::open(&self.path, options, found, &self.new, recipe, "dedup")?;
        let report = Report::create(self.report.as_deref())?;
        let bar = progress::over_files(context, &self.files);
        let print = self.print;
        let make = move |document| make(document, &recipe, print);
        let mut documents = self.documents.start(&self.files, self.from, &bar, make)?;
        documents.one_table = print == Print::Document;
        let mut deduplicator = Deduplicator {
            db: &db,
            keep_skipped: self.keep_skipped,
            report,
            printer: Printer::default(),
        };
        let done = deduplicator.take_all(&mut documents, context);
        bar.finish_and_clear();
        let report = deduplicator.report;
        // Whatever stopped the run, what is stored by now is to last.
        let closed = db.close();
        done?;
        closed?;
        let summary = report.finish()?;
        documents.counts.tell(context);
        if context.json {
            // Standard output is for the novel documents alone.
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
}

/// Makes a fingerprint of a document, and what to print of it.
fn make<F: Width>(document: Document, recipe: &Recipe<F>, print: Print) -> Made<F> {
    let Document { id, text, raw } = document;
    let fingerprint = recipe.fingerprint(&text).fingerprint;
    let shown = match (print, raw) {
        (Print::Id, _) => (printable(&id) + "\n").into_bytes(),
        (Print::Document, Some(raw)) => raw,
        (Print::Document, None) => {
            let mut line = Vec::with_capacity(id.len() + text.len() + 32);
            // Strings into memory: neither can fail.
            let _ = output::json_line(&mut line, &Line { id: &id, text: &text });
            line
        }
    };
    Made { id, fingerprint, shown }
}
