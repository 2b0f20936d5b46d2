//! Snapshots: the database at one moment, for reading.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use crate::error::{Error, Result};
use crate::fingerprint::{DocId, Entry, Fingerprint, Match};
use crate::inspection::Inspection;
use crate::merge::{Changes, Merge};
use crate::progress::{Meter, Phase, Progress};
use crate::query::{Answers, BATCH, Batch, Explain, Planner, QueryOptions, View};
use crate::settings::Settings;
use crate::version::{Current, Version};

/// The database as it was when [`Db::snapshot`](crate::Db::snapshot) was called. A snapshot is
/// cheap to take and to clone, holds no lock and never changes. The files that it reads are not
/// removed as long as it exists.
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
#[derive(Clone)]
pub struct Snapshot<F = u64> {
    pub(super) settings: Arc<Settings>,
    pub(super) planner: Arc<Planner<F>>,
    pub(super) version: Arc<Version<F>>,
    /// What reads use instead of the version once the pages in memory have exceeded their limit.
    pub(super) renewed: OnceLock<Arc<Current<F>>>,
    pub(super) seq: u64,
    /// How many threads a batch of queries may use.
    pub(super) threads: usize,
}

/// Shows what distinguishes it from other snapshots of the database: the rest would fill pages.
impl<F> fmt::Debug for Snapshot<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("commit", &self.seq)
            .field("segments", &self.version.segments.len())
            .finish_non_exhaustive()
    }
}

