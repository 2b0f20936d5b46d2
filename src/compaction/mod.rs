//! Keeping segments few: [`policy`] says which to merge, [`merge`] merges them.

mod merge;
mod policy;

pub(crate) use merge::{Merger, write_changes};
pub(crate) use policy::{Weight, pick};
