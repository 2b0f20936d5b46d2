//! fpdb

#![warn(missing_docs)]
// Only storage/ may name files: the lists are in clippy.toml.
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_types))]

mod codec;
mod error;
mod fingerprint;
mod layout;
mod log;
pub mod storage;

pub use error::{Error, ErrorKind, Result};
pub use fingerprint::{DocId, Entry, Fingerprint, Match};
pub use layout::Layout;
