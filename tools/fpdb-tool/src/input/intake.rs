//! Where documents arrive in order: what is none of them is told, counted or an error.

use std::collections::BTreeMap;
use std::vec;

use anyhow::{Result, bail};

use super::document::{Outcome, Place};
use super::pool::Ordered;
use crate::output::Context;

/// What a command made of a document.
pub(crate) struct Item<T> {
    pub(crate) made: T,
    /// Where the document stands.
    pub(crate) place: Place,
    /// Bytes that the document had.
    pub(crate) bytes: usize,
    /// It stood in a table, below the header.
    pub(crate) tabular: bool,
}

pub(super) type Results<T> = Vec<(Place, Outcome<Item<T>>)>;

/// What is made of the documents, in order.
pub(crate) struct Intake<T> {
    results: Ordered<Results<T>>,
    /// Results that arrived and are not taken yet.
    arrived: vec::IntoIter<(Place, Outcome<Item<T>>)>,
    skip_bad: bool,
    /// Set by a command that prints rows: all are to be of one table.
    pub(crate) one_table: bool,
    /// The header of the first table.
    header: Option<Vec<u8>>,
    /// It was asked for.
    header_taken: bool,
    /// A document that was not in a table was met.
    untabular: bool,
    pub(crate) counts: Counts,
}

/// What was met besides documents.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// What should have been documents.
    pub(crate) bad: u64,
    /// Places where an archive is damaged.
    pub(crate) broken: u64,
    /// Records that hold no document, by the reason.
    ignored: BTreeMap<String, u64>,
}

impl Counts {
    /// Records that hold no document.
    pub(crate) fn ignored(&self) -> u64 {
        self.ignored.values().sum()
    }

    /// Tells which records hold no document.
    pub(crate) fn tell(&self, context: &mut Context<'_>) {
        if self.ignored.is_empty() {
            return;
        }
        let reasons = self.ignored.iter().map(|(reason, count)| format!("{count} {reason}"));
        let reasons = reasons.collect::<Vec<_>>().join(", ");
        context.say(format_args!("records without a document: {} ({reasons})", self.ignored()));
    }
}

impl<T> Intake<T> {
    pub(super) fn new(results: Ordered<Results<T>>, skip_bad: bool) -> Self {
        Self {
            results,
            arrived: Vec::new().into_iter(),
            skip_bad,
            one_table: false,
            header: None,
            header_taken: false,
            untabular: false,
            counts: Counts::default(),
        }
    }

    /// Adds what is made of documents to `batch` until it has `count` items or those of about
    /// `bytes` bytes of documents. Says whether there may be more; if it fails, the items before
    /// the failure are in the batch.
    pub(crate) fn fill(
        &mut self,
        batch: &mut Vec<Item<T>>,
        count: usize,
        bytes: usize,
        context: &mut Context<'_>,
    ) -> Result<bool> {
        let mut room = bytes;
        while batch.len() < count && room > 0 {
            let Some((place, outcome)) = self.arrived.next() else {
                let Some(results) = self.results.next() else { return Ok(false) };
                self.arrived = results?.into_iter();
                continue;
            };
            if let Some(item) = self.sort(&place, outcome, context)? {
                room = room.saturating_sub(item.bytes.max(1));
                batch.push(item);
            }
        }
        Ok(true)
    }

    /// The header of the table that all rows are of, once it is known, and only once.
    pub(crate) fn take_header(&mut self) -> Option<Vec<u8>> {
        let header = self.header.clone().filter(|_| self.one_table && !self.header_taken);
        self.header_taken |= header.is_some();
        header
    }

    /// The item, if the outcome is one.
    fn sort(
        &mut self,
        place: &Place,
        outcome: Outcome<Item<T>>,
        context: &mut Context<'_>,
    ) -> Result<Option<Item<T>>> {
        match outcome {
            Outcome::Document(item) => {
                self.untabular |= !item.tabular;
                self.check_one_table(place)?;
                return Ok(Some(item));
            }
            Outcome::Header(raw) => self.meet_header(place, raw)?,
            Outcome::Bad(message) if !self.skip_bad => bail!("{}", told(place, &message)),
            Outcome::Bad(message) => {
                self.counts.bad += 1;
                context.say(format_args!("skipped {}", told(place, &message)));
            }
            Outcome::Broken(message) => {
                self.counts.broken += 1;
                context.say(format_args!("broken: {}", told(place, &message)));
            }
            Outcome::Ignored(reason) => *self.counts.ignored.entry(reason).or_default() += 1,
        }
        Ok(None)
    }

    fn meet_header(&mut self, place: &Place, raw: Vec<u8>) -> Result<()> {
        match &self.header {
            Some(header) if self.one_table && header.trim_ascii_end() != raw.trim_ascii_end() => {
                bail!(
                    "{place}: another header than that of the table before, so the rows printed \
                     would not be one table: give --print id, or the files one by one"
                );
            }
            Some(_) => Ok(()),
            None => {
                self.header = Some(raw);
                self.check_one_table(place)
            }
        }
    }

    fn check_one_table(&self, place: &Place) -> Result<()> {
        if self.one_table && self.untabular && self.header.is_some() {
            bail!(
                "{place}: rows of tables and other documents cannot be printed together: \
                 give --print id, or the files one by one"
            );
        }
        Ok(())
    }

    /// Fails if archives were damaged and nobody said that this may be: to be asked when all else
    /// is done.
    pub(crate) fn verdict(&self) -> Result<()> {
        let broken = self.counts.broken;
        if broken > 0 && !self.skip_bad {
            bail!("broken records passed over: {broken}; all others were read");
        }
        Ok(())
    }
}

/// A message with its place, where the place tells anything.
fn told(place: &Place, message: &str) -> String {
    if place.file.is_empty() { message.to_owned() } else { format!("{place}: {message}") }
}
