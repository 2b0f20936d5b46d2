//! Joins.

use std::ops::ControlFlow;

use crate::base::error::Result;
use crate::db::api::snapshot::Snapshot;
use crate::db::read::join::{JoinOptions, JoinReport, Other};
use crate::db::read::pairs::Pair;
use crate::fingerprint::{Entry, Fingerprint};
use crate::query::Within;

/// A search for the entries of one database that are near entries of another, or of a list. Made by
/// [`Snapshot::join`] and [`Snapshot::join_list`].
///
/// # Examples
///
/// ```
/// use std::ops::ControlFlow;
///
/// let folder = tempfile::tempdir()?;
/// let known = fpdb::Db::options().create(folder.path().join("known.fpdb"))?;
/// known.write(&[(0b0000, 1), (0b0011, 2)]).run()?;
/// let new = fpdb::Db::options().create(folder.path().join("new.fpdb"))?;
/// new.write(&[(0b0111, 1), (u64::MAX, 2)]).run()?;
/// let (known, new) = (known.snapshot(), new.snapshot());
/// known.join(&new, 3).nearest(|pairs| {
///     for pair in pairs {
///         println!("new document {} is near known document {}", pair.b.id, pair.a.id);
///     }
///     assert_eq!((pairs.len(), pairs[0].a.id.0, pairs[0].distance), (1, 2, 1));
///     ControlFlow::Continue(())
/// })?;
/// let join = known.join(&new, 3).memory(64 << 20).threads(1);
/// let report = join.visit(|_| ControlFlow::Continue(()))?;
/// assert_eq!((report.documents, report.pairs), (1, vec![0, 1, 0, 1]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "a join does nothing until its visit or nearest is called"]
pub struct Join<'a, F: Fingerprint = u64> {
    snapshot: &'a Snapshot<F>,
    other: Other<'a, F>,
    options: JoinOptions,
}

impl<F: Fingerprint> Snapshot<F> {
    /// Prepares a search in this snapshot for all entries within `distance` bits of an entry of
    /// `other`. Nothing is read before [`visit`](Join::visit) or [`nearest`](Join::nearest).
    ///
    /// Exact at any distance. Fastest if this is the larger of the two: the entries of `other` are
    /// read in order, as many at a time as memory permits, and each table is read once for all of
    /// them.
    ///
    /// Manku, Jain, Das Sarma: "Detecting Near-Duplicates for Web Crawling", WWW 2007, section 3.3.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let a = fpdb::Db::options().create(folder.path().join("a"))?;
    /// # let b = fpdb::Db::options().create(folder.path().join("b"))?;
    /// use std::ops::ControlFlow;
    /// a.write(&[(0b0000, 1), (0b0011, 2)]).run()?;
    /// b.insert(0b0111, 3)?;
    /// let report = a.snapshot().join(&b.snapshot(), 3).visit(|pairs| {
    ///     pairs.iter().for_each(|pair| println!("{} {}", pair.a.id, pair.b.id));
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!(report.pairs, [0, 1, 0, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn join<'a>(&'a self, other: &'a Self, within: impl Into<Within>) -> Join<'a, F> {
        let options = JoinOptions::new(within.into(), self.reader().threads);
        Join { snapshot: self, other: Other::Snapshot(other.reader()), options }
    }

    /// Does the same as [`join`](Self::join) for a list of entries in any order, which is sorted
    /// now. An entry that is in the list twice is passed on twice.
    ///
    /// In contrast to [`query_batch`](Self::query_batch), what is found is passed on as it is
    /// found, in bounded memory.
    ///
    /// ```
    /// # let db = fpdb::Db::options().in_memory()?;
    /// use std::ops::ControlFlow;
    /// use fpdb::{DocId, Entry};
    /// db.write(&[(0b0000, 1), (0b0011, 2)]).run()?;
    /// let list = vec![Entry { fingerprint: 0b0111, id: DocId(0) }];
    /// let snapshot = db.snapshot();
    /// let report = snapshot.join_list(list, 3).nearest(|pairs| {
    ///     assert_eq!((pairs[0].a.id, pairs[0].b.id), (DocId(2), DocId(0)));
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!(report.documents, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn join_list(&self, entries: Vec<Entry<F>>, within: impl Into<Within>) -> Join<'_, F> {
        let options = JoinOptions::new(within.into(), self.reader().threads);
        Join { snapshot: self, other: Other::list(entries), options }
    }
}

impl<F: Fingerprint> Join<'_, F> {
    /// Sets about how many bytes of memory a batch of entries and its matches may take. The default
    /// is 512 MiB. The matches of one fingerprint are in memory at the same time, however many they
    /// are, and pages of files count towards
    /// [`Options::page_memory`](crate::Options::page_memory).
    pub fn memory(self, bytes: u64) -> Self {
        Self { options: JoinOptions { memory: bytes, ..self.options }, ..self }
    }

    /// Sets the number of threads, at least one. Default: as many as the searched database uses.
    pub fn threads(self, threads: usize) -> Self {
        Self { options: JoinOptions { threads: threads.max(1), ..self.options }, ..self }
    }

    /// Passes all pairs of an entry of this database and one of the other to `visit`, at most
    /// 16,384 at a time: in the order of the other's entries, and for each by distance, fingerprint
    /// and id. In each pair, `b` is the entry of the other.
    ///
    /// If `visit` breaks, it is not called again, and the report says how many of the other's
    /// entries were done.
    ///
    /// # Errors
    ///
    /// `Corruption`; `Io`; `Cancelled`.
    pub fn visit(&self, visit: impl FnMut(&[Pair<F>]) -> ControlFlow<()>) -> Result<JoinReport> {
        self.run(self.options, visit)
    }

    /// Does the same as [`visit`](Self::visit), but passes on only the nearest match of each of the
    /// other's entries: of several, the one with the lowest fingerprint and id. Entries without a
    /// match are left out.
    ///
    /// # Errors
    ///
    /// The same as [`visit`](Self::visit).
    pub fn nearest(&self, visit: impl FnMut(&[Pair<F>]) -> ControlFlow<()>) -> Result<JoinReport> {
        self.run(JoinOptions { nearest: true, ..self.options }, visit)
    }

    fn run(
        &self,
        options: JoinOptions,
        mut visit: impl FnMut(&[Pair<F>]) -> ControlFlow<()>,
    ) -> Result<JoinReport> {
        self.snapshot.engine().join(&self.other, options, &mut visit)
    }
}
