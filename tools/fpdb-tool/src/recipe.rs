//! Recipes by name, at the width of a command's fingerprints.

use std::path::Path;

use anyhow::{Result, bail};
use fpdb::text::Recipe;
use fpdb::{Db, Description, ErrorKind, Fingerprint, Ids, Options};

use crate::database::{self, NewDatabase};
use crate::failure;

/// A width of fingerprints that has recipes and databases.
pub(crate) trait Width: fpdb::text::Width + Fingerprint {}

impl Width for u64 {}
impl Width for u128 {}

/// The recipe of a new database unless `--recipe` names another: an alias of the library.
pub(crate) const DEFAULT: &str = "default";

/// Opens or creates the database that a command stores documents in. Also returns the recipe: the
/// requested one, or else the database's, or else the default.
pub(crate) fn open<F: Width>(
    path: &Path,
    mut options: Options<F>,
    existing: Option<&Description>,
    new: &NewDatabase,
    requested: Option<&str>,
    command: &str,
) -> Result<(Db<F>, Recipe<F>)> {
    let recipe = of_database(existing, requested)?;
    if let Some(existing) = existing {
        database::need_ids(existing, Ids::Names, command)?;
    }
    options = new.options(options)?.ids(Ids::Names);
    // Its name rather than an alias, which may stand for another recipe one day.
    let options = options.recipe(recipe.name());
    let db = match existing {
        Some(_) => options.open(path),
        None => options.open_or_create(path),
    };
    match db {
        // The format is supported, because the manifest was read before. So this is about the recipe.
        Err(error) if error.kind() == ErrorKind::Unsupported => Err(failure::as_usage(&error)),
        db => Ok((db?, recipe)),
    }
}

/// Returns the recipe for queries and documents: the requested one, or else the database's, or else
/// the default. Fails if the requested recipe is not the database's.
pub(crate) fn of_database<F: Width>(
    existing: Option<&Description>,
    requested: Option<&str>,
) -> Result<Recipe<F>> {
    let stored = existing.and_then(|existing| existing.recipe.as_deref());
    let recipe = named::<F>(requested.or(stored).unwrap_or(DEFAULT))?;
    match stored {
        Some(stored) if stored != recipe.name() => {
            bail!("the database has fingerprints of recipe {stored}, not {}", recipe.name())
        }
        _ => Ok(recipe),
    }
}

/// Returns the recipe with this name. An unknown name is a usage error.
pub(crate) fn named<F: Width>(name: &str) -> Result<Recipe<F>> {
    Recipe::find(name).map_err(|error| failure::as_usage(&error.into()))
}
