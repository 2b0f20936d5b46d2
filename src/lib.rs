#![doc = include_str!("../README.md")]
//!
//! # The modules, from the ground up
//!
//! | layer | modules | what they know |
//! | --- | --- | --- |
//! | 0 | `error` `fingerprint` | kinds of failure; the widths |
//! | 1 | `codec` [`storage`] `files` | bytes and bits; the one door to files; their names |
//! | 2 | `layout` `paged` | bit orders and plans; files of checked pages |
//! | 3 | `block` | compressed fingerprints |
//! | 4 | `table` `postings` `names` `tombstones` | the kinds of files of a segment |
//! | 5 | `settings` `log` `sorter` | what never changes; the append log; sorting on disk |
//! | 6 | `segment` `memtable` | a set of entries on disk, and in memory |
//! | 7 | `manifest` `version` | what is live, on disk and in memory |
//! | 8 | `merge` `query` | entries in order; matches |
//! | 9 | `compaction` | flush, and keeping segments few |
//! | 10 | `db` | the handle |
//! | beside | `text` | from text to fingerprint (feature `text`, Chinese with `zh`) |

#![warn(missing_docs)]
// Only storage/ may name files: the lists are in clippy.toml.
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_types))]

mod block;
mod codec;
mod compaction;
mod cpu;
mod db;
mod error;
mod files;
mod fingerprint;
#[cfg(test)]
mod format_example;
pub mod layout;
mod log;
mod manifest;
mod memtable;
mod merge;
mod names;
mod paged;
mod parallel;
mod postings;
mod progress;
pub mod query;
mod segment;
mod settings;
mod sorter;
#[cfg(feature = "sim")]
pub mod storage;
#[cfg(not(feature = "sim"))]
mod storage;
mod table;
#[cfg(feature = "text")]
pub mod text;
mod tombstones;
mod version;

pub use codec::block_code::BlockCode;
pub use db::{
    CompactReport, Db, Description, Durability, Iter, Key, LoadReport, Novelty, Options, Reader,
    RecoveryReport, SegmentStats, Snapshot, Stats, TableStats, VerifyReport, describe,
};
pub use error::{Error, ErrorKind, Result};
pub use fingerprint::{DocId, Entry, Fingerprint, Match};
pub use layout::Layout;
pub use progress::{Phase, Progress};
pub use query::QueryOptions;
pub use settings::Ids;
pub use storage::Access;
