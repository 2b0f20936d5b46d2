//! Finding the built-in recipes by name.

use crate::catalogue::{ALIASES, Availability, CATALOGUE, Entry};
use crate::error::{Error, Result};
use crate::recipe::Recipe;
use crate::width::{Sketch, Width};

/// Returns the name that an [alias](Recipe::aliases) stands for, and any other name unchanged.
///
/// Store the result, not the alias: a later release may let an alias stand for another recipe.
///
/// # Examples
///
/// ```
/// assert_eq!(fpdb_text::resolve("default"), "pairs/1");
/// assert_eq!(fpdb_text::resolve("fives/1"), "fives/1");
/// assert_eq!(fpdb_text::resolve("mine/1"), "mine/1");
/// ```
#[must_use]
pub fn resolve(name: &str) -> &str {
    ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name)
}

/// Returns whether a built-in recipe has this name, as its own or as one of its
/// [aliases](Recipe::aliases).
///
/// Recipes of any width count, and also those whose cargo feature this build lacks.
///
/// # Examples
///
/// ```
/// assert!(fpdb_text::is_built_in("pairs/1"));
/// assert!(fpdb_text::is_built_in("pairs-zh/1")); // with or without the feature `zh`
/// assert!(fpdb_text::built_in_names().any(|name| name == "pairs-zh/1"));
/// assert!(fpdb_text::is_built_in("default"));
/// assert!(!fpdb_text::is_built_in("pairs/999"));
/// assert!(!fpdb_text::is_built_in("mine/1#052e9bf4"));
/// ```
#[must_use]
pub fn is_built_in(name: &str) -> bool {
    let name = resolve(name);
    built_in_names().any(|built_in| built_in == name)
}

/// Returns the names of all built-in recipes, without aliases.
///
/// Recipes of any width are among them, and also those whose cargo feature this build lacks.
pub fn built_in_names() -> impl Iterator<Item = &'static str> {
    CATALOGUE.iter().map(|entry| entry.name)
}

/// Marks [`Recipe<u64>`](Recipe), so that [`Recipe::named`] needs no type annotation, and so that
/// the compiler says what to call instead for another width.
///
/// # Examples
///
/// ```compile_fail
/// let wide = fpdb_text::Recipe::<u128>::named("pairs/1")?; // the error names `Recipe::bits128`
/// # Ok::<(), fpdb_text::Error>(())
/// ```
///
/// ```
/// let wide = fpdb_text::Recipe::bits128("pairs/1")?;
/// # Ok::<(), fpdb_text::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "this function is for 64-bit recipes, not for `{Self}`",
    label = "not a 64-bit recipe",
    note = "for 128 bits, call `Recipe::bits128(name)` or `Recipe::names128()`",
    note = "for sketches, call `Recipe::for_sketches(name)` or `Recipe::names_for_sketches()`",
    note = "in code that is generic over the width, call `Recipe::<F>::find(name)`"
)]
pub trait Bits64: sealed::Sealed {}

impl Bits64 for Recipe<u64> {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Recipe<u64> {}
}

impl<F: Width> Recipe<F>
where
    Self: Bits64,
{
    /// Returns the 64-bit recipe of this name, or of this [alias](Recipe::aliases).
    ///
    /// [`bits128`](Recipe::bits128) does the same at 128 bits,
    /// [`for_sketches`](Recipe::for_sketches) for a [`Sketch`], and [`find`](Recipe::find) at a
    /// width that a type parameter names.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if the recipe needs a cargo feature that this
    /// build lacks, and [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if no recipe has
    /// this name.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::{ErrorKind, Recipe};
    ///
    /// assert_eq!(Recipe::named("fives/1")?.name(), "fives/1");
    /// let error = Recipe::named("fives/999").unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    ///
    /// assert!(Recipe::names().any(|name| name == "fives/1"));
    /// let (_, name) = Recipe::aliases().find(|(alias, _)| *alias == "default").unwrap();
    /// assert_eq!(Recipe::named("default")?.name(), name);
    /// assert!(Recipe::left_out().all(|(name, _)| Recipe::named(name).is_err()));
    /// # Ok::<(), fpdb_text::Error>(())
    /// ```
    pub fn named(name: &str) -> Result<Self> {
        Self::find(name)
    }

    /// Returns the names of all 64-bit recipes of this build: those that
    /// [`named`](Recipe::named) accepts.
    pub fn names() -> impl Iterator<Item = &'static str> {
        names::<F>()
    }

    /// Returns the 64-bit recipes that this build lacks, each with the cargo feature that adds it.
    pub fn left_out() -> impl Iterator<Item = (&'static str, &'static str)> {
        CATALOGUE.iter().filter_map(|entry| match entry.at_width::<F>() {
            Availability::Needs(feature) => Some((entry.name, *feature)),
            _ => None,
        })
    }

    /// Returns the aliases that [`named`](Recipe::named) accepts, each with the name that it stands
    /// for in this release. A later release may let it stand for another, so store the name.
    pub fn aliases() -> impl Iterator<Item = (&'static str, &'static str)> {
        ALIASES.iter().copied()
    }
}

