//! Sorted tables of fingerprints, in several bit orders.
//!
//! From the ground up, each module uses only those before it; `tests/layering` checks this:
//!
//! | module | what it holds |
//! | --- | --- |
//! | `block`, `layout` | compressed fingerprints; bit orders and plans |
//! | `table`, `postings`, `tombstones` | the kinds of files in a segment: fingerprints, ids of entries, and entries that it removes from older segments |
//! | `part` | what a segment has of these |

pub(crate) mod block;
pub mod layout;
mod part;
pub(crate) mod postings;
pub(crate) mod table;
pub(crate) mod tombstones;

pub(crate) use part::{TableFiles, TablesPart};
