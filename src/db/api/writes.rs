//! The writing methods of a handle.

use crate::base::error::Result;
use crate::db::api::db::Db;
use crate::db::api::write::Write;
use crate::db::state::key::{Key, Stamped};
use crate::db::write::condition::Condition;
use crate::db::write::expire::ExpireReport;
use crate::db::write::load::LoadReport;
use crate::db::write::outcome::{OnDuplicate, Outcome};
use crate::fingerprint::{DocId, Entry, Fingerprint};
use crate::query::Within;

impl<F: Fingerprint> Db<F> {
    /// Inserts a document and returns its id.
    ///
    /// In a database with names or unique ids, a document that exists is updated: it keeps its id
    /// and gets the new fingerprint. In one with user ids, an entry is inserted, and nothing
    /// changes if it exists already (the same fingerprint and id).
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for a key of the wrong kind; `Poisoned` after a failed write; `Closed`;
    /// `Replaced` if the folder is not this database's any more; `NoSpace`; `Io`. A failure of
    /// flush or compaction in the background is not an error of this call, unless the memory for
    /// recent entries is full and cannot be flushed: then nothing was inserted, and the call can be
    /// repeated. [`Stats::background_error`](crate::Stats) shows such failures earlier.
    ///
    /// ```
    /// # let db = fpdb::Db::options().in_memory()?;
    /// db.insert(0b1100, 42)?;
    /// assert_eq!(db.query(0b1101, 3)?[0].id, fpdb::DocId(42));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert<'k>(&self, fingerprint: F, key: impl Into<Stamped<'k>>) -> Result<DocId> {
        let outcome = self.engine().write_one(fingerprint, key.into(), Condition::default())?;
        Ok(outcome.id())
    }

    /// Prepares a write of several documents in one commit. Conditions can be added before
    /// [`run`](Write::run) does it.
    ///
    /// A thousand to ten thousand documents are a good size: more save little time, and each takes
    /// about 700 bytes of memory until the write is done.
    ///
    /// ```
    /// use fpdb::{Db, Ids};
    /// let db = Db::options().ids(Ids::Names).in_memory()?;
    /// let pages: Vec<(u64, String)> = vec![(7, "https://a/".into()), (6, "https://b/".into())];
    /// let outcomes = db.write(&pages).unless_near(3).run()?;
    /// assert_eq!(outcomes.iter().filter(|outcome| outcome.is_duplicate()).count(), 1);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn write<'k, K>(&'k self, documents: &'k [(F, K)]) -> Write<'k, F>
    where
        &'k K: Into<Stamped<'k>>,
    {
        let documents = documents.iter().map(|(fingerprint, key)| (*fingerprint, key.into()));
        Write::new(self.engine(), documents.collect())
    }

    /// Inserts a document unless one is within the database's distance of it, or one with its key
    /// [exists](Outcome::Exists). Of two near documents, at most one is inserted, even if two
    /// threads insert them at the same time. See [`Write::unless_near`] for other distances and
    /// several documents.
    ///
    /// # Errors
    ///
    /// The same as [`insert`](Self::insert).
    ///
    /// ```
    /// use fpdb::{DocId, Outcome};
    /// let db = fpdb::Db::options().in_memory()?;
    /// assert_eq!(db.insert_if_novel(0b1100, 1)?, Outcome::Inserted(DocId(1)));
    /// assert!(db.insert_if_novel(0b1110, 2)?.is_duplicate());
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn insert_if_novel<'k>(
        &self,
        fingerprint: F,
        key: impl Into<Stamped<'k>>,
    ) -> Result<Outcome<F>> {
        let condition = Condition { unless_near: Some(Within::Rule), or_update: None };
        self.engine().write_one(fingerprint, key.into(), condition)
    }

    /// Removes the document with a key: an original or a remembered duplicate. Returns false if
    /// there is none. Compaction frees its space.
    ///
    /// In a database with names, the key can also be the id that the database assigned. In one with
    /// [user ids](crate::Ids::User), this removes all entries with the id, and reads all entries to
    /// find them: [`remove_entry`](Self::remove_entry) is faster.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for a name in a database without names; `Poisoned` after a failed write;
    /// `Closed`; `Replaced`; `Corruption`; `NoSpace` if even the reserve for removals is used up;
    /// `Io`.
    ///
    /// ```
    /// use fpdb::{Db, Ids};
    /// let db = Db::options().ids(Ids::Names).in_memory()?;
    /// let id = db.insert(7, "https://a.example/")?;
    /// db.insert(1 << 40, "https://b.example/")?;
    /// assert!(db.remove(id)? && db.remove("https://b.example/")?);
    /// assert!(!db.remove("https://b.example/")?);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn remove<'k>(&self, key: impl Into<Key<'k>>) -> Result<bool> {
        Ok(self.engine().remove(&[key.into()])? == [true])
    }

    /// Removes one entry. Returns false if it does not exist. With [user ids](crate::Ids::User),
    /// the other entries with the same id stay.
    ///
    /// # Errors
    ///
    /// The same as [`remove`](Self::remove).
    ///
    /// ```
    /// use fpdb::{Db, Ids};
    /// let db = Db::options().ids(Ids::User).in_memory()?;
    /// db.write(&[(7, 1), (9, 1)]).run()?;
    /// assert!(db.remove_entry(7, 1)?);
    /// assert!(!db.remove_entry(7, 1)?);
    /// assert_eq!(db.snapshot().len(), 1);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn remove_entry(&self, fingerprint: F, id: impl Into<DocId>) -> Result<bool> {
        Ok(self.remove_entries(&[Entry { fingerprint, id: id.into() }])? == [true])
    }

    /// Removes entries. Returns for each whether it existed.
    pub(crate) fn remove_entries(&self, entries: &[Entry<F>]) -> Result<Vec<bool>> {
        self.engine().remove_entries(entries)
    }

    /// Writes entries of an index of passages, in one commit.
    #[cfg(feature = "text")]
    pub(crate) fn write_to_index(&self, entries: &[(F, DocId)]) -> Result<()> {
        let entries: Vec<_> =
            entries.iter().map(|&(fingerprint, id)| (fingerprint, Stamped::from(id))).collect();
        self.engine().write_to_index(&entries).map(drop)
    }

    /// Removes entries of an index of passages, in one commit.
    #[cfg(feature = "text")]
    pub(crate) fn remove_from_index(&self, entries: &[Entry<F>]) -> Result<Vec<bool>> {
        self.engine().remove_from_index(entries)
    }

    /// Inserts or updates a document, unless another one is within the database's distance of it.
    /// The old version of the document itself does not count. See [`Outcome`].
    ///
    /// This is what a crawler calls with each page that it visits, new or not. Atomic with respect
    /// to every other writer, like [`insert_if_novel`](Self::insert_if_novel). The same as
    /// [`Write::or_update`] with [`OnDuplicate::Keep`].
    ///
    /// # Errors
    ///
    /// `InvalidArgument` in a database with [user ids](crate::Ids::User), because they do not
    /// identify documents; otherwise the same as [`insert`](Self::insert).
    ///
    /// ```
    /// use fpdb::{Db, DocId, Ids, Outcome};
    /// let db = Db::options().ids(Ids::Unique).in_memory()?;
    /// let id = DocId(7);
    /// assert_eq!(db.upsert_if_novel(0b0000, id)?, Outcome::Inserted(id));
    /// assert_eq!(db.upsert_if_novel(0b0011, id)?, Outcome::Updated { id, from: 0, distance: 2 });
    /// assert_eq!(db.upsert_if_novel(0b0011, id)?, Outcome::Unchanged(id));
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn upsert_if_novel<'k>(
        &self,
        fingerprint: F,
        key: impl Into<Stamped<'k>>,
    ) -> Result<Outcome<F>> {
        let condition =
            Condition { unless_near: Some(Within::Rule), or_update: Some(OnDuplicate::Keep) };
        self.engine().write_one(fingerprint, key.into(), condition)
    }

    /// Raises the stamp of a document; one that is as great or greater stays, as
    /// [`Stamped`](crate::Stamped) says. Returns false if there is no document with this key.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` in a database with [user ids](crate::Ids::User); otherwise the same as
    /// [`insert`](Self::insert).
    ///
    /// ```
    /// use fpdb::{Db, Ids};
    /// let db = Db::options().ids(Ids::Names).in_memory()?;
    /// db.insert(7, "https://example.org/")?;
    /// assert!(db.touch("https://example.org/", 2026)?);
    /// assert!(db.touch("https://example.org/", 2025)?);
    /// assert_eq!(db.get("https://example.org/")?.unwrap().stamp, Some(2026));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn touch<'k>(&self, key: impl Into<Key<'k>>, stamp: u64) -> Result<bool> {
        Ok(self.engine().touch(&[(key.into(), stamp)])? == [true])
    }

    /// Removes all documents whose stamp is less than `before`. Those without a stamp stay, so
    /// nothing is removed if none has one.
    ///
    /// Reads all documents once, in memory that does not grow with their number, and removes a
    /// thousand at a time, so after a failure or a crash some of them are removed. Others can write
    /// in the meantime. Compaction frees the space. If [`on_progress`](Self::on_progress) breaks,
    /// the expiry ends; what was removed stays removed.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` in a database with [user ids](crate::Ids::User); `Cancelled`; otherwise
    /// the same as [`remove`](Self::remove).
    ///
    /// ```
    /// use fpdb::{Db, Ids, Stamped};
    /// let db = Db::options().ids(Ids::Names).in_memory()?;
    /// db.insert(0x00ff, Stamped::new("https://a.example/", 7))?;
    /// db.insert(0xff00, Stamped::new("https://b.example/", 8))?;
    /// assert_eq!(db.expire(8)?.removed, 1);
    /// assert_eq!(db.get("https://a.example/")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn expire(&self, before: u64) -> Result<ExpireReport> {
        self.engine().expire(before)
    }

    /// Loads many entries at once, in any order and without the log: sorts them within
    /// [`bulk_memory`](crate::Options::bulk_memory), on disk beyond that, and writes them as one
    /// segment. They are durable when this returns; after a crash either all are there or none.
    /// If [`on_progress`](Self::on_progress) breaks, nothing is loaded.
    ///
    /// Other writers wait while the tables are written. The database must have
    /// [user ids](crate::Ids::User).
    ///
    /// A load takes much more disk space while it runs than in the end: see
    /// [`bulk_load_space`](Self::bulk_load_space). If the disk has less free space than the least
    /// number of entries by the iterator's [`size_hint`](Iterator::size_hint) needs, nothing is
    /// read.
    ///
    /// # Errors
    ///
    /// The first error among the entries; `InvalidArgument` in a database with names or unique ids;
    /// `Cancelled`; `Poisoned`; `Closed`; `Replaced`; `Corruption`; `NoSpace`; `Io`.
    ///
    /// ```
    /// # let db = fpdb::Db::options().in_memory()?;
    /// use fpdb::{DocId, Entry};
    /// let entries = (0..1000u64).map(|i| Ok(Entry { fingerprint: i << 32, id: DocId(i) }));
    /// assert_eq!(db.bulk_load(entries)?.inserted, 1000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bulk_load(
        &self,
        entries: impl IntoIterator<Item = Result<Entry<F>>>,
    ) -> Result<LoadReport> {
        self.engine().bulk_load(&mut entries.into_iter())
    }

    /// Returns the most bytes of free disk space that a [bulk load](Self::bulk_load) of this many
    /// entries takes while it runs, with the memory and threads of this database, if their ids are
    /// not greater than their number. Random fingerprints of 64 bits take about two thirds of that,
    /// and a quarter in the end. With more [memory](crate::Options::bulk_memory), a load needs
    /// less. Where the file system cannot free parts of a file, many fingerprints with the same
    /// leading bits can take more than this.
    ///
    /// ```
    /// # let db = fpdb::Db::options().in_memory()?;
    /// let bytes = db.bulk_load_space(1_000_000_000);
    /// println!("a load of a billion entries needs up to {bytes} bytes of free disk space");
    /// # assert!(bytes > 16_000_000_000);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    #[must_use]
    pub fn bulk_load_space(&self, entries: u64) -> u64 {
        self.engine().bulk_load_space(entries)
    }
}
