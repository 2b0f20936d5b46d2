//! `load`

use std::io;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use fpdb::{Entry, ErrorKind, Fingerprint, Ids, Options, Source};
use indicatif::ProgressBar;
use serde::Serialize;

use crate::database::by_width;
use crate::dump::Dump;
use crate::failure::Exit;
use crate::memory::MemoryArgs;
use crate::numbers::parse_size;
use crate::output::Context;
use crate::progress;

const EXAMPLE: &str = "\
Examples:
  fpdb-tool load crawl.dump --into new.fpdb
  old-fpdb-tool dump old.fpdb | fpdb-tool load - --into new.fpdb";

/// Makes a database from what `dump` wrote
///
/// The new database has the same settings, entries and documents, with the same ids, also where the
/// database assigns them, and a dump of it is the same again. A dump that was truncated or changed
/// is refused. If the load fails or is interrupted, there is no database, and it can be repeated.
///
/// docs/dump.md describes the form of dumps.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// The dump, plain or compressed with gzip or zstd; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The folder to create
    #[arg(long, value_name = "NEW")]
    into: PathBuf,

    /// Memory for sorting and for prefix filters, such as 256MiB. With more, a load needs less disk
    /// space while it runs
    #[arg(long, value_name = "BYTES", default_value = "256MiB", value_parser = parse_size)]
    memory: usize,

    #[command(flatten)]
    reading: MemoryArgs,
}

/// `fpdb.load/1`
#[derive(Serialize)]
struct Report {
    schema: &'static str,
    into: String,
    /// Documents in the new database; entries, with user ids.
    written: u64,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        let mut dump = Dump::open(&self.file)?;
        let bar = progress::of_operation(context);
        let loaded = by_width!(dump.header().bits, |options| self.load(options, &mut dump, &bar));
        bar.finish_and_clear();
        loaded?;
        let (into, written) = (self.into.display().to_string(), dump.header().count);
        let what = if dump.header().ids()? == Ids::User { "entries" } else { "documents" };
        let sentence = format!("loaded {written} {what} into {into}");
        context.conclude(&Report { schema: "fpdb.load/1", into, written }, sentence)?;
        Ok(Exit::Done)
    }

    fn load<F: Fingerprint>(
        &self,
        options: Options<F>,
        dump: &mut Dump,
        bar: &ProgressBar,
    ) -> Result<()> {
        let options = self.reading.apply(options.index_memory(0)).bulk_memory(self.memory);
        let options = options.on_progress(progress::on(bar));
        let options = dump.header().apply(options).with_context(|| dump.place())?;
        let mut given = Given { dump, failure: None };
        let created = given.create(options, &self.into);
        let Given { dump, failure } = given;
        match (failure, created) {
            (Some(failure), _) => Err(failure),
            (None, Ok(())) => Ok(()),
            // The settings, an entry or a document: whatever was read last.
            (None, Err(e)) if e.kind() == ErrorKind::InvalidArgument => {
                Err(e).with_context(|| dump.place())
            }
            // Two documents with the same id, which only the end of the load shows.
            (None, Err(e)) if e.kind() == ErrorKind::Corruption && e.path().is_none() => {
                Err(e).with_context(|| dump.label().to_owned())
            }
            (None, Err(e)) => Err(e.into()),
        }
    }
}

/// What a dump holds, for the library. An error ends the load and is kept as it is.
struct Given<'a> {
    dump: &'a mut Dump,
    failure: Option<anyhow::Error>,
}

impl Given<'_> {
    fn create<F: Fingerprint>(
        &mut self,
        options: Options<F>,
        into: &std::path::Path,
    ) -> fpdb::Result<()> {
        let header = self.dump.header();
        let (count, next_id) = (header.count, header.next_id());
        if header.ids().is_ok_and(|ids| ids == Ids::User) {
            let mut last = None;
            let entries = std::iter::from_fn(|| {
                self.next(|dump| {
                    let entry = dump.entry()?;
                    in_order(&mut last, entry).with_context(|| dump.place())
                })
            });
            options.build(into, Source::entries(count, entries)).map(drop)
        } else {
            let documents = std::iter::from_fn(|| self.next(Dump::document));
            options.build(into, Source::documents(next_id, count, documents)).map(drop)
        }
    }

    fn next<T>(
        &mut self,
        read: impl FnOnce(&mut Dump) -> Result<Option<T>>,
    ) -> Option<fpdb::Result<T>> {
        read(self.dump).transpose().map(|item| {
            item.map_err(|error| {
                self.failure = Some(error);
                fpdb::Error::from_input(io::Error::other("the dump"))
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
        anyhow::bail!("the entry is not in order: expected ascending fingerprints, then ids");
    }
    *last = entry;
    Ok(entry)
}
