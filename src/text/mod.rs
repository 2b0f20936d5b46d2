//! From text to fingerprint, by a named recipe.
//!
//! Fingerprints can be compared only if they were made in the same way, so a way has a name and a
//! version, such as `words/1`, and never changes: whatever would change a fingerprint is another
//! version. The tests hold vectors for each. One thing is outside the name: characters that Unicode
//! adds after the tables in use were made may be cut differently by later ones.
//!
//! Every recipe is a SimHash: the text is normalised and cut into features, each feature has a
//! 64-bit hash and a weight, and a bit of the fingerprint is set if the features that have it
//! weigh more than those that have not. So texts with most features in common are a few bits
//! apart. Recipes differ in normalisation, features and weights.
//!
//! | recipe | features | weight | cargo feature |
//! | --- | --- | --- | --- |
//! | `words/1` | Unicode words, lower-cased | 1 + log2 of the count | `text` |
//! | `jieba/1` | jieba's keywords, lower-cased | TF-IDF | `zh` |
//!
//! `words/1` is for languages that put spaces between words. It takes each Chinese character for
//! a word, which tells less than the words do; `jieba/1` is for Chinese, with or without English
//! in it.

pub mod hash;
pub mod jaccard;
#[cfg(feature = "zh")]
mod jieba;
pub mod minhash;
pub mod sentences;
mod simhash;
mod tokens;
mod words;

use std::fmt;

use unicode_normalization::UnicodeNormalization;

use crate::error::{Error, ErrorKind, Result};

pub use simhash::Simhash;

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
#[derive(Clone)]
pub struct Recipe {
    definition: &'static Definition,
}

/// What a name stands for.
struct Definition {
    name: &'static str,
    simhash: fn(&str) -> Simhash,
}

/// The recipes of this build, in the order in which they are listed.
const DEFINITIONS: &[Definition] = &[
    Definition { name: "words/1", simhash: words::simhash },
    #[cfg(feature = "zh")]
    Definition { name: "jieba/1", simhash: jieba::simhash },
];

/// The recipes that need a cargo feature which this build lacks, with that feature.
const LEFT_OUT: &[(&str, &str)] = &[
    #[cfg(not(feature = "zh"))]
    ("jieba/1", "zh"),
];

impl Recipe {
    /// The recipe of this name.
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
        if let Some(definition) = DEFINITIONS.iter().find(|d| d.name == name) {
            return Ok(Self { definition });
        }
        Err(match LEFT_OUT.iter().find(|(left_out, _)| *left_out == name) {
            Some((_, feature)) => Error::new(
                ErrorKind::Unsupported,
                format!(
                    "recipe {name:?} needs the cargo feature {feature:?}, which this build lacks"
                ),
            ),
            None => {
                let known: Vec<_> = Self::names().collect();
                Error::invalid(format!("no recipe {name:?}; there are: {}", known.join(", ")))
            }
        })
    }

    /// The names of all recipes of this build: those that [`named`](Recipe::named) takes.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::text::Recipe;
    /// assert!(Recipe::names().any(|name| name == "words/1"));
    /// ```
    pub fn names() -> impl Iterator<Item = &'static str> {
        DEFINITIONS.iter().map(|d| d.name)
    }

    /// The name, version included.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(fpdb::text::Recipe::named("words/1")?.name(), "words/1");
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.definition.name
    }

    /// The fingerprint of a text, if the text has enough in it to have one.
    ///
    /// The time grows with the length of the text, and the memory with the number of its words.
    /// The first call of `jieba/1` in a process loads the dictionary, which takes some tenths
    /// of a second and stays.
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
    pub fn fingerprint(&self, text: &str) -> Simhash {
        (self.definition.simhash)(text)
    }
}

impl fmt::Debug for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Recipe").field(&self.name()).finish()
    }
}

/// The normal form in which recipes of version 1 compare text: NFKC, which makes one of full-width
/// and other variants of a character, then lower case.
fn normalise(text: &str) -> String {
    text.nfkc().collect::<String>().to_lowercase()
}

#[cfg(test)]
mod tests;
