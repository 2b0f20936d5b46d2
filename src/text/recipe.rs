//! A recipe: what a name stands for, and what it gives.

use std::fmt;
use std::sync::Arc;

use super::catalogue::{self, Availability, CATALOGUE};
use super::explain::Explanation;
use super::feature_hash::Hashed;
use crate::error::{Error, ErrorKind, Result};
use crate::fingerprint::Fingerprint;

/// A width that recipes have: `u64`, for most, or `u128`.
///
/// Sealed, as [`Fingerprint`] is.
///
/// # Examples
///
/// ```
/// use fpdb::text::{Recipe, Width};
///
/// fn bits_set<F: Width>(recipe: &Recipe<F>, text: &str) -> Option<u32> {
///     recipe.fingerprint(text).fingerprint.map(F::count_ones)
/// }
/// assert_eq!(bits_set(&Recipe::named("words/1")?, "too short"), None);
/// # Ok::<(), fpdb::Error>(())
/// ```
pub trait Width: Hashed + Offered {}

impl Width for u64 {}
impl Width for u128 {}

/// What the catalogue offers at a width.
pub trait Offered: Fingerprint {
    #[doc(hidden)]
    fn offered(entry: &catalogue::Entry) -> &Availability<Self>;
}

/// What a recipe's name stands for: a way from text to fingerprint that never changes.
pub(super) trait Method<F: Width>: Send + Sync {
    /// The fingerprint of a text.
    fn fingerprint(&self, text: &str) -> Fingerprinted<F>;

    /// How it comes about: the same fingerprint, with all that it is made of.
    fn explain(&self, text: &str) -> Explanation<F>;

    /// Below this number of distinct features a text has no fingerprint.
    fn min_features(&self) -> usize {
        0
    }
}

/// A named, versioned way from text to fingerprint. Cheap to clone, and to share among threads.
///
/// # Examples
///
/// ```
/// use fpdb::text::Recipe;
///
/// let recipe = Recipe::named("words/1")?;
/// let fox = recipe.fingerprint("The quick brown fox jumps over the lazy dog.");
/// assert_eq!(fox.fingerprint, Some(0x8212_8683_18d2_9267));
/// assert_eq!(fox.features, 8); // "the" is there twice
///
/// let shouted = recipe.fingerprint("THE QUICK BROWN FOX -- JUMPS OVER THE LAZY DOG!");
/// assert_eq!(shouted, fox);
/// assert_eq!(recipe.fingerprint("Page not found").fingerprint, None);
/// # Ok::<(), fpdb::Error>(())
/// ```
pub struct Recipe<F: Width = u64> {
    name: Arc<str>,
    purpose: &'static str,
    method: Arc<dyn Method<F>>,
}

impl Recipe<u64> {
    /// The 64-bit recipe of this name, or of this [alias](Recipe::aliases).
    ///
    /// # Errors
    ///
    /// [`Unsupported`](ErrorKind::Unsupported) if the recipe needs a cargo feature that this build
    /// lacks, and [`InvalidArgument`](ErrorKind::InvalidArgument) if there is none of that name.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::ErrorKind;
    /// use fpdb::text::Recipe;
    ///
    /// assert_eq!(Recipe::named("words/1")?.name(), "words/1");
    /// let error = Recipe::named("words/999").unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn named(name: &str) -> Result<Self> {
        Self::find(name)
    }

    /// The names of all 64-bit recipes of this build: those that [`named`](Recipe::named) takes.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::text::Recipe;
    /// assert!(Recipe::names().any(|name| name == "words/1"));
    /// ```
    pub fn names() -> impl Iterator<Item = &'static str> {
        catalogue::names::<u64>()
    }

    /// The 64-bit recipes that this build lacks, each with the cargo feature that brings it.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::text::Recipe;
    /// assert!(Recipe::left_out().all(|(name, _)| Recipe::named(name).is_err()));
    /// ```
    pub fn left_out() -> impl Iterator<Item = (&'static str, &'static str)> {
        catalogue::left_out::<u64>()
    }

    /// Other names that [`named`](Recipe::named) takes, each with the name that it stands for in
    /// this release. A later release may let it stand for another, so a database stores the name.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::text::Recipe;
    ///
    /// let (_, name) = Recipe::aliases().find(|(alias, _)| *alias == "default").unwrap();
    /// assert_eq!(Recipe::named("default")?.name(), name);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn aliases() -> impl Iterator<Item = (&'static str, &'static str)> {
        catalogue::ALIASES.iter().copied()
    }
}

impl Recipe<u128> {
    /// The 128-bit recipe of this name.
    ///
    /// # Errors
    ///
    /// As [`named`](Recipe::named); also if the recipe has no 128-bit form.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::text::Recipe;
    ///
    /// let recipe = Recipe::bits128("string-hash/1")?;
    /// let found = recipe.fingerprint("This is a test string for testing");
    /// assert_eq!(found.fingerprint, Some(9_961_709_360_205_638_079_444_993_160));
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn bits128(name: &str) -> Result<Self> {
        Self::find(name)
    }

