//! `export`

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::ValueEnum;
use fpdb::{Description, Entry, Fingerprint, Ids, Options};
use serde::Serialize;

use crate::database::by_width;
use crate::failure::Outcome;
use crate::memory::MemoryArgs;
use crate::output::{Context, json_line};

const EXAMPLE: &str = "\
Example:
  fpdb-tool export crawl.fpdb > crawl.csv";

/// Writes all entries, sorted by fingerprint and then by id
///
/// The output is the state at one moment, even if another process is writing to the database.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    path: PathBuf,

    /// Format of the output; --json is short for --format ndjson
    #[arg(long, value_enum, default_value = "csv")]
    format: ExportFormat,

    /// Make the CSV safe to open in a spreadsheet program: a name that begins with = + - @, a tab or a
    /// carriage return, which would be run as a formula, gets an apostrophe before it
    #[arg(long)]
    spreadsheet: bool,

    #[command(flatten)]
    memory: MemoryArgs,
}

/// `--format`
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum ExportFormat {
    /// A header and one line per entry: fingerprint,id or, with names, fingerprint,id,name
    Csv,
    /// One record per entry and a summary record last
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
struct Summary {
    r#type: &'static str,
    entries: u64,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Outcome> {
        let description = fpdb::describe(&self.path)?;
        let format = if context.json { ExportFormat::Ndjson } else { self.format };
        if self.spreadsheet && format != ExportFormat::Csv {
            bail!("--spreadsheet is for CSV: leave it out, or use --format csv");
        }
        by_width!(description.bits, |options| self.export(options, &description, format, context))?;
        Ok(Outcome::Done)
    }

    fn export<F: Fingerprint>(
        &self,
        options: Options<F>,
        description: &Description,
        format: ExportFormat,
        context: &mut Context<'_>,
    ) -> Result<()> {
        let names = description.ids == Ids::Names;
        let options = self.memory.apply(options.index_memory(0), &self.path);
        let snapshot = options.open_read_only(&self.path)?.snapshot();
        let records = snapshot.iter().map(|entry| {
            let Entry { fingerprint, id } = entry?;
            let name = if names && format != ExportFormat::Hex { snapshot.name(id)? } else { None };
            Ok(Record { r#type: "entry", fingerprint: fingerprint.to_hex(), id: id.0, name })
        });
        match format {
            ExportFormat::Csv => write_csv(records, names, self.spreadsheet, context.out),
            ExportFormat::Ndjson => write_ndjson(records, context.out),
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
        let (id, mut name) = (id.to_string(), name.unwrap_or_default());
        if spreadsheet && name.starts_with(['=', '+', '-', '@', '\t', '\r']) {
            name.insert(0, '\'');
        }
        csv.write_record(&[fingerprint, id, name][..columns]).map_err(io_error)
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

fn write_ndjson(records: impl Iterator<Item = Result<Record>>, out: &mut dyn Write) -> Result<()> {
    let mut entries = 0;
    for record in records {
        json_line(out, &record?)?;
        entries += 1;
    }
    json_line(out, &Summary { r#type: "summary", entries })?;
    Ok(())
}

fn write_hex(mut records: impl Iterator<Item = Result<Record>>, out: &mut dyn Write) -> Result<()> {
    records.try_for_each(|record| Ok(writeln!(out, "{}", record?.fingerprint)?))
}
