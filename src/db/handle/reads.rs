//! The reading methods of a handle: each takes a new snapshot.

use super::Db;
use crate::error::Result;
use crate::fingerprint::{DocId, Fingerprint, Match};

impl<F: Fingerprint> Db<F> {
    /// Returns every entry within `distance` bits of `fingerprint`, sorted by distance, fingerprint
    /// and id. The same as [`Snapshot::query`] on a new snapshot.
    ///
    /// # Errors
    ///
    /// `Corruption` or `Io`.
    pub fn query(&self, fingerprint: F, distance: u32) -> Result<Vec<Match<F>>> {
        self.snapshot().query(fingerprint, distance)
    }

    /// Returns the answers to several queries, in their order. The same as [`Snapshot::query_batch`]
    /// on a new snapshot.
    ///
    /// # Errors
    ///
    /// `Corruption` or `Io`.
    pub fn query_batch(&self, fingerprints: &[F], distance: u32) -> Result<Vec<Vec<Match<F>>>> {
        self.snapshot().query_batch(fingerprints, distance)
    }

    /// Returns the nearest entry within `distance` bits. The same as [`Snapshot::nearest`] on a new
    /// snapshot.
    ///
    /// # Errors
    ///
    /// `Corruption` or `Io`.
    pub fn nearest(&self, fingerprint: F, distance: u32) -> Result<Option<Match<F>>> {
        self.snapshot().nearest(fingerprint, distance)
    }

    /// Returns whether any entry has exactly this fingerprint.
    ///
    /// # Errors
    ///
    /// `Corruption` or `Io`.
    pub fn contains(&self, fingerprint: F) -> Result<bool> {
        self.snapshot().contains(fingerprint)
    }

    /// Returns the ids of all entries with exactly this fingerprint, ascending.
    ///
    /// # Errors
    ///
    /// `Corruption` or `Io`.
    pub fn ids(&self, fingerprint: F) -> Result<Vec<DocId>> {
        self.snapshot().ids(fingerprint)
    }

    /// Returns the name of a document, in a database with names. The same as [`Snapshot::name`] on a
    /// new snapshot.
    ///
    /// # Errors
    ///
    /// `Corruption` or `Io`.
    pub fn name(&self, id: DocId) -> Result<Option<String>> {
        self.snapshot().name(id)
    }
}
