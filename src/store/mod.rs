//! What a database consists of.
//!
//! From the ground up, each module uses only those before it; `tests/layering` checks this:
//!
//! | module | what it holds |
//! | --- | --- |
//! | `log` | the append log |
//! | `segment`, `memtable` | a set of entries on disk, and in memory |
//! | `manifest`, `version` | what is live, on disk and in memory |
//! | `merge` | entries and documents in order |
//! | `compaction` | which segments to merge, and merging them |

pub(crate) mod compaction;
pub(crate) mod log;
pub(crate) mod manifest;
pub(crate) mod memtable;
pub(crate) mod merge;
pub(crate) mod segment;
pub(crate) mod version;
