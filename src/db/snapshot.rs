//! A snapshot: the database at one moment, for reading.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::fingerprint::{DocId, Entry, Fingerprint, Match};
use crate::merge::{Changes, Merge};
use crate::query::{Explain, Planner, QueryOptions, View};
use crate::settings::Settings;
use crate::version::Version;

/// The database as it was when [`Db::snapshot`](super::Db::snapshot) was called: cheap to take and
/// to clone, holds no lock, never changes. It keeps the files that it reads from being removed.
///
/// # Examples
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// let db = fpdb::Db::options().create(folder.path().join("db"))?;
/// db.insert(0b1010, 1)?;
/// let before = db.snapshot();
/// db.insert(0b1011, 2)?;
/// assert_eq!(before.query(0b1010, 3)?.len(), 1);
/// assert_eq!(db.query(0b1010, 3)?.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Snapshot<F = u64> {
    pub(super) settings: Arc<Settings>,
    pub(super) planner: Arc<Planner<F>>,
    pub(super) version: Arc<Version<F>>,
    pub(super) seq: u64,
    /// That a batch of queries may use.
    pub(super) threads: usize,
}

impl<F: Fingerprint> Snapshot<F> {
    fn view(&self) -> View<'_, F> {
        View { version: &self.version, seq: self.seq, planner: &self.planner }
    }

    /// Every entry within `distance` bits, each once, sorted by distance, fingerprint and id.
    ///
    /// Exact at any distance. Microseconds up to the database's own distance, more beyond, a scan
    /// where that is predicted to be cheaper.
    ///
    /// # Errors
    ///
    /// `Corruption` or `Io`: no part of an answer is given.
    pub fn query(&self, fingerprint: F, distance: u32) -> Result<Vec<Match<F>>> {
        self.query_with(fingerprint, &QueryOptions::within(distance))
    }

    /// As [`query`](Self::query), with options.
    ///
    /// # Errors
    ///
    /// As [`query`](Self::query).
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// use fpdb::QueryOptions;
    /// db.insert(7, 1)?;
    /// db.insert(6, 2)?;
    /// let nearest = db.snapshot().query_with(7, &QueryOptions::within(3).limit(1))?;
    /// assert_eq!((nearest.len(), nearest[0].distance), (1, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn query_with(&self, fingerprint: F, options: &QueryOptions) -> Result<Vec<Match<F>>> {
        self.view().query(fingerprint, *options)
    }

    /// What a query does: its plan, what it reads, and how long each step takes. It takes longer
    /// than a query, which it makes as well.
    ///
    /// # Errors
    ///
    /// As [`query`](Self::query).
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// use fpdb::{DocId, Entry, QueryOptions};
    /// let entries = (0..1000).map(|i| Ok(Entry { fingerprint: i << 40 | i, id: DocId(i) }));
    /// db.bulk_load(entries)?;
    /// let told = db.snapshot().explain(5 << 40 | 5, &QueryOptions::within(0))?;
    /// assert_eq!((told.matches, told.segments[0].probes), (1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn explain(&self, fingerprint: F, options: &QueryOptions) -> Result<Explain> {
        self.view().explain(fingerprint, *options)
    }

    /// The answers to several queries, in their order.
    ///
    /// Faster than one query after another, the more there are: a large batch is sorted, and each
    /// table is decoded once for all of it, from beginning to end and by all
    /// [threads](crate::Options::threads). Beside the answers it takes up to some 70 MiB.
    ///
    /// # Errors
    ///
    /// As [`query`](Self::query); of no query is an answer given then.
    pub fn query_batch(&self, fingerprints: &[F], distance: u32) -> Result<Vec<Vec<Match<F>>>> {
        self.view().query_batch(fingerprints, distance, self.threads)
    }

    /// The nearest entry within `distance`; of equally near ones that of the lowest fingerprint and
    /// id.
    ///
    /// # Errors
    ///
    /// As [`query`](Self::query).
    pub fn nearest(&self, fingerprint: F, distance: u32) -> Result<Option<Match<F>>> {
        self.view().nearest(fingerprint, distance)
    }

    /// Whether any entry has exactly this fingerprint.
    ///
    /// # Errors
    ///
    /// As [`query`](Self::query).
    pub fn contains(&self, fingerprint: F) -> Result<bool> {
        let one = QueryOptions::within(0).limit(1);
        Ok(!self.query_with(fingerprint, &one)?.is_empty())
    }

    /// The ids of all entries with exactly this fingerprint, ascending.
    ///
    /// # Errors
    ///
    /// As [`query`](Self::query).
    pub fn ids(&self, fingerprint: F) -> Result<Vec<DocId>> {
        self.view().ids(fingerprint)
    }

    /// The name of a document, in a database with names; `None` for an id that was not allotted
    /// yet, or whose document was removed and compacted away. Names never change, so one that was
    /// allotted after the snapshot may be told, too.
    ///
    /// # Errors
    ///
    /// As [`query`](Self::query).
    pub fn name(&self, id: DocId) -> Result<Option<String>> {
        self.version.name(id)
    }

    /// All entries, by fingerprint and then id. After an error the iterator ends.
    #[must_use]
    pub fn iter(&self) -> Iter<'_, F> {
        match self.merge(F::ZERO) {
            Ok(merge) => Iter { merge: Some(merge), error: None },
            Err(error) => Iter { merge: None, error: Some(error) },
        }
    }

    fn merge(&self, low: F) -> Result<Merge<'_, F>> {
        let mut merge = Merge::of_segments(self.version.segments.iter().map(|s| &**s), low)?;
        for memtable in self.version.memtables() {
            merge.push(Changes::new(memtable.net_changes(self.seq)));
        }
        Ok(merge)
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> u64 {
        let in_segments: u64 = self.version.segments.iter().map(|s| s.meta().entries).sum();
        let removed: u64 = self.version.segments.iter().map(|s| s.meta().removed).sum();
        let recent: i64 = self.version.memtables().map(|m| m.net_entries(self.seq)).sum();
        in_segments.saturating_sub(removed).saturating_add_signed(recent)
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads and checks every byte of every segment: checksums, order, counts, and that all tables
    /// hold the same set. Takes as long as reading and decoding all files.
    pub fn verify(&self) -> VerifyReport {
        let mut report = VerifyReport { files: 0, bytes: 0, errors: Vec::new() };
        for segment in &self.version.segments {
            report.files += segment.meta().files().len();
            report.bytes += segment.meta().bytes();
            segment.verify(&self.settings, &mut |error| report.errors.push(error));
        }
        report
    }
}

