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

/// A report and where it comes from.
#[derive(Serialize)]
pub(crate) struct Traced<'a, T> {
    #[serde(flatten)]
    pub(crate) report: &'a T,
    pub(crate) provenance: &'a Provenance,
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

    /// Returns the same for people.
    pub(crate) fn sentence(&self) -> String {
        let Self { version, date, command, database } = self;
        let of = database.as_ref().map(|path| format!(" of {path}")).unwrap_or_default();
        format!("Made by fpdb-tool {version} on {date}{of}: {}", command.join(" "))
    }
}

/// The names of arguments for databases in help texts: `join` takes two databases.
const NAMES: [&str; 2] = ["DB", "A"];

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
