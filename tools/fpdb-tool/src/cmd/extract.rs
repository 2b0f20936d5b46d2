//! `extract`

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::ValueEnum;
use fpdb_web::{ErrorKind, Extraction, Extractor, Page, Record};
use indicatif::ProgressBar;
use serde::Serialize;

use crate::args::choice::choice;
use crate::args::numbers::parse_size;
use crate::input::pool::{self, Emit};
use crate::input::walk::Walk;
use crate::input::{self, Compression, Input, parse_threads, web};
use crate::output::failure::{self, Exit};
use crate::output::progress;
use crate::output::{self, Context};

/// Records per batch, which is what threads pass to each other, and bytes that fill one.
const BATCH_RECORDS: usize = 64;
const BATCH_BYTES: usize = 1 << 20;

const EXAMPLE: &str = "\
Example:
  fpdb-tool extract crawl.warc.gz > pages.ndjson";

/// Prints the texts of web pages, from which fingerprints are computed
///
/// Reads web archives (WARC 0.17 to 1.1 and ARC 1, uncompressed or gzip, also within WACZ and other
/// zip files) or HTML files, and prints NDJSON, one page per line in the order of the files: {"id":
/// URL or path, "text", "extraction", "charset", "charset_source", "language"}. The extraction is
/// the name of the method that extracted the text. The charset source says what determined the
/// charset: `bom`, `header`, `meta` or `detected`. The language is a guess, or null.
///
/// Pages are responses with status 200 that hold HTML or plain text, and records of such documents
/// without a response. All other records are counted. Damage in an archive is reported, and reading
/// continues with the next record that can be found, but the exit code is 2 unless --skip-bad is
/// given.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// Archives or HTML files, or folders of them; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Format of the files
    #[arg(long, value_parser = choice::<Source>(), default_value = "auto")]
    from: Source,

    /// Extraction that turns web pages into text: main/1 keeps the main content, strip/1 everything
    /// that a page shows
    #[arg(long, value_name = "NAME", default_value = "main", value_parser = web::parse_extraction)]
    extraction: Extraction,

    /// Exit with 0 even if there was damage
    #[arg(long)]
    skip_bad: bool,

    /// Largest size of a record or page, both as stored and decoded; larger ones are skipped and
    /// counted
    #[arg(long, value_name = "BYTES", default_value = "64MiB", value_parser = parse_size)]
    max_document: usize,

    /// Stop if a compressed HTML file decompresses to more than this many times its size. The first
    /// 64 MiB are not counted
    #[arg(long, value_name = "TIMES", default_value_t = 1000)]
    max_ratio: u64,

    /// Number of threads that extract texts; at most the same number read files [default: one per
    /// core]
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    threads: Option<usize>,
}

/// `--from`
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// HTML if the name ends in .html or .htm, before .gz or .zst, else a web archive
    Auto,
    /// A web archive, WARC or ARC
    Warc,
    /// One page per file
    Html,
}

/// How files are read.
struct Reading {
    from: Source,
    max_document: usize,
    max_ratio: u64,
    bar: ProgressBar,
}

/// A page as it is printed.
#[derive(Serialize)]
struct Line<'a> {
    id: &'a str,
    text: &'a str,
    extraction: &'static str,
    charset: &'static str,
    charset_source: String,
    language: Option<&'static str>,
}

/// Counts of what was read. Each record is a page, skipped or broken.
#[derive(Debug, Serialize)]
struct Summary {
    records: u64,
    pages: u64,
    broken: u64,
    /// Records without a page, by reason.
    skipped: BTreeMap<String, u64>,
    #[serde(skip)]
    printed: input::Printed,
}

/// Records of one file.
struct Batch {
    label: String,
    records: Vec<fpdb_web::Result<Record>>,
}

/// The result of a batch.
#[derive(Default)]
struct Made {
    lines: Vec<u8>,
    pages: u64,
    skipped: BTreeMap<String, u64>,
    /// Errors, with their places.
    broken: Vec<String>,
    /// What else is wrong with the file.
    warnings: Vec<String>,
    /// The name of the file.
    label: String,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        input::check_all(&self.files)?;
        let bar = progress::over_files(context, &self.files);
        let reading = Reading {
            from: self.from,
            max_document: self.max_document,
            max_ratio: self.max_ratio,
            bar: bar.clone(),
        };
        let read = move |path: Result<PathBuf>, emit: Emit<'_, Batch>| reading.read(&path?, emit);
        let extractor = web::extractor(self.extraction, self.max_document);
        let threads = self.threads.unwrap_or_else(input::all_cores);
        let made = pool::start(Walk::new(&self.files), threads, threads, read, move |batch| {
            make(batch, &extractor)
        })?;
        let mut summary = Summary::new();
        for made in made {
            summary.add(made, context)?;
        }
        bar.finish_and_clear();
        if context.json {
            context.summary("fpdb.extract/1", &summary)?;
        } else {
            context.say(&summary);
        }
        if summary.broken > 0 && !self.skip_bad {
            context.out.flush()?;
            bail!("skipped {} broken records", summary.broken);
        }
        Ok(Exit::Done)
    }
}

