//! An embedded database that finds near-duplicates.
//!
//! | what it stores | what it finds |
//! | --- | --- |
//! | fingerprints of 64 or 128 bits | all that differ from a given one in at most k bits, exactly |
//! | sketches of texts | the documents of at least some Jaccard similarity: 95 % of those at it, more of those above |
//! | windows of texts (`passages::Index`) | which earlier documents have passages of a text |
//!
//! What only a program with the texts can tell, [`Write::confirm`] asks it. Without a database,
//! `passages` finds what the texts of a collection have in common.
//!
//! [`Db`] is a database that is open for reading and writing. [`ReadOnlyDb`] is open for reading
//! only, while another process may write to it. [`Snapshot`] is the state of either at one moment.
//! [`Options`] has everything that can be chosen when a database is created or opened. [`Batcher`]
//! writes for asynchronous programs.
//!
//! # Features
//!
//! None is on by default.
//!
//! | feature | what it adds |
//! | --- | --- |
//! | `text` | the module `text`, which is the crate `fpdb-text`: makes fingerprints from text |
//! | `zh` | `text`, and recipes that segment Chinese |
//! | `tracing` | events for the application's log, through the crate [`tracing`] |
//! | `serde` | reports, statistics, matches and errors implement serde's `Serialize` |
//! | `sim` | the module `storage`, with a simulated file system for crash tests |
//!
//! [`tracing`]: https://docs.rs/tracing
//!
//! The target of all events is `fpdb`. An event is reported at the level `INFO` when a database is
//! opened or recovered, `DEBUG` after each flush and compaction, `WARN` when a writer had to wait
//! for them, and `ERROR` when one of them fails in the background or the handle accepts no more
//! writes. A subscriber must not use the database.
//!
//! # Examples
//!
//! ```
//! use fpdb::{Db, Ids};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("crawl.fpdb");
//! let db = Db::options().max_distance(3).ids(Ids::Names).create(&path)?;
//! assert!(!db.insert_if_novel(0b1100, "https://a.example/")?.is_duplicate());
//! assert!(db.insert_if_novel(0b1110, "https://b.example/")?.is_duplicate());
//! assert_eq!(db.query(0b0000, 2)?.len(), 1);
//! db.close()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # More
//!
//! The repository has a README with a longer example and a table of figures, `docs/design.md` on
//! how the database works at run time, `docs/benchmarks.md`, `crates/fpdb-text/recipes.md` on which
//! recipe and distance to choose, and `storage-format.md` on the files.
//!
//! # Debug builds
//!
//! Without optimization, a query takes twenty times as long. The engine is compiled with this
//! package and not with yours, so it suffices to optimize this one:
//!
//! ```toml
//! [profile.dev.package.fpdb]
//! opt-level = 3
//! ```

#![deny(missing_docs)]
// Only file/storage/ may name files: the lists are in clippy.toml.
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_types))]

mod base;
mod db;
mod documents;
mod file;
mod fingerprint;
#[cfg(test)]
mod format_example;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod index;
#[cfg(feature = "text")]
pub mod passages;
pub mod query;
mod settings;
mod store;

pub use base::error::{Error, ErrorKind, Result};
pub use base::progress::{Phase, Progress};
pub use db::{
    Batcher, Candidate, Cluster, ClusterMethod, Clusters, Db, Decision, Description, Documents,
    Durability, ExtractionName, Found, Iter, Join, Key, OnDuplicate, Options, Outcome, Pair, Pairs,
    ReadOnlyDb, RecipeName, Snapshot, Source, Stamped, Stats, VerifyLevel, Write,
};
#[cfg(feature = "sim")]
pub use file::storage;
pub use fingerprint::{DocId, Document, Entry, Fingerprint, Ids, Match, Sketch, Word};
#[cfg(feature = "text")]
#[doc(inline)]
pub use fpdb_text as text;
pub use index::bands::Jaccard;
pub use index::rule::{MatchRule, Matcher};
pub use index::tables::layout::{self, Layout};
pub use query::{Answers, QueryOptions, Within};
pub use settings::PassageSettings;

/// What operations report when they have ended, and the parts of [`Stats`].
pub mod reports {
    pub use crate::db::{
        Block, BlockRow, BuildReport, ClusterReport, CompactReport, ExpireReport, JoinReport,
        LoadReport, Loss, LossKind, PairsReport, RecoveryReport, SegmentStats, TableStats,
        VerifyReport,
    };
}

/// Compiles and runs the README's example with the other examples.
#[cfg(all(doctest, feature = "text"))]
#[doc = include_str!("../README.md")]
struct Readme;
