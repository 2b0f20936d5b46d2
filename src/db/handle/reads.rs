//! The reading methods of a handle: each takes a new snapshot.

use super::Db;
use crate::error::Result;
use crate::fingerprint::{DocId, Fingerprint, Match};

impl<F: Fingerprint> Db<F> {
    /// Returns every entry within `distance` bits of `fingerprint`, sorted by distance, fingerprint
    /// and id. The same as [`Snapshot::query`](crate::Snapshot::query) on a new snapshot.
    ///
    /// # Errors
    ///
    /// `Corruption`; `Io`; `Closed` after a `fork()`.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// db.insert(0b1100, 1)?;
    /// db.insert(0b1111, 2)?;
    /// let matches = db.query(0b1101, 1)?;
    /// assert_eq!((matches.len(), matches[0].distance), (2, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn query(&self, fingerprint: F, distance: u32) -> Result<Vec<Match<F>>> {
        self.readable()?.query(fingerprint, distance)
    }

    /// Returns the answers to several queries, in their order. The same as
    /// [`Snapshot::query_batch`](crate::Snapshot::query_batch) on a new snapshot.
    ///
    /// # Errors
    ///
    /// `Corruption`; `Io`; `Closed` after a `fork()`.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// db.insert(0b1100, 1)?;
    /// db.insert(0b1111, 2)?;
    /// let answers = db.query_batch(&[0b1100, 0b0000], 1)?;
    /// assert_eq!((answers[0].len(), answers[1].len()), (1, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn query_batch(&self, fingerprints: &[F], distance: u32) -> Result<Vec<Vec<Match<F>>>> {
        self.readable()?.query_batch(fingerprints, distance)
    }

    /// Returns the nearest entry within `distance` bits. The same as
    /// [`Snapshot::nearest`](crate::Snapshot::nearest) on a new snapshot.
    ///
    /// # Errors
    ///
    /// `Corruption`; `Io`; `Closed` after a `fork()`.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// db.insert(0b1100, 1)?;
    /// db.insert(0b1111, 2)?;
    /// let nearest = db.nearest(0b1110, 3)?;
    /// assert_eq!(nearest.map(|m| (m.id.0, m.distance)), Some((1, 1)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn nearest(&self, fingerprint: F, distance: u32) -> Result<Option<Match<F>>> {
        self.readable()?.nearest(fingerprint, distance)
    }

    /// Returns whether any entry has exactly this fingerprint.
    ///
    /// # Errors
    ///
    /// `Corruption`; `Io`; `Closed` after a `fork()`.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// db.insert(7, 1)?;
    /// assert!(db.contains(7)? && !db.contains(6)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn contains(&self, fingerprint: F) -> Result<bool> {
        self.readable()?.contains(fingerprint)
    }

    /// Returns the ids of all entries with exactly this fingerprint, ascending.
    ///
    /// # Errors
    ///
    /// `Corruption`; `Io`; `Closed` after a `fork()`.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// db.insert(7, 2)?;
    /// db.insert(7, 1)?;
    /// assert_eq!(db.ids(7)?, [fpdb::DocId(1), fpdb::DocId(2)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ids(&self, fingerprint: F) -> Result<Vec<DocId>> {
        self.readable()?.ids(fingerprint)
    }

    /// Returns the name of a document, in a database with names. The same as
    /// [`Snapshot::name`](crate::Snapshot::name) on a new snapshot.
    ///
    /// # Errors
    ///
    /// `Corruption`; `Io`; `Closed` after a `fork()`.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("db");
    /// use fpdb::{Db, Ids};
    /// let db = Db::options().ids(Ids::Names).create(&path)?;
    /// let id = db.insert(7, "https://example.org/")?;
    /// assert_eq!(db.name(id)?.as_deref(), Some("https://example.org/"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn name(&self, id: DocId) -> Result<Option<String>> {
        self.readable()?.name(id)
    }
}
