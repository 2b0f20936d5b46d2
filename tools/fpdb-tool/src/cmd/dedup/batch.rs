//! Deduplicates batches of documents.
//!
//! Two things must hold. A novel document is printed, and the output flushed, before its
//! fingerprint is committed. And if a bad record ends a batch early, all documents before it are
//! processed.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

use anyhow::Result;
use fpdb::text::Recipe;
use fpdb::{Candidate, Db, DocId, Fingerprint, Key, Match, OnDuplicate, Outcome, Stamped, Within};
use fpdb_dedup::MOST_CANDIDATES;
use indicatif::ProgressBar;

use super::exact::Exact;
use super::prepare::Prepared;
use super::report::{Duplicate, Report, Similarity};
use super::shown::Shown;
use crate::input::{Intake, Item};
use crate::output::Context;
use crate::output::progress;

/// Documents per batch. A batch has one commit, and so one sync.
const BATCH_DOCUMENTS: usize = 256;
/// Bytes of documents that fill a batch, whatever their number.
const BATCH_BYTES: usize = 8 << 20;

/// Processes documents, batch by batch.
pub(super) struct Deduplicator<'a, F: Fingerprint> {
    pub(super) db: &'a Db<F>,
    pub(super) keep_skipped: bool,
    /// Set if documents that exist are updated.
    pub(super) recrawl: Option<Recrawl>,
    /// Whether a document is a duplicate if its id is stored, whatever its content.
    pub(super) only_first: bool,
    /// What estimates similarities, in a database of sketches.
    pub(super) compared: Option<Recipe<F>>,
    /// What compares documents by all their features, instead of by their sketches.
    pub(super) exact: Option<Exact<F>>,
    /// Whether a commit survives a power failure.
    pub(super) is_synced: bool,
    pub(super) report: Report,
    /// What a report for a person shows, if one was asked for.
    pub(super) shown: Option<Shown>,
    pub(super) printer: Printer,
    pub(super) bar: &'a ProgressBar,
}

/// How documents that exist are updated.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recrawl {
    pub(super) on_duplicate: OnDuplicate,
    /// Updates of at most this many bits are not printed.
    pub(super) changed_by: Option<u32>,
}

type Batch<F> = [Item<Prepared<F>>];

/// Where a document would be stored.
enum Target<'a, F> {
    Name(Cow<'a, str>),
    /// Nowhere: its id is stored, for this document.
    Known(Match<F>),
    /// Nowhere: it has no fingerprint.
    TooShort,
}

/// What dedup decided about a document.
enum Verdict<F> {
    Inserted,
    Unchanged,
    Updated {
        /// The document is printed.
        is_printed: bool,
    },
    Duplicate {
        of: Match<F>,
        /// The name of that document, if it was known before the commit.
        name: Option<String>,
    },
    TooShort,
}

