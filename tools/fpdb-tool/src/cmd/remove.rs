//! `remove`

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;
use fpdb::{Db, Description, DocId, Durability, Fingerprint, Ids, Key, Options};
use indicatif::ProgressBar;
use serde::Serialize;

use crate::args::choice::choice;
use crate::args::database::{self, by_width, parse_id};
use crate::args::writing::WritingArgs;
use crate::input;
use crate::input::fingerprints::{self, ListArgs, Listed, Lists};
use crate::input::names;
use crate::input::walk::name_parser;
use crate::output::Context;
use crate::output::failure::Exit;
use crate::output::progress;

const EXAMPLE: &str = "\
Examples:
  fpdb-tool remove crawl.fpdb --name https://example.org/
  fpdb-tool remove crawl.fpdb --from names gone.txt
  fpdb-tool remove crawl.fpdb --fingerprint 0x0123456789abcdef --id 7
  fpdb-tool export old.fpdb | fpdb-tool remove crawl.fpdb --from fp -";

const USAGE: &str = "\
fpdb-tool remove [OPTIONS] <DB> --name <NAME>
       fpdb-tool remove [OPTIONS] <DB> --id <ID>
       fpdb-tool remove [OPTIONS] <DB> --fingerprint <FINGERPRINT> --id <ID>
       fpdb-tool remove [OPTIONS] <DB> --from names <FILE>...
       fpdb-tool remove [OPTIONS] <DB> --from fp <FILE>...
       fpdb-tool remove [OPTIONS] <DB> --from auto <FILE>...";

/// Removes documents by name or id, or entries by fingerprint and id
///
/// --name removes the document with this name, and --id alone the document with this id. In a
/// database with names, the id is the number that export, query and get show. In a database with
/// user ids, --id alone removes all entries with this id, and reads all entries to find them.
///
/// With --fingerprint and --id, only the entry with exactly this fingerprint and this id is
/// removed: other ids of the fingerprint and near fingerprints stay.
///
/// With --from names, names come from files, one per line, or ids in a database with unique ids.
/// With --from fp, entries come from files in the form that `import` and `export` use: one entry
/// per line, in columns. If a line cannot be read, what the lines before it name is removed.
///
/// What is not in the database counts as not found, which is not an error. `compact` returns the
/// space to the disk.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE, override_usage = USAGE)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true).args(["name", "id", "files"]))]
pub(crate) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    path: PathBuf,

    /// The name of the document to remove. Bytes that are not UTF-8 are taken as `%E9`, as in the
    /// names that dedup makes of paths
    #[arg(
        long,
        value_name = "NAME",
        value_parser = name_parser(),
        conflicts_with_all = ["id", "fingerprint", "files"]
    )]
    name: Option<String>,

    /// The id of the document to remove, or of the entry
    #[arg(long, value_name = "ID", conflicts_with = "files")]
    id: Option<u64>,

    /// The fingerprint of the entry to remove, in the notation of --fp-format
    #[arg(
        long,
        value_name = "FINGERPRINT",
        requires = "id",
        conflicts_with = "files",
        allow_negative_numbers = true
    )]
    fingerprint: Option<String>,

    /// Read what to remove from files of this format
    #[arg(long, value_parser = choice::<ListFormat>(), requires = "files")]
    from: Option<ListFormat>,

    /// Files of what to remove, plain or compressed with gzip or zstd; `-` is standard input
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
    memory: WritingArgs,
}

/// `--from`
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum ListFormat {
    /// Entries if each line has a fingerprint of 0x and all its digits, and an id, such as export
    /// writes; else names or ids. In a database with user ids: entries
    Auto,
    /// Fingerprints and ids in columns, such as export writes
    Fp,
    /// One name per line; in a database with unique ids, one id per line
    Names,
}

/// `fpdb.remove/1`
#[derive(Debug, Default, Serialize)]
struct Report {
    read: u64,
    removed: u64,
    not_found: u64,
}

