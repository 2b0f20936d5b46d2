//! New databases, each of which is complete or not there: from existing ones, and from what the
//! caller gives.

mod databases;
mod given;
mod report;
mod source;
mod texts;
mod unfinished;
mod union;

pub(crate) use databases::of_databases;
pub(crate) use given::{of_documents, of_entries};
pub use report::{BuildReport, Loss, LossKind};
pub(crate) use source::Kind;
pub use source::Source;
pub(crate) use unfinished::build;
