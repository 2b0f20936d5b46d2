//! From text to fingerprint, by a named recipe.
//!
//! Fingerprints can be compared only if they were made in the same way, so a way has a name and a
//! version, such as `words/1`, and never changes: whatever would change a fingerprint is another
//! version. The tests hold vectors for each. One thing is outside the name: characters that Unicode
//! adds after the tables in use were made may be cut differently by later ones.
//!
//! [`Recipe::names`] lists the recipes, and each says what it is [for](Recipe::purpose). Most are
//! SimHashes: the text is normalised and cut into features, each feature has a hash and a weight,
//! and a bit of the fingerprint is set if the features that have it weigh more than those that have
//! not. So texts with most features in common are a few bits apart. Recipes differ in
//! normalisation, features, weights, hash, and in what becomes of a bit whose sum is 0.
//!
//! Some are of our own; the others give, bit for bit, what another program does, so that its users
//! can go on with the fingerprints that they have. Features made elsewhere can be summed up by
//! [`simhash::fold`].

mod builder;
mod catalogue;
mod explain;
mod feature_hash;
pub mod hash;
#[cfg(feature = "zh")]
mod jieba;
mod normal;
mod pipeline;
mod recipe;
mod recipes;
mod segment;
pub mod simhash;
#[cfg(feature = "zh")]
mod weighted;

pub use builder::Builder;
pub use explain::{Bit, Explanation, Feature};
pub use feature_hash::FeatureHash;
pub use normal::Normal;
pub use pipeline::Counting;
pub use recipe::{Fingerprinted, Recipe, Width};
pub use segment::Segment;

#[cfg(test)]
mod tests;
