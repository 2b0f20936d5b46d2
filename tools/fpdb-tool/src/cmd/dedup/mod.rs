//! `dedup`

mod batch;
mod report;

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::ValueEnum;
use fpdb::text::Recipe;
use fpdb::{Db, Durability, ErrorKind, Ids, Options};

use crate::database::{self, NewDatabase};
use crate::failure::{self, Outcome};
use crate::input;
use crate::input::documents::Fields;
use crate::input::lines::Lines;
use crate::output::{self, Context};
use crate::progress;
use batch::Deduplicator;
use report::Report;

/// The recipe of a database that this command makes, unless another is asked for.
const DEFAULT_RECIPE: &str = "words/1";

/// Lines to a batch: they share one commit, and so one sync.
const BATCH_LINES: usize = 256;
/// Bytes from which on a batch is full, whatever the number of its lines.
const BATCH_BYTES: usize = 8 << 20;

/// Prints the documents that are novel, and remembers them
///
/// Reads documents as NDJSON, a line each: {"id": "...", "text": "..."}, the id a string or a
/// number; other fields are ignored, and so are blank lines. A document whose fingerprint is
/// within the database's distance of one that is stored or printed before is a duplicate. The
/// lines of the others are printed unchanged and stored under their ids.
///
/// A line is printed before its document is stored. So if the run is interrupted, the next run
/// over the same files may print some lines again, but none is lost. A file given again after a
/// run that finished yields duplicates only.
///
/// Documents with too few features to have a fingerprint are counted as skipped, and not printed
/// unless --keep-skipped is given.
///
/// The database needs ids of kind `names` and 64 bits. If there is none, it is made.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The database, made if it is missing
    #[arg(value_name = "DB")]
    path: PathBuf,

    /// NDJSON files, plain or gzipped; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// What the files hold
    #[arg(long, value_enum, default_value = "ndjson")]
    from: Source,

    /// How to make fingerprints of texts [default: the database's recipe, else words/1]
    #[arg(long, value_name = "NAME")]
    recipe: Option<String>,

    /// Where to report duplicates, as NDJSON with a summary last; the file is replaced
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// The field that holds a document's id
    #[arg(long, value_name = "NAME", default_value = "id")]
    id_field: String,

    /// The field that holds a document's text
    #[arg(long, value_name = "NAME", default_value = "text")]
    text_field: String,

    /// Count lines that are no documents as skipped, and go on, rather than stop at the first
    #[arg(long)]
    skip_bad: bool,

    /// Print documents that have too few features for a fingerprint
    #[arg(long)]
    keep_skipped: bool,

    /// What the stored documents survive
    #[arg(long, value_enum, default_value = "sync")]
    durability: DurabilityArg,

    #[command(flatten)]
    new: NewDatabase,
}

/// `--from`
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// A JSON object a line
    Ndjson,
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
        let Source::Ndjson = self.from;
        input::check_all(&self.files)?;
        self.check_report()?;
        let (db, recipe) = self.open()?;
        let report = Report::create(self.report.as_deref())?;
        let bar = progress::over_files(context, &self.files);
        let mut deduplicator = Deduplicator {
            db: &db,
            recipe,
            fields: Fields { id: &self.id_field, text: &self.text_field },
            skip_bad: self.skip_bad,
            keep_skipped: self.keep_skipped,
            report,
            unfinished_line: false,
        };
        let done = self.files.iter().try_for_each(|file| {
            let mut lines = Lines::open(file, &bar)?;
            deduplicator.file(&mut lines, context)
        });
        bar.finish_and_clear();
        let report = deduplicator.report;
        // Whatever stopped the run, what is stored by now is to last.
        let closed = db.close();
        done?;
        closed?;
        let summary = report.finish()?;
        if context.json {
            // Standard output is for the novel lines alone.
            output::json_line(context.err, &summary)?;
        } else {
            context.say(summary);
        }
        Ok(Outcome::Done)
    }

    /// Refuses a report in the place of something that it would spoil.
    fn check_report(&self) -> Result<()> {
        let Some(report) = &self.report else { return Ok(()) };
        if report.as_os_str() == "-" {
            bail!("standard output is for novel lines: give --report a file");
        }
        let is_report = |file: &PathBuf| match (file.canonicalize(), report.canonicalize()) {
            (Ok(file), Ok(report)) => file == report,
            _ => false,
        };
        if self.files.iter().any(is_report) {
            bail!("--report would replace {}, which is to be read", report.display());
        }
        Ok(())
    }

    fn open(&self) -> Result<(Db, Recipe)> {
        let found = database::find(&self.path)?;
        let stored = found.as_ref().and_then(|found| found.recipe.as_deref());
        let recipe = self.recipe.as_deref().or(stored).unwrap_or(DEFAULT_RECIPE);
        let recipe = Recipe::named(recipe).map_err(|e| failure::as_usage(&e))?;
        let mut options = Options::<u64>::new();
        if let Some(found) = &found {
            database::need_ids(found, Ids::Names, "dedup")?;
            if found.bits != 64 {
                bail!("recipes make fingerprints of 64 bits; this database has {}", found.bits);
            }
            if let Some(stored) = stored.filter(|&stored| stored != recipe.name()) {
                bail!("the database is of recipe {stored}, so {} does not fit it", recipe.name());
            }
            self.new.check_against(found)?;
        } else {
            options = self.new.options(options)?.ids(Ids::Names);
        }
        let options = options.recipe(recipe.name()).durability(match self.durability {
            DurabilityArg::Sync => Durability::Sync,
            DurabilityArg::Buffered => Durability::Buffered,
        });
        let db = match found {
            Some(_) => options.open(&self.path),
            None => options.open_or_create(&self.path),
        };
        match db {
            // The format was read before, so what does not fit is the recipe.
            Err(error) if error.kind() == ErrorKind::Unsupported => Err(failure::as_usage(&error)),
            db => Ok((db?, recipe)),
        }
    }
}
