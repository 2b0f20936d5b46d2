//! fpdb

#![warn(missing_docs)]

mod codec;
mod error;
mod fingerprint;
mod layout;
pub mod storage;
#[cfg(feature = "text")]
pub mod text;

pub use error::{Error, ErrorKind, Result};
pub use fingerprint::{DocId, Entry, Fingerprint, Match};
