#![doc = include_str!("../README.md")]
//!
//! # Parts
//!
//! | step | type |
//! | --- | --- |
//! | records of a WARC or ARC file | [`Archive`], [`Record`] |
//! | HTTP responses, and the codings of their bodies | [`Response`] |
//! | the encoding of a page | [`decode`] |
//! | HTML to text | [`Extraction`] |
//! | all of these in one | [`Extractor`] |
//!
//! # Hostile input
//!
//! Every input is accepted: no bytes cause a panic or an endless loop. [`Limits`] bound the memory
//! and the time that one record takes. Text can be several times as large as the bytes that it was
//! decoded from (up to three times, for single-byte encodings).
//!
//! # Features
//!
//! * `zstd` (default): HTTP bodies that are compressed with Zstandard, which builds a C library.
//! * `language`: a guess at the language of a text.

#![deny(missing_docs)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg_attr(
    test,
    allow(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "a test fails by a panic"
    )
)]

mod archive;
mod charset;
mod content;
mod error;
mod extraction;
mod fields;
mod html;
mod http;
#[cfg(feature = "language")]
mod language;
mod limits;
mod page;
mod prescan;

pub use archive::{Archive, Record, RecordKind};
pub use charset::{CharsetSource, Decoded, decode, nearly_utf8};
pub use error::{Error, ErrorKind, Result};
pub use extraction::Extraction;
pub use http::Response;
#[cfg(feature = "language")]
pub use language::language;
pub use limits::Limits;
pub use page::{Extracted, Extractor, Page, SkipReason};