impl Recipe<u128> {
    /// Returns the 128-bit recipe of this name, or of this [alias](Recipe::aliases).
    ///
    /// # Errors
    ///
    /// The same as for [`named`](Recipe::named). It is also an
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the recipe has no 128-bit form.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::Recipe;
    ///
    /// let recipe = Recipe::bits128("string-hash/1")?;
    /// let found = recipe.fingerprint("This is a test string for testing");
    /// assert_eq!(found.fingerprint, Some(9_961_709_360_205_638_079_444_993_160));
    /// assert!(Recipe::names128().any(|name| name == "string-hash/1"));
    /// # Ok::<(), fpdb_text::Error>(())
    /// ```
    pub fn bits128(name: &str) -> Result<Self> {
        Self::find(name)
    }

    /// Returns the names of all 128-bit recipes of this build.
    pub fn names128() -> impl Iterator<Item = &'static str> {
        names::<u128>()
    }
}

impl Recipe<Sketch> {
    /// Returns the recipe of this name, or of this [alias](Recipe::aliases), whose fingerprints are
    /// [sketches](Sketch). Only one-bit MinHashes have this form: the `pairs` and `fives` recipes.
    ///
    /// # Errors
    ///
    /// The same as for [`named`](Recipe::named). It is also an
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the recipe is not a one-bit
    /// MinHash.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::{Recipe, Sketch};
    ///
    /// let recipe = Recipe::for_sketches("pairs/1")?;
    /// let sketch: Option<Sketch> = recipe.fingerprint("five words are enough here").fingerprint;
    /// assert!(sketch.is_some());
    /// assert!(Recipe::for_sketches("seomoz/1").is_err());
    /// assert!(Recipe::names_for_sketches().any(|name| name == "pairs/1"));
    /// assert!(Recipe::names_for_sketches().all(|name| Recipe::bits128(name).is_ok()));
    /// # Ok::<(), fpdb_text::Error>(())
    /// ```
    pub fn for_sketches(name: &str) -> Result<Self> {
        Self::find(name)
    }

    /// Returns the names of all recipes of this build that make [sketches](Sketch).
    pub fn names_for_sketches() -> impl Iterator<Item = &'static str> {
        names::<Sketch>()
    }
}

impl<F: Width> Recipe<F> {
    /// Returns the recipe of this name or [alias](Recipe::aliases) at the width `F`.
    ///
    /// This is for code that is generic over the width. Elsewhere [`named`](Recipe::named),
    /// [`bits128`](Recipe::bits128) and [`for_sketches`](Recipe::for_sketches) say more.
    ///
    /// # Errors
    ///
    /// The same as for [`named`](Recipe::named). It is also an
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the recipe has no form of this
    /// width.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::{Recipe, Result, Sketch, Width};
    ///
    /// fn fingerprint<F: Width>(text: &str) -> Result<Option<F>> {
    ///     Ok(Recipe::<F>::find("default-short")?.fingerprint(text).fingerprint)
    /// }
    /// assert!(fingerprint::<u64>("ok")?.is_some());
    /// assert!(fingerprint::<u128>("ok")?.is_some());
    /// assert!(fingerprint::<Sketch>("ok")?.is_some());
    /// # Ok::<(), fpdb_text::Error>(())
    /// ```
    pub fn find(name: &str) -> Result<Self> {
        let own_name = resolve(name);
        let Some(entry) = CATALOGUE.iter().find(|entry| entry.name == own_name) else {
            return Err(Error::invalid(format!(
                "no recipe {name:?}; the recipes are: {}",
                listed::<F>()
            )));
        };
        let method = match entry.at_width::<F>() {
            Availability::Here(make) => make(),
            Availability::Checked(make) => make()?,
            Availability::Needs(feature) => {
                return Err(Error::unsupported(format!(
                    "recipe {name:?} needs the cargo feature {feature:?}, which this build lacks"
                )));
            }
            Availability::Never => {
                return Err(Error::invalid(format!(
                    "recipe {name:?} has no {}; these have: {}",
                    F::FORM,
                    listed::<F>()
                )));
            }
        };
        Ok(Self::new(entry.name, entry.purpose, method))
    }
}

/// The names of this build's recipes at a width.
fn names<F: Width>() -> impl Iterator<Item = &'static str> {
    CATALOGUE.iter().filter(|entry| is_here::<F>(entry)).map(|entry| entry.name)
}

fn is_here<F: Width>(entry: &'static Entry) -> bool {
    matches!(entry.at_width::<F>(), Availability::Here(_) | Availability::Checked(_))
}

/// The names of this build's recipes at a width, for a message.
fn listed<F: Width>() -> String {
    names::<F>().collect::<Vec<_>>().join(", ")
}
