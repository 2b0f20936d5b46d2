//! Writes for asynchronous programs: a thread gathers those that wait, and commits them together.

mod decision;
mod queue;
mod run;

#[cfg(test)]
mod tests;

pub use decision::Decision;

use std::fmt;
use std::sync::Arc;
use std::thread::JoinHandle;

use crate::db::api::batcher::queue::{CAPACITY, Kind, Queue, Request};
use crate::db::api::db::Db;
use crate::db::state::key::Stamped;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;

/// Writes single documents for many tasks or threads, and commits together what waits at the same
/// time. For asynchronous programs, with any runtime or none.
///
/// A call of [`Db::insert_if_novel`] waits for the disk, so it stalls a runtime whose thread makes
/// it. And if many tasks make such calls, each on a thread of its own, they share syncs, but not
/// lookups. A batcher has one thread. While a batch is being committed, the next one gathers in a
/// queue. A task waits for its [`Decision`] without a thread.
///
/// The queue has room for [`CAPACITY`](Self::CAPACITY) documents. If it is full, decisions wait for
/// room, so the database slows down the tasks, and memory is bounded.
///
/// An error concerns only the document that causes it: a batch that fails is repeated in halves.
///
/// Clones share the queue and the thread. Dropping the last one waits until all documents in the
/// queue are decided. The database stays open.
///
/// # Examples
///
/// ```
/// use fpdb::{Batcher, Db, DocId, Ids, Outcome};
///
/// # async fn crawl() -> fpdb::Result<()> {
/// let db = Db::options().ids(Ids::Names).in_memory()?;
/// let batcher = Batcher::new(&db)?;
/// if !batcher.insert_if_novel(0b1100, "https://a.example/").await?.is_duplicate() {
///     // Process the page.
/// }
/// # Ok(())
/// # }
/// # let db = Db::options().ids(Ids::Names).in_memory()?;
/// # let batcher = Batcher::new(&db)?;
/// // A thread can wait, too.
/// let outcome = batcher.insert_if_novel(0b1110, "https://b.example/").wait()?;
/// assert_eq!(outcome, Outcome::Inserted(DocId(0)));
/// assert!(batcher.insert_if_novel(0b1111, "https://c.example/").wait()?.is_duplicate());
/// # Ok::<(), fpdb::Error>(())
/// ```
pub struct Batcher<F: Fingerprint = u64> {
    thread: Arc<Thread<F>>,
}

impl<F: Fingerprint> Clone for Batcher<F> {
    fn clone(&self) -> Self {
        Self { thread: self.thread.clone() }
    }
}

impl<F: Fingerprint> fmt::Debug for Batcher<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batcher").field("waiting", &self.thread.queue.len()).finish_non_exhaustive()
    }
}

/// The thread, which ends with the last clone.
struct Thread<F: Fingerprint> {
    queue: Arc<Queue<F>>,
    handle: Option<JoinHandle<()>>,
}

impl<F: Fingerprint> Drop for Thread<F> {
    fn drop(&mut self) {
        self.queue.close();
        let Some(handle) = self.handle.take() else { return };
        // It runs the wakers of tasks, and so may itself drop the last clone. It ends afterwards.
        let is_this_thread = handle.thread().id() == std::thread::current().id();
        if !is_this_thread && self.queue.is_in_own_process() {
            // If it panicked, its requests were answered with an error.
            let _ = handle.join();
        }
    }
}

impl<F: Fingerprint> Batcher<F> {
    /// The most documents that wait to be written.
    pub const CAPACITY: usize = CAPACITY;

    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// `Io` if the system allows no more threads.
    ///
    /// See the example of [`Batcher`].
    pub fn new(db: &Db<F>) -> Result<Self> {
        let queue = Arc::new(Queue::new(db.path().to_owned()));
        let (requests, database) = (queue.clone(), db.clone());
        let thread = std::thread::Builder::new().name("fpdb-batcher".to_owned());
        let handle = thread
            .spawn(move || run::run(&database, &requests))
            .map_err(|e| Error::io("start the thread of a batcher", db.path(), e))?;
        Ok(Self { thread: Arc::new(Thread { queue, handle: Some(handle) }) })
    }

    /// Inserts a document unless one is within the database's distance of it; see
    /// [`Db::insert_if_novel`]. Nothing happens until the decision is awaited or
    /// [waited](Decision::wait) for.
    pub fn insert_if_novel<'k>(&self, fingerprint: F, key: impl Into<Stamped<'k>>) -> Decision<F> {
        self.decide(fingerprint, key.into(), Kind::Insert)
    }

    /// Inserts or updates a document, unless another one is within the database's distance of it;
    /// see [`Db::upsert_if_novel`]. Nothing happens until the decision is awaited or
    /// [waited](Decision::wait) for.
    ///
    /// ```
    /// use fpdb::{Batcher, Db, DocId, Ids, Outcome};
    /// let db = Db::options().ids(Ids::Names).in_memory()?;
    /// let batcher = Batcher::new(&db)?;
    /// let page = "https://a.example/";
    /// assert_eq!(batcher.upsert_if_novel(0b1100, page).wait()?, Outcome::Inserted(DocId(0)));
    /// assert_eq!(batcher.upsert_if_novel(0b1100, page).wait()?, Outcome::Unchanged(DocId(0)));
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn upsert_if_novel<'k>(&self, fingerprint: F, key: impl Into<Stamped<'k>>) -> Decision<F> {
        self.decide(fingerprint, key.into(), Kind::Upsert)
    }

    fn decide(&self, fingerprint: F, key: Stamped<'_>, kind: Kind) -> Decision<F> {
        let (request, answer) = Request::new(fingerprint, key, kind);
        Decision::new(self.thread.queue.clone(), request, answer)
    }
}
