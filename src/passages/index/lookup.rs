//! Looking up which documents have windows.

use std::collections::{HashMap, HashSet};

use super::Index;
use super::records::Holders;
use crate::base::error::Result;
use crate::db::Snapshot;
use crate::fingerprint::{DocId, Match};
use crate::settings::DocumentRecord;

impl Index {
    /// Returns which documents have these windows. A document without a record is not in the index,
    /// even if damage or a crash has left windows of it.
    pub(super) fn holders(&self, snapshot: &Snapshot<u64>, windows: &[u64]) -> Result<Holders> {
        let answers = snapshot.query_batch(windows, 0)?;
        let mut of_windows: Vec<_> = answers.iter().map(ids).collect();
        let mentioned: HashSet<DocId> = of_windows.iter().flatten().copied().collect();
        let records = self.records(snapshot, mentioned)?;
        for ids in &mut of_windows {
            ids.retain(|id| records.contains_key(id));
        }
        Ok(Holders { of_windows, records })
    }

    /// Returns the records of those documents that are in the index.
    pub(super) fn records(
        &self,
        snapshot: &Snapshot<u64>,
        documents: impl IntoIterator<Item = DocId>,
    ) -> Result<HashMap<DocId, DocumentRecord>> {
        // No document has an id that is too large.
        let known = |id| Some((id, self.document(id).ok()?));
        let (ids, fingerprints): (Vec<_>, Vec<_>) = documents.into_iter().filter_map(known).unzip();
        let answers = snapshot.query_batch(&fingerprints, 0)?;
        let records = ids.into_iter().zip(answers.iter());
        Ok(records
            .filter_map(|(id, found)| Some((id, DocumentRecord::from_id(found.first()?.id))))
            .collect())
    }
}

/// Returns the documents that have a window.
fn ids(found: &[Match<u64>]) -> Vec<DocId> {
    found.iter().map(|found| found.id).collect()
}
