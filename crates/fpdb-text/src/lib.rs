//! From text to fingerprint, by a named recipe.
//!
//! Fingerprints can be compared only if they were made in the same way, so a way has a name and a
//! version, such as `words/1`, and never changes: whatever would change a fingerprint is another
//! version. The tests hold vectors for each. One thing is outside the name: characters that Unicode
//! adds after the tables in use were made may be cut differently by later ones.
//!
//! [`Recipe::names`] lists the recipes, and each says what it is [for](Recipe::purpose). There are
//! two kinds:
//!
//! - `pairs/1` and its sisters, which the [aliases](Recipe::aliases) `default`, `default-zh` and
//!   `default-short` stand for: one-bit [MinHashes](minhash) of the pairs of neighbouring tokens.
//!   Of texts whose pairs have Jaccard similarity J, each bit differs with probability (1 - J) / 2.
//! - SimHashes: the text is normalised and cut into features, each feature has a hash and a weight,
//!   and a bit of the fingerprint is set if the features that have it weigh more than those that
//!   have not. So texts with most features in common are a few bits apart. Recipes differ in
//!   normalisation, features, weights, hash, and in what becomes of a bit whose sum is 0. Some are
//!   of our own; the others give, bit for bit, what another program does, so that its users can go
//!   on with the fingerprints that they have.
//!
//! A [`Builder`] puts together a SimHash recipe of one's own, and features made elsewhere can be
//! summed up by [`simhash::fold`] or sketched by [`minhash::one_bit`].
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
//! Beside fingerprints there are exact [similarity](jaccard), [sketches](minhash) that estimate it
//! where two documents are at hand or likely pairs are to be found in a map, and the [longest
//! sentences](sentences) of a text.

#![deny(missing_docs)]

mod builder;
mod catalogue;
mod cut;
#[cfg(feature = "zh")]
mod dictionary;
mod error;
mod explain;
mod feature_hash;
mod fingerprinted;
pub mod hash;
pub mod jaccard;
#[cfg(feature = "zh")]
mod jieba;
#[cfg(feature = "zh")]
pub mod keywords;
mod method;
pub mod minhash;
mod names;
mod normal;
mod pairs;
mod pipeline;
mod recipe;
mod recipes;
mod segment;
pub mod sentences;
pub mod simhash;
mod tokens;
#[cfg(feature = "zh")]
mod weighted;
mod width;

pub use builder::Builder;
pub use error::{Error, ErrorKind, Result};
pub use explain::{Bit, Explanation, Feature};
pub use feature_hash::FeatureHash;
pub use fingerprinted::Fingerprinted;
pub use names::{Bits64, built_in_names, is_built_in, resolve};
pub use normal::Normal;
pub use pipeline::Counting;
pub use recipe::Recipe;
pub use segment::Segment;
pub use width::{Width, distance};

#[cfg(test)]
mod tests;
