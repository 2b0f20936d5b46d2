//! The reading methods of a handle: each takes a new snapshot.

use super::Db;
use crate::db::key::Key;
use crate::error::Result;
use crate::fingerprint::{DocId, Document, Fingerprint, Match};
use crate::query::Answers;

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
    pub fn query_batch(&self, fingerprints: &[F], distance: u32) -> Result<Answers<F>> {
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

    /// Returns what is known about the document with this key; see [`Snapshot::get`].
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for a key of the wrong kind, and in a database with
    /// [user ids](crate::Ids::User); `Corruption`; `Io`; `Closed` after a `fork()`.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// use fpdb::{Db, Ids};
    /// let db = Db::options().ids(Ids::Names).create(folder.path().join("db"))?;
    /// db.insert(7, "https://example.org/")?;
    /// assert_eq!(db.get("https://example.org/")?.map(|found| found.fingerprint), Some(7));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// [`Snapshot::get`]: crate::Snapshot::get
    pub fn get<'k>(&self, key: impl Into<Key<'k>>) -> Result<Option<Document<F>>> {
        self.readable()?.get(key)
    }

    /// Returns the id of the document with this name.
    ///
    /// # Errors
    ///
    /// The same as [`get`](Self::get).
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// use fpdb::{Db, Ids};
    /// let db = Db::options().ids(Ids::Names).create(folder.path().join("db"))?;
    /// let id = db.insert(7, "https://example.org/")?;
    /// assert_eq!(db.id_of("https://example.org/")?, Some(id));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn id_of(&self, name: &str) -> Result<Option<DocId>> {
        self.readable()?.id_of(name)
    }

    /// Returns whether there is a document with this name.
    ///
    /// # Errors
    ///
    /// The same as [`get`](Self::get).
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// use fpdb::{Db, Ids};
    /// let db = Db::options().ids(Ids::Names).create(folder.path().join("db"))?;
    /// assert!(!db.contains_name("https://example.org/")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn contains_name(&self, name: &str) -> Result<bool> {
        self.readable()?.contains_name(name)
    }

    /// Returns the name of a document, in a database with names; `None` if no document has this id.
    ///
    /// # Errors
    ///
    /// `Corruption`; `Io`; `Closed` after a `fork()`.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// use fpdb::{Db, Ids};
    /// let db = Db::options().ids(Ids::Names).create(folder.path().join("db"))?;
    /// let id = db.insert(7, "https://example.org/")?;
    /// assert_eq!(db.name(id)?.as_deref(), Some("https://example.org/"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn name(&self, id: DocId) -> Result<Option<String>> {
        self.readable()?.name(id)
    }

    /// Returns the names of several documents, in the order of `ids`.
    ///
    /// # Errors
    ///
    /// The same as [`name`](Self::name).
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// use fpdb::{Db, DocId, Ids};
    /// let db = Db::options().ids(Ids::Names).create(folder.path().join("db"))?;
    /// db.insert(7, "https://example.org/")?;
    /// assert_eq!(db.names(&[DocId(0)])?, [Some("https://example.org/".to_owned())]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn names(&self, ids: &[DocId]) -> Result<Vec<Option<String>>> {
        self.readable()?.names(ids)
    }
}