impl<'a, F: Fingerprint> IntoIterator for &'a Snapshot<F> {
    type Item = Result<Entry<F>>;
    type IntoIter = Iter<'a, F>;

    fn into_iter(self) -> Iter<'a, F> {
        self.iter()
    }
}

/// The entries of a snapshot, by fingerprint and then id.
pub struct Iter<'a, F = u64> {
    merge: Option<Merge<'a, F>>,
    error: Option<Error>,
}

impl<F> std::fmt::Debug for Iter<'_, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Iter").field("error", &self.error).finish_non_exhaustive()
    }
}

impl<F: Fingerprint> Iterator for Iter<'_, F> {
    type Item = Result<Entry<F>>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.error.take() {
            return Some(Err(error));
        }
        let merge = self.merge.as_mut()?;
        loop {
            match merge.next() {
                Some(Ok(merged)) if merged.net.inserted => return Some(Ok(merged.entry)),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Some(Err(error)),
                None => {
                    self.merge = None;
                    return None;
                }
            }
        }
    }
}

impl<F: Fingerprint> std::iter::FusedIterator for Iter<'_, F> {}

/// What `verify` read and found.
#[derive(Debug)]
#[must_use]
#[non_exhaustive]
pub struct VerifyReport {
    /// Files read.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Damage found, each with file and offset; none if all is well.
    pub errors: Vec<Error>,
}
