//! Reading the database as it was at one moment.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::base::error::Result;
use crate::base::progress::{Meter, Phase, Watch};
use crate::fingerprint::{DocId, Entry, Fingerprint, Match};
use crate::query::{Answers, BATCH, Batch, Explanation, Planner, QueryOptions, View, Within};
use crate::settings::Settings;
use crate::store::merge::{Changes, Merge};
use crate::store::version::{Current, Version};

/// The database as it was at one moment. Shared by all clones of a [`Snapshot`](crate::Snapshot).
#[derive(Clone)]
pub(crate) struct Reader<F: Fingerprint> {
    pub(crate) settings: Arc<Settings>,
    pub(crate) planner: Arc<Planner>,
    pub(crate) version: Arc<Version<F>>,
    /// What reads use instead of the version once another generation of pages has begun.
    pub(crate) renewed: OnceLock<Arc<Current<F>>>,
    pub(crate) seq: u64,
    /// Gets the progress of long operations.
    pub(crate) watch: Watch,
    /// How many threads a batch of queries may use.
    pub(crate) threads: usize,
}

/// Entries in some order.
pub(crate) type Entries<'a, F> = dyn Iterator<Item = Result<Entry<F>>> + Send + 'a;

/// Shows what distinguishes it from others of the database: the rest would fill pages.
impl<F: Fingerprint> fmt::Debug for Reader<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("commit", &self.seq)
            .field("segments", &self.version.segments.len())
            .finish_non_exhaustive()
    }
}

impl<F: Fingerprint> Reader<F> {
    /// Lets `read` read the version.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&View<'_, F>) -> T) -> T {
        let renewed;
        let version = if self.renewed.get().is_none() && !self.version.is_spent() {
            &self.version
        } else {
            renewed = self.renewed_version();
            &renewed
        };
        read(&View::new(version, self.seq, &self.planner))
    }

    /// Returns the version with memory for pages that can be freed.
    #[cold]
    fn renewed_version(&self) -> Arc<Version<F>> {
        let current = self.renewed.get_or_init(|| {
            let renewed = self.version.renewed().map_or_else(|_| self.version.clone(), Arc::new);
            Arc::new(Current::new(renewed, |_| {}))
        });
        current.get()
    }

    /// Returns every entry within a distance of `fingerprint`, each once, sorted by distance,
    /// fingerprint and id. `options` is the distance in bits, or [`QueryOptions`], which can also
    /// limit the number of matches.
    pub(crate) fn query(&self, fingerprint: F, options: QueryOptions) -> Result<Vec<Match<F>>> {
        self.expect_stamps(options)?;
        self.read(|view| view.query(fingerprint, options))
    }

    /// Does what [`query`](Self::query) does, and says how.
    pub(crate) fn explain(&self, fingerprint: F, options: QueryOptions) -> Result<Explanation<F>> {
        self.expect_stamps(options)?;
        self.read(|view| view.explain(fingerprint, options))
    }

    /// Returns the answers to several queries, in their order.
    pub(crate) fn query_batch(&self, fingerprints: &[F], within: Within) -> Result<Answers<F>> {
        let meter = Meter::new(&self.watch, Phase::Search, Some(fingerprints.len() as u64));
        let check = &|| meter.check();
        let mut answers = Answers::new();
        for queries in fingerprints.chunks(BATCH) {
            let (nearest, most, threads) = (false, usize::MAX, self.threads);
            let batch = Batch { queries, within, nearest, most, threads, check };
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
    pub(crate) fn nearest(&self, fingerprint: F, within: Within) -> Result<Option<Match<F>>> {
        self.read(|view| view.nearest(fingerprint, within))
    }

    /// Returns the ids of all entries with exactly this fingerprint, ascending.
    pub(crate) fn ids(&self, fingerprint: F) -> Result<Vec<DocId>> {
        self.read(|view| view.ids(fingerprint))
    }

    /// Returns the numbers of entries and of documents.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.len(), self.version.documents(self.seq))
    }

    /// Returns an iterator over all entries, by fingerprint and then id. In a database of sketches,
    /// these are the originals, in the order of their keys. It ends after an error.
    pub(crate) fn iter(&self) -> Box<Entries<'_, F>> {
        if self.settings.index.tables().is_some() {
            return Box::new(self.entries_from(F::Word::ZERO));
        }
        match self.documents(None) {
            Ok(documents) => Box::new(documents.filter_map(|document| match document {
                Ok((_, document)) => document.entry().map(Ok),
                Err(error) => Some(Err(error)),
            })),
            Err(error) => Box::new(std::iter::once(Err(error))),
        }
    }

    /// Returns an iterator over the entries of tables from this fingerprint on, in the same order.
    pub(crate) fn entries_from(
        &self,
        low: F::Word,
    ) -> impl Iterator<Item = Result<Entry<F>>> + Send {
        let (mut merge, mut error) = match self.merge(low) {
            Ok(merge) => (Some(merge), None),
            Err(error) => (None, Some(error)),
        };
        std::iter::from_fn(move || {
            if let Some(error) = error.take() {
                return Some(Err(error));
            }
            loop {
                match merge.as_mut()?.next() {
                    Some(Ok(merged)) if merged.net.inserted && merged.entry.fingerprint >= low => {
                        return Some(Ok(Entry::of_word(merged.entry)));
                    }
                    Some(Ok(_)) => {}
                    Some(Err(error)) => return Some(Err(error)),
                    None => merge = None,
                }
            }
        })
    }

    fn merge(&self, low: F::Word) -> Result<Merge<'_, F::Word>> {
        let mut merge = Merge::of_segments(self.version.segments.iter().map(|s| &**s), low)?;
        for memtable in self.version.memtables() {
            merge.push(Changes::new(memtable.net_changes(self.seq)));
        }
        Ok(merge)
    }

    /// Returns the number of entries.
    pub(crate) fn len(&self) -> u64 {
        let in_segments: u64 = self.version.segments.iter().map(|s| s.meta().entries).sum();
        let removed: u64 = self.version.segments.iter().map(|s| s.meta().removed).sum();
        let recent: i64 = self.version.memtables().map(|m| m.net_entries(self.seq)).sum();
        in_segments.saturating_sub(removed).saturating_add_signed(recent)
    }
}
