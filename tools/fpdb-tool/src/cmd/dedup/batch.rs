//! A batch of lines, from bytes to verdicts.
//!
//! What must hold: a novel line is printed, and the output flushed, before its document is
//! committed; and of a batch that is cut short by a bad line, all lines before it are dealt with.

use std::io::{self, Write};
use std::thread;

use anyhow::{Result, anyhow};
use fpdb::text::Recipe;
use fpdb::{Db, Key, Novelty};

use super::report::Report;
use super::{BATCH_BYTES, BATCH_LINES};
use crate::input::documents::Fields;
use crate::input::lines::{Line, Lines};
use crate::output::Context;

/// Takes lines in, batch by batch.
pub(super) struct Deduplicator<'a> {
    pub(super) db: &'a Db,
    pub(super) recipe: Recipe,
    pub(super) fields: Fields<'a>,
    pub(super) skip_bad: bool,
    pub(super) keep_skipped: bool,
    pub(super) report: Report,
    /// The line printed last had no end, as the last of a file may.
    pub(super) unfinished_line: bool,
}

/// What is made of a line: a document's id and fingerprint, or what is wrong with the line.
type Parsed = Result<Document, String>;

struct Document {
    id: String,
    fingerprint: Option<u64>,
}

/// A line's fate.
#[derive(Clone, Copy)]
enum Verdict {
    Judged(Novelty<u64>),
    TooShort,
    Bad,
}

impl Deduplicator<'_> {
    /// Takes in all lines of a file, up to the first that is bad unless those are to be skipped.
    pub(super) fn file(&mut self, lines: &mut Lines, context: &mut Context<'_>) -> Result<()> {
        let mut batch = Vec::with_capacity(BATCH_LINES);
        loop {
            batch.clear();
            let more = lines.fill(&mut batch, BATCH_LINES, BATCH_BYTES);
            self.batch(&batch, lines, context)?;
            if !more? {
                return Ok(());
            }
        }
    }

    fn batch(&mut self, batch: &[Line], lines: &Lines, context: &mut Context<'_>) -> Result<()> {
        let mut parsed = parse(batch, self.fields, &self.recipe);
        let stop = parsed.iter().position(Result::is_err).filter(|_| !self.skip_bad);
        let failure = stop.map(|at| {
            let message = parsed.drain(at..).next().and_then(Result::err).unwrap_or_default();
            anyhow!("{}: {message}", lines.place(batch[at].number))
        });
        for (line, message) in
            batch.iter().zip(&parsed).filter_map(|(l, p)| Some((l, p.as_ref().err()?)))
        {
            context.say(format_args!("skipped {}: {message}", lines.place(line.number)));
        }
        let verdicts = self.judge(batch, &parsed, context.out)?;
        self.count(&parsed, &verdicts)?;
        failure.map_or(Ok(()), Err)
    }

    /// Gets the verdicts on a batch, prints what is to be printed, and commits what is novel.
    fn judge(
        &mut self,
        batch: &[Line],
        parsed: &[Parsed],
        out: &mut dyn Write,
    ) -> Result<Vec<Verdict>> {
        let entries: Vec<(u64, Key<'_>)> = parsed
            .iter()
            .flatten()
            .filter_map(|document| Some((document.fingerprint?, Key::Name(&document.id))))
            .collect();
        let mut verdicts = Vec::with_capacity(parsed.len());
        let (keep_skipped, unfinished) = (self.keep_skipped, &mut self.unfinished_line);
        let mut print = |novelties: &[Novelty<u64>]| {
            verdicts = verdicts_in_order(parsed, novelties);
            let printed = batch.iter().zip(&verdicts).filter(|(_, verdict)| match verdict {
                Verdict::Judged(novelty) => matches!(novelty, Novelty::Inserted(_)),
                Verdict::TooShort => keep_skipped,
                Verdict::Bad => false,
            });
            print_lines(printed.map(|(line, _)| line.bytes.as_slice()), unfinished, out)
        };
        if entries.is_empty() {
            print(&[])?;
        } else {
            self.db.insert_if_novel_batch_with(&entries, print)?;
        }
        Ok(verdicts)
    }

    fn count(&mut self, parsed: &[Parsed], verdicts: &[Verdict]) -> Result<()> {
        for (document, verdict) in parsed.iter().zip(verdicts) {
            self.report.summary.read += 1;
            match (document, verdict) {
                (Ok(document), Verdict::Judged(Novelty::Duplicate(of))) => {
                    let name = self.db.name(of.id)?.unwrap_or_default();
                    self.report.duplicate(&document.id, &name, of.distance)?;
                }
                (_, Verdict::Judged(_)) => self.report.summary.novel += 1,
                (document, _) => {
                    self.report.summary.skipped += 1;
                    self.report.summary.bad += u64::from(document.is_err());
                }
            }
        }
        self.report.flush()
    }
}

/// Parses lines and makes fingerprints of their texts, on all processors.
fn parse(batch: &[Line], fields: Fields<'_>, recipe: &Recipe) -> Vec<Parsed> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let share = batch.len().div_ceil(threads).max(1);
    let parse = |line: &Line| {
        let document = fields.parse(&line.bytes)?;
        let fingerprint = recipe.fingerprint(&document.text).fingerprint;
        Ok(Document { id: document.id, fingerprint })
    };
    let parse_all = |lines: &[Line]| lines.iter().map(parse).collect::<Vec<Parsed>>();
    thread::scope(|scope| {
        let shares: Vec<_> =
            batch.chunks(share).map(|lines| scope.spawn(move || parse_all(lines))).collect();
        shares
            .into_iter()
            .flat_map(|share| share.join().unwrap_or_else(|e| std::panic::resume_unwind(e)))
            .collect()
    })
}

/// The novelties, which are of the documents with a fingerprint only, put in their places.
fn verdicts_in_order(parsed: &[Parsed], novelties: &[Novelty<u64>]) -> Vec<Verdict> {
    let mut novelties = novelties.iter();
    let verdict = |document: &Parsed| match document {
        Err(_) => Verdict::Bad,
        Ok(document) => match document.fingerprint.and_then(|_| novelties.next()) {
            Some(novelty) => Verdict::Judged(*novelty),
            None => Verdict::TooShort,
        },
    };
    parsed.iter().map(verdict).collect()
}

/// Prints lines as they are and flushes. A line without end gets one only if another follows.
fn print_lines<'a>(
    lines: impl Iterator<Item = &'a [u8]>,
    unfinished: &mut bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    for line in lines {
        if *unfinished {
            out.write_all(b"\n")?;
        }
        out.write_all(line)?;
        *unfinished = !line.ends_with(b"\n");
    }
    out.flush()
}
