//! Deduplicates batches of documents.
//!
//! Two things must hold. A novel document is printed, and the output flushed, before its
//! fingerprint is committed. And if a bad record ends a batch early, all documents before it are
//! processed.

use std::io::{self, Write};

use anyhow::Result;
use fpdb::{Db, Key, Novelty};

use super::report::Report;
use crate::input::{Intake, Item};
use crate::output::Context;
use crate::recipe::Width;

/// Documents per batch. A batch has one commit, and so one sync.
const BATCH_DOCUMENTS: usize = 256;
/// Bytes of documents that fill a batch, whatever their number.
const BATCH_BYTES: usize = 8 << 20;

/// Processes documents, batch by batch.
pub(super) struct Deduplicator<'a, F: Width> {
    pub(super) db: &'a Db<F>,
    pub(super) keep_skipped: bool,
    pub(super) report: Report,
    pub(super) printer: Printer,
}

/// A document as the workers hand it over.
pub(super) struct Prepared<F> {
    pub(super) id: String,
    pub(super) fingerprint: Option<F>,
    /// What to print if the document is novel.
    pub(super) output: Vec<u8>,
}

type Batch<F> = [Item<Prepared<F>>];

/// What dedup decided about a document.
#[derive(Clone, Copy)]
enum Verdict<F> {
    Checked(Novelty<F>),
    TooShort,
}

impl<F: Width> Deduplicator<'_, F> {
    /// Processes all documents, up to the first bad one unless bad ones are skipped.
    pub(super) fn run(
        &mut self,
        documents: &mut Intake<Prepared<F>>,
        context: &mut Context<'_>,
    ) -> Result<()> {
        let mut batch = Vec::with_capacity(BATCH_DOCUMENTS);
        loop {
            batch.clear();
            let more = documents.fill(&mut batch, BATCH_DOCUMENTS, BATCH_BYTES, context);
            if let Some(header) = documents.take_header() {
                self.printer.header = Some(header);
            }
            self.batch(&batch, context)?;
            let counts = &documents.counts;
            self.report.set_skipped(counts.bad + counts.broken, counts.ignored());
            if !more? {
                return Ok(());
            }
        }
    }

    fn batch(&mut self, batch: &Batch<F>, context: &mut Context<'_>) -> Result<()> {
        let verdicts = self.check(batch, context.out)?;
        self.count(batch, &verdicts)
    }

    /// Decides which documents of a batch are novel, prints them, and then commits them.
    fn check(&mut self, batch: &Batch<F>, out: &mut dyn Write) -> Result<Vec<Verdict<F>>> {
        let entries: Vec<(F, Key<'_>)> = batch
            .iter()
            .filter_map(|item| Some((item.value.fingerprint?, Key::Name(&item.value.id))))
            .collect();
        let mut verdicts = Vec::with_capacity(batch.len());
        let (keep_skipped, printer) = (self.keep_skipped, &mut self.printer);
        let mut print = |novelties: &[Novelty<F>]| {
            verdicts = verdicts_in_order(batch, novelties);
            let printed = batch.iter().zip(&verdicts).filter(|(_, verdict)| match verdict {
                Verdict::Checked(novelty) => matches!(novelty, Novelty::Inserted(_)),
                Verdict::TooShort => keep_skipped,
            });
            printer.print(printed.map(|(item, _)| item.value.output.as_slice()), out)
        };
        if entries.is_empty() {
            print(&[])?;
        } else {
            self.db.insert_if_novel_batch_with(&entries, self.db.max_distance(), print)?;
        }
        Ok(verdicts)
    }

    fn count(&mut self, batch: &Batch<F>, verdicts: &[Verdict<F>]) -> Result<()> {
        for (item, verdict) in batch.iter().zip(verdicts) {
            match verdict {
                Verdict::Checked(Novelty::Duplicate(of)) => {
                    let name = self.db.name(of.id)?.unwrap_or_default();
                    self.report.duplicate(&item.value.id, &name, of.distance)?;
                }
                Verdict::Checked(Novelty::Inserted(_)) => self.report.novel(),
                Verdict::TooShort => self.report.too_short(),
            }
        }
        self.report.flush()
    }
}

/// Returns a verdict for each document of a batch, from the novelties of those with a fingerprint.
fn verdicts_in_order<F: Width>(batch: &Batch<F>, novelties: &[Novelty<F>]) -> Vec<Verdict<F>> {
    let mut novelties = novelties.iter();
    let verdict =
        |item: &Item<Prepared<F>>| match item.value.fingerprint.and_then(|_| novelties.next()) {
            Some(novelty) => Verdict::Checked(*novelty),
            None => Verdict::TooShort,
        };
    batch.iter().map(verdict).collect()
}

/// Prints lines unchanged.
#[derive(Default)]
pub(super) struct Printer {
    /// The header of a table, if it is known and not printed yet.
    header: Option<Vec<u8>>,
    /// The line printed last had no line feed, as the last line of a file may.
    unfinished: bool,
}

impl Printer {
    /// Prints lines and flushes. A line without a line feed gets one only if another line follows.
    fn print<'a>(
        &mut self,
        lines: impl Iterator<Item = &'a [u8]>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        if let Some(header) = self.header.take() {
            self.print_line(&header, out)?;
        }
        for line in lines {
            self.print_line(line, out)?;
        }
        out.flush()
    }

    fn print_line(&mut self, line: &[u8], out: &mut dyn Write) -> io::Result<()> {
        if self.unfinished {
            out.write_all(b"\n")?;
        }
        self.unfinished = !line.ends_with(b"\n");
        out.write_all(line)
    }
}
