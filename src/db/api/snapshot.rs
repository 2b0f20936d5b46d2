//! Snapshots: the database at one moment, for reading.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::base::error::Result;
use crate::base::progress::{Progress, Watch};
use crate::db::api::engine::ReadEngine;
use crate::db::api::iterators::{Documents, Iter};
use crate::db::read::block::Block;
use crate::db::read::reader::Reader;
use crate::db::read::verify::{VerifyLevel, VerifyReport};
use crate::db::state::key::Key;
use crate::fingerprint::{DocId, Document, Entry, Fingerprint, Match};
use crate::query::{Answers, Explanation, QueryOptions, Within};

/// The database as it was when [`Db::snapshot`](crate::Db::snapshot) was called. A snapshot is
/// cheap to take and to clone, holds no lock and never changes. The files that it reads are not
/// removed as long as it exists.
///
/// # Examples
///
/// ```
/// use fpdb::{DocId, Entry};
/// let db = fpdb::Db::options().in_memory()?;
/// db.insert(0b1010, 1)?;
/// let before = db.snapshot();
/// db.write(&[(0b1011, 3), (0b1011, 2)]).run()?;
/// assert_eq!(before.query(0b1010, 3)?.len(), 1);
/// let now = db.snapshot();
/// assert_eq!(now.query(0b1010, 3)?.len(), 3);
/// assert_eq!(now.nearest(0b1110, 3)?.map(|found| found.id), Some(DocId(1)));
/// let answers = now.query_batch(&[0b1010, u64::MAX], 3)?;
/// assert_eq!((answers[0].len(), answers[1].len()), (3, 0));
///
/// assert!(now.contains(0b1011)? && !before.contains(0b1011)?);
/// assert_eq!(now.ids(0b1011)?, [DocId(2), DocId(3)]);
/// assert!(now.len() == 3 && !now.is_empty());
/// let first = now.iter().next().transpose()?;
/// assert_eq!(first, Some(Entry { fingerprint: 0b1010, id: DocId(1) }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Documents and their names:
///
/// ```
/// use fpdb::{Db, DocId, Ids};
/// let db = Db::options().ids(Ids::Names).in_memory()?;
/// let (b, a) = (db.insert(7, "https://b.example/")?, db.insert(9, "https://a.example/")?);
/// db.remove(db.insert(8, "https://c.example/")?)?;
/// let snapshot = db.snapshot();
/// assert_eq!(snapshot.get("https://b.example/")?.map(|found| found.fingerprint), Some(7));
/// assert_eq!(snapshot.get("https://c.example/")?, None);
/// assert_eq!(snapshot.name(b)?.as_deref(), Some("https://b.example/"));
/// assert_eq!(snapshot.names(&[DocId(2), a])?, [None, Some("https://a.example/".to_owned())]);
/// assert_eq!(snapshot.next_id(), Some(DocId(3)));
/// let names: fpdb::Result<Vec<_>> = snapshot.documents()?.map(|found| Ok(found?.0)).collect();
/// let expected = ["https://a.example/", "https://b.example/"];
/// assert_eq!(names?.into_iter().flatten().collect::<Vec<_>>(), expected);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Snapshot<F: Fingerprint = u64> {
    engine: Arc<dyn ReadEngine<F>>,
}

impl<F: Fingerprint> fmt::Debug for Snapshot<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("commit", &self.reader().seq).finish_non_exhaustive()
    }
}

impl<F: Fingerprint> Snapshot<F> {
    pub(crate) fn new(engine: Arc<dyn ReadEngine<F>>) -> Self {
        Self { engine }
    }

    pub(crate) fn reader(&self) -> &Reader<F> {
        self.engine.reader()
    }

    pub(super) fn engine(&self) -> &dyn ReadEngine<F> {
        &*self.engine
    }

