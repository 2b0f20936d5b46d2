//! `verify`

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use anyhow::Result;
use fpdb::{Error, ErrorKind, Fingerprint, Options, VerifyReport};
use indicatif::ProgressBar;
use serde::Serialize;

use crate::database::by_width;
use crate::failure::Exit;
use crate::memory::MemoryArgs;
use crate::output::{Context, iec, json_line, printable};
use crate::progress;

const EXAMPLE: &str = "\
Example:
  fpdb-tool verify crawl.fpdb";

/// Reads every byte and reports damage
///
/// Lists each damaged file, with the offset and kind of all damage in it, and changes nothing. The
/// exit code is 0 if the database is sound and 1 if it is damaged.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    path: PathBuf,

    #[command(flatten)]
    memory: MemoryArgs,
}

/// `fpdb.verify/1`
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
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        let bar = progress::of_operation(context);
        let report = self.verify(&bar);
        bar.finish_and_clear();
        let report = report?;
        if context.json {
            json_line(context.out, &report)?;
        } else {
            report.print(context)?;
        }
        Ok(if report.clean { Exit::Done } else { Exit::CheckFailed })
    }

    fn verify(&self, bar: &ProgressBar) -> Result<Report> {
        let description = match fpdb::Description::read(&self.path) {
            Ok(description) => description,
            Err(error) if error.kind() == ErrorKind::Corruption => return Ok(unreadable(&error)),
            Err(error) => return Err(error.into()),
        };
        match by_width!(description.bits, |options| self.read_all(options, bar)) {
            Ok(verified) => Ok(Report {
                schema: "fpdb.verify/1",
                clean: verified.errors.is_empty(),
                files: verified.files as u64,
                bytes: verified.bytes,
                errors: verified.errors.iter().map(Damage::from).collect(),
            }),
            // The manifest exists, so a missing file that it names is damage too.
            Err(error) if matches!(error.kind(), ErrorKind::Corruption | ErrorKind::NotFound) => {
                Ok(unreadable(&error))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn read_all<F: Fingerprint>(
        &self,
        options: Options<F>,
        bar: &ProgressBar,
    ) -> fpdb::Result<VerifyReport> {
        let options = self.memory.apply(options.index_memory(0), &self.path);
        let snapshot = options.open_read_only(&self.path)?.snapshot();
        snapshot.on_progress(progress::on(bar)).verify()
    }
}

impl Report {
    /// Prints the damage by file, and says what to do about it.
    fn print(&self, context: &mut Context<'_>) -> io::Result<()> {
        let mut by_file: BTreeMap<&str, Vec<&Damage>> = BTreeMap::new();
        for damage in &self.errors {
            by_file.entry(damage.file.as_deref().unwrap_or("database")).or_default().push(damage);
        }
        for (file, damages) in &by_file {
            writeln!(context.out, "damaged: {}", printable(file))?;
            for damage in damages {
                writeln!(context.out, "  {}", printable(&damage.line()))?;
            }
        }
        let (files, bytes) = (self.files, iec(self.bytes));
        if self.clean {
            context.say(format_args!("sound: {files} files, {bytes}"));
            return Ok(());
        }
        context.say(match files {
            0 => "damaged: the database cannot be opened".to_owned(),
            _ => {
                let (places, damaged) = (self.errors.len(), by_file.len());
                format!("damaged: {places} places, {damaged} of {files} files, {bytes}")
            }
        });
        context.say(
            "to do: restore a backup, or create the database again from its documents; until then, \
             queries that need a damaged place fail",
        );
        Ok(())
    }
}

impl Damage {
    /// The message without the file, which stands above it.
    fn line(&self) -> String {
        let Some(file) = &self.file else { return self.message.clone() };
        let Some(offset) = self.offset else {
            return self.message.replace(&format!(" ({file})"), "");
        };
        let message = self.message.replace(&format!(" ({file}, byte {offset})"), "");
        format!("byte {offset}: {message}")
    }
}

/// Returns the report on a database so damaged that it cannot be opened.
fn unreadable(error: &Error) -> Report {
    Report { schema: "fpdb.verify/1", clean: false, files: 0, bytes: 0, errors: vec![error.into()] }
}
