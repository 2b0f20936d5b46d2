//! The reads that everybody needs, each on a new snapshot. A snapshot has all other reads, too.

use crate::base::error::Result;
use crate::db::api::db::Db;
use crate::db::state::key::Key;
use crate::fingerprint::{Document, Fingerprint, Match};
use crate::query::{Answers, QueryOptions, Within};

impl<F: Fingerprint> Db<F> {
    /// Returns every entry within a distance of `fingerprint`, in bits, sorted by distance,
    /// fingerprint and id. The same as [`Snapshot::query`](crate::Snapshot::query) on a new
    /// snapshot.
    ///
    /// # Errors
    ///
    /// `Corruption`; `Io`; `Closed` after a `fork()`.
    ///
    /// ```
    /// # let db = fpdb::Db::options().in_memory()?;
    /// db.insert(0b1100, 1)?;
    /// db.insert(0b1111, 2)?;
    /// let matches = db.query(0b1101, 1)?;
    /// assert_eq!((matches.len(), matches[0].distance), (2, 1));
    /// let nearest = db.nearest(0b1110, 3)?;
    /// assert_eq!(nearest.map(|m| (m.id.0, m.distance)), Some((1, 1)));
    /// let answers = db.query_batch(&[0b1100, 0b0000], 1)?;
    /// assert_eq!((answers[0].len(), answers[1].len()), (1, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn query(&self, fingerprint: F, options: impl Into<QueryOptions>) -> Result<Vec<Match<F>>> {
        self.engine().query(fingerprint, options.into())
    }

    /// Returns the answers to several queries, in their order. The same as
    /// [`Snapshot::query_batch`](crate::Snapshot::query_batch) on a new snapshot.
    ///
    /// # Errors
    ///
    /// `Corruption`; `Io`; `Closed` after a `fork()`.
    pub fn query_batch(&self, fingerprints: &[F], within: impl Into<Within>) -> Result<Answers<F>> {
        self.engine().query_batch(fingerprints, within.into())
    }

    /// Returns the nearest entry within `distance` bits. The same as
    /// [`Snapshot::nearest`](crate::Snapshot::nearest) on a new snapshot.
    ///
    /// # Errors
    ///
    /// `Corruption`; `Io`; `Closed` after a `fork()`.
    pub fn nearest(&self, fingerprint: F, within: impl Into<Within>) -> Result<Option<Match<F>>> {
        self.engine().nearest(fingerprint, within.into())
    }

    /// Returns what is known about the document with this key; see [`Snapshot::get`].
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for a key of the wrong kind, and in a database with
    /// [user ids](crate::Ids::User); `Corruption`; `Io`; `Closed` after a `fork()`.
    ///
    /// ```
    /// use fpdb::{Db, Ids};
    /// let db = Db::options().ids(Ids::Names).in_memory()?;
    /// db.insert(7, "https://example.org/")?;
    /// assert_eq!(db.get("https://example.org/")?.map(|found| found.fingerprint), Some(7));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// [`Snapshot::get`]: crate::Snapshot::get
    pub fn get<'k>(&self, key: impl Into<Key<'k>>) -> Result<Option<Document<F>>> {
        self.engine().get(key.into())
    }
}
