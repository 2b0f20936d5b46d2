//! Recipes by name, at the width that a command works at.

use std::path::Path;

use anyhow::{Result, bail};
use fpdb::text::Recipe;
use fpdb::{Db, Description, ErrorKind, Ids, Options};

use crate::database::{self, NewDatabase};
use crate::failure;

/// A width, with its recipes.
pub(crate) trait Width: fpdb::text::Width {
    /// The recipe of this name or alias; the error lists those that there are.
    fn recipe(name: &str) -> fpdb::Result<Recipe<Self>>;
}

impl Width for u64 {
    fn recipe(name: &str) -> fpdb::Result<Recipe<Self>> {
        Recipe::named(name)
    }
}

impl Width for u128 {
    fn recipe(name: &str) -> fpdb::Result<Recipe<Self>> {
        Recipe::bits128(name)
    }
}

/// The recipe of a new database, unless another is asked for: an alias of the library.
pub(crate) const DEFAULT: &str = "default";

/// Opens or makes the database that a command puts documents into, with the recipe to do it by:
/// the one asked for, or else the database's, or else the default.
pub(crate) fn open<F: Width>(
    path: &Path,
    mut options: Options<F>,
    found: Option<&Description>,
    new: &NewDatabase,
    asked: Option<&str>,
    command: &str,
) -> Result<(Db<F>, Recipe<F>)> {
    let recipe = of_database(found, asked)?;
    if let Some(found) = found {
        database::need_ids(found, Ids::Names, command)?;
        new.check_against(found)?;
    } else {
        options = new.options(options)?.ids(Ids::Names);
    }
    // By its own name: what an alias stands for may be another recipe one day.
    let options = options.recipe(recipe.name());
    let db = match found {
        Some(_) => options.open(path),
        None => options.open_or_create(path),
    };
    match db {
        // The format was read before, so what does not fit is the recipe.
        Err(error) if error.kind() == ErrorKind::Unsupported => Err(failure::as_usage(&error)),
        db => Ok((db?, recipe)),
    }
}

/// The recipe to ask or fill a database by: the one asked for, or else the database's, or else the
/// default. It fails if the database is of another than is asked for.
pub(crate) fn of_database<F: Width>(
    found: Option<&Description>,
    asked: Option<&str>,
) -> Result<Recipe<F>> {
    let stored = found.and_then(|found| found.recipe.as_deref());
    let recipe = named::<F>(asked.or(stored).unwrap_or(DEFAULT))?;
    match stored {
        Some(stored) if stored != recipe.name() => {
            bail!("the database is of recipe {stored}, so {} does not fit it", recipe.name())
        }
        _ => Ok(recipe),
    }
}

/// The recipe of this name. Whatever is wrong with the name is an error of usage.
pub(crate) fn named<F: Width>(name: &str) -> Result<Recipe<F>> {
    F::recipe(name).map_err(|e| failure::as_usage(&e))
}
