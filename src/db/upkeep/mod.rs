//! Keeping what was written: syncing the log, flushing, compaction, backup, closing.

pub(crate) mod background;
pub(crate) mod backup;
pub(crate) mod close;
pub(crate) mod compact;
pub(crate) mod flush;
pub(crate) mod install;
pub(crate) mod new_folder;
pub(crate) mod rotate;
pub(crate) mod session;
pub(crate) mod space;
pub(crate) mod sync;
