//! Deduplication by the exact similarity of texts.
//!
//! A database of sketches finds documents that may be similar, and estimates their similarity with
//! a standard error of about .01. [`Dedup`] deduplicates texts among themselves, exactly. For
//! documents that come over months, a [`FeatureStore`] keeps the features of each document beside
//! the database, so that [`Write::confirm`](fpdb::Write::confirm) can compare them, in later runs
//! too, when the texts are gone.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![warn(missing_docs)]

// What the modules contain. The engine's test `layering` lists their layers and checks them.
//
// error       what can go wrong
// by_band     the rows of a chunk by their bands
// band_set    a set of bands that grows
// candidates  what rows are compared with
// parallel    work in several threads
// rows        what is compared of a row
// options     how rows are compared
// lists       the file that has the features of documents
// store       this file and its index
// kept        the features of rows that are kept
// crowds      rows of which many share bands
// comparer    decides about the rows of a chunk
// nearest     finds what rows are compared with
// dedup       all of this with a database of its own
// html        what was found, for a person who looks at it

mod band_set;
mod by_band;
mod candidates;
mod comparer;
mod crowds;
mod dedup;
mod error;
pub mod html;
mod kept;
mod lists;
mod nearest;
mod options;
mod parallel;
mod rows;
mod store;

pub use candidates::{Candidate, Earlier, Like};
pub use comparer::{Comparer, MOST_CANDIDATES, Verdict};
pub use dedup::Dedup;
pub use error::{Error, Result};
pub use nearest::Nearest;
pub use options::Options;
pub use rows::{Kind, Row, features_of};
pub use store::FeatureStore;