impl Reading {
    /// Reads a file into batches of records.
    fn read(&self, path: &Path, emit: Emit<'_, Batch>) -> Result<()> {
        let is_html = match self.from {
            Source::Auto => input::is_html(path),
            source => source == Source::Html,
        };
        if is_html {
            let mut input = Input::open(path, Compression::ByContent, self.max_ratio, &self.bar)?;
            let bytes = web::read_whole(path, &mut input, self.max_document)?;
            read_batches(&input::label(path), [Ok(web::html(path, bytes))], emit);
        } else {
            let limits = web::limits(self.max_document);
            for archive in web::archives(path, limits, &self.bar)? {
                let (name, archive) = archive?;
                if !read_batches(&name, archive, emit) {
                    break;
                }
            }
        }
        Ok(())
    }
}

/// Returns whether more records are wanted.
fn read_batches(
    label: &str,
    records: impl IntoIterator<Item = fpdb_web::Result<Record>>,
    emit: Emit<'_, Batch>,
) -> bool {
    let empty = || Batch { label: label.to_owned(), records: Vec::new() };
    let (mut batch, mut bytes) = (empty(), 0);
    for record in records {
        bytes += record.as_ref().map_or(0, Record::size);
        batch.records.push(record);
        let is_full = batch.records.len() >= BATCH_RECORDS || bytes >= BATCH_BYTES;
        if is_full && !emit(std::mem::replace(&mut batch, empty()), std::mem::take(&mut bytes)) {
            return false;
        }
    }
    batch.records.is_empty() || emit(batch, bytes)
}

fn make(batch: Batch, extractor: &Extractor) -> Result<Made> {
    let mut made = Made { label: batch.label, ..Made::default() };
    for record in batch.records {
        match record.and_then(|record| extractor.record(&record)) {
            Ok(fpdb_web::Extracted::Page(page)) => {
                made.pages += 1;
                output::json_line(&mut made.lines, &Line::of(&page))?;
            }
            Ok(fpdb_web::Extracted::Skipped(reason)) => {
                *made.skipped.entry(reason.to_string()).or_default() += 1;
            }
            Err(error) => {
                let (offset, message) = (error.offset(), error.message());
                let message = format!("{}, offset {offset}: {message}", made.label);
                match error.kind() {
                    ErrorKind::SharedMember | ErrorKind::Length => made.warnings.push(message),
                    _ => made.broken.push(message),
                }
            }
        }
    }
    Ok(made)
}

impl<'a> Line<'a> {
    fn of(page: &'a Page) -> Self {
        Self {
            id: &page.url,
            text: &page.text,
            extraction: page.extraction.name(),
            charset: page.charset,
            charset_source: page.charset_source.to_string(),
            language: fpdb_web::language(&page.text),
        }
    }
}

impl Summary {
    fn new() -> Self {
        Self {
            records: 0,
            pages: 0,
            broken: 0,
            skipped: BTreeMap::new(),
            printed: input::Printed::default(),
        }
    }

    /// Prints the result of a batch, or of a file that could not be read, and counts it.
    fn add(&mut self, made: Result<Result<Made>>, context: &mut Context<'_>) -> Result<()> {
        let made = made.and_then(|made| made).unwrap_or_else(|error| Made {
            broken: vec![failure::sentence(&error)],
            ..Made::default()
        });
        context.out.write_all(&made.lines)?;
        for warning in &made.warnings {
            if let Some(message) = self.printed.next(&made.label, warning) {
                context.say(format_args!("warning: {message}"));
            }
        }
        for error in &made.broken {
            // It is an error, so --quiet does not suppress it.
            if let Some(message) = self.printed.next(&made.label, error) {
                let _ = writeln!(context.err, "fpdb-tool: {}", output::printable(&message));
            }
        }
        self.pages += made.pages;
        self.broken += made.broken.len() as u64;
        self.records += made.pages + made.broken.len() as u64;
        for (reason, count) in made.skipped {
            self.records += count;
            *self.skipped.entry(reason).or_default() += count;
        }
        Ok(())
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { records, pages, broken, skipped, .. } = self;
        write!(f, "read {records} records: {pages} pages, {broken} broken")?;
        let mut before = ", skipped: ";
        for (reason, count) in skipped {
            write!(f, "{before}{count} {reason}")?;
            before = ", ";
        }
        Ok(())
    }
}
