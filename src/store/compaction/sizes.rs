//! How much space merges take at most.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use crate::base::error::{Error, ErrorKind};
use crate::file::storage::Storage;
use crate::fingerprint::Fingerprint;
use crate::settings::Settings;
use crate::store::segment::Segment;
use crate::store::segment::bound::{Expected, bands_scratch, most_bytes};

/// The most bytes that merges of runs of some segments take.
#[derive(Debug)]
pub(crate) struct MergeSizes<'a, F: Fingerprint> {
    settings: &'a Settings,
    segments: &'a [Arc<Segment<F>>],
    /// How many tables are written in parallel.
    threads: usize,
    /// An upper limit of the ids of each segment.
    most_ids: OnceCell<Vec<u64>>,
}

impl<'a, F: Fingerprint> MergeSizes<'a, F> {
    pub(crate) fn new(
        settings: &'a Settings,
        segments: &'a [Arc<Segment<F>>],
        threads: usize,
    ) -> Self {
        Self { settings, segments, threads, most_ids: OnceCell::new() }
    }

    /// Returns how many bytes the merge of a run takes, if these are at most `usable`. Reads
    /// nothing if it takes at most half of them even if all ids have 64 bits.
    pub(crate) fn within(&self, run: Range<usize>, usable: u64) -> Option<u64> {
        let with_long_ids = self.bytes(run.clone(), None);
        if with_long_ids <= usable / 2 {
            return Some(with_long_ids);
        }
        Some(self.most(run)).filter(|&most| most <= usable)
    }

    /// Returns the most bytes that the merge of a run takes. The first call reads the heads of all
    /// postings.
    pub(crate) fn most(&self, run: Range<usize>) -> u64 {
        let most_ids = self.most_ids.get_or_init(|| {
            // The merge reports what is damaged.
            let most_id = |segment: &Arc<Segment<F>>| match segment.tables() {
                Some(part) => part.postings().most_id().unwrap_or(u64::MAX),
                None => 0,
            };
            self.segments.iter().map(most_id).collect()
        });
        let most_id = most_ids.get(run.clone()).unwrap_or_default().iter().max();
        self.bytes(run, most_id.copied())
    }

    fn bytes(&self, run: Range<usize>, greatest_id: Option<u64>) -> u64 {
        let segments = self.segments.get(run).unwrap_or_default().iter().map(|s| &**s);
        let expected = Expected::of_merge(segments, greatest_id);
        let scratch = bands_scratch(self.settings, expected.fingerprints, self.threads);
        most_bytes(self.settings, &expected) + scratch
    }
}

/// Returns the error for a merge that takes up to `needed` bytes, of which it may use only
/// `usable`.
pub(crate) fn no_space(needed: u64, usable: u64, storage: &dyn Storage) -> Error {
    let message = format!(
        "compaction needs up to {needed} bytes of free disk space, but may use only {usable}: free \
         some space"
    );
    Error::new(ErrorKind::NoSpace, message).at_path(storage.root())
}
