//! `dedup`

mod batch;
mod exact;
mod prepare;
mod report;
mod shown;

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::ValueEnum;
use fpdb::text::Recipe;
use fpdb::{Db, Durability, Fingerprint, Jaccard, OnDuplicate, Options};

use crate::args::choice::choice;
use crate::args::database::{self, NewDatabase, by_width};
use crate::args::recipe;
use crate::args::stamp::StampSource;
use crate::args::suggested;
use crate::args::writing::WritingArgs;
use crate::cmd::html::HtmlFile;
use crate::input::{self, DocumentArgs, DocumentFormat, Intake};
use crate::output::Context;
use crate::output::failure::{self, Exit};
use crate::output::progress;
use batch::{Deduplicator, Printer, Recrawl};
use exact::Exact;
use prepare::{Prepare, Prepared, Print};
use report::{Report, SCHEMA};
use shown::Shown;

const EXAMPLE: &str = "\
Examples:
  fpdb-tool dedup crawl.fpdb pages.ndjson.gz > novel.ndjson
  fpdb-tool dedup crawl.fpdb pages.ndjson.gz --recrawl --stamp now > changed.ndjson";

/// Prints the novel documents and stores their fingerprints
///
/// Reads documents from files and folders, in the order given. A document is a duplicate if one
/// stored earlier, in this run or before, matches by the database's rule: within its max distance,
/// or by similarity (--jaccard). All other documents are novel. dedup stores their fingerprints
/// under their ids, and prints them:
///
/// - lines of NDJSON and text, and rows of tables below their header, as they are in the file
///
/// - all others, such as pages, as one line of NDJSON: {"id": "...", "text": "..."}, for pages also
///   with "extraction", the name of the extraction that made the text
///
/// The id of a page in an archive is its URL. The id of a file that is one document is its path.
/// Bytes that are not UTF-8 are written as in URLs, such as `%E9`; get and remove take such names
/// in the same way.
///
/// A document is printed before it is stored. So if the run is interrupted, the next run over the
/// same files may print some documents again, but none is lost. A document is printed once the
/// system has its line. If the program that reads the lines ends early, the exit code is 2, the
/// message says how many documents were stored, and the lines that it had not read are gone with
/// it: print to a file if that must not happen. After a complete run without --recrawl, all
/// documents of the same files are duplicates.
///
/// An id may occur with several contents, such as a URL that a web archive has captured twice. Each
/// content that is novel is printed, and stored: the first one under the id, and the others under
/// the id with a number, such as `https://a.example/ (2)`. With --versions first, a document whose
/// id is stored already is a duplicate of the stored one, whatever its content.
///
/// Sketches (--jaccard) estimate the similarity. The summary counts a duplicate as uncertain if its
/// estimate exceeds the similarity of the database by less than two standard errors. With --exact,
/// the similarity is computed from all features, which are kept for later runs: no document is a
/// duplicate that is less similar. It is compared with at most 256 documents that are near, the
/// nearest first; the summary counts the novel ones that have 256 or more. Where a document's
/// features are not known, because it was stored without --exact, the estimate must reach the
/// similarity. The summary counts these duplicates as estimated.
///
/// With --recrawl, a document whose id is stored already is compared with all documents except its
/// own old version, and replaces it. If its fingerprint is the same, the document is unchanged and
/// not printed. If it differs and no other document is near, the document is updated: it gets the
/// new fingerprint, and is printed. The summary counts these documents, too. Use this to visit the
/// same pages again and again. If an id occurs with several contents, each replaces the one before,
/// and the last one stays. So another run over the same files updates and prints these documents
/// again, and only these.
///
/// With --stamp, the documents that are stored get a stamp and, with --recrawl, also those that are
/// stored already, unless they have a greater one. `expire` removes documents with old stamps.
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

    /// Files, plain or compressed with gzip or zstd, and folders; `-` is standard input. In a
    /// folder, names that begin with a dot or an underscore are left out
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Format of the files
    #[arg(long, value_parser = choice::<DocumentFormat>(), default_value = "auto")]
    from: DocumentFormat,

    /// Recipe that turns texts into fingerprints [default: the database's recipe, else `default`]
    #[arg(long, value_name = "NAME", value_parser = suggested::recipes(), hide_possible_values = true)]
    recipe: Option<String>,

    /// Decide by the similarity of all features, not by sketches. The features are kept in a folder
    /// beside the database, such as `crawl.fpdb-features`, at about 1.6 kB
    /// per 500 words
    #[arg(long)]
    exact: bool,

    /// What to print of a novel document
    #[arg(long, value_parser = choice::<Print>(), default_value = "document")]
    print: Print,

    /// Write a report of the duplicates to this file, replacing it, as NDJSON with a summary record
    /// last
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// Write what was found to this file, replacing it, as a page to look at: the counts, how
    /// similar the duplicates are, how many there would be at stricter thresholds, the largest
    /// clusters, and the least similar pairs side by side. The page loads nothing. While the
    /// command runs, the texts of novel documents are in a temporary file beside it, and each takes
    /// about 40 bytes of memory
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Also print documents with too few features for a fingerprint
    #[arg(long)]
    keep_skipped: bool,

    /// What becomes of documents with an id that is stored already, without --recrawl
    #[arg(long, value_parser = choice::<Versions>(), default_value = "all", conflicts_with = "recrawl")]
    versions: Versions,

    /// Update documents that are stored under the same id, instead of comparing them with their own
    /// old version
    #[arg(long, help_heading = "Visiting documents again")]
    recrawl: bool,

    /// What becomes of a stored document whose new version is a duplicate of another document
    /// [default: keep]
    #[arg(long, value_parser = choice::<OnDuplicateArg>(), requires = "recrawl", help_heading = "Visiting documents again")]
    on_duplicate: Option<OnDuplicateArg>,

    /// Do not print documents whose fingerprint changed by at most this many bits, or sketch by
    /// this many minima, since the last run. They are updated and counted all the same
    #[arg(
        long,
        value_name = "BITS",
        requires = "recrawl",
        help_heading = "Visiting documents again"
    )]
    changed_by: Option<u32>,

    /// The documents' stamps: the same for all, which is `now`, the time at the start of the run in
    /// seconds since 1970, or another stamp as `expire` takes it, with times in UTC; or the field
    /// or column with a whole number, in NDJSON and tables only
    #[arg(
        long,
        value_name = "STAMP|FIELD",
        value_parser = StampSource::parse,
        help_heading = "Visiting documents again"
    )]
    stamp: Option<StampSource>,

    /// Which failures the stored documents survive
    #[arg(long, value_parser = choice::<DurabilityArg>(), default_value = "sync")]
    durability: DurabilityArg,

    #[command(flatten)]
    documents: DocumentArgs,

    #[command(flatten)]
    new: NewDatabase,

    /// Width of the fingerprints in bits, 64 or 128 [default: 64]
    #[arg(long, value_parser = database::parse_bits, help_heading = "A new database")]
    bits: Option<u32>,

    #[command(flatten)]
    memory: WritingArgs,
}

