//! Writes what a document is near to.

use fpdb::{DocId, Fingerprint, Ids, Match, Snapshot};

use super::failure::Result;
use super::resp::Replies;

/// Finds the keys of documents by their ids.
pub(super) struct Keys<F: Fingerprint> {
    snapshot: Snapshot<F>,
    has_names: bool,
}

impl<F: Fingerprint> Keys<F> {
    pub(super) fn new(snapshot: Snapshot<F>, ids: Ids) -> Self {
        Self { snapshot, has_names: ids == Ids::Names }
    }

    pub(super) fn snapshot(&self) -> &Snapshot<F> {
        &self.snapshot
    }

    /// Returns the key of a document; `None` if the document was removed in the meantime.
    pub(super) fn find(&self, id: DocId) -> Result<Option<String>> {
        if !self.has_names {
            return Ok(Some(id.0.to_string()));
        }
        Ok(self.snapshot.name(id)?)
    }
}

/// Writes a text, or null.
pub(super) fn write_optional(text: Option<&str>, replies: &mut Replies) {
    match text {
        Some(text) => replies.bulk(text.as_bytes()),
        None => replies.null(),
    }
}

/// Writes the three parts of a match: the key, the distance and the fingerprint.
pub(super) fn write_parts<F: Fingerprint>(
    key: Option<&str>,
    found: &Match<F>,
    replies: &mut Replies,
) {
    write_optional(key, replies);
    replies.integer(found.distance.into());
    replies.bulk(found.fingerprint.to_hex().as_bytes());
}
