//! The contents of several sources in order: segments and memtables, newest last.

mod documents;
mod entries;

pub(crate) use documents::DocumentMerge;
pub(crate) use entries::{Changes, EntryChange, Merge, Merged, Rows, Source};
