//! Compaction keeps the number of segments small: [`policy`] chooses which to merge, [`sizes`] says
//! how much space that takes, [`merger`] merges them.

mod documents;
mod limit;
mod merger;
mod policy;
mod sizes;
mod survey;

pub(crate) use limit::{fewest, fit_in_one};
pub(crate) use merger::Merger;
pub(crate) use policy::{Weight, pick, pick_smaller};
pub(crate) use sizes::{MergeSizes, no_space};
