//! The writing methods of a handle.

use std::io;
use std::ops::ControlFlow;

use super::Db;
use crate::db::entries::Novelty;
use crate::db::expire::{self, ExpireReport};
use crate::db::key::{Key, Stamped};
use crate::db::load::{self, LoadReport};
use crate::db::upsert::{Outcome, UpsertOptions};
use crate::db::write;
use crate::error::{Error, Result};
use crate::fingerprint::{DocId, Entry, Fingerprint};
use crate::progress::Progress;

impl<F: Fingerprint> Db<F> {
    /// Inserts a document and returns its id.
    ///
    /// In a database with names or unique ids, a document that exists is updated: it keeps its id
    /// and gets the new fingerprint. In one with user ids, an entry is inserted, and nothing changes
    /// if it exists already (the same fingerprint and id).
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
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// db.insert(0b1100, 42)?;
    /// assert_eq!(db.query(0b1101, 3)?[0].id, fpdb::DocId(42));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert<'k>(&self, fingerprint: F, key: impl Into<Stamped<'k>>) -> Result<DocId> {
        let ids = write::insert(self.writable()?, &[(fingerprint, key.into())])?;
        Ok(ids.first().copied().unwrap_or_default())
    }

    /// Inserts several entries in one commit: after a crash either all are there or none. Returns
    /// the documents' ids in the order of `documents`.
    ///
    /// # Errors
    ///
    /// The same as [`insert`](Self::insert), and `InvalidArgument` for more than 2 GiB of entries. Then
    /// nothing is inserted.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// use fpdb::{Db, Ids};
    /// let db = Db::options().ids(Ids::Names).create(folder.path().join("db"))?;
    /// let pages: Vec<(u64, String)> = vec![(7, "https://a/".into()), (9, "https://b/".into())];
    /// assert_eq!(db.insert_batch(&pages)?.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_batch<'k, K>(&self, documents: &'k [(F, K)]) -> Result<Vec<DocId>>
    where
        &'k K: Into<Stamped<'k>>,
    {
        write::insert(self.writable()?, &with_keys(documents))
    }

    /// Inserts a document unless an entry is within the database's distance of it. Returns the new
    /// document's id, or the nearest such entry.
    ///
    /// Atomic with respect to every other writer: two documents within that distance of each other
    /// are never both inserted. Under [`Durability::Sync`](crate::Durability::Sync), an entry
    /// reported as the match of a duplicate is as durable as an inserted one.
    ///
    /// # Errors
    ///
    /// The same as [`insert`](Self::insert).
    ///
    /// ```
    /// use fpdb::Novelty;
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// assert!(matches!(db.insert_if_novel(0b1100, 1)?, Novelty::Inserted(_)));
    /// assert!(matches!(db.insert_if_novel(0b1101, 2)?, Novelty::Duplicate(_)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_if_novel<'k>(
        &self,
        fingerprint: F,
        key: impl Into<Stamped<'k>>,
    ) -> Result<Novelty<F>> {
        self.insert_if_novel_within(fingerprint, key, self.max_distance())
    }

    /// Does the same as [`insert_if_novel`](Self::insert_if_novel), with a distance other than
    /// the database's. Create the database with the largest distance that you need: smaller ones
    /// cost less, larger ones more.
    ///
    /// Two documents within `distance` of each other are never both inserted, if all writers use at
    /// least this distance.
    ///
    /// # Errors
    ///
    /// The same as [`insert`](Self::insert).
    ///
    /// ```
    /// use fpdb::Novelty;
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().max_distance(6).create(folder.path().join("db"))?;
    /// db.insert(0b1100, 1)?;
    /// assert!(matches!(db.insert_if_novel_within(0b0000, 2, 1)?, Novelty::Inserted(_)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_if_novel_within<'k>(
        &self,
        fingerprint: F,
        key: impl Into<Stamped<'k>>,
        distance: u32,
    ) -> Result<Novelty<F>> {
        let document = [(fingerprint, key.into())];
        let novelties = write::insert_if_novel(self.writable()?, &document, distance, |_| Ok(()))?;
        novelties.into_iter().next().ok_or_else(|| Error::invalid("no document was given"))
    }

    /// Does the same as [`insert_if_novel`](Self::insert_if_novel) for several documents in turn,
    /// in one commit. A document may be a duplicate of one before it in the batch.
    ///
    /// # Errors
    ///
    /// The same as [`insert`](Self::insert), and `InvalidArgument` for more than 2 GiB of entries. Then
    /// nothing is inserted.
    ///
    /// ```
    /// use fpdb::Novelty;
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// let novelties = db.insert_if_novel_batch(&[(0b0001, 1), (0b0011, 2)])?;
    /// assert!(matches!(novelties[1], Novelty::Duplicate(m) if m.id == fpdb::DocId(1)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_if_novel_batch<'k, K>(&self, documents: &'k [(F, K)]) -> Result<Vec<Novelty<F>>>
    where
        &'k K: Into<Stamped<'k>>,
    {
        self.insert_if_novel_batch_with(documents, self.max_distance(), |_| Ok(()))
    }

    /// Does the same as [`insert_if_novel_batch`](Self::insert_if_novel_batch) with a distance of
    /// your choice, and shows the decisions to `before_commit` before anything is written. Whatever
    /// it does with the novel documents is done before they count as seen.
    ///
    /// Other writers wait in the meantime. So `before_commit` must not write to this database: it
    /// would wait for itself.
    ///
    /// # Errors
    ///
    /// The same as [`insert`](Self::insert), or the error of `before_commit`. Then nothing is
    /// inserted.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// use fpdb::Novelty;
    /// let mut novel = 0;
    /// let novelties = db.insert_if_novel_batch_with(&[(0b0001, 1), (0b0011, 2)], 3, |novelties| {
    ///     novel = novelties.iter().filter(|n| matches!(n, Novelty::Inserted(_))).count();
    ///     Ok(()) // a real program prints or stores them here
    /// })?;
    /// assert_eq!((novel, novelties.len()), (1, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_if_novel_batch_with<'k, K>(
        &self,
        documents: &'k [(F, K)],
        distance: u32,
        before_commit: impl FnOnce(&[Novelty<F>]) -> io::Result<()>,
    ) -> Result<Vec<Novelty<F>>>
    where
        &'k K: Into<Stamped<'k>>,
    {
        write::insert_if_novel(self.writable()?, &with_keys(documents), distance, before_commit)
    }

    /// Removes an entry. Returns false if it does not exist. Compaction frees its space.
    ///
    /// # Errors
    ///
    /// `Poisoned` after a failed write; `Closed`; `Replaced`; `Corruption`; `NoSpace` if even the
    /// reserve for removals is used up; `Io`.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// db.insert(7, 1)?;
    /// assert!(db.remove(7, 1)?);
    /// assert!(!db.remove(7, 1)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove(&self, fingerprint: F, id: impl Into<DocId>) -> Result<bool> {
        write::remove(self.writable()?, Entry { fingerprint, id: id.into() })
    }

    /// Removes the document with this name: an original or a remembered duplicate. Returns false if
    /// there is none.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` in a database without names; otherwise the same as
    /// [`remove`](Self::remove).
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// use fpdb::{Db, Ids};
    /// let db = Db::options().ids(Ids::Names).create(folder.path().join("db"))?;
    /// db.insert(7, "https://example.org/")?;
    /// assert!(db.remove_by_name("https://example.org/")?);
    /// assert!(!db.remove_by_name("https://example.org/")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove_by_name(&self, name: &str) -> Result<bool> {
        let removed = write::remove_documents(self.writable()?, &[Key::Name(name)])?;
        Ok(removed == [true])
    }

    /// Removes the document with this id. Returns false if there is none. In a database with user
    /// ids, this removes all entries with the id, and reads all entries to find them.
    ///
    /// # Errors
    ///
    /// The same as [`remove`](Self::remove).
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// use fpdb::{Db, Ids};
    /// let db = Db::options().ids(Ids::Unique).create(folder.path().join("db"))?;
    /// db.insert(7, 42)?;
    /// assert!(db.remove_by_id(42)?);
    /// assert!(!db.remove_by_id(42)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove_by_id(&self, id: impl Into<DocId>) -> Result<bool> {
        write::remove_by_id(self.writable()?, &self.readable()?, id.into())
    }

    /// Inserts or updates a document, unless another one is within the database's distance of it.
    /// The old version of the document itself does not count. See [`Outcome`].
    ///
    /// This is what a crawler calls with each page that it visits, new or not. Atomic with respect to
    /// every other writer, like [`insert_if_novel`](Self::insert_if_novel).
    ///
    /// # Errors
    ///
    /// `InvalidArgument` in a database with [user ids](crate::Ids::User), because they do not
    /// identify documents; otherwise the same as [`insert`](Self::insert).
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// use fpdb::{Db, DocId, Ids, Outcome};
    /// let db = Db::options().ids(Ids::Unique).create(folder.path().join("db"))?;
    /// assert_eq!(db.upsert_if_novel(0b0000, 7)?, Outcome::Inserted(DocId(7)));
    /// assert_eq!(db.upsert_if_novel(0b0011, 7)?, Outcome::Updated { from: 0b0000, distance: 2 });
    /// assert_eq!(db.upsert_if_novel(0b0011, 7)?, Outcome::Unchanged);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn upsert_if_novel<'k>(
        &self,
        fingerprint: F,
        key: impl Into<Stamped<'k>>,
    ) -> Result<Outcome<F>> {
        self.upsert_if_novel_with(fingerprint, key, &UpsertOptions::new())
    }

    /// Does the same as [`upsert_if_novel`](Self::upsert_if_novel) with a distance of your choice,
    /// and with your choice of what becomes of the key of a duplicate.
    ///
    /// # Errors
    ///
    /// The same as [`upsert_if_novel`](Self::upsert_if_novel).
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// use fpdb::{Db, Ids, OnDuplicate, Outcome, UpsertOptions};
    /// let db = Db::options().ids(Ids::Unique).create(folder.path().join("db"))?;
    /// let _ = db.upsert_if_novel(0b0000, 1)?;
    /// let _ = db.upsert_if_novel(0b1111_0000, 2)?;
    /// // Document 2 is now like document 1, so its old version goes.
    /// let options = UpsertOptions::new().on_duplicate(OnDuplicate::Remove);
    /// let outcome = db.upsert_if_novel_with(0b0001, 2, &options)?;
    /// assert!(matches!(outcome, Outcome::Duplicate(found) if found.id.0 == 1));
    /// assert_eq!(db.get(2)?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn upsert_if_novel_with<'k>(
        &self,
        fingerprint: F,
        key: impl Into<Stamped<'k>>,
        options: &UpsertOptions,
    ) -> Result<Outcome<F>> {
        let document = [(fingerprint, key.into())];
        let outcomes = write::upsert_if_novel(self.writable()?, &document, *options, |_| Ok(()))?;
        outcomes.into_iter().next().ok_or_else(|| Error::invalid("no document was given"))
    }

    /// Does the same as [`upsert_if_novel_with`](Self::upsert_if_novel_with) for several documents in
    /// turn, in one commit. A document may be a duplicate of one before it in the batch, and a key
    /// may occur again.
    ///
    /// `before_commit` sees the outcomes before anything is written; see
    /// [`insert_if_novel_batch_with`](Self::insert_if_novel_batch_with).
    ///
    /// # Errors
    ///
    /// The same as [`upsert_if_novel`](Self::upsert_if_novel), or the error of `before_commit`. Then
    /// nothing is written.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// use fpdb::{Db, Ids, Outcome, UpsertOptions};
    /// let db = Db::options().ids(Ids::Names).create(folder.path().join("db"))?;
    /// let pages = [(0b0000, "https://a.example/"), (0b0001, "https://b.example/")];
    /// let outcomes = db.upsert_if_novel_batch(&pages, &UpsertOptions::new(), |_| Ok(()))?;
    /// assert!(matches!(outcomes[..], [Outcome::Inserted(_), Outcome::Duplicate(_)]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn upsert_if_novel_batch<'k, K>(
        &self,
        documents: &'k [(F, K)],
        options: &UpsertOptions,
        before_commit: impl FnOnce(&[Outcome<F>]) -> io::Result<()>,
    ) -> Result<Vec<Outcome<F>>>
    where
        &'k K: Into<Stamped<'k>>,
    {
        write::upsert_if_novel(self.writable()?, &with_keys(documents), *options, before_commit)
    }

    /// Gives a document a new stamp. Returns false if there is no document with this key.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` in a database with [user ids](crate::Ids::User); otherwise the same as
    /// [`insert`](Self::insert).
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// use fpdb::{Db, Ids};
    /// let db = Db::options().ids(Ids::Names).create(folder.path().join("db"))?;
    /// db.insert(7, "https://example.org/")?;
    /// assert!(db.touch("https://example.org/", 2026)?);
    /// assert_eq!(db.get("https://example.org/")?.unwrap().stamp, Some(2026));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn touch<'k>(&self, key: impl Into<Key<'k>>, stamp: u64) -> Result<bool> {
        let touched = write::touch(self.writable()?, &[key.into()], stamp)?;
        Ok(touched == [true])
    }

    /// Removes all documents whose stamp is less than `before`. Those without a stamp stay.
    ///
    /// Reads all documents once, in memory that does not grow with their number, and removes a
    /// thousand at a time, so after a failure or a crash some of them are removed. Others can write
    /// in the meantime. Compaction frees the space.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` in a database with [user ids](crate::Ids::User), and if no document has a
    /// stamp; otherwise the same as [`remove`](Self::remove).
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// use fpdb::{Db, Ids, Stamped};
    /// let db = Db::options().ids(Ids::Names).create(folder.path().join("db"))?;
    /// db.insert(0x00ff, Stamped::new("https://a.example/", 7))?;
    /// db.insert(0xff00, Stamped::new("https://b.example/", 8))?;
    /// assert_eq!(db.expire(8)?.removed, 1);
    /// assert!(!db.contains_name("https://a.example/")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn expire(&self, before: u64) -> Result<ExpireReport> {
        self.expire_with(before, |_| ControlFlow::Continue(()))
    }

    /// Does the same as [`expire`](Self::expire) and reports its progress. If `report` returns
    /// `Break`, the expiry ends; what was removed stays removed.
    ///
    /// # Errors
    ///
    /// The same as [`expire`](Self::expire); `Cancelled` if `report` returns `Break`.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// # let folder = tempfile::tempdir()?;
    /// use fpdb::{Db, Ids, Stamped};
    /// let db = Db::options().ids(Ids::Names).create(folder.path().join("db"))?;
    /// db.insert(0x00ff, Stamped::new("https://a.example/", 7))?;
    /// let report = db.expire_with(8, |progress| {
    ///     println!("{} documents examined", progress.done);
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!(report.removed, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn expire_with(
        &self,
        before: u64,
        mut report: impl FnMut(Progress) -> ControlFlow<()> + Send,
    ) -> Result<ExpireReport> {
        expire::expire(self.writable()?, &self.readable()?, before, &mut report)
    }

    /// Loads many entries at once, in any order and without the log: sorts them within
    /// [`bulk_memory`](crate::Options::bulk_memory), on disk beyond that, and writes them as one
    /// segment. They are durable when this returns; after a crash either all are there or none.
    ///
    /// Other writers wait while the tables are written. The database must have
    /// [user ids](crate::Ids::User).
    ///
    /// # Errors
    ///
    /// The first error among the entries; `InvalidArgument` in a database with names; `Poisoned`;
    /// `Closed`; `Replaced`; `Corruption`; `NoSpace`; `Io`.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// use fpdb::{DocId, Entry};
    /// let entries = (0..1000u64).map(|i| Ok(Entry { fingerprint: i << 32, id: DocId(i) }));
    /// assert_eq!(db.bulk_load(entries)?.inserted, 1000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bulk_load(
        &self,
        entries: impl IntoIterator<Item = Result<Entry<F>>>,
    ) -> Result<LoadReport> {
        self.bulk_load_with(entries, |_| ControlFlow::Continue(()))
    }

    /// Does the same as [`bulk_load`](Self::bulk_load) and reports its progress. If `report`
    /// breaks, nothing is loaded.
    ///
    /// `report` may be called from any of the [threads](crate::Options::threads), by one at a time,
    /// while the others wait for it. It must not write to this database: it would wait for itself.
    ///
    /// # Errors
    ///
    /// The same as [`bulk_load`](Self::bulk_load), and `Cancelled` if `report` broke.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// use fpdb::{DocId, Entry, ErrorKind};
    /// use std::ops::ControlFlow;
    /// let entries = (0..1000u64).map(|i| Ok(Entry { fingerprint: i << 32, id: DocId(i) }));
    /// let loaded = db.bulk_load_with(entries, |progress| {
    ///     eprintln!("{:?}: {} of {:?}", progress.phase, progress.done, progress.total);
    ///     ControlFlow::Break(())
    /// });
    /// assert_eq!(loaded.unwrap_err().kind(), ErrorKind::Cancelled);
    /// assert!(db.snapshot().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bulk_load_with(
        &self,
        entries: impl IntoIterator<Item = Result<Entry<F>>>,
        mut report: impl FnMut(Progress) -> ControlFlow<()> + Send,
    ) -> Result<LoadReport> {
        load::load(self.writable()?, entries, &mut report)
    }
}

/// Converts the keys of a batch.
fn with_keys<'k, F: Fingerprint, K>(documents: &'k [(F, K)]) -> Vec<(F, Stamped<'k>)>
where
    &'k K: Into<Stamped<'k>>,
{
    documents.iter().map(|(fingerprint, key)| (*fingerprint, key.into())).collect()
}
