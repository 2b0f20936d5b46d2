//! `export`

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::ValueEnum;
use fpdb::{Description, Entry, Fingerprint, Ids, Options};
use serde::Serialize;

use crate::database::by_width;
use crate::failure::Outcome;
use crate::output::{Context, json_line};

/// Writes all entries, sorted by fingerprint, then id
///
/// What is written is one moment's state, also while another process writes to the database.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    path: PathBuf,

    /// How to write an entry; --json is short for ndjson
    #[arg(long, value_enum, default_value = "csv")]
    format: Format,
}

/// `--format`
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    /// A header line, then fingerprint,id or, in a database with names, fingerprint,id,name
    Csv,
    /// A record an entry, and a summary record last
    Ndjson,
    /// The fingerprint in hex
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
        let format = if context.json { Format::Ndjson } else { self.format };
        by_width!(description.bits, |options| self.export(options, &description, format, context))?;
        Ok(Outcome::Done)
    }

    fn export<F: Fingerprint>(
        &self,
        options: Options<F>,
        description: &Description,
        format: Format,
        context: &mut Context<'_>,
    ) -> Result<()> {
        let names = description.ids == Ids::Names;
        let snapshot = options.open_read_only(&self.path)?.snapshot();
        let records = snapshot.iter().map(|entry| {
            let Entry { fingerprint, id } = entry?;
            let name = if names && format != Format::Hex { snapshot.name(id)? } else { None };
            Ok(Record { r#type: "entry", fingerprint: fingerprint.to_hex(), id: id.0, name })
        });
        match format {
            Format::Csv => write_csv(records, names, context.out),
            Format::Ndjson => write_ndjson(records, context.out),
            Format::Hex => write_hex(records, context.out),
        }
    }
}

fn write_csv(
    mut records: impl Iterator<Item = Result<Record>>,
    names: bool,
    out: &mut dyn Write,
) -> Result<()> {
    let columns = if names { 3 } else { 2 };
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(&["fingerprint", "id", "name"][..columns]).map_err(io_error)?;
    records.try_for_each(|record| {
        let Record { fingerprint, id, name, .. } = record?;
        let (id, name) = (id.to_string(), name.unwrap_or_default());
        csv.write_record(&[fingerprint, id, name][..columns]).map_err(io_error)
    })?;
    csv.flush()?;
    Ok(())
}

/// The failed write in an error of csv, so that a broken pipe is known as one.
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
