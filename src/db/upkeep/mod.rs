//! Keeping what was written: flushing, compaction, backup, closing.

pub(crate) mod background;
pub(crate) mod backup;
pub(crate) mod close;
pub(crate) mod compact;
pub(crate) mod flush;
pub(crate) mod new_folder;
pub(crate) mod rotate;
