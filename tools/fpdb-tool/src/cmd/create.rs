//! `create`

use std::path::PathBuf;

use anyhow::Result;
use fpdb::{Description, Fingerprint, Options, RecipeName};
use fpdb_web::Extraction;
use serde::Serialize;

use crate::args::choice::choice;
use crate::args::database::{self, IdKind, NewDatabase, by_width};
use crate::args::recipe;
use crate::args::suggested;
use crate::args::writing::FileSystemArgs;
use crate::input::web;
use crate::output::Context;
use crate::output::failure::Exit;

const EXAMPLE: &str = "\
Examples:
  fpdb-tool create crawl.fpdb --ids names --recipe pairs/1 --max-distance 3
  fpdb-tool create pages.fpdb --ids names --recipe pairs/1 --jaccard 0.8";

/// Creates an empty database
///
/// A database is a folder. The folder must not exist yet, unless an interrupted creation left it.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// The folder to create
    #[arg(value_name = "DB")]
    path: PathBuf,

    #[command(flatten)]
    new: NewDatabase,

    /// Kind of the documents' ids. Documents with names or unique ids can be found and updated
    /// [default: user, with --jaccard unique]
    #[arg(long, value_parser = choice::<IdKind>(), help_heading = "A new database")]
    ids: Option<IdKind>,

    /// Width of the fingerprints in bits, 64 or 128 [default: 64]
    #[arg(long, value_parser = database::parse_bits, help_heading = "A new database")]
    bits: Option<u32>,

    /// Recipe of the fingerprints, such as pairs/1; `recipes` lists them. The database then refuses
    /// documents with another recipe [default: none]
    #[arg(long, value_name = "NAME", value_parser = suggested::recipes(), hide_possible_values = true, help_heading = "A new database")]
    recipe: Option<String>,

    /// Your own name for how another program makes the fingerprints. The database then refuses
    /// documents with another recipe
    #[arg(long, value_name = "NAME", conflicts_with = "recipe", help_heading = "A new database")]
    custom_recipe: Option<String>,

    /// Extraction of texts from web pages, such as main/1 or strip/1. The database then refuses
    /// texts of another extraction [default: as named by the first documents]
    #[arg(long, value_name = "NAME", help_heading = "A new database", value_parser = web::parse_extraction)]
    extraction: Option<Extraction>,

    #[command(flatten)]
    file_system: FileSystemArgs,
}

#[derive(Serialize)]
struct Created {
    path: String,
    #[serde(flatten)]
    description: Description,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        let bits = self.new.bits(self.bits)?;
        by_width!(bits, self.new.sketches(), |options| self.create(options))?;
        let description = fpdb::Description::read(&self.path)?;
        let created = Created { path: self.path.display().to_string(), description };
        let Description { bits, rule, layout, block_size, filter_bits, ids, .. } =
            &created.description;
        let how = match (layout, block_size, filter_bits) {
            (Some(layout), Some(block_size), Some(filter_bits)) => format!(
                "{bits} bits, {rule}, layout {layout}, blocks of {block_size} bytes, filters of \
                 {filter_bits} bits"
            ),
            _ => format!("sketches, {rule}, {}", database::bands(rule).unwrap_or_default()),
        };
        context.conclude(
            "fpdb.create/1",
            &created,
            format!("created {}: {how}, ids: {ids}", created.path),
        )?;
        Ok(Exit::Done)
    }

    fn create<F: Fingerprint>(&self, options: Options<F>) -> Result<()> {
        let mut options = self.file_system.apply(self.new.options(options)?);
        if let Some(ids) = self.ids {
            options = options.ids(ids.into());
        }
        if let Some(name) = &self.recipe {
            options = options.recipe(&recipe::named::<F>(name)?);
        }
        if let Some(name) = &self.custom_recipe {
            options = options.recipe(RecipeName::custom(name));
        }
        if let Some(extraction) = self.extraction {
            options = options.extraction(extraction.name());
        }
        options.create(&self.path)?.close()?;
        Ok(())
    }
}
