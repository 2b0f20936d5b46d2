//! The public types, and the engine behind them.

mod batcher;
mod clusters;
mod db;
mod engine;
mod iterators;
mod join;
mod maintenance;
mod open;
mod pairs;
mod read_only;
mod reads;
mod snapshot;
#[cfg(feature = "text")]
mod text;
mod write;
mod writes;

pub use batcher::{Batcher, Decision};
pub use clusters::Clusters;
pub use db::Db;
pub use iterators::{Documents, Iter};
pub use join::Join;
pub use pairs::Pairs;
pub use read_only::ReadOnlyDb;
pub use snapshot::Snapshot;
pub use write::Write;
