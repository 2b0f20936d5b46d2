//! Receives documents in order. Records that are no documents are reported, counted or an error.

use std::any::Any;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::vec;

use anyhow::{Result, bail};

use super::piece::{Converted, Place};
use super::pool::Ordered;
use crate::output::Context;

/// What a command computed from a document.
pub(crate) struct Item<T> {
    pub(crate) value: T,
    /// Size of the document in bytes.
    pub(crate) bytes: usize,
    /// The document is a row of a table.
    pub(crate) tabular: bool,
}

/// What a command computed from a document, of any type. So all commands share the code that reads
/// documents, which would otherwise be compiled again for each command.
pub(super) type AnyValue = Box<dyn Any + Send>;

pub(super) type Results = Vec<(Place, Converted<Item<AnyValue>>)>;

/// The results for the documents, in order.
pub(crate) struct Intake<T> {
    results: AnyIntake,
    of: PhantomData<fn() -> T>,
}

/// The results of any type.
pub(crate) struct AnyIntake {
    results: Ordered<Results>,
    /// Results that arrived and were not returned yet.
    arrived: vec::IntoIter<(Place, Converted<Item<AnyValue>>)>,
    skip_bad: bool,
    /// Set by a command that prints rows, which must all fit one header.
    pub(crate) one_table: bool,
    /// The header of the first table.
    header: Option<Vec<u8>>,
    /// The header was returned to the command.
    header_taken: bool,
    /// At least one document was not in a table.
    has_other: bool,
    pub(crate) counts: Counts,
    printed: Printed,
}

/// The messages of one file that are printed. A file can have millions.
const MAX_PRINTED: u64 = 20;

/// Counts the messages that have been printed for the file that is read.
#[derive(Debug, Default)]
pub(crate) struct Printed {
    file: String,
    count: u64,
}

impl Printed {
    /// Returns what to print for the next message of this file, if anything.
    pub(crate) fn next(&mut self, file: &str, message: &str) -> Option<String> {
        if self.file != file {
            *self = Self { file: file.to_owned(), count: 0 };
        }
        self.count += 1;
        match self.count {
            ..=MAX_PRINTED => Some(message.to_owned()),
            count if count == MAX_PRINTED + 1 => {
                Some(format!("{file}: more records have faults, which are not shown"))
            }
            _ => None,
        }
    }
}

/// Numbers of records that are no documents.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Records that should be documents but are not.
    pub(crate) bad: u64,
    /// Places where an archive is damaged.
    pub(crate) broken: u64,
    /// Records without a document, by reason.
    ignored: BTreeMap<String, u64>,
}

impl Counts {
    /// Returns the number of records without a document.
    pub(crate) fn ignored(&self) -> u64 {
        self.ignored.values().sum()
    }

    /// Reports the records without a document.
    pub(crate) fn report_ignored(&self, context: &mut Context<'_>) {
        if self.ignored.is_empty() {
            return;
        }
        let reasons = self.ignored.iter().map(|(reason, count)| format!("{count} {reason}"));
        let reasons = reasons.collect::<Vec<_>>().join(", ");
        context.say(format_args!("records without a document: {} ({reasons})", self.ignored()));
    }
}

impl<T: 'static> Intake<T> {
    /// Returns the results, which are all of this type.
    pub(super) fn new(results: AnyIntake) -> Self {
        Self { results, of: PhantomData }
    }

    /// Adds items to `batch` until it has `count` items, or items of about `bytes` bytes of
    /// documents. Returns whether more may follow. If it fails, the items before the failure are in
    /// the batch.
    pub(crate) fn fill(
        &mut self,
        batch: &mut Vec<Item<T>>,
        count: usize,
        bytes: usize,
        context: &mut Context<'_>,
    ) -> Result<bool> {
        let mut room = bytes;
        while batch.len() < count && room > 0 {
            let Some(Item { value, bytes, tabular }) = self.results.next(context)? else {
                return Ok(false);
            };
            let Ok(value) = value.downcast() else { bail!("a bug in the tool mixed up results") };
            room = room.saturating_sub(bytes.max(1));
            batch.push(Item { value: *value, bytes, tabular });
        }
        Ok(true)
    }
}

