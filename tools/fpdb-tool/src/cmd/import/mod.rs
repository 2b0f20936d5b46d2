//! `import`

mod complete;
mod documents;
mod lists;

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::args::choice::choice;
use crate::args::database::{self, NewDatabase, by_width};
use crate::args::numbers::parse_size;
use crate::args::suggested;
use crate::args::writing::WritingArgs;
use crate::input::fingerprints::ListArgs;
use crate::input::{self, DocumentArgs, InputFormat};
use crate::output::Context;
use crate::output::failure::Exit;

const EXAMPLE: &str = "\
Examples:
  fpdb-tool import crawl.fpdb fingerprints.csv --id-column 2
  fpdb-tool import pages.fpdb pages.ndjson --from ndjson
  fpdb-tool import new.fpdb crawl.export.zst --all";

/// Stores all fingerprints of lists or of documents, or makes a database of a complete export
///
/// Unlike dedup, import also stores near-duplicates. The database is created if it is missing.
///
/// Lists of fingerprints (--from fp): the id of a fingerprint is its position. Positions start at
/// 0, or at --first-id, and continue from one file to the next. With --id-column, the list contains
/// the ids. An entry that is already in the database is not stored again, so you can repeat an
/// import. If a line cannot be read, nothing is loaded. This is for databases with ids of kind
/// `user`.
///
/// In a database with ids of kind `unique`, or with --id-column also of kind `names`, where the
/// column contains names, an id or name that exists gets the new fingerprint. Entries are stored
/// batch by batch, like documents. Lists of sketches, which `fingerprint --sketch` prints, are for
/// databases made with --jaccard; a new one has unique ids.
///
/// Documents (all other values of --from, but with `auto`, files in which each line has a
/// fingerprint of 0x and all its digits are lists): the recipe computes a fingerprint of each
/// document, and the document's id becomes its name in the database, which needs ids of kind
/// `names`. A document whose id is stored already gets the new fingerprint. Documents with too few
/// features for a fingerprint count as skipped. Documents are stored batch by batch. If the run
/// fails, the documents before the error are stored, and another run updates them.
///
/// What `export --all` wrote (--all): makes a new database with the same settings, entries and
/// documents, and the same ids, also where the database assigns them. If it is exported again, the
/// file is the same. A file that was truncated or changed is refused. If the import fails or is
/// interrupted, there is no database, and it can be repeated. docs/export.md describes the form.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// The database, created if missing
    #[arg(value_name = "DB")]
    path: PathBuf,

    /// Files, plain or compressed with gzip or zstd, and folders of documents; `-` is standard
    /// input. In a folder, names that begin with a dot or an underscore are left out. The name of a
    /// compressed binary list must end in .gz or .zst
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// The file is what `export --all` wrote, plain or compressed: make this database from it, with
    /// its settings. The database must not exist
    #[arg(
        long,
        conflicts_with_all = [
            "from", "first_id", "id_column", "recipe", "bits", "ListArgs", "DocumentArgs", "NewDatabase",
        ]
    )]
    all: bool,

    /// Format of the files
    #[arg(long, value_parser = choice::<InputFormat>(), default_value = "fp")]
    from: InputFormat,

    /// The id of the first fingerprint
    #[arg(
        long,
        value_name = "ID",
        default_value_t = 0,
        help_heading = "Reading lists of fingerprints"
    )]
    first_id: u64,

    /// The column with the ids, counted from 1. A tab, a comma or a space separates the columns,
    /// whichever the first line contains. The fingerprints are in the first other column. A header
    /// line is skipped
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

    /// Memory for sorting and for prefix filters, such as 256MiB. With more, a load needs less disk
    /// space while it runs
    #[arg(
        long,
        value_name = "BYTES",
        default_value = "256MiB",
        value_parser = parse_size,
        help_heading = "Reading lists of fingerprints"
    )]
    memory: usize,

    /// Recipe that turns texts into fingerprints [default: the database's recipe, else `default`]
    #[arg(long, value_name = "NAME", value_parser = suggested::recipes(), hide_possible_values = true, help_heading = "Reading documents")]
    recipe: Option<String>,

    #[command(flatten)]
    documents: DocumentArgs,

    #[command(flatten)]
    new: NewDatabase,

    /// Width of the fingerprints in bits, 64 or 128 [default: 64]
    #[arg(long, value_parser = database::parse_bits, help_heading = "A new database")]
    bits: Option<u32>,

    #[command(flatten)]
    reading: WritingArgs,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        input::check_all(&self.files)?;
        if self.all {
            return self.complete(context).map(|()| Exit::Done);
        }
        input::check_apart("the database", &self.path, &self.files)?;
        let existing = database::find(&self.path)?;
        let bits = database::width(existing.as_ref(), self.bits, &self.new)?;
        by_width!(bits, self.new.sketches(), |options| {
            let options = self.reading.apply(options.bulk_memory(self.memory));
            match self.from.resolve(&self.files)? {
                InputFormat::Documents(from) => {
                    self.documents(from, options, existing.as_ref(), context)
                }
                InputFormat::Fingerprints => self.list(options, existing.as_ref(), context),
            }
        })?;
        Ok(Exit::Done)
    }

    /// Refuses options that do not apply to documents.
    fn check_documents(&self) -> Result<()> {
        if self.id_column.is_some() {
            bail!("--id-column is for lists of fingerprints: give --id-field for documents");
        }
        Ok(())
    }
}
