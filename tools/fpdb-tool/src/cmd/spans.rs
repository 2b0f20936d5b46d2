//! What `passages` and `lines` have in common: they read texts several times, and print or cut the
//! spans that they find.

use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;

use anyhow::{Result, bail};
use fpdb::passages::{Found, Span, Texts};
use fpdb::text::removal::parts_to_remove;
use indicatif::ProgressBar;
use serde::Serialize;

use crate::args::numbers::parse_size;
use crate::input::{self, Document, DocumentArgs, DocumentFormat, Intake};
use crate::output::progress;
use crate::output::{Context, json_line, printable};

/// Documents per batch.
const BATCH: usize = 4096;
/// Bytes of documents that fill a batch, whatever their number.
const BATCH_BYTES: usize = 8 << 20;

/// What is read, and what becomes of the spans.
#[derive(clap::Args)]
pub(super) struct SpanArgs {
    /// Files, plain or compressed with gzip or zstd, and folders. In a folder, names that begin
    /// with a dot or an underscore are left out
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Format of the files
    #[arg(long, value_enum, default_value = "auto")]
    from: DocumentFormat,

    /// Print the documents, without what was found, instead of where it is. Of lines of NDJSON,
    /// only the text changes; other documents are printed as NDJSON with `id` and `text`. Not for
    /// tables
    #[arg(long)]
    cut: bool,

    /// Memory for sorting, before temporary files are used [default: 512MiB]
    #[arg(long, value_name = "BYTES", value_parser = parse_size, help_heading = "Memory")]
    memory: Option<usize>,

    /// Folder of temporary files [default: the system's]
    #[arg(long, value_name = "FOLDER", help_heading = "Memory")]
    temporary: Option<PathBuf>,

    #[command(flatten)]
    documents: DocumentArgs,
}

#[derive(Serialize)]
struct Record<'a> {
    r#type: &'static str,
    i: u64,
    id: &'a str,
    begin: u32,
    end: u32,
    source_i: u64,
    source: &'a str,
    source_begin: u32,
    source_end: u32,
}

/// What was read and found.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) documents: u64,
    /// Bytes of all texts.
    pub(super) bytes: u64,
    pub(super) spans: u64,
    /// Documents that have a span.
    pub(super) with_spans: u64,
    /// Bytes in spans. Those in several count once.
    pub(super) repeated_bytes: u64,
    /// Lines, rows, files and records that should be documents but are not.
    pub(super) bad: u64,
    /// Records of archives that hold no page.
    pub(super) ignored: u64,
}

/// A document as it is read again to be cut.
struct Whole {
    id: String,
    text: String,
    raw: Option<Vec<u8>>,
}

/// A document as NDJSON.
#[derive(Serialize)]
struct Line<'a> {
    id: &'a str,
    text: &'a str,
}

/// Passes the texts on once.
pub(super) type Read<'a> = dyn FnMut(&mut Texts<'_>) -> Result<()> + 'a;

impl SpanArgs {
    pub(super) fn threads(&self) -> usize {
        self.documents.threads()
    }

    pub(super) fn memory(&self) -> Option<u64> {
        self.memory.map(|bytes| bytes as u64)
    }

    pub(super) fn temporary(&self) -> Option<&PathBuf> {
        self.temporary.as_ref()
    }

