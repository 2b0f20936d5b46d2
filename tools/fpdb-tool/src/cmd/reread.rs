//! Commands that read their files several times: they hold places and numbers, and no texts.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use fpdb::passages::Texts;
use indicatif::ProgressBar;

use crate::args::choice::choice;
use crate::args::numbers::parse_size;
use crate::input::{self, Document, DocumentArgs, DocumentFormat, Intake, Item};
use crate::output::Context;
use crate::output::progress;

/// Documents per batch.
const BATCH: usize = 4096;
/// Bytes of documents that fill a batch, whatever their number.
const BATCH_BYTES: usize = 8 << 20;

/// What is read, and with how much memory.
#[derive(clap::Args)]
pub(super) struct RereadArgs {
    /// Files, plain or compressed with gzip or zstd, and folders. In a folder, names that begin
    /// with a dot or an underscore are left out
    #[arg(value_name = "FILE", required = true)]
    pub(super) files: Vec<PathBuf>,

    /// Format of the files
    #[arg(long, value_parser = choice::<DocumentFormat>(), default_value = "auto")]
    from: DocumentFormat,

    /// Memory for sorting, before temporary files are used [default: 512MiB]
    #[arg(long, value_name = "BYTES", value_parser = parse_size, help_heading = "Memory")]
    memory: Option<usize>,

    /// Folder of temporary files [default: the system's]
    #[arg(long, value_name = "FOLDER", help_heading = "Memory")]
    temporary: Option<PathBuf>,

    #[command(flatten)]
    pub(super) documents: DocumentArgs,
}

/// What was read.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) documents: u64,
    /// Bytes of all texts.
    pub(super) bytes: u64,
    /// Lines, rows, files and records that should be documents but are not.
    pub(super) bad: u64,
    /// Records of archives that hold no page.
    pub(super) ignored: u64,
}

/// A document as it is read again to be printed.
pub(super) struct Whole {
    pub(super) id: String,
    pub(super) text: String,
    pub(super) raw: Option<Vec<u8>>,
}

/// Files that are read several times.
pub(super) struct Reread<'a> {
    args: &'a RereadArgs,
    files: &'a [PathBuf],
    bar: ProgressBar,
    /// The ids of the documents, once they were read.
    pub(super) ids: Vec<String>,
    pub(super) counts: Counts,
}

impl RereadArgs {
    /// Checks the files, and begins to read them.
    pub(super) fn start(&self, context: &Context<'_>) -> Result<Reread<'_>> {
        self.start_with(&self.files, context)
    }

    /// Does the same with other files.
    pub(super) fn start_with<'a>(
        &'a self,
        files: &'a [PathBuf],
        context: &Context<'_>,
    ) -> Result<Reread<'a>> {
        if files.iter().any(|path| input::is_stdin(path)) {
            bail!("standard input cannot be read twice: give a file");
        }
        input::check_all(files)?;
        let bar = progress::over_files(context, files);
        Ok(Reread { args: self, files, bar, ids: Vec::new(), counts: Counts::default() })
    }

    pub(super) fn threads(&self) -> usize {
        self.documents.threads()
    }

    pub(super) fn memory(&self) -> Option<u64> {
        self.memory.map(|bytes| bytes as u64)
    }

    pub(super) fn temporary(&self) -> Option<&Path> {
        self.temporary.as_deref()
    }
}

impl Reread<'_> {
    /// Passes the texts of all files on. The first time, takes the documents' ids and counts.
    pub(super) fn texts(&mut self, each: &mut Texts<'_>, context: &mut Context<'_>) -> Result<()> {
        let parts = |Document { id, text, .. }| (id, text);
        let is_first = self.ids.is_empty();
        // What is wrong with the files is said the first time.
        let quiet = context.quiet;
        context.quiet |= !is_first;
        let (mut ids, mut bytes) = (Vec::new(), 0);
        let read = self.each_batch(parts, false, context, |batch, _, _| {
            let texts: Vec<&str> = batch.iter().map(|item| &*item.value.1).collect();
            each(&texts)?;
            if is_first {
                bytes += texts.iter().map(|text| text.len() as u64).sum::<u64>();
                ids.extend(batch.into_iter().map(|item| item.value.0));
            }
            Ok(())
        });
        context.quiet = quiet;
        let documents = read?;
        if is_first {
            let read = &documents.counts;
            let (bad, ignored) = (read.bad + read.broken, read.ignored());
            read.report_ignored(context);
            self.counts = Counts { documents: ids.len() as u64, bytes, bad, ignored };
            self.ids = ids;
        }
        documents.verdict()
    }

    /// Returns the texts of these rows. Reads the files once more.
    pub(super) fn texts_of(
        &self,
        rows: &BTreeSet<u64>,
        context: &mut Context<'_>,
    ) -> Result<BTreeMap<u64, String>> {
        let mut texts = BTreeMap::new();
        if rows.is_empty() {
            return Ok(texts);
        }
        let (mut row, quiet) = (0, context.quiet);
        context.quiet = true;
        let read = self.each_batch(
            |document| document.text,
            false,
            context,
            |batch, _, _| {
                for item in batch {
                    if rows.contains(&row) {
                        texts.insert(row, item.value);
                    }
                    row += 1;
                }
                Ok(())
            },
        );
        context.quiet = quiet;
        let documents = read?;
        if row != self.counts.documents {
            bail!("the files have changed while they were read");
        }
        documents.verdict()?;
        Ok(texts)
    }

    /// Passes the documents on to be printed. If tables are, prints their header, which must be
    /// one.
    pub(super) fn print(
        &self,
        with_tables: bool,
        context: &mut Context<'_>,
        mut each: impl FnMut(u64, Item<Whole>, &mut dyn Write) -> Result<()>,
    ) -> Result<()> {
        let whole = |Document { id, text, raw, .. }| Whole { id, text, raw };
        let (mut row, quiet) = (0, context.quiet);
        context.quiet = true;
        let read = self.each_batch(whole, with_tables, context, |batch, header, out| {
            if let Some(header) = header {
                out.write_all(&ended(header))?;
            }
            for item in batch {
                each(row, item, out)?;
                row += 1;
            }
            Ok(())
        });
        context.quiet = quiet;
        let documents = read?;
        if row != self.counts.documents {
            bail!("the files have changed while they were read");
        }
        documents.verdict()
    }

    /// Reads all documents, and passes them on in batches, with the header of a table, if it is
    /// just known, and the output.
    fn each_batch<T: Send + 'static>(
        &self,
        convert: impl Fn(Document) -> T + Send + Sync + 'static,
        one_table: bool,
        context: &mut Context<'_>,
        mut take: impl FnMut(Vec<Item<T>>, Option<Vec<u8>>, &mut dyn Write) -> Result<()>,
    ) -> Result<Intake<T>> {
        let RereadArgs { from, documents, .. } = self.args;
        self.bar.reset();
        let mut documents = documents.start(self.files, *from, None, &self.bar, convert)?;
        documents.one_table = one_table;
        let mut more = true;
        while more {
            let mut batch = Vec::with_capacity(BATCH);
            more = documents.fill(&mut batch, BATCH, BATCH_BYTES, context)?;
            let header = documents.take_header();
            take(batch, header, context.out)?;
        }
        Ok(documents)
    }
}

impl Drop for Reread<'_> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Returns a line with a line feed at its end.
pub(super) fn ended(mut line: Vec<u8>) -> Vec<u8> {
    if !line.ends_with(b"\n") {
        line.push(b'\n');
    }
    line
}
