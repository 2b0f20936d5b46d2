//! Creating databases with what they hold.

use std::path::Path;

use crate::db::api::engine::engine;
use crate::db::options::Options;
use crate::db::write::load::LoadReport;
use crate::error::Result;
use crate::fingerprint::{DocId, Document, Entry, Fingerprint};

impl<F: Fingerprint> Options<F> {
    /// Creates a database with [user ids](crate::Ids::User) of `count` entries, or nothing: other
    /// processes can open it when it is complete, and after an error nothing of it is left. If the
    /// process ends before, the same can be repeated.
    ///
    /// Takes entries in any order; equal ones become one. Works within
    /// [`bulk_memory`](Self::bulk_memory). The [kind of ids](Self::ids), if it is set, must be the
    /// user's.
    ///
    /// # Errors
    ///
    /// The first error that `entries` yields; `AlreadyExists` if there is anything at `path`;
    /// `InvalidArgument` if there are not `count` entries, and for options that no database can
    /// have; `Cancelled`; `NoSpace`; `Io`.
    ///
    /// ```
    /// use fpdb::{Db, DocId, Entry};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("db");
    /// let entries = (0..1000).map(|i| Ok(Entry { fingerprint: i << 32, id: DocId(i) }));
    /// let report = Db::options().create_with_entries(&path, 1000, entries)?;
    /// assert_eq!(report.inserted, 1000);
    /// assert!(Db::open(&path)?.snapshot().contains(7 << 32)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_with_entries(
        self,
        path: impl AsRef<Path>,
        count: u64,
        entries: impl IntoIterator<Item = Result<Entry<F>>>,
    ) -> Result<LoadReport> {
        let entries = &mut entries.into_iter().fuse();
        engine::<F>().create_with_entries(self, path.as_ref(), count, entries)
    }

    /// Creates a database of `count` documents, or nothing, as
    /// [`create_with_entries`](Self::create_with_entries) does for entries. The
    /// [kind of ids](Self::ids) must be set to names or unique ids.
    ///
    /// Takes what [`Snapshot::documents`](crate::Snapshot::documents) returns: in ascending order of
    /// names, compared by their bytes, or of unique ids. So documents keep their ids, also in a
    /// database with names, and duplicates the ids of their originals. With names, `next_id` is the
    /// id that the next new name gets, which is greater than all of them; see
    /// [`Snapshot::next_id`](crate::Snapshot::next_id). Works within
    /// [`bulk_memory`](Self::bulk_memory) and about 70 MiB more. Returns the number of documents.
    ///
    /// # Errors
    ///
    /// The first error that `documents` yields; `AlreadyExists` if there is anything at `path`;
    /// `InvalidArgument` for documents that are not `count`, are not in order, have no name where
    /// they need one or an id that is not below the next, and for options that no database can
    /// have; `Corruption` if two documents have the same id; `Cancelled`; `NoSpace`; `Io`.
    ///
    /// ```
    /// use fpdb::{Db, DocId, Document, Ids};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("db");
    /// let named = |name: &str, id| Ok((Some(name.to_owned()), Document::new(7u64, DocId(id))));
    /// let documents = [named("https://a.example/", 4), named("https://b.example/", 2)];
    /// let options = Db::options().ids(Ids::Names);
    /// options.create_with_documents(&path, Some(DocId(10)), 2, documents)?;
    /// let db = Db::open(&path)?;
    /// assert_eq!(db.get("https://b.example/")?.map(|found| found.id), Some(DocId(2)));
    /// assert_eq!(db.insert(9, "https://c.example/")?, DocId(10));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_with_documents(
        self,
        path: impl AsRef<Path>,
        next_id: Option<DocId>,
        count: u64,
        documents: impl IntoIterator<Item = Result<(Option<String>, Document<F>)>>,
    ) -> Result<u64> {
        let documents = &mut documents.into_iter().fuse();
        engine::<F>().create_with_documents(self, path.as_ref(), next_id, count, documents)
    }
}
