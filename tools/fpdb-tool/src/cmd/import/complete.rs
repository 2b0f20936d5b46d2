//! Imports what `export --all` wrote.

use std::io;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use fpdb::{Entry, ErrorKind, Fingerprint, Ids, Options, Source};
use indicatif::ProgressBar;

use super::Args;
use super::lists::Report;
use crate::args::database::by_width;
use crate::complete::Reader;
use crate::output::Context;
use crate::output::progress;

impl Args {
    /// Makes a new database from what `export --all` wrote.
    pub(super) fn complete(&self, context: &mut Context<'_>) -> Result<()> {
        let [file] = &*self.files else { bail!("--all makes a database from one file: give one") };
        let mut reader = Reader::open(file)?;
        let bar = progress::of_operation(context);
        let built =
            by_width!(reader.header().bits, |options| self.build(options, &mut reader, &bar));
        bar.finish_and_clear();
        built?;
        let (path, read) = (self.path.display(), reader.header().count);
        let what = if reader.header().ids()? == Ids::User { "entries" } else { "documents" };
        let sentence = format!("imported {read} {what} into {path}");
        let report = Report { read, inserted: read, already_there: 0 };
        context.conclude("fpdb.import/1", &report, sentence)?;
        Ok(())
    }

    fn build<F: Fingerprint>(
        &self,
        options: Options<F>,
        reader: &mut Reader,
        bar: &ProgressBar,
    ) -> Result<()> {
        let options = self.reading.apply(options.index_memory(0)).bulk_memory(self.memory);
        let options = options.on_progress(progress::on(bar));
        let options = reader.header().apply(options).with_context(|| reader.place())?;
        let mut given = Given { reader, failure: None };
        let created = given.create(options, &self.path);
        let Given { reader, failure } = given;
        match (failure, created) {
            (Some(failure), _) => Err(failure),
            (None, Ok(())) => Ok(()),
            // The settings, an entry or a document: whatever was read last.
            (None, Err(e)) if e.kind() == ErrorKind::InvalidArgument => {
                Err(e).with_context(|| reader.place())
            }
            // Two documents with the same id, which only the end of the build shows.
            (None, Err(e)) if e.kind() == ErrorKind::Corruption && e.path().is_none() => {
                Err(e).with_context(|| reader.label().to_owned())
            }
            (None, Err(e)) => Err(e.into()),
        }
    }
}

/// What the file holds, for the library. An error ends the build and is kept as it is.
struct Given<'a> {
    reader: &'a mut Reader,
    failure: Option<anyhow::Error>,
}

impl Given<'_> {
    fn create<F: Fingerprint>(&mut self, options: Options<F>, path: &Path) -> fpdb::Result<()> {
        let header = self.reader.header();
        let (count, next_id) = (header.count, header.next_id());
        if header.ids().is_ok_and(|ids| ids == Ids::User) {
            let mut last = None;
            let entries = std::iter::from_fn(|| {
                self.next(|reader| {
                    let entry = reader.entry()?;
                    in_order(&mut last, entry).with_context(|| reader.place())
                })
            });
            options.build(path, Source::entries(count, entries)).map(drop)
        } else {
            let documents = std::iter::from_fn(|| self.next(Reader::document));
            options.build(path, Source::documents(next_id, count, documents)).map(drop)
        }
    }

    fn next<T>(
        &mut self,
        read: impl FnOnce(&mut Reader) -> Result<Option<T>>,
    ) -> Option<fpdb::Result<T>> {
        read(self.reader).transpose().map(|item| {
            item.map_err(|error| {
                self.failure = Some(error);
                fpdb::Error::from_input(io::Error::other("the export"))
            })
        })
    }
}

/// Refuses entries that do not ascend. The library would accept them, and an entry twice.
fn in_order<F: Fingerprint>(
    last: &mut Option<Entry<F>>,
    entry: Option<Entry<F>>,
) -> Result<Option<Entry<F>>> {
    if entry.is_some() && *last >= entry {
        bail!("the entry is not in order: expected ascending fingerprints, then ids");
    }
    *last = entry;
    Ok(entry)
}
