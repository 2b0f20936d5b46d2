//! One record as it is stored, on the way to being a page.

use super::page;
use super::{Event, Options, Reason};

/// One record of a file, or the damage in the place of one.
pub(crate) struct Record(Stage);

enum Stage {
    Done(Event),
    Captured(Capture),
}

/// An answer that a crawl stored.
pub(super) struct Capture {
    pub(super) offset: u64,
    pub(super) url: String,
    pub(super) form: Form,
    pub(super) block: Vec<u8>,
}

/// What a block holds.
#[derive(Debug)]
pub(super) enum Form {
    /// An HTTP answer.
    Http,
    /// A document of this media type, which may have parameters.
    Bare(String),
}

/// What the head of a record says it is.
#[derive(Debug)]
pub(super) enum Meaning {
    Captured(Form),
    Skipped(Reason),
    Broken(&'static str),
}

impl Record {
    pub(super) fn capture(capture: Capture) -> Self {
        Self(Stage::Captured(capture))
    }

    pub(super) fn skipped(offset: u64, reason: Reason) -> Self {
        Self(Stage::Done(Event::Skipped { offset, reason }))
    }

    /// A page by itself, by its HTML.
    pub(crate) fn html(id: String, block: Vec<u8>) -> Self {
        Self::capture(Capture {
            offset: 0,
            url: id,
            form: Form::Bare("text/html".to_owned()),
            block,
        })
    }

    pub(super) fn broken(offset: u64, error: String) -> Self {
        Self(Stage::Done(Event::Broken { offset, error }))
    }

    /// Decodes the record and makes text of it: most of the work, and on any thread.
    pub(crate) fn extract(self, options: &Options) -> Event {
        match self.0 {
            Stage::Done(event) => event,
            Stage::Captured(capture) => page::extract(capture, options),
        }
    }

    /// Bytes that it holds on to: what a queue of records is to be bounded by.
    pub(crate) fn len(&self) -> usize {
        match &self.0 {
            Stage::Done(_) => 0,
            Stage::Captured(capture) => capture.block.len(),
        }
    }
}
