//! `passages`

use std::path::PathBuf;

use anyhow::{Result, bail};
use fpdb::passages::{Passages, Span, Texts};
use indicatif::ProgressBar;
use serde::Serialize;

use crate::args::numbers::parse_size;
use crate::input::{self, Document, DocumentArgs, DocumentFormat};
use crate::output::failure::Exit;
use crate::output::progress;
use crate::output::{Context, json_line, printable};

/// Documents per batch.
const BATCH: usize = 4096;
/// Bytes of documents that fill a batch, whatever their number.
const BATCH_BYTES: usize = 8 << 20;

const EXAMPLE: &str = "\
Examples:
  fpdb-tool passages pages.ndjson
  fpdb-tool dedup crawl.fpdb pages.ndjson > novel.ndjson && fpdb-tool passages novel.ndjson --json";

/// Finds the passages of documents that stand in an earlier document, too
///
/// A passage is a run of at least --min-words words. In scripts that are written without spaces,
/// 1.6 characters count as a word. Words are compared without case, white space and punctuation.
/// All such runs are found, and nothing else. The first document that has a passage keeps it, in
/// the order read; each later one has a line for it. Look for near-duplicates first, and for
/// passages in the documents that are left.
///
/// Prints one line per passage: the document's id, the first byte of its text, the byte after the
/// last one, and the same of the earlier document, in columns divided by tabs. Bytes are those of
/// the text in UTF-8. With --json, prints one record per passage,
/// {"type":"passage","i":1,"id":"...",
/// "begin":9,"end":99,"source_i":0,"source":"...","source_begin":0,"source_end":90}, and a summary
/// record last.
///
/// The files are read twice. No database is read or written.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// Files, plain or compressed with gzip or zstd, and folders. In a folder, names that begin
    /// with a dot or an underscore are left out
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Format of the files
    #[arg(long, value_enum, default_value = "auto")]
    from: DocumentFormat,

    /// The least number of words in a passage, from 14 to 1000
    #[arg(long, value_name = "N", default_value = "50")]
    min_words: usize,

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

#[derive(Serialize, Default)]
struct Summary {
    min_words: usize,
    documents: u64,
    /// Bytes of all texts.
    bytes: u64,
    passages: u64,
    /// Documents that have a passage of an earlier one.
    with_passages: u64,
    /// Bytes in passages. Those in several count once.
    repeated_bytes: u64,
    /// Lines, rows, files and records that should be documents but are not.
    bad: u64,
    /// Records of archives that hold no page.
    ignored: u64,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        if self.files.iter().any(|path| input::is_stdin(path)) {
            bail!("standard input cannot be read twice: give a file");
        }
        input::check_all(&self.files)?;
        let mut search = Passages::new(self.min_words)?.threads(self.documents.threads());
        if let Some(memory) = self.memory {
            search = search.memory(memory as u64);
        }
        if let Some(folder) = &self.temporary {
            search = search.scratch_folder(folder);
        }
        let bar = progress::over_files(context, &self.files);
        let mut summary = Summary { min_words: self.min_words, ..Summary::default() };
        let mut ids = Vec::new();
        let found = search.find(|each| {
            // What is wrong with the files was said the first time.
            let quiet = context.quiet;
            context.quiet |= !ids.is_empty();
            let read = self.read(each, &bar, &mut ids, &mut summary, context);
            context.quiet = quiet;
            read
        });
        bar.finish_and_clear();
        let spans = found?.spans;
        print(&spans, &ids, context)?;
        summary.count(&spans);
        let Summary { documents, passages, with_passages, repeated_bytes, bytes, .. } = summary;
        let share = 100.0 * repeated_bytes as f64 / bytes.max(1) as f64;
        if context.json {
            context.summary("fpdb.passages/1", &summary)?;
        } else {
            context.say(format_args!(
                "{passages} passages in {with_passages} of {documents} documents, {share:.1} % of the text"
            ));
        }
        Ok(Exit::Done)
    }

    /// Passes the texts of all files on. The first time, takes the documents' ids and counts.
    fn read(
        &self,
        each: &mut Texts<'_>,
        bar: &ProgressBar,
        ids: &mut Vec<String>,
        summary: &mut Summary,
        context: &mut Context<'_>,
    ) -> Result<()> {
        bar.reset();
        let parts = |Document { id, text, .. }| (id, text);
        let mut documents = self.documents.start(&self.files, self.from, None, bar, parts)?;
        let is_first = ids.is_empty();
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            batch.clear();
            let more = documents.fill(&mut batch, BATCH, BATCH_BYTES, context)?;
            let texts: Vec<&str> = batch.iter().map(|item| &*item.value.1).collect();
            each(&texts)?;
            if is_first {
                summary.bytes += texts.iter().map(|text| text.len() as u64).sum::<u64>();
                ids.extend(batch.iter_mut().map(|item| std::mem::take(&mut item.value.0)));
            }
            if !more {
                break;
            }
        }
        if is_first {
            summary.documents = ids.len() as u64;
            let counts = &documents.counts;
            (summary.bad, summary.ignored) = (counts.bad + counts.broken, counts.ignored());
            counts.report_ignored(context);
        }
        documents.verdict()
    }
}

impl Summary {
    fn count(&mut self, spans: &[Span]) {
        let (mut row, mut end) = (u64::MAX, 0);
        for span in spans {
            if span.row != row {
                (row, end) = (span.row, 0);
                self.with_passages += 1;
            }
            self.passages += 1;
            self.repeated_bytes += u64::from(span.end.saturating_sub(end.max(span.begin)));
            end = end.max(span.end);
        }
    }
}

fn print(spans: &[Span], ids: &[String], context: &mut Context<'_>) -> Result<()> {
    let id_of = |row| usize::try_from(row).ok().and_then(|row: usize| ids.get(row));
    for span in spans {
        let [id, source] = [span.row, span.source].map(|row| id_of(row).map_or("", |id| id));
        let &Span { row: i, begin, end, source: source_i, source_begin, source_end, .. } = span;
        if context.json {
            let r#type = "passage";
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