    /// Returns this snapshot with a function for the progress of its long operations: large batches
    /// of queries, [`verify`](Self::verify), [`pairs`](Self::pairs), [`clusters`](Self::clusters)
    /// and [`join`](Self::join). See [`Db::on_progress`](crate::Db::on_progress).
    ///
    /// ```
    /// # let db = fpdb::Db::options().in_memory()?;
    /// use std::ops::ControlFlow;
    /// use std::time::{Duration, Instant};
    /// db.insert(0b1100, 1)?;
    /// let deadline = Instant::now() + Duration::from_secs(60);
    /// let snapshot = db.snapshot().on_progress(move |_| match Instant::now() > deadline {
    ///     true => ControlFlow::Break(()),
    ///     false => ControlFlow::Continue(()),
    /// });
    /// assert_eq!(snapshot.query_batch(&[0b1101, u64::MAX], 3)?.matches().len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn on_progress(
        self,
        report: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        Self { engine: self.engine.watched(Watch::new(report)) }
    }

    /// Returns every entry within a distance of `fingerprint`, each once, sorted by distance,
    /// fingerprint and id. `options` is the distance in bits, or [`QueryOptions`], which can also
    /// limit the number of matches.
    ///
    /// Exact at any distance. Takes microseconds up to the database's own distance and more beyond
    /// it. Where a scan is predicted to be cheaper, everything is scanned.
    ///
    /// # Errors
    ///
    /// `Corruption` or `Io`. There are no partial answers.
    ///
    /// ```
    /// # let db = fpdb::Db::options().in_memory()?;
    /// use fpdb::QueryOptions;
    /// db.insert(0b1100, 1)?;
    /// db.insert(0b1111, 2)?;
    /// let snapshot = db.snapshot();
    /// let matches = snapshot.query(0b1101, 3)?;
    /// let found: Vec<_> = matches.iter().map(|m| (m.id.0, m.distance)).collect();
    /// assert_eq!(found, [(1, 1), (2, 1)]);
    /// assert_eq!(snapshot.query(0b1101, QueryOptions::within(3).limit(1))?, matches[..1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn query(&self, fingerprint: F, options: impl Into<QueryOptions>) -> Result<Vec<Match<F>>> {
        self.engine.query(fingerprint, options.into())
    }

    /// Does what [`query`](Self::query) does, and says how: which prefixes of which tables it
    /// looked up, and what it read. The same code answers, so nothing is different from a query
    /// without an explanation.
    ///
    /// # Errors
    ///
    /// The same as [`query`](Self::query).
    ///
    /// ```
    /// let layout = fpdb::Layout::preset("ring-4", 64)?;
    /// let db = fpdb::Db::options().layout(layout).in_memory()?;
    /// db.write(&[(0b1100, 1), (0b1111, 2)]).run()?;
    /// db.flush()?;
    /// let found = db.snapshot().explain(0b1101, 3)?;
    /// assert_eq!((found.matches.len(), found.read.matches), (2, 2));
    /// let planned = &found.segments[0].tables;
    /// let lookups: usize = planned.iter().map(|table| table.lookups).sum();
    /// assert_eq!(found.read.lookups, lookups as u64);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn explain(
        &self,
        fingerprint: F,
        options: impl Into<QueryOptions>,
    ) -> Result<Explanation<F>> {
        self.engine.explain(fingerprint, options.into())
    }

    /// Returns the answers to several queries, in their order.
    ///
    /// A large batch is faster than one query after another: it is sorted, and each table is
    /// decoded once for all of it, from beginning to end, by all
    /// [threads](crate::Options::threads). It takes up to about 70 MiB of memory besides the
    /// answers.
    ///
    /// All answers are in memory at the same time, with 24 bytes per match (48 at 128 bits). In a
    /// crowd of near fingerprints, they can be more than memory holds:
    /// [`join_list`](Self::join_list) passes them on in bounded memory.
    ///
    /// # Errors
    ///
    /// The same as [`query`](Self::query), and `Cancelled`. There are no partial answers.
    pub fn query_batch(&self, fingerprints: &[F], within: impl Into<Within>) -> Result<Answers<F>> {
        self.engine.query_batch(fingerprints, within.into())
    }

    /// Returns the nearest entry within `distance` bits. If several are equally near, returns
    /// the one with the lowest fingerprint and, among those, the lowest id.
    ///
    /// # Errors
    ///
    /// The same as [`query`](Self::query).
    pub fn nearest(&self, fingerprint: F, within: impl Into<Within>) -> Result<Option<Match<F>>> {
        self.engine.nearest(fingerprint, within.into())
    }

    /// Returns whether any entry has exactly this fingerprint.
    ///
    /// # Errors
    ///
    /// The same as [`query`](Self::query).
    pub fn contains(&self, fingerprint: F) -> Result<bool> {
        let nearest = self.nearest(fingerprint, 0)?;
        // Other sketches may have the same minima.
        match nearest.map(|found| found.fingerprint == fingerprint) {
            Some(false) => Ok(!self.ids(fingerprint)?.is_empty()),
            found => Ok(found.is_some()),
        }
    }

    /// Returns the ids of all entries with exactly this fingerprint, ascending.
    ///
    /// # Errors
    ///
    /// The same as [`query`](Self::query).
    pub fn ids(&self, fingerprint: F) -> Result<Vec<DocId>> {
        self.engine.ids(fingerprint)
    }

    /// Returns an iterator over all entries, by fingerprint and then id. In a database of sketches,
    /// these are the originals, in the order of their keys: by id, or by name as bytes. It ends
    /// after an error.
    #[must_use]
    pub fn iter(&self) -> Iter<'_, F> {
        Iter(self.engine.iter())
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.engine.len()
    }

    /// Returns whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns what is known about the document with this key. Finds originals and remembered
    /// duplicates. Takes a few microseconds, or one or two reads of the disk per segment that has
    /// the key.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for a key of the wrong kind, and in a database with
    /// [user ids](crate::Ids::User); otherwise the same as [`query`](Self::query).
    pub fn get<'k>(&self, key: impl Into<Key<'k>>) -> Result<Option<Document<F>>> {
        self.engine.get(key.into())
    }

    /// Returns the name of a document, in a database with names; `None` if no document has this id.
    ///
    /// # Errors
    ///
    /// The same as [`query`](Self::query).
    pub fn name(&self, id: DocId) -> Result<Option<String>> {
        self.engine.name(id)
    }

    /// Returns the names of several documents, in the order of `ids`.
    ///
    /// # Errors
    ///
    /// The same as [`query`](Self::query).
    pub fn names(&self, ids: &[DocId]) -> Result<Vec<Option<String>>> {
        self.engine.names(ids)
    }

    /// Returns the id that the next new name gets, in a database with names; otherwise `None`. No
    /// document has this id or a greater one. Ids of removed documents do not come back.
    #[must_use]
    pub fn next_id(&self) -> Option<DocId> {
        self.reader().next_id()
    }

    /// Returns an iterator over all documents with their names, in the order of names or, in a
    /// database with unique ids, of ids. It ends after an error.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` in a database with [user ids](crate::Ids::User); otherwise the same as
    /// [`query`](Self::query).
    pub fn documents(&self) -> Result<Documents<'_, F>> {
        self.engine.documents(None).map(Documents)
    }

    /// Returns an iterator over the documents whose keys are greater than this one, which need not
    /// exist. Names that begin with the same prefix follow it, so this finds the pages of one site,
    /// for example. To find the first document takes as long as [`get`](Self::get).
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for a key of the wrong kind; otherwise the same as
    /// [`documents`](Self::documents).
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::{Db, Ids};
    /// let db = Db::options().ids(Ids::Names).in_memory()?;
    /// for (fingerprint, name) in [(1, "a.org/1"), (2, "b.org/1"), (3, "b.org/2"), (4, "c.org/1")] {
    ///     db.insert(fingerprint, name)?;
    /// }
    /// let mut names = Vec::new();
    /// for document in db.snapshot().documents_after("b.org/")? {
    ///     let (Some(name), _) = document? else { continue };
    ///     if !name.starts_with("b.org/") {
    ///         break;
    ///     }
    ///     names.push(name);
    /// }
    /// assert_eq!(names, ["b.org/1", "b.org/2"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn documents_after<'k>(&self, key: impl Into<Key<'k>>) -> Result<Documents<'_, F>> {
        self.engine.documents(Some(key.into())).map(Documents)
    }

    /// Reads every byte of every segment, and checks it as thoroughly as the level says:
    /// [`VerifyLevel`] lists what each does. [`Full`](VerifyLevel::Full) takes as long as reading
    /// and decoding all files.
    ///
    /// Damage is reported once. If a page of a file is damaged, that page is reported, and not what
    /// follows from it.
    ///
    /// # Errors
    ///
    /// Only `Cancelled`. Damage is not an error: the returned report lists it.
    pub fn verify(&self, level: VerifyLevel) -> Result<VerifyReport> {
        self.engine.verify(level)
    }

    /// Returns a block, which is what a query decodes of a table, and how it stores each
    /// fingerprint. Checks it strictly. A segment is identified by its
    /// [number](crate::reports::SegmentStats::id), a table and a block by their positions.
    ///
    /// # Errors
    ///
    /// `InvalidArgument`, which says what there is, if there is no such segment, table or block,
    /// and in a database of sketches; `Corruption` or `Io`.
    ///
    /// ```
    /// let layout = fpdb::Layout::preset("half-2", 64)?;
    /// let db = fpdb::Db::options().layout(layout).in_memory()?;
    /// db.insert(0x0000_0002_0000_0001, 1)?;
    /// db.insert(0x0000_0001_0000_0002, 2)?;
    /// db.flush()?;
    /// let segment = db.stats().segments[0].id;
    /// // The second table of this layout begins with the lower half of the fingerprint.
    /// let block = db.snapshot().block(segment, 1, 0)?;
    /// assert_eq!(block.rows[0].fingerprint, 0x0000_0002_0000_0001);
    /// assert_eq!(block.rows[1].permuted, 0x0000_0002_0000_0001);
    /// // Its highest bit that differs from the one before is bit 33. The only codeword is 0.
    /// assert_eq!((block.rows[1].h, block.rows[1].codeword.as_str()), (Some(33), "0"));
    /// assert_eq!(block.rows[1].remaining, format!("{:033b}", 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn block(&self, segment: u64, table: usize, block: u64) -> Result<Block<F>> {
        self.engine.block(segment, table, block)
    }
}

impl<'a, F: Fingerprint> IntoIterator for &'a Snapshot<F> {
    type Item = Result<Entry<F>>;
    type IntoIter = Iter<'a, F>;

    fn into_iter(self) -> Iter<'a, F> {
        self.iter()
    }
}
