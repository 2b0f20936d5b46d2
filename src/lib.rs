//! fpdb

#![warn(missing_docs)]

mod block;
mod codec;
mod compaction;
mod db;
mod error;
mod files;
mod fingerprint;
#[cfg(test)]
mod format_example;
mod layout;
mod log;
mod manifest;
mod memtable;
mod merge;
mod names;
mod paged;
mod postings;
mod query;
mod segment;
mod settings;
mod sorter;
pub mod storage;
mod table;
#[cfg(feature = "text")]
pub mod text;
mod tombstones;
mod version;

pub use db::{
    CompactReport, Db, Description, Durability, Iter, Key, LoadReport, Novelty, Options, Reader,
    RecoveryReport, SegmentStats, Snapshot, Stats, VerifyReport, describe,
};
pub use error::{Error, ErrorKind, Result};
pub use fingerprint::{DocId, Entry, Fingerprint, Match};
pub use layout::Layout;
pub use query::QueryOptions;
pub use settings::Ids;
