//! `verify`

use std::path::PathBuf;

use anyhow::Result;
use fpdb::{Error, ErrorKind, Fingerprint, Options, VerifyReport};
use serde::Serialize;

use crate::database::by_width;
use crate::failure::Outcome;
use crate::output::{Context, iec, json_line, printable};
use crate::progress;

/// Reads every byte and tells of damage
///
/// Exits with 0 if all is sound and with 1 if not; each damage found is a line with the file and
/// the offset in it. Nothing is changed.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    path: PathBuf,
}

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    clean: bool,
    files: u64,
    bytes: u64,
    errors: Vec<Damage>,
}

#[derive(Serialize)]
struct Damage {
    file: Option<String>,
    offset: Option<u64>,
    message: String,
}

impl From<&Error> for Damage {
    fn from(error: &Error) -> Self {
        Self {
            file: error.path().map(|path| path.display().to_string()),
            offset: error.offset(),
            message: error.to_string(),
        }
    }
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Outcome> {
        let bar = progress::working(context, "reading");
        let report = self.verify();
        bar.finish_and_clear();
        let report = report?;
        if context.json {
            json_line(context.out, &report)?;
        } else {
            for damage in &report.errors {
                writeln!(context.out, "damage: {}", printable(&damage.message))?;
            }
            let (files, bytes) = (report.files, iec(report.bytes));
            context.say(match report.errors.len() {
                0 => format!("sound: {files} files, {bytes}"),
                errors => format!("{errors} errors in {files} files, {bytes}"),
            });
        }
        Ok(if report.clean { Outcome::Done } else { Outcome::CheckFailed })
    }

    fn verify(&self) -> Result<Report> {
        let description = match fpdb::describe(&self.path) {
            Ok(description) => description,
            Err(error) if error.kind() == ErrorKind::Corruption => return Ok(unreadable(&error)),
            Err(error) => return Err(error.into()),
        };
        match by_width!(description.bits, |options| self.read_all(options)) {
            Ok(found) => Ok(Report {
                schema: "fpdb.verify/1",
                clean: found.errors.is_empty(),
                files: found.files as u64,
                bytes: found.bytes,
                errors: found.errors.iter().map(Damage::from).collect(),
            }),
            // There is a manifest, so a file that it names and that is missing is damage too.
            Err(error) if matches!(error.kind(), ErrorKind::Corruption | ErrorKind::NotFound) => {
                Ok(unreadable(&error))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn read_all<F: Fingerprint>(&self, options: Options<F>) -> fpdb::Result<VerifyReport> {
        Ok(options.open_read_only(&self.path)?.verify())
    }
}

/// The report on a database so damaged that it cannot be opened.
fn unreadable(error: &Error) -> Report {
    Report { schema: "fpdb.verify/1", clean: false, files: 0, bytes: 0, errors: vec![error.into()] }
}
