//! Writes what a document is near to.

use fpdb::{DocId, Fingerprint, Ids, Match, Snapshot};

use crate::failure::Result;
use crate::resp::Replies;

/// Finds the keys of documents by their ids.
pub(crate) struct Keys<F: Fingerprint> {
    snapshot: Snapshot<F>,
    has_names: bool,
}

impl<F: Fingerprint> Keys<F> {
    pub(crate) fn new(snapshot: Snapshot<F>, ids: Ids) -> Self {
        Self { snapshot, has_names: ids == Ids::Names }
    }

    pub(crate) fn snapshot(&self) -> &Snapshot<F> {
        &self.snapshot
    }

    /// Returns the key of a document; `None` if the document was removed in the meantime.
    pub(crate) fn find(&self, id: DocId) -> Result<Option<String>> {
        if !self.has_names {
            return Ok(Some(id.0.to_string()));
        }
        Ok(self.snapshot.name(id)?)
    }
}

/// Writes the three parts of a match: the key, the distance and the fingerprint.
pub(crate) fn write_parts<F: Fingerprint>(
    key: Option<&str>,
    found: &Match<F>,
    replies: &mut Replies,
) {
    replies.optional(key);
    replies.integer(found.distance.into());
    replies.bulk(found.fingerprint.to_hex().as_bytes());
}
