//! The state that an open database shares between its threads, and what it is made of: keys,
//! the lock order (`core`), failures that end all writes (`poison`), signals, groups of
//! commits that share a sync (`group`).

pub(crate) mod core;
pub(crate) mod disk_space;
pub(crate) mod group;
pub(crate) mod index_loader;
pub(crate) mod key;
pub(crate) mod poison;
pub(crate) mod signals;
pub(crate) mod wake;
