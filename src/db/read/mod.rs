//! Reading: a snapshot, and everything that it answers.

pub(crate) mod batch;
pub(crate) mod block;
pub(crate) mod clusters;
pub(crate) mod join;
pub(crate) mod lookup;
pub(crate) mod pairs;
pub(crate) mod reader;
pub(crate) mod stats;
pub(crate) mod verify;
