//! `remove`

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::ValueEnum;
use fpdb::{Db, DocId, Durability, Fingerprint, Options};
use serde::Serialize;

use crate::database::by_width;
use crate::failure::Outcome;
use crate::input;
use crate::input::fingerprints::{self, ListArgs, Listed, Lists};
use crate::memory::MemoryArgs;
use crate::output::Context;
use crate::progress;

const EXAMPLE: &str = "\
Examples:
  fpdb-tool remove crawl.fpdb --fingerprint 0x0123456789abcdef --id 7
  fpdb-tool export old.fpdb | fpdb-tool remove crawl.fpdb --from fp -";

const USAGE: &str = "\
fpdb-tool remove [OPTIONS] <DB> --fingerprint <FINGERPRINT> --id <ID>
       fpdb-tool remove [OPTIONS] <DB> --from fp <FILE>...";

/// Removes entries by fingerprint and id
///
/// An entry is a fingerprint with an id. Only the entry with exactly this fingerprint and this id
/// is removed: other ids of the fingerprint and near fingerprints stay. In a database with names,
/// the id is the number that export and query show. An entry that is not there counts as not found,
/// which is not an error. `compact` returns the space to the disk.
///
/// With --from fp, entries come from files in the form that `import` and `export` use: one entry
/// per line, in columns. If a line cannot be read, the entries before it are removed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE, override_usage = USAGE)]
#[command(group = clap::ArgGroup::new("entries").required(true).args(["fingerprint", "files"]))]
pub(crate) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    path: PathBuf,

    /// The fingerprint of the entry to remove, in the notation of --fp-format
    #[arg(long, value_name = "FINGERPRINT", requires = "id", allow_negative_numbers = true)]
    fingerprint: Option<String>,

    /// The id of the entry to remove
    #[arg(long, value_name = "ID", requires = "fingerprint")]
    id: Option<u64>,

    /// Read the entries to remove from files of this format
    #[arg(long, value_enum, requires = "files")]
    from: Option<ListFormat>,

    /// Files of entries to remove, plain or compressed with gzip or zstd; `-` is standard input
    #[arg(value_name = "FILE", requires = "from")]
    files: Vec<PathBuf>,

    /// The column with the ids, counted from 1. The fingerprints are in the first other column
    #[arg(
        long,
        value_name = "N",
        default_value_t = 2,
        value_parser = clap::value_parser!(u16).range(1..),
        help_heading = "Reading lists of fingerprints"
    )]
    id_column: u16,

    #[command(flatten)]
    list: ListArgs,

    /// Stop if a compressed file decompresses to more than this many times its size. The first 64
    /// MiB are not counted
    #[arg(
        long,
        value_name = "TIMES",
        default_value_t = 1000,
        help_heading = "Reading lists of fingerprints"
    )]
    max_ratio: u64,

    #[command(flatten)]
    memory: MemoryArgs,
}

/// `--from`
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum ListFormat {
    /// Fingerprints and ids in columns, such as export writes
    Fp,
}

/// `fpdb.remove/1`
#[derive(Debug, Default, Serialize)]
struct Report {
    schema: &'static str,
    read: u64,
    removed: u64,
    not_found: u64,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Outcome> {
        input::check_all(&self.files)?;
        let bits = fpdb::describe(&self.path)?.bits;
        by_width!(bits, |options| self.remove(options, context))?;
        Ok(Outcome::Done)
    }

    fn remove<F: Fingerprint>(&self, options: Options<F>, context: &mut Context<'_>) -> Result<()> {
        let single = self.single::<F>()?;
        // One sync at the end serves all removals.
        let options = options.durability(Durability::Buffered).index_memory(0);
        let db = self.memory.apply(options, &self.path).open(&self.path)?;
        let mut report = Report { schema: "fpdb.remove/1", ..Report::default() };
        let bar = progress::over_files(context, &self.files);
        let removed = match single {
            Some((fingerprint, id)) => report.remove(&db, fingerprint, id),
            None => {
                let lists = Lists {
                    args: &self.list,
                    id_column: Some(self.id_column.into()),
                    max_ratio: self.max_ratio,
                    bar: &bar,
                };
                lists.read(&self.files).try_for_each(|listed| {
                    let Listed { fingerprint, id } = listed?;
                    report.remove(&db, fingerprint, parse_id(&id.unwrap_or_default())?)
                })
            }
        };
        bar.finish_and_clear();
        // Removals before an error are kept.
        let closed = db.sync().and_then(|()| db.close());
        removed?;
        closed?;
        let Report { read, removed, not_found, .. } = report;
        let sentence = format!("read {read} entries: {removed} removed, {not_found} not found");
        context.conclude(&report, sentence)?;
        Ok(())
    }

    /// The entry that the options name, if they name one.
    fn single<F: Fingerprint>(&self) -> Result<Option<(F, u64)>> {
        let (Some(text), Some(id)) = (&self.fingerprint, self.id) else { return Ok(None) };
        Ok(Some((fingerprints::parse(text, self.list.fp_format)?, id)))
    }
}

impl Report {
    fn remove<F: Fingerprint>(&mut self, db: &Db<F>, fingerprint: F, id: u64) -> Result<()> {
        let removed = db.remove(fingerprint, DocId(id))?;
        self.read += 1;
        self.removed += u64::from(removed);
        self.not_found += u64::from(!removed);
        Ok(())
    }
}

/// Parses an id of a list.
fn parse_id(id: &str) -> Result<u64> {
    id.trim().parse().with_context(|| format!("{id:?} is not a number from 0 to {}", u64::MAX))
}
