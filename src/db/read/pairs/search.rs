//! What a search for pairs is about, and its parts that do not depend on the type of fingerprint.

use std::sync::{Mutex, PoisonError};

use crate::base::error::Result;
use crate::base::parallel;
use crate::db::read::reader::Reader;
use crate::fingerprint::Fingerprint;
use crate::query::Within;

/// Memory for a search, unless set.
const MEMORY: u64 = 512 << 20;

/// What to search for, and with what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PairOptions {
    pub(crate) within: Within,
    /// Bytes of memory for the parts of tables that are compared.
    pub(crate) memory: u64,
    pub(crate) threads: usize,
    /// Whether every pair of entries is passed on, and no groups.
    pub(crate) expand: bool,
}

impl PairOptions {
    pub(crate) fn new(within: Within, threads: usize) -> Self {
        Self { within, memory: MEMORY, threads, expand: false }
    }
}

/// A search for all pairs of entries.
#[derive(Debug)]
pub(crate) struct Search<'a, F: Fingerprint> {
    pub(crate) reader: &'a Reader<F>,
    pub(crate) options: PairOptions,
}

impl<F: Fingerprint> Search<'_, F> {
    /// Returns the distance beyond which fingerprints never match.
    pub(super) fn distance(&self) -> u32 {
        self.reader.planner.distance(self.options.within)
    }

    /// Does the work for the items in their order, until `is_stopped`.
    pub(super) fn in_parallel<T: Sync>(
        &self,
        items: &[T],
        is_stopped: &(dyn Fn() -> bool + Sync),
        work: impl Fn(&T) -> Result<()> + Sync,
    ) -> Result<()> {
        let next = Mutex::new(0);
        let take = || {
            let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
            let item = items.get(*next).filter(|_| !is_stopped())?;
            *next += 1;
            Some(item)
        };
        parallel::for_each(
            self.options.threads,
            0..self.options.threads,
            || (),
            |(), _| {
                while let Some(item) = take() {
                    work(item)?;
                }
                Ok(())
            },
        )
    }
}
