//! Complete exports: an entire database as lines of JSON, which `export --all` writes and
//! `import --all` reads. `docs/export.md` describes the form.
//!
//! The first line has the settings and how many entries or documents follow. Each has a line, in
//! the order in which the library returns and takes them. The last line repeats their number and
//! has a checksum of all bytes before it.

mod header;
mod read;
mod write;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

pub(crate) use header::Header;
pub(crate) use read::Reader;
pub(crate) use write::write;

/// The line of an entry or a document.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record<'a> {
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    name: Option<Cow<'a, str>>,
    id: u64,
    fingerprint: Cow<'a, str>,
    /// Of documents only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stamp: Option<u64>,
    /// The id of the original, for documents only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    duplicate_of: Option<u64>,
}

/// The last line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EndLine {
    count: u64,
    /// The CRC-32 of all bytes before this line, in hex.
    crc32: String,
}

impl EndLine {
    fn new(count: u64, crc32: u32) -> Self {
        Self { count, crc32: format!("{crc32:08x}") }
    }
}
