//! Where a report comes from: what made it, when, from which database.

use std::ffi::OsString;
use std::time::SystemTime;

use clap::{ArgMatches, Command};
use serde::Serialize;

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

/// A report, what it is and where it comes from.
#[derive(Serialize)]
pub(crate) struct Traced<'a, T> {
    schema: &'static str,
    /// `summary` after records of other types.
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<&'static str>,
    #[serde(flatten)]
    report: &'a T,
    provenance: &'a Provenance,
}

impl<'a, T> Traced<'a, T> {
    pub(crate) fn new(schema: &'static str, report: &'a T, provenance: &'a Provenance) -> Self {
        Self { schema, r#type: None, report, provenance }
    }

    pub(crate) fn summary(schema: &'static str, report: &'a T, provenance: &'a Provenance) -> Self {
        Self { schema, r#type: Some("summary"), report, provenance }
    }
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