/// `--versions`
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum Versions {
    /// They are novel unless their content is near that of a stored document
    All,
    /// They are duplicates
    First,
}

/// `--durability`
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum DurabilityArg {
    /// Power failures: every batch is synced
    Sync,
    /// Crashes of this process: the system chooses when to write, and the end of the run syncs
    Buffered,
}

/// `--on-duplicate`
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum OnDuplicateArg {
    /// Its old version stays, with the new stamp if that is greater
    Keep,
    /// Its old version is removed
    Remove,
    /// It is stored as a duplicate, also if it is new, so that the next run knows it. Queries do
    /// not find it, and nothing is a duplicate of it
    Remember,
}

impl From<OnDuplicateArg> for OnDuplicate {
    fn from(arg: OnDuplicateArg) -> Self {
        match arg {
            OnDuplicateArg::Keep => Self::Keep,
            OnDuplicateArg::Remove => Self::Remove,
            OnDuplicateArg::Remember => Self::Remember,
        }
    }
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        input::check_all(&self.files)?;
        input::check_apart("the database", &self.path, &self.files)?;
        self.check_report()?;
        let features = exact::folder_of(&self.path);
        let others = [&*self.path, &*features].into_iter().chain(self.report.as_deref());
        HtmlFile::check(self.html.as_deref(), &self.files, others)?;
        let existing = database::find(&self.path)?;
        let bits = database::width(existing.as_ref(), self.bits, &self.new)?;
        by_width!(bits, self.new.sketches(), |options| {
            let options = self.memory.apply(options);
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

    fn recrawl(&self) -> Option<Recrawl> {
        let on_duplicate = self.on_duplicate.map(OnDuplicate::from).unwrap_or_default();
        self.recrawl.then_some(Recrawl { on_duplicate, changed_by: self.changed_by })
    }

    fn dedup<F: Fingerprint>(
        &self,
        options: Options<F>,
        existing: Option<&fpdb::Description>,
        context: &mut Context<'_>,
    ) -> Result<Exit> {
        let options = options.durability(match self.durability {
            DurabilityArg::Sync => Durability::Sync,
            DurabilityArg::Buffered => Durability::Buffered,
        });
        let names =
            recipe::Names { recipe: self.recipe.as_deref(), extraction: self.documents.extraction };
        let (target, recipe) =
            recipe::open_target(&self.path, options, existing, &self.new, names, "dedup")?;
        let done = self.store(&target.db, recipe, context);
        let succeeded = done.as_ref().is_ok_and(|(documents, ..)| documents.verdict().is_ok());
        let closed = target.close(succeeded);
        let (documents, report, shown) = done?;
        closed?;
        let summary = report.finish(&context.provenance)?;
        shown.map_or(Ok(()), |shown| shown.finish(&self.path, &summary, context))?;
        documents.counts.report_ignored(context);
        if context.json {
            context.summary(SCHEMA, &summary)?;
        } else {
            context.say(summary);
        }
        documents.verdict()?;
        Ok(Exit::Done)
    }

    /// Prints and stores the novel documents. Returns how they were read, the report, and what a
    /// person is shown.
    fn store<F: Fingerprint>(
        &self,
        db: &Db<F>,
        recipe: Recipe<F>,
        context: &mut Context<'_>,
    ) -> Result<(Intake<Prepared<F>>, Report, Option<Shown>)> {
        let similarity = db.description().rule.jaccard().map(Jaccard::similarity);
        let exact = self.exact(&recipe, similarity)?;
        let report =
            Report::create(self.report.as_deref(), self.recrawl, similarity, exact.is_some())?;
        let compared = similarity.map(|_| recipe.clone());
        let bar = progress::over_files(context, &self.files);
        let (reading, given) = self.reading();
        let seed = exact.as_ref().map(Exact::seed);
        let with_texts = self.html.is_some();
        let prepare = Prepare { recipe, seed, print: self.print, stamp: given, with_texts };
        let prepare = move |document| prepare.document(document);
        let stored = db.description().extraction.as_deref();
        let mut documents = reading.start(&self.files, self.from, stored, &bar, prepare)?;
        documents.one_table = self.print == Print::Document;
        let mut deduplicator = Deduplicator {
            db,
            keep_skipped: self.keep_skipped,
            recrawl: self.recrawl(),
            only_first: self.versions == Versions::First,
            compared,
            exact,
            is_synced: self.durability == DurabilityArg::Sync,
            report,
            shown: Shown::create(self.html.as_deref(), &db.description().rule)?,
            printer: Printer::default(),
            bar: &bar,
        };
        let done = deduplicator.run(&mut documents, context);
        bar.finish_and_clear();
        done.map_err(|error| match failure::is_broken_pipe(&error) {
            true => error.context(without_reader(deduplicator.report.summary().novel)),
            false => error,
        })?;
        deduplicator.exact.take().map_or(Ok(()), Exact::close)?;
        Ok((documents, deduplicator.report, deduplicator.shown))
    }

    /// Returns what compares documents exactly, if that is wanted.
    fn exact<F: Fingerprint>(
        &self,
        recipe: &Recipe<F>,
        similarity: Option<f64>,
    ) -> Result<Option<Exact<F>>> {
        if !self.exact {
            return Ok(None);
        }
        let Some(least) = similarity else {
            bail!(
                "--exact: the database finds documents within a distance; it needs one that was made \
                 with --jaccard"
            );
        };
        let options = self.memory.of_another_database(Db::options());
        Exact::open(&self.path, recipe.clone(), least, options).map(Some)
    }

    /// Returns how documents are read, and the stamp that all of them get, if any.
    fn reading(&self) -> (DocumentArgs, Option<u64>) {
        let mut reading = self.documents.clone();
        match &self.stamp {
            Some(StampSource::Given(stamp)) => return (reading, Some(*stamp)),
            Some(StampSource::Field(field)) => reading.stamp_field = Some(field.clone()),
            None => {}
        }
        (reading, None)
    }
}

/// Says what became of the novel documents if nobody reads the output to its end.
fn without_reader(novel: u64) -> String {
    format!(
        "the program that reads the output has ended: {novel} novel documents were printed and \
         stored, so the next run takes them for duplicates, also those that the program had not read \
         yet"
    )
}