impl<F: Fingerprint> Deduplicator<'_, F> {
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
            let mut rest = &batch[..];
            // Also without documents, there may be a header to print.
            loop {
                let targets = self.targets(rest)?;
                let (part, after) = rest.split_at(targets.len());
                let verdicts = self.check(part, &targets, context.out)?;
                self.count(part, &targets, verdicts)?;
                if after.is_empty() {
                    break;
                }
                rest = after;
            }
            let counts = &documents.counts;
            self.report.set_skipped(counts.bad + counts.broken, counts.ignored());
            let counts = self.report.summary();
            progress::count(self.bar, counts.read, (counts.duplicates, "duplicates"));
            if !more? {
                return Ok(());
            }
        }
    }

    /// Decides under which names documents would be stored, up to the first name that occurs again:
    /// what becomes of the second document depends on whether the first one is stored.
    fn targets<'b>(&self, batch: &'b Batch<F>) -> fpdb::Result<Vec<Target<'b, F>>> {
        let (mut targets, mut names) = (Vec::with_capacity(batch.len()), HashSet::new());
        for item in batch {
            let target = self.target(&item.value)?;
            if let Target::Name(name) = &target
                && !names.insert(name.clone())
            {
                break;
            }
            targets.push(target);
        }
        Ok(targets)
    }

    /// Decides under which name a document would be stored.
    fn target<'b>(&self, document: &'b Prepared<F>) -> fpdb::Result<Target<'b, F>> {
        let id = &*document.id;
        let Some(fingerprint) = document.fingerprint else { return Ok(Target::TooShort) };
        if self.recrawl.is_some() {
            return Ok(Target::Name(id.into()));
        }
        let Some(stored) = self.db.get(id)? else { return Ok(Target::Name(id.into())) };
        if self.only_first {
            let distance = stored.fingerprint.distance(fingerprint);
            let of = Match { distance, fingerprint: stored.fingerprint, id: stored.id };
            return Ok(Target::Known(of));
        }
        Ok(Target::Name(self.next_version(id)?.into()))
    }

    /// Returns an unused name for another version of a document. Looks up few names even if there
    /// are many versions.
    fn next_version(&self, id: &str) -> fpdb::Result<String> {
        let name = |version: u64| format!("{id} ({version})");
        let is_used = |version| self.db.get(&*name(version)).map(|found| found.is_some());
        let (mut used, mut unused) = (1, 2);
        while is_used(unused)? {
            (used, unused) = (unused, 2 * unused);
        }
        while unused - used > 1 {
            let middle = used.midpoint(unused);
            *(if is_used(middle)? { &mut used } else { &mut unused }) = middle;
        }
        Ok(name(unused))
    }

    /// Decides which documents of a batch are novel, prints them, and then commits them.
    fn check(
        &mut self,
        batch: &Batch<F>,
        targets: &[Target<'_, F>],
        out: &mut dyn Write,
    ) -> Result<Vec<Verdict<F>>> {
        let documents = batch.iter().zip(targets).enumerate().filter_map(|(at, (item, target))| {
            let Prepared { fingerprint, stamp, .. } = item.value;
            let Target::Name(name) = target else { return None };
            Some((at, (fingerprint?, Stamped { key: Key::Name(name), stamp })))
        });
        let (places, documents): (Vec<usize>, Vec<(F, Stamped<'_>)>) = documents.unzip();
        let mut verdicts = Vec::with_capacity(batch.len());
        let (db, recrawl, keep_skipped) = (self.db, self.recrawl, self.keep_skipped);
        let (printer, is_synced) = (&mut self.printer, self.is_synced);
        let exact = self.exact.as_mut().map(RefCell::new);
        let mut print = |outcomes: &[Outcome<F>]| {
            let changed_by = recrawl.and_then(|recrawl| recrawl.changed_by);
            let judge = Judge { db, changed_by };
            verdicts = judge.verdicts(batch, targets, outcomes)?;
            let printed = batch.iter().zip(&verdicts).filter(|(_, verdict)| match verdict {
                Verdict::Inserted => true,
                Verdict::Updated { is_printed } => *is_printed,
                Verdict::Unchanged | Verdict::Duplicate { .. } => false,
                Verdict::TooShort => keep_skipped,
            });
            printer.print(printed.map(|(item, _)| item.value.output.as_slice()), out)?;
            let Some(exact) = &exact else { return Ok(()) };
            let stored = batch.iter().zip(targets).zip(&verdicts);
            let stored = stored.filter_map(|((item, target), verdict)| match (target, verdict) {
                (Target::Name(name), Verdict::Inserted | Verdict::Updated { .. }) => {
                    Some((&**name, &item.value))
                }
                _ => None,
            });
            exact.borrow_mut().keep(stored, is_synced)
        };
        let write = db.write(&documents).unless_near(Within::Rule);
        let write = match recrawl {
            Some(Recrawl { on_duplicate, .. }) => write.or_update(on_duplicate),
            None => write,
        };
        let failed = RefCell::new(None);
        let keep = |error: anyhow::Error| {
            let copy = io::Error::other(error.to_string());
            *failed.borrow_mut() = Some(error);
            copy
        };
        let confirm = |own: usize, Candidate { found, given, .. }| {
            let Some(exact) = &exact else { return Ok(true) };
            let given = given.map(|at| places[at]);
            exact.borrow_mut().confirms(db, batch, places[own], found, given).map_err(keep)
        };
        let write = if exact.is_some() { write.confirm(MOST_CANDIDATES, confirm) } else { write };
        let written = write.before_commit(|outcomes| print(outcomes).map_err(keep)).run();
        // It says what failed. The error of the database says only that the batch ended.
        failed.into_inner().map_or(Ok(()), Err)?;
        written?;
        Ok(verdicts)
    }

    /// Counts what was decided of documents that would be stored under these names, and reports the
    /// duplicates.
    fn count(
        &mut self,
        batch: &Batch<F>,
        targets: &[Target<'_, F>],
        verdicts: Vec<Verdict<F>>,
    ) -> Result<()> {
        for (at, ((item, target), verdict)) in batch.iter().zip(targets).zip(verdicts).enumerate() {
            let (exact, is_crowded) = self.exact.as_mut().map(|it| it.take(at)).unwrap_or_default();
            let is_duplicate = matches!(verdict, Verdict::Duplicate { .. });
            if let (Some(shown), Target::Name(name), false) =
                (&mut self.shown, target, is_duplicate)
            {
                shown.kept(name, &item.value.text);
            }
            match verdict {
                Verdict::Duplicate { of, name } => {
                    let name =
                        name.map_or_else(|| self.db.snapshot().name(of.id), |name| Ok(Some(name)))?;
                    let name = name.unwrap_or_default();
                    let own = item.value.fingerprint;
                    // Without a comparison, the id decided.
                    let similarity = exact.or_else(|| match self.exact {
                        None => self.estimate(own, of.fingerprint),
                        Some(_) => None,
                    });
                    let (id, duplicate_of, distance) = (&*item.value.id, &*name, of.distance);
                    let duplicate = Duplicate { id, duplicate_of, distance, similarity };
                    if let Some(shown) = &mut self.shown {
                        let by_id = matches!(target, Target::Known(_));
                        shown.duplicate(&duplicate, &item.value.text, by_id);
                    }
                    self.report.duplicate(&duplicate)?;
                }
                Verdict::Inserted => self.report.inserted += 1,
                Verdict::Unchanged => self.report.unchanged += 1,
                Verdict::Updated { .. } => self.report.updated += 1,
                Verdict::TooShort => self.report.too_short += 1,
            }
            self.report.crowded += u64::from(is_crowded && !is_duplicate);
        }
        self.report.flush()
    }

    /// Returns how similar two documents are by their sketches, if they have any.
    fn estimate(&self, fingerprint: Option<F>, other: F) -> Option<Similarity> {
        let (recipe, own) = self.compared.as_ref().zip(fingerprint)?;
        let (value, error) = recipe.similarity_of(own, other)?;
        Some(Similarity { value, error: Some(error) })
    }
}

/// Reaches verdicts before a batch is committed, while the database is as it was before the batch.
struct Judge<'a, F: Fingerprint> {
    db: &'a Db<F>,
    changed_by: Option<u32>,
}

impl<F: Fingerprint> Judge<'_, F> {
    /// Returns a verdict for each document of a batch, from the outcomes of those that may be
    /// stored.
    fn verdicts<'b>(
        &self,
        batch: &Batch<F>,
        targets: &'b [Target<'_, F>],
        outcomes: &[Outcome<F>],
    ) -> fpdb::Result<Vec<Verdict<F>>> {
        let mut outcomes = outcomes.iter();
        let mut inserted = HashMap::new();
        let verdict = |(item, target): (&Item<Prepared<F>>, &'b Target<'_, F>)| match target {
            Target::TooShort => Ok(Verdict::TooShort),
            Target::Known(of) => {
                Ok(Verdict::Duplicate { of: *of, name: Some(item.value.id.clone()) })
            }
            Target::Name(name) => match outcomes.next() {
                Some(&outcome) => self.verdict(name, outcome, &mut inserted),
                None => Ok(Verdict::TooShort),
            },
        };
        batch.iter().zip(targets).map(verdict).collect()
    }

    /// Returns the verdict for the document with this name. `inserted` has the names of the
    /// documents that the batch has inserted so far.
    fn verdict<'b>(
        &self,
        id: &'b str,
        outcome: Outcome<F>,
        inserted: &mut HashMap<DocId, &'b str>,
    ) -> fpdb::Result<Verdict<F>> {
        Ok(match outcome {
            Outcome::Inserted(number) => {
                inserted.insert(number, id);
                Verdict::Inserted
            }
            Outcome::Unchanged(_) | Outcome::UnchangedDuplicate { .. } => Verdict::Unchanged,
            Outcome::Updated { distance, .. } => {
                let is_small = self.changed_by.is_some_and(|bits| distance <= bits);
                // A duplicate that becomes an original has never been printed.
                let is_printed = !is_small || self.was_duplicate(id)?;
                Verdict::Updated { is_printed }
            }
            // Looked up now, because with `--on-duplicate remove`, the batch may remove that
            // document. No name exists or occurs twice, unless existing documents are updated.
            Outcome::Duplicate(of) | Outcome::Exists(of) => {
                let name = match inserted.get(&of.id) {
                    Some(&name) => Some(name.to_owned()),
                    None => self.db.snapshot().name(of.id)?,
                };
                Verdict::Duplicate { of, name }
            }
        })
    }

    fn was_duplicate(&self, id: &str) -> fpdb::Result<bool> {
        Ok(self.db.get(id)?.is_some_and(|document| document.duplicate_of.is_some()))
    }
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
