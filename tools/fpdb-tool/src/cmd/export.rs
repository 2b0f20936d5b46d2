//! `export`

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::ValueEnum;
use fpdb::{Description, Entry, Fingerprint, Ids, Options};
use serde::Serialize;

use crate::args::choice::choice;
use crate::args::database::{self, by_width};
use crate::args::memory::MemoryArgs;
use crate::complete;
use crate::output::document;
use crate::output::escape::is_unsafe;
use crate::output::failure::Exit;
use crate::output::progress;
use crate::output::{Context, json_line};

const EXAMPLE: &str = "\
Examples:
  fpdb-tool export crawl.fpdb > crawl.csv
  fpdb-tool export crawl.fpdb --documents --json > crawl.ndjson
  fpdb-tool export crawl.fpdb --all | zstd > crawl.export.zst";

/// Writes all entries, sorted by fingerprint and then by id
///
/// With --documents, writes all documents instead, sorted by name or, without names, by id: also
/// duplicates that dedup has remembered, which have no entry, and with the stamps.
///
/// With --all, writes everything that the database holds, from which `import --all` makes it again:
/// lines of JSON with the settings first, then each entry or document with its id, name, stamp and
/// original, and a checksum last. docs/export.md describes them. Removed entries and documents are
/// left out, but the ids of removed documents do not come back. This is also the way from one
/// version of the file format to another: export with the fpdb-tool that reads the old database,
/// and import with the new one.
///
/// The output is the state at one moment, even if another process is writing to the database.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    path: PathBuf,

    /// Write everything, from which `import --all` makes the database again
    #[arg(long, conflicts_with_all = ["format", "documents", "spreadsheet"])]
    all: bool,

    /// Format of the output; --json is short for --format ndjson
    #[arg(long, value_parser = choice::<ExportFormat>(), default_value = "csv")]
    format: ExportFormat,

    /// Write documents instead of entries, with their stamps. The database needs ids of kind
    /// `names` or `unique`
    #[arg(long)]
    documents: bool,

    /// Make the CSV safe to open in a spreadsheet program: a name that begins with = + - @, also in
    /// full width or after white space, or with a tab or a carriage return, which would be run as a
    /// formula, gets an apostrophe before it
    #[arg(long)]
    spreadsheet: bool,

    #[command(flatten)]
    memory: MemoryArgs,
}

/// `--format`
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum ExportFormat {
    /// A header and one line per entry: fingerprint,id or, with names, fingerprint,id,name.
    /// Documents also have stamp,duplicate_of, which is empty for an original and else the id of
    /// its original
    Csv,
    /// One record per entry or document, and a summary record last. The records of documents are
    /// like the records of `get`
    Ndjson,
    /// One fingerprint per line, in hex
    Hex,
}

#[derive(Serialize)]
struct Record {
    r#type: &'static str,
    fingerprint: String,
    id: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Summary {
    Entries(u64),
    Documents(u64),
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        let description = fpdb::Description::read(&self.path)?;
        if self.all {
            return self.export_all(description.bits, context).map(|()| Exit::Done);
        }
        let format = if context.json { ExportFormat::Ndjson } else { self.format };
        if self.spreadsheet && format != ExportFormat::Csv {
            bail!("--spreadsheet is for CSV: leave it out, or use --format csv");
        }
        if self.documents {
            database::need_documents(&description, "export --documents")?;
        }
        if self.documents && format == ExportFormat::Hex {
            bail!("--format hex is for entries: leave out --documents");
        }
        by_width!(description.bits, |options| self.export(options, &description, format, context))?;
        Ok(Exit::Done)
    }

    fn export_all(&self, bits: u32, context: &mut Context<'_>) -> Result<()> {
        let bar = progress::of_operation(context);
        bar.set_message("export");
        let exported = by_width!(bits, |options| {
            let options = self.memory.apply(options.index_memory(0));
            let db = options.open_read_only(&self.path).map_err(Into::into);
            db.and_then(|db| complete::write(&db, &bar, context.out))
        });
        bar.finish_and_clear();
        exported
    }

