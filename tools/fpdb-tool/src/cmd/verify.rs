//! `verify`

use std::io;
use std::path::PathBuf;

use anyhow::Result;
use fpdb::reports::VerifyReport;
use fpdb::{Error, ErrorKind, Fingerprint, Options, VerifyLevel};
use indicatif::ProgressBar;
use serde::Serialize;

use crate::args::database::by_width;
use crate::args::memory::MemoryArgs;
use crate::output::damage;
use crate::output::failure::Exit;
use crate::output::progress;
use crate::output::{Context, iec, printable};

const EXAMPLE: &str = "\
Example:
  fpdb-tool verify crawl.fpdb";

/// Reads every byte and reports damage
///
/// Lists each damaged file, with the offset and kind of all damage in it, and changes nothing. The
/// exit code is 0 if the database is sound and 1 if it is damaged. Notes say what is no damage, but
/// would let a repair save less.
///
/// `--level quick` compares all bytes with their checksums. `full` also decodes everything, and
/// checks that the files of each segment agree. `deep` also compares the segments with each other,
/// and the answers to 32 queries with a scan.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    path: PathBuf,

    /// How thoroughly to check
    #[arg(long, value_enum, default_value_t)]
    level: Level,

    #[command(flatten)]
    memory: MemoryArgs,
}

#[derive(Clone, Copy, Default, clap::ValueEnum)]
enum Level {
    /// Checksums
    Quick,
    /// Checksums and contents
    #[default]
    Full,
    /// Also segments against each other, and queries against a scan
    Deep,
}

impl From<Level> for VerifyLevel {
    fn from(level: Level) -> Self {
        match level {
            Level::Quick => Self::Quick,
            Level::Full => Self::Full,
            Level::Deep => Self::Deep,
        }
    }
}

/// `fpdb.verify/1`
#[derive(Serialize)]
struct Report {
    clean: bool,
    files: u64,
    bytes: u64,
    errors: Vec<Error>,
    /// What is no damage, but would let a repair save less.
    remarks: Vec<Error>,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        let bar = progress::of_operation(context);
        let report = self.verify(&bar);
        bar.finish_and_clear();
        let report = report?;
        if context.json {
            context.report("fpdb.verify/1", &report)?;
        } else {
            report.print(context)?;
        }
        Ok(if report.clean { Exit::Done } else { Exit::CheckFailed })
    }

    fn verify(&self, bar: &ProgressBar) -> Result<Report> {
        let description = match fpdb::Description::read_damaged(&self.path) {
            Ok(description) => description,
            Err(error) if error.kind() == ErrorKind::Corruption => return Ok(unreadable(error)),
            Err(error) => return Err(error.into()),
        };
        let verified = by_width!(description.bits, |options| self.read_all(options, bar))?;
        Ok(Report {
            clean: verified.errors.is_empty(),
            files: verified.files as u64,
            bytes: verified.bytes,
            errors: verified.errors,
            remarks: verified.remarks,
        })
    }

    fn read_all<F: Fingerprint>(
        &self,
        options: Options<F>,
        bar: &ProgressBar,
    ) -> fpdb::Result<VerifyReport> {
        let options = self.memory.apply(options.index_memory(0));
        options.on_progress(progress::on(bar)).verify(&self.path, self.level.into())
    }
}

impl Report {
    /// Prints the damage by file, and says what to do about it.
    fn print(&self, context: &mut Context<'_>) -> io::Result<()> {
        let damaged = damage::print(&self.errors, context)?;
        let (files, bytes) = (self.files, iec(self.bytes));
        for remark in &self.remarks {
            context.say(format_args!("note: {}", printable(&remark.to_string())));
        }
        if self.clean {
            context.say(format_args!("sound: {files} files, {bytes}"));
            return Ok(());
        }
        context.say(match files {
            0 => "damaged: neither the manifest nor what stands for it can be read".to_owned(),
            _ => {
                let places = self.errors.len();
                format!("damaged: {places} places, {damaged} of {files} files, {bytes}")
            }
        });
        context.say(match files {
            0 => "to do: restore a backup",
            _ => {
                "to do: restore a backup, or run `fpdb-tool repair`, which writes what is left to a new \
                 database; until then, queries that need a damaged place fail"
            }
        });
        Ok(())
    }
}

/// Returns the report on a database that has lost its manifest, the copy and all spares.
fn unreadable(error: Error) -> Report {
    Report { clean: false, files: 0, bytes: 0, errors: vec![error], remarks: Vec::new() }
}
