//! Pages of files.

/// Bytes of a page, the unit in which files are read and checked.
pub(crate) const PAGE: usize = 4096;
