//! The database: its public handles, and what they do with the layers below.
//!
//! From the ground up, each folder uses only those before it; `tests/layering` checks this:
//!
//! | folder | what it holds |
//! | --- | --- |
//! | `options` | what a program chooses when it opens a database |
//! | `state` | keys, and the state that the threads of a handle share |
//! | `read` | snapshots: queries, documents, pairs, joins, clusters, verification, figures |
//! | `commit` | how changes become durable: the log, its sync, the space for it, the manifest |
//! | `upkeep` | flush, compaction, backup, close, and the threads that run them |
//! | `write` | writes with and without conditions, expiry, bulk loads |
//! | `recovery` | from files to the state of a handle |
//! | `handle` | databases that are open |
//! | `build` | new databases from existing ones, and from what the caller gives |
//! | `repair` | what a damaged database still proves, in a new one |
//! | `api` | the public types, and the engine behind them, compiled once |

mod api;
mod build;
mod commit;
mod handle;
mod options;
#[cfg(test)]
mod random;
mod read;
mod recovery;
mod repair;
mod state;
mod upkeep;
mod write;

pub use api::{
    Batcher, Clusters, Db, Decision, Documents, Iter, Join, Pairs, ReadOnlyDb, Snapshot, Write,
};
pub use build::{BuildReport, Loss, LossKind, Source};
pub use options::names::{ExtractionName, RecipeName};
pub use options::{Durability, Options};
pub use read::block::{Block, BlockRow};
pub use read::clusters::{Cluster, ClusterMethod, ClusterReport};
pub use read::join::JoinReport;
pub use read::pairs::{Found, Pair, PairsReport};
pub use read::stats::{Description, SegmentStats, Stats, TableStats};
pub use read::verify::{VerifyLevel, VerifyReport};
pub use recovery::recover::RecoveryReport;
pub use state::key::{Key, Stamped};
pub use upkeep::compact::CompactReport;
pub use write::confirm::Candidate;
pub use write::expire::ExpireReport;
pub use write::load::LoadReport;
pub use write::outcome::{OnDuplicate, Outcome};