    /// Searches the texts, and prints the spans as records of this type, or what is left of the
    /// documents.
    pub(super) fn run(
        &self,
        r#type: &'static str,
        search: impl FnOnce(&mut Read<'_>) -> Result<Found>,
        context: &mut Context<'_>,
    ) -> Result<Counts> {
        if self.files.iter().any(|path| input::is_stdin(path)) {
            bail!("standard input cannot be read twice: give a file");
        }
        if self.cut && context.json {
            bail!("--cut prints documents, and --json where spans are: leave one of them out");
        }
        input::check_all(&self.files)?;
        let bar = progress::over_files(context, &self.files);
        let (mut counts, mut ids) = (Counts::default(), Vec::new());
        // What is wrong with the files is said the first time.
        let quiet = context.quiet;
        let found = search(&mut |each| {
            context.quiet |= !ids.is_empty();
            self.read(each, &bar, &mut ids, &mut counts, context)
        });
        let spans = found.map(|found| found.spans);
        context.quiet = true;
        let cut = match &spans {
            Ok(spans) if self.cut => self.cut(spans, &bar, &counts, context),
            _ => Ok(()),
        };
        context.quiet = quiet;
        bar.finish_and_clear();
        cut?;
        let spans = spans?;
        if !self.cut {
            print(&spans, &ids, r#type, context)?;
        }
        counts.count(&spans);
        Ok(counts)
    }

    /// Passes the texts of all files on. The first time, takes the documents' ids and counts.
    fn read(
        &self,
        each: &mut Texts<'_>,
        bar: &ProgressBar,
        ids: &mut Vec<String>,
        counts: &mut Counts,
        context: &mut Context<'_>,
    ) -> Result<()> {
        let parts = |Document { id, text, .. }| (id, text);
        let is_first = ids.is_empty();
        let documents = self.each_batch(parts, bar, context, |batch, _| {
            let texts: Vec<&str> = batch.iter().map(|(_, text)| &**text).collect();
            each(&texts)?;
            if is_first {
                counts.bytes += texts.iter().map(|text| text.len() as u64).sum::<u64>();
                ids.extend(batch.into_iter().map(|(id, _)| id));
            }
            Ok(())
        })?;
        if is_first {
            counts.documents = ids.len() as u64;
            let read = &documents.counts;
            (counts.bad, counts.ignored) = (read.bad + read.broken, read.ignored());
            read.report_ignored(context);
        }
        documents.verdict()
    }

    /// Prints the documents without the sentences and lines that are in spans as a whole.
    fn cut(
        &self,
        spans: &[Span],
        bar: &ProgressBar,
        counts: &Counts,
        context: &mut Context<'_>,
    ) -> Result<()> {
        let (mut row, mut spans) = (0, spans);
        let whole = |Document { id, text, raw, .. }| Whole { id, text, raw };
        let documents = self.each_batch(whole, bar, context, |batch, out| {
            for document in batch {
                let (own, rest) = spans.split_at(spans.partition_point(|span| span.row <= row));
                (row, spans) = (row + 1, rest);
                out.write_all(&self.without(&document, own)?)?;
            }
            Ok(())
        })?;
        if row != counts.documents {
            bail!("the files have changed while they were read");
        }
        documents.verdict()
    }

    /// Returns what to print of a document.
    fn without(&self, document: &Whole, spans: &[Span]) -> Result<Vec<u8>> {
        let Whole { id, text, raw } = document;
        let places: Vec<Range<usize>> = spans.iter().map(Span::bytes).collect();
        if places.iter().any(|place| text.get(place.clone()).is_none()) {
            bail!("{id}: the text has changed while it was read");
        }
        let (mut left, mut at) = (String::with_capacity(text.len()), 0);
        for part in parts_to_remove(text, &places) {
            left += &text[at..part.start];
            at = part.end;
        }
        left += &text[at..];
        let is_whole_line =
            |raw: &[u8]| String::from_utf8_lossy(raw).trim_end_matches(['\r', '\n']) == text;
        let mut line = match raw {
            Some(raw) if left == *text => raw.clone(),
            Some(raw) if is_whole_line(raw) => left.into_bytes(),
            Some(raw) => self.documents.with_text(raw, &left).unwrap_or_else(|| left.into_bytes()),
            None => serde_json::to_vec(&Line { id, text: &left })?,
        };
        if !line.ends_with(b"\n") {
            line.push(b'\n');
        }
        Ok(line)
    }

    /// Reads all documents, and passes them on in batches, with the output.
    fn each_batch<T: Send + 'static>(
        &self,
        convert: impl Fn(Document) -> T + Send + Sync + 'static,
        bar: &ProgressBar,
        context: &mut Context<'_>,
        mut take: impl FnMut(Vec<T>, &mut dyn Write) -> Result<()>,
    ) -> Result<Intake<T>> {
        bar.reset();
        let mut documents = self.documents.start(&self.files, self.from, None, bar, convert)?;
        let mut more = true;
        while more {
            let mut batch = Vec::with_capacity(BATCH);
            more = documents.fill(&mut batch, BATCH, BATCH_BYTES, context)?;
            if self.cut && batch.iter().any(|item| item.tabular) {
                bail!("--cut is not for tables: convert them to NDJSON");
            }
            take(batch.into_iter().map(|item| item.value).collect(), context.out)?;
        }
        Ok(documents)
    }
}

impl Counts {
    fn count(&mut self, spans: &[Span]) {
        let (mut row, mut end) = (u64::MAX, 0);
        for span in spans {
            if span.row != row {
                (row, end) = (span.row, 0);
                self.with_spans += 1;
            }
            self.spans += 1;
            self.repeated_bytes += u64::from(span.end.saturating_sub(end.max(span.begin)));
            end = end.max(span.end);
        }
    }

    /// Returns the share of all bytes that are in spans, in percent.
    pub(super) fn percent(&self) -> f64 {
        100.0 * self.repeated_bytes as f64 / self.bytes.max(1) as f64
    }
}

fn print(
    spans: &[Span],
    ids: &[String],
    r#type: &'static str,
    context: &mut Context<'_>,
) -> Result<()> {
    let id_of = |row| usize::try_from(row).ok().and_then(|row: usize| ids.get(row));
    for span in spans {
        let [id, source] = [span.row, span.source].map(|row| id_of(row).map_or("", |id| id));
        let &Span { row: i, begin, end, source: source_i, source_begin, source_end, .. } = span;
        if context.json {
            let record =
                Record { r#type, i, id, begin, end, source_i, source, source_begin, source_end };
            json_line(context.out, &record)?;
        } else {
            let (id, source) = (printable(id), printable(source));
            writeln!(context.out, "{id}\t{begin}\t{end}\t{source}\t{source_begin}\t{source_end}")?;
        }
    }
    Ok(())
}
