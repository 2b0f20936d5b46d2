//! The documents of a merge, which may be too many for one segment.

use std::sync::Arc;

use crate::base::error::Result;
use crate::documents::DocumentsBuilder;
use crate::fingerprint::{Document, Fingerprint};
use crate::store::merge::DocumentMerge;
use crate::store::segment::{Replaced, Segment};

/// Documents that are merged between two pauses.
const DOCUMENTS_PER_PAUSE: u64 = 4096;

/// The newest record of each document, in the order of the keys.
pub(super) struct Remaining<'a, F: Fingerprint> {
    merge: DocumentMerge<'a, F>,
    /// What was read of the record that begins the next segment.
    first: Option<Option<Document<F>>>,
    /// Whether no older segment exists.
    is_oldest: bool,
    pause: &'a (dyn Fn(u64) -> Result<()> + Sync),
    since_pause: u64,
}

impl<'a, F: Fingerprint> Remaining<'a, F> {
    /// Begins with the first key of these segments, which are given from old to new. `pause` is
    /// called after some records, with their number.
    pub(super) fn new(
        segments: &'a [Arc<Segment<F>>],
        is_oldest: bool,
        pause: &'a (dyn Fn(u64) -> Result<()> + Sync),
    ) -> Result<Self> {
        let documents = segments.iter().filter_map(|s| s.documents());
        let merge = DocumentMerge::new(documents, std::iter::empty())?;
        Ok(Self { merge, first: None, is_oldest, pause, since_pause: 0 })
    }

    /// Writes records until `file` has `most` documents, or to the end. Those that say that a
    /// document was removed are dropped if no older segment exists. Returns whether others are
    /// left.
    pub(super) fn write(&mut self, file: &mut DocumentsBuilder<'_>, most: u64) -> Result<bool> {
        if let Some(document) = self.first.take() {
            file.push(self.merge.key(), document.as_ref())?;
        }
        while let Some((key, document)) = self.merge.next()? {
            if document.is_some() || !self.is_oldest {
                if file.is_full(most) {
                    self.first = Some(document);
                    return Ok(true);
                }
                file.push(key, document.as_ref())?;
            }
            self.since_pause += 1;
            if self.since_pause == DOCUMENTS_PER_PAUSE {
                (self.pause)(std::mem::take(&mut self.since_pause))?;
            }
        }
        (self.pause)(std::mem::take(&mut self.since_pause))?;
        Ok(false)
    }

    /// Returns how many documents were dropped because a newer record has their key.
    pub(super) fn dropped(&self) -> Replaced {
        self.merge.replaced()
    }
}
