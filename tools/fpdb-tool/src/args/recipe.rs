//! Recipes by name, at the width of a command's fingerprints.

use std::path::Path;

use anyhow::{Result, bail};
use fpdb::text::Recipe;
use fpdb::{Db, Description, ErrorKind, Fingerprint, Ids, Options};
use fpdb_web::Extraction;

use crate::args::database::{self, NewDatabase, Target};
use crate::output::failure;

/// The recipe of a new database unless `--recipe` names another: an alias of the library.
pub(crate) const DEFAULT: &str = "default";

/// The requested recipe and extraction.
#[derive(Clone, Copy)]
pub(crate) struct Names<'a> {
    pub(crate) recipe: Option<&'a str>,
    pub(crate) extraction: Option<Extraction>,
}

/// Opens or creates the database that a command stores documents in. Also returns the recipe: the
/// requested one, or else the database's, or else the default.
pub(crate) fn open<F: Fingerprint>(
    path: &Path,
    options: Options<F>,
    existing: Option<&Description>,
    new: &NewDatabase,
    requested: Names<'_>,
    command: &str,
) -> Result<(Db<F>, Recipe<F>)> {
    open_target(path, options, existing, new, requested, command)
        .map(|(target, recipe)| (target.db, recipe))
}

/// Like [`open`], for a run that removes what it has created if it fails.
pub(crate) fn open_target<F: Fingerprint>(
    path: &Path,
    mut options: Options<F>,
    existing: Option<&Description>,
    new: &NewDatabase,
    requested: Names<'_>,
    command: &str,
) -> Result<(Target<F>, Recipe<F>)> {
    let recipe = of_database(existing, requested.recipe)?;
    if let Some(existing) = existing {
        database::need_ids(existing, Ids::Names, command)?;
    }
    options = new.options(options)?.ids(Ids::Names);
    let options = options.recipe(&recipe);
    let open = |options: Options<F>| Target::open(options, path, existing.is_some());
    let stored = existing.and_then(|existing| existing.extraction.as_deref());
    let default = stored.is_none().then_some(Extraction::default());
    let with_extraction = match requested.extraction.or(default) {
        Some(extraction) => open(options.clone().extraction(extraction.name())),
        None => open(options.clone()),
    };
    let target = match with_extraction {
        // Without a request, a database whose texts have an unknown origin keeps it.
        Err(error) if error.kind() == ErrorKind::Unsupported && requested.extraction.is_none() => {
            open(options)
        }
        target => target,
    };
    match target {
        // The format is supported, because the manifest was read before. So this is about the
        // recipe or the extraction.
        Err(error) if error.kind() == ErrorKind::Unsupported => Err(failure::as_usage(&error)),
        target => Ok((target?, recipe)),
    }
}

/// Returns the recipe for queries and documents: the requested one, or else the database's, or else
/// the default. Fails if the requested recipe is not the database's.
pub(crate) fn of_database<F: Fingerprint>(
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
pub(crate) fn named<F: Fingerprint>(name: &str) -> Result<Recipe<F>> {
    Recipe::find(name).map_err(|error| failure::as_usage(&error.into()))
}
