//! `extract`

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::ValueEnum;
use serde::Serialize;

use crate::failure::{self, Outcome};
use crate::input::pool::{self, Emit};
use crate::input::walk::Walk;
use crate::input::web::{CharsetSource, Event, Format, Options, Page, Record, Records, TextMode};
use crate::input::{self, parse_size, parse_threads};
use crate::output::{self, Context};
use crate::progress;

/// Records to a batch, which is what threads hand each other, and bytes that fill one.
const BATCH_RECORDS: usize = 64;
const BATCH_BYTES: usize = 1 << 20;

/// Prints the texts of web pages, as fingerprints are made of them
///
/// Reads archives of crawls, WARC 0.17 to 1.1 and ARC 1, plain or gzipped, or HTML files. Prints
/// NDJSON, a page a line in the order of the files: {"id": URL or path, "text", "charset",
/// "charset_source", "language"}: the source is what told the charset, `bom`, `header`, `meta` or
/// `detected`; the language is a guess, or null.
///
/// Pages are answers of status 200 with HTML or plain text, and records of such text without an
/// answer around it. What else an archive holds is counted. Where an archive is damaged, this is
/// told, reading goes on with the next record that can be found, and the exit code is 2 at the
/// end, unless --skip-bad is given.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Archives or HTML files, or folders of them; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// What the files hold [default: html if the name ends in .html or .htm, else warc]
    #[arg(long, value_enum)]
    from: Option<Source>,

    /// What of a page to print
    #[arg(long, value_enum, default_value = "main")]
    text: TextMode,

    /// Exit with 0 though there was damage
    #[arg(long)]
    skip_bad: bool,

    /// The largest record of an archive, or page, to read, as stored and decoded; larger ones are
    /// counted
    #[arg(long, value_name = "BYTES", default_value = "64MiB", value_parser = parse_size)]
    max_document: usize,

    /// Threads that make texts, and at most as many that read files [default: all cores]
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    threads: Option<usize>,
}

/// `--from`
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// An archive of a crawl, WARC or ARC
    Warc,
    /// One page a file
    Html,
}

/// A page as it is printed.
#[derive(Serialize)]
struct Line<'a> {
    id: &'a str,
    text: &'a str,
    charset: &'static str,
    charset_source: CharsetSource,
    language: Option<&'static str>,
}

/// What was read. Each record is a page, skipped or broken.
#[derive(Debug, Serialize)]
struct Summary {
    r#type: &'static str,
    records: u64,
    pages: u64,
    broken: u64,
    /// Records without a page, by the reason.
    skipped: BTreeMap<String, u64>,
}

/// Records of one file.
struct Batch {
    label: String,
    records: Vec<Record>,
}

/// What came of a batch.
#[derive(Default)]
struct Made {
    lines: Vec<u8>,
    pages: u64,
    skipped: BTreeMap<String, u64>,
    /// Errors, with their places.
    broken: Vec<String>,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Outcome> {
        input::check_all(&self.files)?;
        let options = Options { text: self.text, max_record: self.max_document };
        let bar = progress::over_files(context, &self.files);
        let (from, over) = (self.from, bar.clone());
        let read = move |path: Result<PathBuf>, emit: Emit<'_, Batch>| {
            let path = path?;
            let format = format(from, &path);
            let records = Records::open(&path, format, options, &over)?;
            read_batches(&input::label(&path), records, emit);
            Ok(())
        };
        let threads = self.threads.unwrap_or_else(input::all_cores);
        let made = pool::start(Walk::new(&self.files), threads, threads, read, move |batch| {
            make(batch, &options)
        })?;
        let mut summary = Summary::new();
        for made in made {
            summary.add(made, context)?;
        }
        bar.finish_and_clear();
        if context.json {
            // Standard output is for the pages alone.
            output::json_line(context.err, &summary)?;
        } else {
            context.say(&summary);
        }
        if summary.broken > 0 && !self.skip_bad {
            context.out.flush()?;
            bail!("{} broken records were passed over; all others were read", summary.broken);
        }
        Ok(Outcome::Done)
    }
}

fn format(from: Option<Source>, path: &Path) -> Format {
    let named_html = || {
        let bare = match path.extension() {
            Some(extension) if extension == "gz" => path.file_stem().map(Path::new),
            _ => Some(path),
        };
        let extension = bare.and_then(Path::extension).unwrap_or_default();
        extension.eq_ignore_ascii_case("html") || extension.eq_ignore_ascii_case("htm")
    };
    match from {
        Some(Source::Html) => Format::Html,
        None if named_html() => Format::Html,
        Some(Source::Warc) | None => Format::Warc,
    }
}

fn read_batches(label: &str, records: Records, emit: Emit<'_, Batch>) {
    let empty = || Batch { label: label.to_owned(), records: Vec::new() };
    let (mut batch, mut bytes) = (empty(), 0);
    for record in records {
        bytes += record.len();
        batch.records.push(record);
        if batch.records.len() >= BATCH_RECORDS || bytes >= BATCH_BYTES {
            bytes = 0;
            if !emit(std::mem::replace(&mut batch, empty())) {
                return;
            }
        }
    }
    if !batch.records.is_empty() {
        emit(batch);
    }
}

fn make(batch: Batch, options: &Options) -> Result<Made> {
    let mut made = Made::default();
    for record in batch.records {
        match record.extract(options) {
            Event::Page(page) => {
                made.pages += 1;
                output::json_line(&mut made.lines, &Line::of(&page))?;
            }
            Event::Skipped { reason, .. } => {
                *made.skipped.entry(reason.to_string()).or_default() += 1;
            }
            Event::Broken { offset, error } => {
                made.broken.push(format!("{}, offset {offset}: {error}", batch.label));
            }
        }
    }
    Ok(made)
}

impl<'a> Line<'a> {
    fn of(page: &'a Page) -> Self {
        Self {
            id: &page.id,
            text: &page.text,
            charset: page.charset,
            charset_source: page.charset_source,
            language: page.language(),
        }
    }
}

impl Summary {
    fn new() -> Self {
        Self { r#type: "summary", records: 0, pages: 0, broken: 0, skipped: BTreeMap::new() }
    }

    /// Prints what came of a batch, or of a file that could not be read, and counts it.
    fn add(&mut self, made: Result<Result<Made>>, context: &mut Context<'_>) -> Result<()> {
        let made = made.and_then(|made| made).unwrap_or_else(|error| Made {
            broken: vec![failure::sentence(&error)],
            ..Made::default()
        });
        context.out.write_all(&made.lines)?;
        for error in &made.broken {
            // An error, so told in quiet too.
            let _ = writeln!(context.err, "fpdb-tool: {}", output::printable(error));
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
