//! Web pages: from archives of crawls (WARC and ARC) and from HTML files, as the text that
//! fingerprints are made of.
//!
//! Reading has two halves. [`Records`] reads one file from its first byte to its last, which only
//! one thread can do, and yields a [`Record`] each; [`Record::extract`] decodes one and makes text
//! of it, which takes most of the time and can be done on any thread.
//!
//! Damage ends nothing but the record it is in, where the next one can be found again. No record
//! takes more memory than [`Options::max_record`] for each of its stages: as stored, decoded, as
//! text.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod arc;
mod archive;
mod charset;
mod content;
mod entities;
mod fields;
mod html;
mod http;
mod page;
mod record;
mod records;
mod source;
mod tape;
#[cfg(test)]
mod tests;
mod text;
mod warc;

use std::fmt;

use clap::ValueEnum;

pub(crate) use page::{CharsetSource, Page};
pub(crate) use record::Record;
pub(crate) use records::Records;

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// An archive of a crawl: WARC 0.17 to 1.1, or ARC version 1; plain or gzipped.
    Warc,
    /// One page; its id is the path as given.
    Html,
}

/// `--text`: what of a page is its text
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum TextMode {
    /// The content: without menus, headers and footers
    #[default]
    Main,
    /// All that the page shows
    Strip,
}

/// How pages are read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    pub(crate) text: TextMode,
    /// The most bytes that a record may have, as stored and decoded. Larger ones are skipped.
    pub(crate) max_record: usize,
}

impl Options {
    /// 64 MiB.
    pub(crate) const DEFAULT_MAX_RECORD: usize = 64 << 20;
}

impl Default for Options {
    fn default() -> Self {
        Self { text: TextMode::default(), max_record: Self::DEFAULT_MAX_RECORD }
    }
}

/// What came of a record.
#[derive(Debug)]
pub(crate) enum Event {
    Page(Page),
    /// A record that is whole and holds no page, or too large a one.
    Skipped {
        offset: u64,
        reason: Reason,
    },
    /// Damage: of a record, or where one should be. The error says what is wrong.
    Broken {
        offset: u64,
        error: String,
    },
}

/// Why a record yields no page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Reason {
    /// A record about the file.
    Warcinfo,
    /// What the crawler sent.
    Request,
    /// What the crawler noted.
    Metadata,
    /// A page that is the same as one captured before.
    Revisit,
    /// A record of a kind that holds no whole page.
    OtherRecord,
    /// An answer with another status than 200.
    Status(u16),
    /// Neither HTML nor plain text.
    MediaType,
    /// More bytes than [`Options::max_record`].
    TooLarge,
}

/// Plain text as characters, in the encoding that its byte order mark names or its bytes suggest.
/// What is no text in it is replaced by U+FFFD.
pub(crate) fn decode_text(bytes: &[u8]) -> String {
    let told = charset::Told { content_type: "", url: "", html: false };
    charset::decode(bytes, told).0.into_owned()
}

impl Event {
    /// Where it begins in the file.
    pub(crate) fn offset(&self) -> u64 {
        match self {
            Self::Page(page) => page.offset,
            Self::Skipped { offset, .. } | Self::Broken { offset, .. } => *offset,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Warcinfo => "warcinfo",
            Self::Request => "request",
            Self::Metadata => "metadata",
            Self::Revisit => "revisit",
            Self::OtherRecord => "other_record",
            Self::Status(status) => return write!(f, "status_{status}"),
            Self::MediaType => "media_type",
            Self::TooLarge => "too_large",
        })
    }
}
