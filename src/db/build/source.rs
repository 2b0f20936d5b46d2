//! What a new database is made of.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::base::error::Result;
use crate::db::read::lookup::NamedDocument;
use crate::fingerprint::{DocId, Document, Entry, Fingerprint};

/// What [`Options::build`](crate::Options::build) makes a database of.
///
/// # Examples
///
/// ```
/// use fpdb::{Db, Source};
/// # let folder = tempfile::tempdir()?;
/// # let [monday, week] = ["monday", "week"].map(|name| folder.path().join(name));
/// # Db::options().create(&monday)?.close()?;
/// let report = Db::options().build(&week, Source::databases([&monday]))?;
/// assert_eq!(report.written, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub struct Source<'a, F = u64>(pub(crate) Kind<'a, F>);

pub(crate) enum Kind<'a, F> {
    Databases(Vec<PathBuf>),
    Damaged(PathBuf),
    Entries(u64, Box<Entries<'a, F>>),
    Documents(Option<DocId>, u64, Box<NamedDocuments<'a, F>>),
}

pub(crate) type Entries<'a, F> = dyn Iterator<Item = Result<Entry<F>>> + 'a;
pub(crate) type NamedDocuments<'a, F> = dyn Iterator<Item = Result<NamedDocument<F>>> + 'a;

impl<'a, F: Fingerprint> Source<'a, F> {
    /// Returns the union of databases, or one database, to write it again with other options.
    ///
    /// Other processes may write to the databases; the new one gets what is committed when the
    /// build begins. All must have the same width, recipe, extraction and kind of ids. Options that
    /// are not set are taken from the first one, except that a new maximum distance or similarity
    /// without a layout leads to the layout that a new database would have. Stamps stay. What
    /// becomes of ids depends on their kind:
    ///
    /// - [User ids](crate::Ids::User) stay as they are. Equal entries become one.
    /// - [Unique ids](crate::Ids::Unique) stay as they are. If several databases have a document
    ///   with the same id, the one with the greatest stamp is taken, and of equal stamps the last
    ///   one.
    /// - [Names](crate::Ids::Names) stay as they are, and the same document is taken. The ids of
    ///   the first database stay, too. The ids of each further database are raised by the number of
    ///   ids that the databases before it have assigned. A name that several databases have keeps
    ///   the id that it has in the first of them.
    ///
    /// Indexes of passages can be merged if they have the same seed and settings. A document that
    /// several of them have must have the same text in each.
    ///
    /// The build fails with `Unsupported` if recipes, extractions or widths differ, and with
    /// `InvalidArgument` if there is no database, if kinds of ids differ, or if texts with the same
    /// id do.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::{Db, Ids, Layout, Source};
    /// # let folder = tempfile::tempdir()?;
    /// let [a, b, both, fast] = ["a", "b", "both", "fast"].map(|name| folder.path().join(name));
    /// for (path, name) in [(&a, "https://a.example/"), (&b, "https://b.example/")] {
    ///     let db = Db::options().ids(Ids::Names).create(path)?;
    ///     db.insert(0x00ff, name)?;
    ///     db.close()?;
    /// }
    /// let report = Db::options().build(&both, Source::databases([&a, &b]))?;
    /// assert_eq!(report.written, 2);
    /// let merged = Db::open(&both)?;
    /// assert_eq!(merged.snapshot().name(fpdb::DocId(1))?.as_deref(), Some("https://b.example/"));
    ///
    /// let options = Db::options().layout(Layout::preset("half-2", 64)?);
    /// let _ = options.build(&fast, Source::databases([&both]))?;
    /// assert_eq!(Db::open(&fast)?.stats().tables, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "merge")]
    #[doc(alias = "rebuild")]
    pub fn databases<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Self {
        let paths = paths.into_iter().map(|path| path.as_ref().to_owned());
        Self(Kind::Databases(paths.collect()))
    }

    /// Returns everything that a damaged database still proves. The new database has the same
    /// settings. The damaged one is not changed.
    ///
    /// Every table holds the same fingerprints, and the files of documents say again which entries
    /// there are, so most damage loses nothing: what one file lost, others prove. The report lists
    /// all damage and whatever no file proves any more. Documents whose names are lost keep their
    /// fingerprints, so that near-duplicates of them are still found; such a document is called
    /// `(lost name of id N)`.
    ///
    /// The build reads everything twice or more. It takes memory for the fingerprints of damaged
    /// places, and, if records of documents are lost, for all entries, about 48 bytes each;
    /// otherwise it works within [`bulk_memory`](crate::Options::bulk_memory). It fails with
    /// `Corruption` or `NotFound` if both the manifest and its copy are lost, and with
    /// `Unsupported` for a database of another version or width.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::{Db, Source};
    /// # let folder = tempfile::tempdir()?;
    /// let [broken, repaired] = ["broken", "repaired"].map(|name| folder.path().join(name));
    /// let db = Db::options().create(&broken)?;
    /// db.insert(7, 1)?;
    /// db.close()?;
    /// // One table is lost.
    /// let is_table = |name: &str| name.ends_with(".t00");
    /// for file in std::fs::read_dir(&broken)? {
    ///     let path = file?.path();
    ///     if path.to_str().is_some_and(is_table) {
    ///         std::fs::remove_file(path)?;
    ///     }
    /// }
    /// let report = Db::options().build(&repaired, Source::damaged(&broken))?;
    /// assert_eq!((report.damage.len(), report.losses.len()), (1, 0));
    /// assert_eq!((report.read, report.written), (1, 1));
    /// assert!(Db::open(&repaired)?.snapshot().contains(7)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "repair")]
    pub fn damaged(path: impl AsRef<Path>) -> Self {
        Self(Kind::Damaged(path.as_ref().to_owned()))
    }

    /// Returns `count` entries for a database with [user ids](crate::Ids::User), in any order;
    /// equal ones become one. The [kind of ids](crate::Options::ids), if it is set, must be the
    /// user's.
    ///
    /// The build fails with the first error that `entries` yields, and with `InvalidArgument` if
    /// there are not `count` entries.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::{Db, DocId, Entry, Source};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("db");
    /// let entries = (0..1000).map(|i| Ok(Entry { fingerprint: i << 32, id: DocId(i) }));
    /// let report = Db::options().build(&path, Source::entries(1000, entries))?;
    /// assert_eq!(report.written, 1000);
    /// assert!(Db::open(&path)?.snapshot().contains(7 << 32)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn entries<I>(count: u64, entries: I) -> Self
    where
        I: IntoIterator<Item = Result<Entry<F>>, IntoIter: 'a>,
    {
        Self(Kind::Entries(count, Box::new(entries.into_iter().fuse())))
    }

    /// Returns `count` documents for a database whose [kind of ids](crate::Options::ids) is set to
    /// names or unique ids.
    ///
    /// Takes what [`Snapshot::documents`](crate::Snapshot::documents) returns: in ascending order
    /// of names, compared by their bytes, or of unique ids. Documents keep their ids, in a database
    /// with names too, and duplicates keep the ids of their originals. With names, `next_id` is the
    /// id that the next new name gets, which is greater than all of them; see
    /// [`Snapshot::next_id`](crate::Snapshot::next_id). The build takes about 70 MiB in addition to
    /// [`bulk_memory`](crate::Options::bulk_memory).
    ///
    /// The build fails with the first error that `documents` yields, with `InvalidArgument` if
    /// there are not `count` documents, if they are not in order, if one lacks the name that it
    /// needs, or if an id is not below the next, and with `Corruption` if two documents have the
    /// same id.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::{Db, DocId, Document, Ids, Source};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("db");
    /// let named = |name: &str, id| Ok((Some(name.to_owned()), Document::new(7u64, DocId(id))));
    /// let documents = [named("https://a.example/", 4), named("https://b.example/", 2)];
    /// let source = Source::documents(Some(DocId(10)), 2, documents);
    /// let _ = Db::options().ids(Ids::Names).build(&path, source)?;
    /// let db = Db::open(&path)?;
    /// assert_eq!(db.get("https://b.example/")?.map(|found| found.id), Some(DocId(2)));
    /// assert_eq!(db.insert(9, "https://c.example/")?, DocId(10));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn documents<I>(next_id: Option<DocId>, count: u64, documents: I) -> Self
    where
        I: IntoIterator<Item = Result<(Option<String>, Document<F>)>, IntoIter: 'a>,
    {
        Self(Kind::Documents(next_id, count, Box::new(documents.into_iter().fuse())))
    }
}

impl<F> fmt::Debug for Source<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Databases(paths) => f.debug_tuple("databases").field(paths).finish(),
            Kind::Damaged(path) => f.debug_tuple("damaged").field(path).finish(),
            Kind::Entries(count, _) => f.debug_tuple("entries").field(count).finish(),
            Kind::Documents(next_id, count, _) => {
                f.debug_tuple("documents").field(next_id).field(count).finish()
            }
        }
    }
}