impl<F: Fingerprint> Snapshot<F> {
    /// Lets `read` read the version.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&View<'_, F>) -> T) -> T {
        let view = |version| View { version, seq: self.seq, planner: &self.planner };
        if self.renewed.get().is_none() && !self.version.pages.is_exceeded() {
            return read(&view(&self.version));
        }
        read(&view(&self.renewed_version()))
    }

    /// Returns the version with memory for pages that can be freed.
    #[cold]
    fn renewed_version(&self) -> Arc<Version<F>> {
        let current = self.renewed.get_or_init(|| {
            let renewed = self.version.renewed().map_or_else(|_| self.version.clone(), Arc::new);
            renewed.pages.accept_rest();
            Arc::new(Current::new(renewed, |_| {}))
        });
        current.get()
    }

    /// Returns every entry within `distance` bits of `fingerprint`, each once, sorted by distance,
    /// fingerprint and id.
    ///
    /// Exact at any distance. Takes microseconds up to the database's own distance and more beyond
    /// it. Where a scan is predicted to be cheaper, everything is scanned.
    ///
    /// # Errors
    ///
    /// `Corruption` or `Io`. There are no partial answers.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// db.insert(0b1100, 1)?;
    /// db.insert(0b1111, 2)?;
    /// let matches = db.snapshot().query(0b1101, 3)?;
    /// let found: Vec<_> = matches.iter().map(|m| (m.id.0, m.distance)).collect();
    /// assert_eq!(found, [(1, 1), (2, 1)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn query(&self, fingerprint: F, distance: u32) -> Result<Vec<Match<F>>> {
        self.query_with(fingerprint, &QueryOptions::within(distance))
    }

    /// Does the same as [`query`](Self::query), with options.
    ///
    /// # Errors
    ///
    /// The same as [`query`](Self::query).
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
        self.expect_stamps(options)?;
        self.read(|view| view.query(fingerprint, *options))
    }

    /// Runs a query and returns what it did: its plan, what it read, and how long each step took.
    /// Takes longer than the query alone.
    ///
    /// # Errors
    ///
    /// The same as [`query`](Self::query).
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// use fpdb::{DocId, Entry, QueryOptions};
    /// let entries = (0..1000).map(|i| Ok(Entry { fingerprint: i << 40 | i, id: DocId(i) }));
    /// db.bulk_load(entries)?;
    /// let explain = db.snapshot().explain(5 << 40 | 5, &QueryOptions::within(0))?;
    /// assert_eq!((explain.matches, explain.segments[0].probes), (1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn explain(&self, fingerprint: F, options: &QueryOptions) -> Result<Explain> {
        self.expect_stamps(options)?;
        self.read(|view| view.explain(fingerprint, *options))
    }

    /// Returns the answers to several queries, in their order.
    ///
    /// A large batch is faster than one query after another: it is sorted, and each table is
    /// decoded once for all of it, from beginning to end, by all
    /// [threads](crate::Options::threads). It takes up to about 70 MiB of memory besides the
    /// answers.
    ///
    /// All answers are in memory at the same time, with 24 bytes per match (48 at 128 bits). In a crowd
    /// of near fingerprints, they can be more than memory holds: [`join_list`](Self::join_list) passes
    /// them on in bounded memory.
    ///
    /// # Errors
    ///
    /// The same as [`query`](Self::query). There are no partial answers.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// db.insert(0b1100, 1)?;
    /// let answers = db.snapshot().query_batch(&[0b1101, u64::MAX], 3)?;
    /// assert_eq!((answers[0].len(), answers[1].len()), (1, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn query_batch(&self, fingerprints: &[F], distance: u32) -> Result<Answers<F>> {
        self.query_batch_with(fingerprints, distance, |_| ControlFlow::Continue(()))
    }

    /// Does the same as [`query_batch`](Self::query_batch) and reports its progress, in queries.
    ///
    /// # Errors
    ///
    /// The same as [`query`](Self::query), and `Cancelled` if `report` breaks. There are no partial
    /// answers.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// use std::ops::ControlFlow;
    /// use std::time::{Duration, Instant};
    /// db.insert(0b1100, 1)?;
    /// let deadline = Instant::now() + Duration::from_secs(60);
    /// let answers = db.snapshot().query_batch_with(&[0b1101, u64::MAX], 3, |_| {
    ///     match Instant::now() > deadline {
    ///         true => ControlFlow::Break(()),
    ///         false => ControlFlow::Continue(()),
    ///     }
    /// })?;
    /// assert_eq!(answers.matches().len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn query_batch_with(
        &self,
        fingerprints: &[F],
        distance: u32,
        mut report: impl FnMut(Progress) -> ControlFlow<()> + Send,
    ) -> Result<Answers<F>> {
        let meter = Meter::new(&mut report, Phase::Search, Some(fingerprints.len() as u64));
        let check = &|| meter.check();
        let mut answers = Answers::new();
        for queries in fingerprints.chunks(BATCH) {
            let (nearest, most, threads) = (false, usize::MAX, self.threads);
            let batch = Batch { queries, distance, nearest, most, threads, check };
            match self.answers(&batch)? {
                Some(some) if answers.is_empty() => answers = some,
                Some(some) => answers.append(&some),
                None => {}
            }
            meter.advance(queries.len() as u64)?;
        }
        meter.finish();
        Ok(answers)
    }

    /// Returns the nearest entry within `distance` bits. If several are equally near, returns
    /// the one with the lowest fingerprint and, among those, the lowest id.
    ///
    /// # Errors
    ///
    /// The same as [`query`](Self::query).
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// db.insert(0b1100, 1)?;
    /// db.insert(0b1000, 2)?;
    /// assert_eq!(db.snapshot().nearest(0b1101, 3)?.map(|m| m.id.0), Some(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn nearest(&self, fingerprint: F, distance: u32) -> Result<Option<Match<F>>> {
        self.read(|view| view.nearest(fingerprint, distance))
    }

    /// Returns whether any entry has exactly this fingerprint.
    ///
    /// # Errors
    ///
    /// The same as [`query`](Self::query).
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// db.insert(7, 1)?;
    /// let snapshot = db.snapshot();
    /// assert!(snapshot.contains(7)? && !snapshot.contains(6)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn contains(&self, fingerprint: F) -> Result<bool> {
        let one = QueryOptions::within(0).limit(1);
        Ok(!self.query_with(fingerprint, &one)?.is_empty())
    }

    /// Returns the ids of all entries with exactly this fingerprint, ascending.
    ///
    /// # Errors
    ///
    /// The same as [`query`](Self::query).
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// db.insert(7, 2)?;
    /// db.insert(7, 1)?;
    /// let snapshot = db.snapshot();
    /// assert_eq!(snapshot.ids(7)?, [fpdb::DocId(1), fpdb::DocId(2)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ids(&self, fingerprint: F) -> Result<Vec<DocId>> {
        self.read(|view| view.ids(fingerprint))
    }

    /// Returns the numbers of entries and of documents.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.len(), self.version.documents(self.seq))
    }

    /// Returns an iterator over all entries, by fingerprint and then id. It ends after an error.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// db.insert(9, 1)?;
    /// db.insert(7, 2)?;
    /// for entry in db.snapshot().iter() {
    ///     let entry = entry?;
    ///     println!("{:#018x} {}", entry.fingerprint, entry.id);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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

    /// Returns the number of entries.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// db.insert(7, 1)?;
    /// assert_eq!(db.snapshot().len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn len(&self) -> u64 {
        let in_segments: u64 = self.version.segments.iter().map(|s| s.meta().entries).sum();
        let removed: u64 = self.version.segments.iter().map(|s| s.meta().removed).sum();
        let recent: i64 = self.version.memtables().map(|m| m.net_entries(self.seq)).sum();
        in_segments.saturating_sub(removed).saturating_add_signed(recent)
    }

    /// Returns whether there are no entries.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// assert!(db.snapshot().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads and checks every byte of every segment: checksums, order, counts, and that all tables
    /// contain the same fingerprints. Takes as long as reading and decoding all files.
    ///
    /// Damage is reported once. If a page of a file is damaged, that page is reported, and not what
    /// follows from it.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// db.insert(7, 1)?;
    /// db.flush()?;
    /// assert!(db.snapshot().verify().errors.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn verify(&self) -> VerifyReport {
        self.inspect(None).unwrap_or_default()
    }

    /// Does the same as [`verify`](Self::verify) and reports its progress.
    ///
    /// # Errors
    ///
    /// `Cancelled` if `report` breaks. Damage is not an error: the returned report lists it.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// use std::ops::ControlFlow;
    /// let report = db.snapshot().verify_with(|progress| {
    ///     eprintln!("{}: {} of {:?} bytes", progress.phase, progress.done, progress.total);
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert!(report.errors.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn verify_with(
        &self,
        mut report: impl FnMut(Progress) -> ControlFlow<()> + Send,
    ) -> Result<VerifyReport> {
        let files: u64 = self.version.segments.iter().map(|s| s.bytes_to_verify()).sum();
        let total = files + self.bytes_to_compare();
        let meter = Meter::new(&mut report, Phase::Check, Some(total));
        let report = self.inspect(Some(&meter))?;
        meter.finish();
        Ok(report)
    }

    /// Fails only if the meter cancels.
    fn inspect<'m>(&self, meter: Option<&'m Meter<'m>>) -> Result<VerifyReport> {
        let mut inspection = Inspection::new(meter);
        let mut report = VerifyReport::default();
        for segment in &self.version.segments {
            report.files += segment.meta().files().len();
            report.bytes += segment.meta().bytes();
            segment.verify(&self.settings, &mut inspection)?;
        }
        report.errors = inspection.into_errors();
        // Damage leads to contradictions.
        if report.errors.is_empty() {
            report.errors.extend(self.contradiction(meter)?);
        }
        Ok(report)
    }
}

impl<'a, F: Fingerprint> IntoIterator for &'a Snapshot<F> {
    type Item = Result<Entry<F>>;
    type IntoIter = Iter<'a, F>;

    fn into_iter(self) -> Iter<'a, F> {
        self.iter()
    }
}

/// An iterator over the entries of a snapshot, by fingerprint and then id; see [`Snapshot::iter`].
///
/// # Examples
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
/// db.insert(9, 1)?;
/// db.insert(7, 2)?;
/// let snapshot = db.snapshot();
/// let entries: fpdb::Result<Vec<_>> = snapshot.iter().collect();
/// assert_eq!(entries?[0].fingerprint, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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

/// What [`Snapshot::verify`] read and found.
///
/// # Examples
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
/// db.insert(7, 1)?;
/// let report = db.verify()?;
/// assert!(report.errors.is_empty() && report.bytes > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
#[non_exhaustive]
pub struct VerifyReport {
    /// Number of files read.
    pub files: usize,
    /// Number of bytes read.
    pub bytes: u64,
    /// The damage found, each with file and offset. Empty if everything is sound.
    pub errors: Vec<Error>,
}
