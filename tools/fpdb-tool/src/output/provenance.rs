//! Where a report comes from: what made it, when, from which database.

use std::ffi::OsString;
use std::io::{self, Write};
use std::time::SystemTime;

use clap::{ArgMatches, Command};
use serde::Serialize;

use super::escape::json;

/// The field `provenance` of every report.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Provenance {
    /// The version of the tool.
    version: &'static str,
    /// When the command began.
    date: String,
    /// The words of the command line.
    command: Vec<String>,
    /// The first database on the command line.
    #[serde(skip_serializing_if = "Option::is_none")]
    database: Option<String>,
}

/// Writes a report as a JSON object, with what it is and where it comes from, and a line feed. A
/// summary that follows records of other types has the type `summary`.
pub(crate) fn write_traced(
    out: &mut dyn Write,
    (schema, is_summary): (&'static str, bool),
    report: &impl Serialize,
    provenance: &Provenance,
) -> io::Result<()> {
    let mut fields = Vec::new();
    json(&mut fields, report)?;
    write_fields(out, (schema, is_summary), &fields, provenance)
}

/// Writes what is before and after the fields of a report. It joins objects as text, because with
/// `#[serde(flatten)]`, each report would be compiled for one more serializer.
fn write_fields(
    out: &mut dyn Write,
    (schema, is_summary): (&'static str, bool),
    fields: &[u8],
    provenance: &Provenance,
) -> io::Result<()> {
    out.write_all(b"{\"schema\":")?;
    json(out, &schema)?;
    if is_summary {
        out.write_all(b",\"type\":\"summary\"")?;
    }
    let fields = fields.strip_prefix(b"{").and_then(|fields| fields.strip_suffix(b"}"));
    let fields = fields.ok_or_else(|| io::Error::other("a report is no JSON object"))?;
    if !fields.is_empty() {
        out.write_all(b",")?;
        out.write_all(fields)?;
    }
    out.write_all(b",\"provenance\":")?;
    json(out, provenance)?;
    out.write_all(b"}\n")
}

impl Provenance {
    /// Returns the provenance of the reports of this command line.
    pub(crate) fn of(args: &[OsString], definition: &Command, matches: &ArgMatches) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            command: args.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            database: database(definition, matches),
        }
    }
}

/// The names of arguments for databases in help texts: `join` takes two databases, and `repair` a
/// damaged one.
const NAMES: [&str; 3] = ["DB", "A", "BROKEN"];

/// Returns the first database that the command line names, if any.
fn database(definition: &Command, matches: &ArgMatches) -> Option<String> {
    let (name, matches) = matches.subcommand()?;
    let mut args = definition.find_subcommand(name)?.get_positionals();
    let arg = args.find(|arg| {
        let names = arg.get_value_names().unwrap_or_default();
        names.iter().any(|name| NAMES.contains(&name.as_str()))
    })?;
    let path = matches.try_get_raw(arg.get_id().as_str()).ok()??.next()?;
    Some(path.to_string_lossy().into_owned())
}
