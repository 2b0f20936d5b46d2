//! `create`

use std::path::PathBuf;

use anyhow::Result;
use fpdb::Options;
use fpdb::text::Recipe;
use serde::Serialize;

use crate::database::{self, IdKind, NewDatabase, by_width};
use crate::failure::Outcome;
use crate::output::Context;
use crate::recipe::Width;

/// Makes an empty database
///
/// A database is a folder. It must not exist yet, or be what an interrupted creation left.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder to make
    #[arg(value_name = "DB")]
    path: PathBuf,

    #[command(flatten)]
    new: NewDatabase,

    /// Who numbers the documents
    #[arg(long, value_enum, default_value = "user", help_heading = "A new database")]
    ids: IdKind,

    /// Width of the fingerprints, 64 or 128
    #[arg(long, default_value = "64", value_parser = database::parse_bits, help_heading = "A new database")]
    bits: u32,

    /// The recipe that its fingerprints come from, such as words/1: text of another is refused
    #[arg(long, value_name = "NAME", help_heading = "A new database")]
    recipe: Option<String>,
}

#[derive(Serialize)]
struct Created<'a> {
    schema: &'static str,
    path: String,
    bits: u32,
    ids: &'static str,
    max_distance: u32,
    layout: &'a str,
    block_size: usize,
    code: &'static str,
    filter_bits: u32,
    recipe: Option<&'a str>,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Outcome> {
        let known = by_width!(self.bits, |options| self.create(options))?;
        let made = fpdb::describe(&self.path)?;
        if let Some(name) = self.recipe.filter(|_| !known) {
            context.say(format_args!(
                "note: {name} is no recipe of this tool, so dedup cannot use it"
            ));
        }
        let created = Created {
            schema: "fpdb.create/1",
            path: self.path.display().to_string(),
            bits: made.bits,
            ids: database::id_kind(made.ids),
            max_distance: made.max_distance,
            layout: made.layout.name(),
            block_size: made.block_size,
            code: made.code.name(),
            filter_bits: made.filter_bits,
            recipe: made.recipe.as_deref(),
        };
        let told = format!(
            "made {}: {} bits, distance {}, layout {}, blocks of {} bytes in {}, filters of {} bits, \
             ids: {}",
            created.path,
            made.bits,
            made.max_distance,
            created.layout,
            made.block_size,
            created.code,
            made.filter_bits,
            created.ids
        );
        context.conclude(&created, told)?;
        Ok(Outcome::Done)
    }

    /// Makes the database. Says whether the tool knows its recipe, if it has one.
    fn create<F: Width>(&self, options: Options<F>) -> Result<bool> {
        let mut options = self.new.options(options)?.ids(self.ids.into());
        let known = self.recipe.as_deref().and_then(|name| F::recipe(name).ok());
        // By its own name: what an alias stands for may be another recipe one day.
        if let Some(name) = known.as_ref().map(Recipe::name).or(self.recipe.as_deref()) {
            options = options.recipe(name);
        }
        options.create(&self.path)?.close()?;
        Ok(known.is_some())
    }
}