    fn export<F: Fingerprint>(
        &self,
        options: Options<F>,
        description: &Description,
        format: ExportFormat,
        context: &mut Context<'_>,
    ) -> Result<()> {
        let names = description.ids == Ids::Names;
        let options = self.memory.apply(options.index_memory(0));
        let snapshot = options.open_read_only(&self.path)?.snapshot();
        if self.documents {
            let records = snapshot.documents()?.map(|document| {
                let (name, document) = document?;
                document::Record::new(name, &document, &snapshot)
            });
            return match format {
                ExportFormat::Csv => {
                    write_documents_csv(records, names, self.spreadsheet, context.out)
                }
                _ => {
                    let documents = write_ndjson(records, context.out)?;
                    let summary = Summary::Documents(documents);
                    Ok(context.summary("fpdb.export-documents/1", &summary)?)
                }
            };
        }
        let records = snapshot.iter().map(|entry| {
            let Entry { fingerprint, id } = entry?;
            let name = if names && format != ExportFormat::Hex { snapshot.name(id)? } else { None };
            Ok(Record { r#type: "entry", fingerprint: fingerprint.to_hex(), id: id.0, name })
        });
        match format {
            ExportFormat::Csv => write_csv(records, names, self.spreadsheet, context.out),
            ExportFormat::Ndjson => {
                let summary = Summary::Entries(write_ndjson(records, context.out)?);
                Ok(context.summary("fpdb.export-entries/1", &summary)?)
            }
            ExportFormat::Hex => write_hex(records, context.out),
        }
    }
}

fn write_csv(
    mut records: impl Iterator<Item = Result<Record>>,
    names: bool,
    spreadsheet: bool,
    out: &mut dyn Write,
) -> Result<()> {
    let columns = if names { 3 } else { 2 };
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(&["fingerprint", "id", "name"][..columns]).map_err(io_error)?;
    records.try_for_each(|record| {
        let Record { fingerprint, id, name, .. } = record?;
        let (id, name) = (id.to_string(), cell(name, spreadsheet));
        csv.write_record(&[fingerprint, id, name][..columns]).map_err(io_error)
    })?;
    csv.flush()?;
    Ok(())
}

/// Returns the name as a value of CSV, in which a spreadsheet program finds no formula if
/// `spreadsheet` is set.
fn cell(name: Option<String>, spreadsheet: bool) -> String {
    let mut name = name.unwrap_or_default();
    if spreadsheet && may_be_formula(&name) {
        name.insert(0, '\'');
    }
    name
}

/// Returns whether a spreadsheet program may take a cell for a formula. Some leave out white space
/// and invisible characters before it, and some accept signs in full width, as Chinese and Japanese
/// keyboards make them.
fn may_be_formula(cell: &str) -> bool {
    let is_invisible = |c: char| c.is_whitespace() || is_unsafe(c);
    let first = cell.trim_start_matches(is_invisible);
    cell.starts_with(['\t', '\r'])
        || first.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠'])
}

fn write_documents_csv(
    mut records: impl Iterator<Item = Result<document::Record>>,
    names: bool,
    spreadsheet: bool,
    out: &mut dyn Write,
) -> Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    let mut write = |mut record: Vec<String>| {
        if !names {
            record.remove(2);
        }
        csv.write_record(&record).map_err(io_error)
    };
    write(["fingerprint", "id", "name", "stamp", "duplicate_of"].map(str::to_owned).to_vec())?;
    records.try_for_each(|record| {
        let document::Record { fingerprint, id, name, stamp, duplicate_of, .. } = record?;
        let number = |number: Option<u64>| number.map(|n| n.to_string()).unwrap_or_default();
        let original = number(duplicate_of.map(|original| original.id));
        write(vec![fingerprint, id.to_string(), cell(name, spreadsheet), number(stamp), original])
    })?;
    csv.flush()?;
    Ok(())
}

/// Extracts the failed write from an error of csv, so that a broken pipe is recognized.
fn io_error(error: csv::Error) -> anyhow::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error.into(),
        other => anyhow::anyhow!("cannot write CSV: {other:?}"),
    }
}

/// Writes records, and returns how many there were.
fn write_ndjson(
    records: impl Iterator<Item = Result<impl Serialize>>,
    out: &mut dyn Write,
) -> Result<u64> {
    let mut written = 0;
    for record in records {
        json_line(out, &record?)?;
        written += 1;
    }
    Ok(written)
}

fn write_hex(mut records: impl Iterator<Item = Result<Record>>, out: &mut dyn Write) -> Result<()> {
    records.try_for_each(|record| Ok(writeln!(out, "{}", record?.fingerprint)?))
}