impl<T> Deref for Intake<T> {
    type Target = AnyIntake;

    fn deref(&self) -> &AnyIntake {
        &self.results
    }
}

impl<T> DerefMut for Intake<T> {
    fn deref_mut(&mut self) -> &mut AnyIntake {
        &mut self.results
    }
}

impl AnyIntake {
    pub(super) fn new(results: Ordered<Results>, skip_bad: bool) -> Self {
        Self {
            results,
            arrived: Vec::new().into_iter(),
            skip_bad,
            one_table: false,
            header: None,
            header_taken: false,
            has_other: false,
            counts: Counts::default(),
            printed: Printed::default(),
        }
    }

    /// Returns the next item, or `None` at the end.
    fn next(&mut self, context: &mut Context<'_>) -> Result<Option<Item<AnyValue>>> {
        loop {
            let Some((place, outcome)) = self.arrived.next() else {
                let Some(results) = self.results.next() else { return Ok(None) };
                self.arrived = results?.into_iter();
                continue;
            };
            if let Some(item) = self.accept(&place, outcome, context)? {
                return Ok(Some(item));
            }
        }
    }

    /// Returns the header of the table that all rows belong to, once, as soon as it is known.
    pub(crate) fn take_header(&mut self) -> Option<Vec<u8>> {
        let header = self.header.clone().filter(|_| self.one_table && !self.header_taken);
        self.header_taken |= header.is_some();
        header
    }

    /// Returns the item of a document. Counts or reports any other outcome.
    fn accept(
        &mut self,
        place: &Place,
        outcome: Converted<Item<AnyValue>>,
        context: &mut Context<'_>,
    ) -> Result<Option<Item<AnyValue>>> {
        match outcome {
            Converted::Document(item) => {
                self.has_other |= !item.tabular;
                self.check_one_table(place)?;
                return Ok(Some(item));
            }
            Converted::Header(raw) => self.accept_header(place, raw)?,
            Converted::Bad(message) if !self.skip_bad => bail!("{}", at_place(place, &message)),
            Converted::Bad(message) => {
                self.counts.bad += 1;
                context.say(format_args!("skipped {}", at_place(place, &message)));
            }
            Converted::Broken(message) => {
                self.counts.broken += 1;
                self.say("broken", place, &message, context);
            }
            Converted::Warning(message) => self.say("warning", place, &message, context),
            Converted::Ignored(reason) => *self.counts.ignored.entry(reason).or_default() += 1,
        }
        Ok(None)
    }

    /// Says what is wrong in an archive, unless that has been said often enough.
    fn say(&mut self, what: &str, place: &Place, message: &str, context: &mut Context<'_>) {
        if let Some(message) = self.printed.next(&place.file, &at_place(place, message)) {
            context.say(format_args!("{what}: {message}"));
        }
    }

    fn accept_header(&mut self, place: &Place, raw: Vec<u8>) -> Result<()> {
        match &self.header {
            Some(header) if self.one_table && header.trim_ascii_end() != raw.trim_ascii_end() => {
                bail!(
                    "{place}: this header differs from the header of the table before, so the output would \
                     not be one table: give --print id, or run dedup once per file"
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
        if self.one_table && self.has_other && self.header.is_some() {
            bail!(
                "{place}: rows of tables and other documents cannot be printed together: \
                 give --print id, or run dedup once per file"
            );
        }
        Ok(())
    }

    /// Fails if an archive is damaged and `--skip-bad` is absent. For the end of a run.
    pub(crate) fn verdict(&self) -> Result<()> {
        let broken = self.counts.broken;
        if broken > 0 && !self.skip_bad {
            bail!("broken records passed over: {broken}");
        }
        Ok(())
    }
}

/// Returns the message after its place, if the place has a name.
fn at_place(place: &Place, message: &str) -> String {
    if place.file.is_empty() { message.to_owned() } else { format!("{place}: {message}") }
}
