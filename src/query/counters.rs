//! What queries read.

use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crate::base::error::Result;
use crate::base::parallel::lock;
use crate::file::paged::pages_read;

/// What queries have read: the sum over all of a handle in [`Stats`](crate::Stats), or what one has
/// read in an [`Explanation`](crate::query::Explanation). Checks before an insert are queries, and
/// a search for the nearest match is several. Searches for pairs do not count. Recent entries in
/// memory count only as matches.
///
/// # Examples
///
/// ```
/// let db = fpdb::Db::options().in_memory()?;
/// db.insert(7, 1)?;
/// db.query(6, 3)?;
/// db.query(u64::MAX, 3)?;
/// let read = db.stats().queries;
/// assert_eq!((read.queries, read.matches, read.blocks), (2, 1, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct QueryStats {
    /// Number of queries.
    pub queries: u64,
    /// Lookups: prefixes of tables, or bands of sketches. A scan has none.
    pub lookups: u64,
    /// Lookups that a prefix filter answered, because no fingerprint has the prefix.
    pub filtered: u64,
    /// Rows of tables of bands that were compared; 0 in a database of fingerprints.
    pub rows: u64,
    /// Blocks that were decoded, or leaves of documents with sketches. Small tables that are
    /// decoded in memory have none.
    pub blocks: u64,
    /// Pages of 4 KiB that had to be read from files, which may have been in the system's cache.
    pub pages: u64,
    /// Fingerprints or sketches that were compared with the query. In a batch that is answered in
    /// one pass over the tables, each fingerprint of a decoded part counts once for all queries
    /// that concern the part.
    pub candidates: u64,
    /// Matches that were returned.
    pub matches: u64,
}

/// The fields as numbers in a row, which are added faster.
type Fields = [u64; 8];

impl QueryStats {
    #[inline(always)]
    fn fields(&self) -> Fields {
        let Self { queries, lookups, filtered, rows, blocks, pages, candidates, matches } = *self;
        [queries, lookups, filtered, rows, blocks, pages, candidates, matches]
    }

    fn of(fields: Fields) -> Self {
        let [queries, lookups, filtered, rows, blocks, pages, candidates, matches] = fields;
        Self { queries, lookups, filtered, rows, blocks, pages, candidates, matches }
    }
}

/// Threads that have a place of their own in the counters, as long as they run.
const OWN: usize = 63;

/// What the queries of all threads have read.
///
/// An atomic addition to each field would take longer than a query of a small database, and threads
/// would wait for each other. So a thread has a place of its own, which no other thread changes. If
/// there are more threads than places, the others share one.
#[derive(Debug)]
pub(crate) struct Counters {
    own: [Place; OWN],
    shared: Place,
}

/// A place, in a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Place([AtomicU64; 8]);

/// The number of this thread's place.
struct Owned(usize);

thread_local! {
    static OWNED: Owned = Owned::take();
}

/// The places that threads had which have ended, and the first that no thread had yet.
static FREE: Mutex<(Vec<usize>, usize)> = Mutex::new((Vec::new(), 0));

impl Owned {
    fn take() -> Self {
        let (free, next) = &mut *lock(&FREE);
        Self(free.pop().unwrap_or_else(|| std::mem::replace(next, *next + 1)))
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        lock(&FREE).0.push(self.0);
    }
}

impl Default for Counters {
    fn default() -> Self {
        Self { own: std::array::from_fn(|_| Place::default()), shared: Place::default() }
    }
}

impl Counters {
    /// Adds what a search reads in this thread, even if it fails.
    #[inline(always)]
    pub(crate) fn count<R>(&self, search: impl FnOnce(&mut QueryStats) -> Result<R>) -> Result<R> {
        let (mut read, before) = (QueryStats::default(), pages_read());
        let result = search(&mut read);
        read.pages = pages_read().wrapping_sub(before);
        self.add(&read);
        result
    }

    #[inline(always)]
    pub(crate) fn add(&self, read: &QueryStats) {
        let own = OWNED.try_with(|owned| self.own.get(owned.0)).ok().flatten();
        let Some(Place(own)) = own else { return self.add_shared(read) };
        for (sum, more) in own.iter().zip(read.fields()) {
            sum.store(sum.load(Relaxed).wrapping_add(more), Relaxed);
        }
    }

    #[cold]
    fn add_shared(&self, read: &QueryStats) {
        for (sum, more) in self.shared.0.iter().zip(read.fields()) {
            sum.fetch_add(more, Relaxed);
        }
    }

    /// Returns the sum.
    pub(crate) fn sum(&self) -> QueryStats {
        let mut sum = Fields::default();
        for Place(place) in self.own.iter().chain([&self.shared]) {
            for (sum, more) in sum.iter_mut().zip(place) {
                *sum = sum.wrapping_add(more.load(Relaxed));
            }
        }
        QueryStats::of(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_count_is_lost_if_there_are_more_threads_than_places() {
        let (counters, one) =
            (Counters::default(), QueryStats { rows: 1, ..QueryStats::default() });
        let barrier = std::sync::Barrier::new(OWN + 20);
        for _ in 0..2 {
            std::thread::scope(|scope| {
                for _ in 0..OWN + 20 {
                    scope.spawn(|| {
                        barrier.wait();
                        (0..1000).for_each(|_| counters.add(&one));
                    });
                }
            });
        }
        assert_eq!(counters.sum(), QueryStats { rows: 2000 * (OWN as u64 + 20), ..one });
    }
}