    /// The names of all 128-bit recipes of this build.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::text::Recipe;
    /// assert!(Recipe::names128().any(|name| name == "string-hash/1"));
    /// ```
    pub fn names128() -> impl Iterator<Item = &'static str> {
        catalogue::names::<u128>()
    }
}

impl<F: Width> Recipe<F> {
    fn find(asked: &str) -> Result<Self> {
        let name = catalogue::resolve(asked);
        let Some(entry) = CATALOGUE.iter().find(|entry| entry.name == name) else {
            return Err(Error::invalid(format!(
                "no recipe {asked:?}; there are: {}",
                catalogue::listed::<F>()
            )));
        };
        let made = |method| Self { name: entry.name.into(), purpose: entry.purpose, method };
        match F::offered(entry) {
            Availability::Here(make) => Ok(made(make())),
            Availability::Checked(make) => make().map(made),
            Availability::Needs(feature) => Err(Error::new(
                ErrorKind::Unsupported,
                format!(
                    "recipe {asked:?} needs the cargo feature {feature:?}, which this build lacks"
                ),
            )),
            Availability::Never => Err(Error::invalid(format!(
                "recipe {asked:?} has no {}-bit form; these have: {}",
                F::BITS,
                catalogue::listed::<F>()
            ))),
        }
    }

    /// A recipe of the user's own.
    pub(super) fn own(name: String, method: impl Method<F> + 'static) -> Self {
        Self { name: name.into(), purpose: "defined by its user", method: Arc::new(method) }
    }

    /// The name, version included; never an alias. This is what a database stores.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(fpdb::text::Recipe::named("words/1")?.name(), "words/1");
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is for, in one line.
    ///
    /// # Examples
    ///
    /// ```
    /// let recipe = fpdb::text::Recipe::named("python-simhash/1")?;
    /// assert!(recipe.purpose().contains("PyPI simhash"));
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    #[must_use]
    pub fn purpose(&self) -> &str {
        self.purpose
    }

    /// Below this number of distinct features a text has no fingerprint. It is 0 for recipes that
    /// are compatible with another program: they give a value always, as it does.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::text::Recipe;
    /// assert_eq!(Recipe::named("words/1")?.min_features(), 4);
    /// assert_eq!(Recipe::named("go-fnv1/1")?.min_features(), 0);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    #[must_use]
    pub fn min_features(&self) -> usize {
        self.method.min_features()
    }

    /// The fingerprint of a text, if the text has enough in it to have one.
    ///
    /// The time grows with the length of the text, and the memory with the number of its features.
    /// The first call of a Chinese recipe in a process loads the dictionary, which takes some
    /// tenths of a second and stays.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::Fingerprint;
    /// use fpdb::text::Recipe;
    ///
    /// let recipe = Recipe::named("words/1")?;
    /// let fingerprint = |text: &str| recipe.fingerprint(text).fingerprint.expect("enough words");
    /// let a = fingerprint("Trains leave for the airport every ten minutes until midnight");
    /// let b = fingerprint("Until midnight, trains leave for the airport every ten minutes");
    /// assert_eq!(a.distance(b), 0); // of `words/1`, the order of words is no part
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn fingerprint(&self, text: &str) -> Fingerprinted<F> {
        self.method.fingerprint(text)
    }

    /// How the fingerprint of a text comes about: its features, and how near each bit is to being
    /// another. Several times slower than [`fingerprint`](Recipe::fingerprint).
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::text::Recipe;
    ///
    /// let recipe = Recipe::named("words/1")?;
    /// let fox = "The quick brown fox jumps over the lazy dog.";
    /// let why = recipe.explain(fox);
    /// assert_eq!((why.features[0].text.as_str(), why.features[0].occurrences), ("the", 2));
    /// assert_eq!(why.bits.len(), 64);
    /// assert_eq!(why.fingerprint, recipe.fingerprint(fox).fingerprint);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    #[must_use]
    pub fn explain(&self, text: &str) -> Explanation<F> {
        self.method.explain(text)
    }
}

impl<F: Width> Clone for Recipe<F> {
    fn clone(&self) -> Self {
        Self { name: self.name.clone(), purpose: self.purpose, method: self.method.clone() }
    }
}

impl<F: Width> fmt::Debug for Recipe<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Recipe").field(&self.name()).finish()
    }
}

/// What a [`Recipe`] makes of a text.
///
/// # Examples
///
/// ```
/// use fpdb::text::Recipe;
///
/// let found = Recipe::named("words/1")?.fingerprint("one two three");
/// assert_eq!((found.fingerprint, found.features), (None, 3));
/// # Ok::<(), fpdb::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
#[non_exhaustive]
pub struct Fingerprinted<F = u64> {
    /// The fingerprint; `None` if the text has fewer than
    /// [`min_features`](Recipe::min_features) distinct features, too few to tell texts apart by.
    pub fingerprint: Option<F>,
    /// The number of distinct features found in the text. Our `pairs` recipes do not look for
    /// repeats once there are enough features, and count them too.
    pub features: usize,
}
