//! Archives of crawls: the records of a WARC or ARC file.

mod arc;
mod format;
mod members;
mod reader;
mod record;
mod tape;
mod warc;

pub use reader::Archive;
pub use record::{Record, RecordKind};
