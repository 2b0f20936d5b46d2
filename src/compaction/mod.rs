//! Compaction keeps the number of segments small: [`policy`] chooses which to merge, [`merger`]
//! merges them.

mod merger;
mod policy;
mod survey;

pub(crate) use merger::Merger;
pub(crate) use policy::{Weight, pick};
