//! Fingerprints of texts, made by named recipes that never change.
//!
//! Similar texts get fingerprints that differ in few bits. Fingerprints can only be compared if
//! they were made in the same way. So each way has a name and a version, such as `pairs/1`, and
//! never changes: whatever would change a fingerprint gets a new version. The tests hold vectors
//! for each recipe. One thing is outside the promise: characters that Unicode adds after this
//! crate's tables were made may be cut differently by later tables.
//!
//! ```
//! use fpdb_text::{Recipe, distance};
//!
//! let recipe = Recipe::named("default")?;
//! let fingerprint = |text: &str| recipe.fingerprint(text).fingerprint.expect("enough words");
//! let a = fingerprint("Trains leave for the airport every ten minutes, until midnight.");
//! let b = fingerprint("TRAINS LEAVE\nFOR THE AIRPORT\nevery ten minutes until midnight");
//! assert_eq!(distance(a, b), 0);
//! # Ok::<(), fpdb_text::Error>(())
//! ```
//!
//! [`Recipe::names`] lists the recipes, and [`Recipe::purpose`] says what each is for. The
//! [`guide`] helps to choose one. There are two kinds:
//!
//! - `pairs/1` and its variants, which the [aliases](Recipe::aliases) `default`, `default-zh` and
//!   `default-short` stand for, are one-bit [MinHashes](minhash) of the pairs of neighbouring
//!   tokens. If the pairs of two texts have Jaccard similarity J, each bit differs with probability
//!   (1 - J) / 2. They also make [sketches](Sketch), whose distances tell J more exactly.
//! - All others are [SimHashes](simhash). The text is normalized and cut into features. Each
//!   feature has a hash and a weight. A bit of the fingerprint is set if the features whose hash
//!   has that bit set weigh more than the others. So texts that have most features in common are a
//!   few bits apart. The recipes differ in normalization, features, weights and hash, and in the
//!   value of a bit whose sum is 0. Most give, bit for bit, the fingerprints of another program, so
//!   that its users can keep the ones they have.
//!
//! A [`Builder`] makes a recipe of your own. [`simhash::fold`] and [`minhash::one_bit`] make
//! fingerprints of features that you have extracted yourself, and hashed with a [`FeatureHash`].
//!
//! Besides fingerprints there are the exact [similarity](jaccard), and [minima and bands](minhash)
//! for systems of your own.

#![deny(missing_docs)]

// What the modules contain. The engine's test `layering` lists their layers and checks them.
//
// error jenkins normalization removal segment sentences tokens units width
//                                 errors, widths and results; normalizing and cutting texts;
//                                 removing passages from them
// dictionary hash minhash simhash the dictionary; from features to fingerprints
// cut jaccard keywords            tokens of texts; similarity of sets; keywords of texts
// method                          what every recipe can do
// pairs pipeline recipe           the methods, and what a recipe is
// recipes                         the recipes that are pipelines
// catalogue                       the table of all recipes
// names                           finding recipes by name
// builder windows                 recipes defined by the user; passages that texts share

mod builder;
mod catalogue;
mod cut;
#[cfg(feature = "zh")]
mod dictionary;
mod error;
#[doc = include_str!("../recipes.md")]
pub mod guide {}
mod hash;
pub mod jaccard;
mod jenkins;
#[cfg(feature = "zh")]
mod keywords;
mod method;
pub mod minhash;
mod names;
mod normalization;
mod pairs;
mod pipeline;
mod recipe;
mod recipes;
pub mod removal;
mod segment;
mod sentences;
pub mod simhash;
mod tokens;
pub mod units;
mod width;
pub mod windows;

pub use builder::Builder;
pub use error::{Error, ErrorKind, Result};
pub use hash::FeatureHash;
pub use names::{Bits64, built_in_names, is_built_in, resolve};
pub use normalization::Normalization;
pub use pipeline::Counting;
pub use recipe::Recipe;
pub use segment::Segment;
pub use width::{Bits, Fingerprinted, Sketch, Width, distance};

/// Compiles and runs the example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests;
