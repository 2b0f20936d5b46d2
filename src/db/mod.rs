//! The database: its public handles, and what they do with the layers below.
//!
//! From the ground up, each folder uses only those before it; `tests/layering` checks this:
//!
//! | folder | what it holds |
//! | --- | --- |
//! | `state` | options, keys, and the state that the threads of a handle share |
//! | `read` | snapshots: queries, documents, pairs, joins, clusters, verification, figures |
//! | `upkeep` | sync, flush, compaction, backup, close, and the threads that run them |
//! | `write` | writes with and without conditions, expiry, bulk loads |
//! | `recovery` | from files to the state of a handle |
//! | `handle` | `Db` and `ReadOnlyDb` |
//! | `merge` | documents of several databases in one |
//! | `calibrate` | measuring what queries cost |

mod calibrate;
mod handle;
mod merge;
mod read;
mod recovery;
mod state;
mod upkeep;
mod write;

pub use handle::Db;
pub use handle::read_only::ReadOnlyDb;
pub use merge::MergeReport;
pub use read::clusters::{Cluster, ClusterMethod, ClusterReport, Clusters};
pub use read::join::{Join, JoinReport};
pub use read::lookup::Documents;
pub use read::pairs::{Found, Pair, Pairs, PairsPosition, PairsReport};
pub use read::snapshot::{Iter, Snapshot};
pub use read::stats::{Description, SegmentStats, Stats, TableStats};
pub use read::verify::VerifyReport;
pub use recovery::recover::RecoveryReport;
pub use state::key::{Key, Stamped};
pub use state::options::{Durability, Options};
pub use state::recipe_name::RecipeName;
pub use upkeep::compact::CompactReport;
pub use write::builder::Write;
pub use write::expire::ExpireReport;
pub use write::load::LoadReport;
pub use write::outcome::{OnDuplicate, Outcome};
