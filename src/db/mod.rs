//! The database: its public handles, and what they do with the layers below.
//!
//! One file per concern. From the ground up, each uses only those before it:
//!
//! | files | concern |
//! | --- | --- |
//! | `locks` `recipe_name` `options` `key` | how locks are taken; options; a document's id or name |
//! | `agreement` | options against what is stored |
//! | `poison` `signals` `group` | refusing writes after a failure; waking threads; sync groups |
//! | `core` | the shared state and the lock order |
//! | `install` `sync` | new manifests and segments; syncing the log, acknowledging commits |
//! | `rotate` `flush` `compact` | a new log; memtable to segment; segments to one |
//! | `backpressure` `commit` | room for a commit; operations into log and memtable |
//! | `upsert` `entries` `documents` | what an update asks for and answers; writes of entries; of documents |
//! | `write` `expire` `load` `backup` `close` | what the caller asks for |
//! | `background` | the threads |
//! | `snapshot` `batch` `lookup` `stats` | reading entries; many queries; documents; figures |
//! | `pairs` `join` | all pairs of a snapshot; of two |
//! | `contradiction` | comparing documents with entries |
//! | `recover` `handle` `read_only` `open` | from files to a handle |
//! | `union` `combine` | documents of several databases; merge and rebuild |
//! | `text` | from a text to a decision (feature `text`) |
//! | `calibrate` | measuring what queries cost |

mod agreement;
mod background;
mod backpressure;
mod backup;
mod batch;
mod calibrate;
mod close;
mod clusters;
mod combine;
mod commit;
mod compact;
mod contradiction;
mod core;
mod documents;
mod entries;
mod expire;
mod flush;
mod group;
mod handle;
mod index_loader;
mod install;
mod join;
mod key;
mod load;
mod locks;
mod lookup;
mod new_folder;
mod open;
mod options;
mod orphans;
mod pairs;
mod poison;
#[cfg(test)]
mod random;
mod read_only;
mod read_state;
mod reading_options;
mod recipe_name;
mod recover;
mod rotate;
mod signals;
mod snapshot;
mod space;
mod stats;
mod sync;
#[cfg(feature = "text")]
mod text;
mod union;
mod upsert;
mod wake;
mod write;

pub use clusters::{Cluster, ClusterMethod, ClusterReport, Clusters};
pub use combine::MergeReport;
pub use compact::CompactReport;
pub use entries::Novelty;
pub use expire::ExpireReport;
pub use handle::Db;
pub use join::{Join, JoinReport};
pub use key::{Key, Stamped};
pub use load::LoadReport;
pub use lookup::Documents;
pub use open::describe;
pub use options::{Durability, Options};
pub use pairs::{Found, Pair, Pairs, PairsPosition, PairsReport};
pub use read_only::ReadOnlyDb;
pub use recipe_name::RecipeName;
pub use recover::RecoveryReport;
pub use snapshot::{Iter, Snapshot, VerifyReport};
pub use stats::{Description, SegmentStats, Stats, TableStats};
pub use upsert::{OnDuplicate, Outcome, UpsertOptions};
