//! Access to files, and the formats that all kinds of files share.
//!
//! From the ground up, each module uses only those before it; `tests/layering` checks this:
//!
//! | module | what it holds |
//! | --- | --- |
//! | `codec`, `names`, `storage` | bytes, bits and checksums; names of files; the only access to files |
//! | `scratch` | files that last as long as an operation |
//! | `paged`, `sorter` | files of checked pages; sorting what does not fit in memory |

pub(crate) mod codec;
pub(crate) mod names;
pub(crate) mod paged;
pub(crate) mod scratch;
pub(crate) mod sorter;
#[cfg(feature = "sim")]
pub mod storage;
#[cfg(not(feature = "sim"))]
pub(crate) mod storage;
