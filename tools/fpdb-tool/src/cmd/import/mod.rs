//! `import`

mod documents;
mod lists;

use std::path::PathBuf;

use anyhow::{Result, bail};
use fpdb::{Description, Ids};

use crate::database::{self, NewDatabase, by_width};
use crate::failure::Outcome;
use crate::input::fingerprints::ListArgs;
use crate::input::{self, DocumentArgs, Source, parse_size};
use crate::output::Context;

/// Loads fingerprints in bulk, or documents without leaving any out
///
/// Lists of fingerprints, --from fp: the id of a fingerprint is its position in the file: 0, 1, and
/// so on, or from --first-id on; with several files, positions go on from one to the next. With
/// --id-column it is in the list. An entry that is there already is not stored twice, so the same
/// import may be run again. If a line cannot be read, nothing is loaded. The database needs ids of
/// kind `user`; if there is none, it is made. With --id-column it may also be one with ids of kind
/// `names`: then what the column holds are names, and what is told below of documents holds.
///
/// Documents, with all other values of --from: a fingerprint is made of each by the database's
/// recipe, and stored under the document's id as its name, also if others are near it. Those with
/// too few features to have one are counted as skipped. They are stored batch by batch. If the run
/// stops, those before the error are stored; run again, it stores them once more. The database
/// needs ids of kind `names`; if there is none, it is made.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The database, made if it is missing
    #[arg(value_name = "DB")]
    path: PathBuf,

    /// Files; `-` is standard input. They may be compressed with gzip or zstd; binary lists of
    /// fingerprints if the name ends in .gz or .zst. Of folders of documents, all files are read
    /// but hidden ones
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// What the files hold
    #[arg(long, value_enum, default_value = "fp")]
    from: Source,

    /// The id of the first fingerprint
    #[arg(
        long,
        value_name = "ID",
        default_value_t = 0,
        help_heading = "Reading lists of fingerprints"
    )]
    first_id: u64,

    /// The column that holds the ids, from 1, in lists with columns: with a tab, a comma or a blank
    /// between them, as the first line has. The fingerprints are in the first other column. A first
    /// line with a title in place of a fingerprint is passed over
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u16).range(1..),
        conflicts_with = "first_id",
        help_heading = "Reading lists of fingerprints"
    )]
    id_column: Option<u16>,

    #[command(flatten)]
    list: ListArgs,

    /// Memory to sort in
    #[arg(
        long,
        value_name = "BYTES",
        default_value = "256MiB",
        value_parser = parse_size,
        help_heading = "Reading lists of fingerprints"
    )]
    memory: usize,

    /// How to make fingerprints of texts [default: the database's recipe, else `default`]
    #[arg(long, value_name = "NAME", help_heading = "Reading documents")]
    recipe: Option<String>,

    #[command(flatten)]
    documents: DocumentArgs,

    #[command(flatten)]
    new: NewDatabase,

    /// Width of the fingerprints, 64 or 128 [default: 64]
    #[arg(long, value_parser = database::parse_bits, help_heading = "A new database")]
    bits: Option<u32>,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Outcome> {
        input::check_all(&self.files)?;
        input::check_apart("the database", &self.path, &self.files)?;
        let found = database::find(&self.path)?;
        let bits = database::width(found.as_ref(), self.bits)?;
        by_width!(bits, |options| {
            let options = options.bulk_memory(self.memory);
            match self.from {
                Source::Documents(from) => {
                    self.documents(from, options, found.as_ref(), context)?
                }
                Source::Fingerprints => self.list(options, found.as_ref(), context)?,
            }
        });
        Ok(Outcome::Done)
    }

    /// Refuses options that the other kind of source has.
    fn check_documents(&self) -> Result<()> {
        if self.id_column.is_some() {
            bail!("--id-column is for lists of fingerprints: give --id-field for documents");
        }
        Ok(())
    }

    /// Whether a list's ids are names in this database.
    fn are_names(&self, found: Option<&Description>) -> bool {
        self.id_column.is_some() && found.is_some_and(|found| found.ids == Ids::Names)
    }
}