impl Args {
    pub(crate) fn run(mut self, context: &mut Context<'_>) -> Result<Exit> {
        input::check_all(&self.files)?;
        let description = fpdb::Description::read(&self.path)?;
        if self.from == Some(ListFormat::Auto) {
            self.from = Some(self.format_of_files(description.ids)?);
        }
        if self.name.is_some() {
            database::need_ids(&description, Ids::Names, "remove --name")?;
        }
        if self.from == Some(ListFormat::Names) {
            database::need_documents(&description, "remove --from names")?;
        }
        by_width!(description.bits, |options| self.remove(options, &description, context))?;
        Ok(Exit::Done)
    }

    fn format_of_files(&self, ids: Ids) -> Result<ListFormat> {
        if ids == Ids::User {
            return Ok(ListFormat::Fp);
        }
        if let Some(path) = self.files.iter().find(|path| input::is_stdin(path) || !path.is_file())
        {
            let label = input::label(path);
            bail!("{label}: give --from names or --from fp, because it cannot be read twice");
        }
        let are_entries = input::all_begin(&self.files, input::is_list_of_entries)?;
        Ok(if are_entries { ListFormat::Fp } else { ListFormat::Names })
    }

    fn remove<F: Fingerprint>(
        &self,
        options: Options<F>,
        description: &Description,
        context: &mut Context<'_>,
    ) -> Result<()> {
        let single = self.single::<F>()?;
        // One sync at the end serves all removals.
        let options = options.durability(Durability::Buffered).index_memory(0);
        let db = self.memory.apply(options).open(&self.path)?;
        let mut report = Report::default();
        let bar = progress::over_files(context, &self.files);
        let removed = match single {
            Some(single) => report.remove(&db, single),
            None => self.remove_listed(&db, description.ids, &bar, &mut report),
        };
        bar.finish_and_clear();
        // Removals before an error are kept.
        let closed = db.sync().and_then(|()| db.close());
        removed?;
        closed?;
        let Report { read, removed, not_found, .. } = report;
        let what = match (&self.name, self.from) {
            (Some(_), _) | (_, Some(ListFormat::Names)) => "names",
            _ if self.fingerprint.is_none() && self.from.is_none() => "ids",
            _ => "entries",
        };
        let sentence = format!("read {read} {what}: {removed} removed, {not_found} not found");
        context.conclude("fpdb.remove/1", &report, sentence)?;
        Ok(())
    }

    /// Removes what the files list.
    fn remove_listed<F: Fingerprint>(
        &self,
        db: &Db<F>,
        ids: Ids,
        bar: &ProgressBar,
        report: &mut Report,
    ) -> Result<()> {
        if self.from == Some(ListFormat::Names) {
            return names::for_each(&self.files, self.max_ratio, bar, |line, place| {
                let key = database::parse_key(ids, line).with_context(|| place.to_string())?;
                report.remove(db, Target::Document(key))
            });
        }
        let lists = Lists {
            args: &self.list,
            id_column: Some(self.id_column.into()),
            max_ratio: self.max_ratio,
            bar,
        };
        lists.read(&self.files).try_for_each(|listed| {
            let Listed { fingerprint, id } = listed?;
            report.remove(db, Target::Entry(fingerprint, parse_id(&id.unwrap_or_default())?))
        })
    }

    /// Returns what the options name, if they name anything.
    fn single<F: Fingerprint>(&self) -> Result<Option<Target<'_, F>>> {
        Ok(match (&self.fingerprint, self.id, &self.name) {
            (Some(text), Some(id), _) => {
                let fingerprint = fingerprints::parse(text, self.list.fp_format)?;
                Some(Target::Entry(fingerprint, DocId(id)))
            }
            (_, Some(id), _) => Some(Target::Document(Key::Id(DocId(id)))),
            (.., Some(name)) => Some(Target::Document(Key::Name(name))),
            _ => None,
        })
    }
}

/// What to remove.
#[derive(Clone, Copy)]
enum Target<'a, F> {
    Entry(F, DocId),
    /// The document with this key or, in a database with user ids, all entries with this id.
    Document(Key<'a>),
}

impl Report {
    fn remove<F: Fingerprint>(&mut self, db: &Db<F>, target: Target<'_, F>) -> Result<()> {
        let removed = match target {
            Target::Entry(fingerprint, id) => db.remove_entry(fingerprint, id)?,
            Target::Document(key) => db.remove(key)?,
        };
        self.read += 1;
        self.removed += u64::from(removed);
        self.not_found += u64::from(!removed);
        Ok(())
    }
}
