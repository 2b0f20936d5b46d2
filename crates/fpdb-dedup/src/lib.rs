//! Deduplication by the exact similarity of texts.
//!
//! A database of sketches finds documents that may be similar, and estimates their similarity with
//! a standard error of about .01. A [`FeatureStore`] keeps the features of each document beside the
//! database, so that [`Write::confirm`](fpdb::Write::confirm) can compare them, in later runs too,
//! when the texts are gone.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![warn(missing_docs)]

// What the modules contain. The engine's test `layering` lists their layers and checks them.
//
// error      what can go wrong
// lists      the file that has the features
// store      the file and its index

mod error;
mod lists;
mod store;

pub use error::{Error, Result};
pub use store::FeatureStore;
