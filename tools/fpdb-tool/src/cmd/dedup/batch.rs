//! A batch of documents, from fingerprints to verdicts.
//!
//! What must hold: a novel document is printed, and the output flushed, before it is committed; and
//! of a batch that is cut short by a bad record, all documents before it are dealt with.

use std::io::{self, Write};

use anyhow::Result;
use fpdb::{Db, Key, Novelty};

use super::report::Report;
use super::{BATCH_BYTES, BATCH_DOCUMENTS};
use crate::input::{Intake, Item};
use crate::output::Context;
use crate::recipe::Width;

/// Takes documents in, batch by batch.
pub(super) struct Deduplicator<'a, F: Width> {
    pub(super) db: &'a Db<F>,
    pub(super) keep_skipped: bool,
    pub(super) report: Report,
    pub(super) printer: Printer,
}

/// What the workers make of a document.
pub(super) struct Made<F> {
    pub(super) id: String,
    pub(super) fingerprint: Option<F>,
    /// What to print if it is novel.
    pub(super) shown: Vec<u8>,
}

type Batch<F> = [Item<Made<F>>];

/// A document's fate.
#[derive(Clone, Copy)]
enum Verdict<F> {
    Judged(Novelty<F>),
    TooShort,
}

impl<F: Width> Deduplicator<'_, F> {
    /// Takes in all documents, up to the first bad one unless those are to be skipped.
    pub(super) fn take_all(
        &mut self,
        documents: &mut Intake<Made<F>>,
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
            self.report.met(counts.bad + counts.broken, counts.ignored());
            if !more? {
                return Ok(());
            }
        }
    }

    fn batch(&mut self, batch: &Batch<F>, context: &mut Context<'_>) -> Result<()> {
        let verdicts = self.judge(batch, context.out)?;
        self.count(batch, &verdicts)
    }

    /// Gets the verdicts on a batch, prints what is to be printed, and commits what is novel.
    fn judge(&mut self, batch: &Batch<F>, out: &mut dyn Write) -> Result<Vec<Verdict<F>>> {
        let entries: Vec<(F, Key<'_>)> = batch
            .iter()
            .filter_map(|item| Some((item.made.fingerprint?, Key::Name(&item.made.id))))
            .collect();
        let mut verdicts = Vec::with_capacity(batch.len());
        let (keep_skipped, printer) = (self.keep_skipped, &mut self.printer);
        let mut print = |novelties: &[Novelty<F>]| {
            verdicts = verdicts_in_order(batch, novelties);
            let printed = batch.iter().zip(&verdicts).filter(|(_, verdict)| match verdict {
                Verdict::Judged(novelty) => matches!(novelty, Novelty::Inserted(_)),
                Verdict::TooShort => keep_skipped,
            });
            printer.print(printed.map(|(item, _)| item.made.shown.as_slice()), out)
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
                Verdict::Judged(Novelty::Duplicate(of)) => {
                    let name = self.db.name(of.id)?.unwrap_or_default();
                    self.report.duplicate(&item.made.id, &name, of.distance)?;
                }
                Verdict::Judged(Novelty::Inserted(_)) => self.report.novel(),
                Verdict::TooShort => self.report.too_short(),
            }
        }
        self.report.flush()
    }
}

/// The novelties, which are of the documents with a fingerprint only, put in their places.
fn verdicts_in_order<F: Width>(batch: &Batch<F>, novelties: &[Novelty<F>]) -> Vec<Verdict<F>> {
    let mut novelties = novelties.iter();
    let verdict = |item: &Item<Made<F>>| match item.made.fingerprint.and_then(|_| novelties.next())
    {
        Some(novelty) => Verdict::Judged(*novelty),
        None => Verdict::TooShort,
    };
    batch.iter().map(verdict).collect()
}

/// Prints lines as they are.
#[derive(Default)]
pub(super) struct Printer {
    /// The header of a table, until it is printed.
    header: Option<Vec<u8>>,
    /// The line printed last had no end, as the last of a file may.
    unfinished: bool,
}

impl Printer {
    /// Prints lines and flushes. A line without end gets one only if another follows.
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
