//! Snapshots: the database at one moment, for reading.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use crate::error::{Error, Result};
use crate::fingerprint::{DocId, Entry, Fingerprint, Match};
use crate::merge::{Changes, Merge};
use crate::progress::{Meter, Phase, Progress, Watch};
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
/// let db = fpdb::Db::options().in_memory()?;
/// db.insert(0b1010, 1)?;
/// let before = db.snapshot();
/// db.insert(0b1011, 2)?;
/// assert_eq!(before.query(0b1010, 3)?.len(), 1);
/// assert_eq!(db.query(0b1010, 3)?.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Snapshot<F = u64> {
    pub(crate) settings: Arc<Settings>,
    pub(crate) planner: Arc<Planner<F>>,
    pub(crate) version: Arc<Version<F>>,
    /// What reads use instead of the version once the pages in memory have exceeded their limit.
    pub(crate) renewed: OnceLock<Arc<Current<F>>>,
    pub(crate) seq: u64,
    /// Gets the progress of long operations.
    pub(crate) watch: Watch,
    /// How many threads a batch of queries may use.
    pub(crate) threads: usize,
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
        Self { watch: Watch::new(report), ..self }
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
        let options = options.into();
        self.expect_stamps(&options)?;
        self.read(|view| view.query(fingerprint, options))
    }

    /// Runs a query and returns what it did: its plan, what it read, and how long each step took.
    /// Takes longer than the query alone.
    ///
    /// # Errors
    ///
    /// The same as [`query`](Self::query).
    ///
    /// ```
    /// # let db = fpdb::Db::options().in_memory()?;
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
    /// All answers are in memory at the same time, with 24 bytes per match (48 at 128 bits). In a
    /// crowd of near fingerprints, they can be more than memory holds:
    /// [`join_list`](Self::join_list) passes them on in bounded memory.
    ///
    /// # Errors
    ///
    /// The same as [`query`](Self::query), and `Cancelled`. There are no partial answers.
    ///
    /// ```
    /// # let db = fpdb::Db::options().in_memory()?;
    /// db.insert(0b1100, 1)?;
    /// let answers = db.snapshot().query_batch(&[0b1101, u64::MAX], 3)?;
    /// assert_eq!((answers[0].len(), answers[1].len()), (1, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn query_batch(&self, fingerprints: &[F], distance: u32) -> Result<Answers<F>> {
        let meter = Meter::new(&self.watch, Phase::Search, Some(fingerprints.len() as u64));
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
    /// # let db = fpdb::Db::options().in_memory()?;
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
    /// # let db = fpdb::Db::options().in_memory()?;
    /// db.insert(7, 1)?;
    /// let snapshot = db.snapshot();
    /// assert!(snapshot.contains(7)? && !snapshot.contains(6)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn contains(&self, fingerprint: F) -> Result<bool> {
        let one = QueryOptions::within(0).limit(1);
        Ok(!self.query(fingerprint, one)?.is_empty())
    }

    /// Returns the ids of all entries with exactly this fingerprint, ascending.
    ///
    /// # Errors
    ///
    /// The same as [`query`](Self::query).
    ///
    /// ```
    /// # let db = fpdb::Db::options().in_memory()?;
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
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.len(), self.version.documents(self.seq))
    }

    /// Returns an iterator over all entries, by fingerprint and then id. It ends after an error.
    ///
    /// ```
    /// # let db = fpdb::Db::options().in_memory()?;
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
    /// # let db = fpdb::Db::options().in_memory()?;
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
    /// # let db = fpdb::Db::options().in_memory()?;
    /// assert!(db.snapshot().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
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
/// # let db = fpdb::Db::options().in_memory()?;
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
