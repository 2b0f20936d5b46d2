//! What a database says of the fingerprints that match.

use super::options::QueryOptions;
use super::view::View;
use crate::base::error::Result;
use crate::fingerprint::{DocId, Fingerprint, Match};

impl<F: Fingerprint> View<'_, F> {
    /// Keeps the first `limit` matches whose documents have this stamp or a greater one.
    pub(super) fn stamped_since(
        &self,
        matches: Vec<Match<F>>,
        since: u64,
        limit: usize,
    ) -> Result<Vec<Match<F>>> {
        let mut recent = Vec::new();
        for found in matches {
            if recent.len() == limit {
                break;
            }
            let document = self.version.document_by_id(found.id, self.seq)?;
            if document.is_some_and(|(_, document)| document.stamp >= Some(since)) {
                recent.push(found);
            }
        }
        Ok(recent)
    }

    /// Returns the ids of a fingerprint, ascending.
    pub(crate) fn ids(&self, fingerprint: F) -> Result<Vec<DocId>> {
        let options = QueryOptions::within(0);
        let mut matches = self.query(fingerprint, options)?;
        // Other sketches may have the same minima.
        matches.retain(|found| found.fingerprint == fingerprint);
        Ok(matches.iter().map(|found| found.id).collect())
    }
}
