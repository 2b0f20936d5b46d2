//! New databases, each of which is complete or not there: from existing ones (merge and rebuild),
//! and from what the caller gives.

mod databases;
mod given;
mod unfinished;
mod union;

pub use databases::MergeReport;
pub(crate) use databases::merge;
pub(crate) use given::{create_with_documents, create_with_entries};
pub(crate) use unfinished::build;
