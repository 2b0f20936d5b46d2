//! `import`

use std::io;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::ValueEnum;
use fpdb::{Db, DocId, Entry, Fingerprint, Ids};
use serde::Serialize;

use crate::database::{self, NewDatabase, by_width};
use crate::failure::{self, Outcome};
use crate::input::fingerprints::{self, Format};
use crate::input::{self, parse_size};
use crate::output::Context;
use crate::progress;

/// Loads fingerprints in bulk
///
/// The id of a fingerprint is its position in the file: 0, 1, and so on, or from --first-id on;
/// with several files, positions go on from one to the next. An entry that is there already is
/// not stored twice, so the same import may be run again. If a line cannot be read, nothing is
/// loaded.
///
/// The database needs ids of kind `user`. If there is none, it is made.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The database, made if it is missing
    #[arg(value_name = "DB")]
    path: PathBuf,

    /// Files of fingerprints; `-` is standard input. Text may be gzipped, binary data too if the
    /// name ends in .gz
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// What the files hold
    #[arg(long, value_enum, default_value = "fp")]
    from: Source,

    /// How the fingerprints are written
    #[arg(long, value_enum, default_value = "auto")]
    fp_format: Format,

    /// The id of the first fingerprint
    #[arg(long, value_name = "ID", default_value_t = 0)]
    first_id: u64,

    /// Memory to sort in
    #[arg(long, value_name = "BYTES", default_value = "256MiB", value_parser = parse_size)]
    memory: usize,

    #[command(flatten)]
    new: NewDatabase,

    /// Width of the fingerprints, 64 or 128 [default: 64]
    #[arg(long, value_parser = database::parse_bits, help_heading = "A new database")]
    bits: Option<u32>,
}

/// `--from`
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// Fingerprints
    Fp,
}

#[derive(Serialize)]
struct Imported {
    schema: &'static str,
    read: u64,
    inserted: u64,
    already_there: u64,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Outcome> {
        let Source::Fp = self.from;
        input::check_all(&self.files)?;
        let found = database::find(&self.path)?;
        if let Some(found) = &found {
            database::need_ids(found, Ids::User, "import")?;
            self.new.check_against(found)?;
            if self.bits.is_some_and(|bits| bits != found.bits) {
                bail!("the database has fingerprints of {} bits", found.bits);
            }
        }
        let bits = found.as_ref().map_or(self.bits.unwrap_or(64), |found| found.bits);
        by_width!(bits, |options| {
            let options = options.bulk_memory(self.memory);
            let db = match found {
                Some(_) => options.open(&self.path)?,
                None => self.new.options(options)?.open_or_create(&self.path)?,
            };
            self.load(db, context)?;
        });
        Ok(Outcome::Done)
    }

    fn load<F: Fingerprint>(&self, db: Db<F>, context: &mut Context<'_>) -> Result<()> {
        let bar = progress::over_files(context, &self.files);
        let mut id = Some(self.first_id);
        let entries = fingerprints::read::<F>(&self.files, self.fp_format, &bar).map(|read| {
            let entry = read.and_then(|fingerprint| match id {
                Some(this) => {
                    id = this.checked_add(1);
                    Ok(Entry { fingerprint, id: DocId(this) })
                }
                None => bail!("there are no ids above {}", u64::MAX),
            });
            entry.map_err(|e| fpdb::Error::from_input(io::Error::other(failure::sentence(&e))))
        });
        let loaded = db.bulk_load(entries);
        bar.finish_and_clear();
        let loaded = loaded?;
        db.close()?;
        let imported = Imported {
            schema: "fpdb.import/1",
            read: loaded.read,
            inserted: loaded.inserted,
            already_there: loaded.read - loaded.inserted,
        };
        let told = format!(
            "read {} fingerprints: {} inserted, {} already there",
            imported.read, imported.inserted, imported.already_there
        );
        context.conclude(&imported, told)?;
        Ok(())
    }
}
