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

use crate::base::error::{Error, Result};
use crate::db::api::batcher::queue::{Action, CAPACITY, Done, Queue};
use crate::db::api::db::Db;
use crate::db::state::key::{Key, Stamped};
use crate::db::write::outcome::OnDuplicate;
use crate::fingerprint::{DocId, Fingerprint};

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
    #[cfg(feature = "text")]
    db: Db<F>,
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
    /// The most documents that wait.
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
        let thread = Thread {
            #[cfg(feature = "text")]
            db: db.clone(),
            queue,
            handle: Some(handle),
        };
        Ok(Self { thread: Arc::new(thread) })
    }

    /// Inserts a document unless one is within the database's distance of it; see
    /// [`Db::insert_if_novel`]. Nothing happens until the decision is awaited or
    /// [waited](Decision::wait) for.
    pub fn insert_if_novel<'k>(&self, fingerprint: F, key: impl Into<Stamped<'k>>) -> Decision<F> {
        let action = Action::Write { fingerprint, or_update: None };
        self.decide(action, key.into(), Done::outcome)
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
        self.insert_if_novel(fingerprint, key).or_update(OnDuplicate::Keep)
    }

    /// Makes the fingerprint of a text, in the calling thread or task, and then does the same as
    /// [`insert_if_novel`](Self::insert_if_novel). Returns `None` for a text that is too short to
    /// be compared.
    ///
    /// Only with the feature `text`.
    ///
    /// # Errors
    ///
    /// `Unsupported` if the database has another recipe or none.
    ///
    /// ```
    /// use fpdb::text::Recipe;
    /// use fpdb::{Batcher, Db, Ids};
    /// let recipe = Recipe::named("default")?;
    /// let db = Db::options().ids(Ids::Names).recipe(&recipe).in_memory()?;
    /// let batcher = Batcher::new(&db)?;
    /// let text = "Trains leave for the airport every ten minutes, until midnight.";
    /// for (name, text) in [("a", text), ("b", text), ("c", "")] {
    ///     match batcher.insert_text_if_novel(&recipe, text, name)? {
    ///         Some(decision) => assert_eq!(decision.wait()?.is_duplicate(), name == "b"),
    ///         None => assert_eq!(name, "c"),
    ///     }
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "text")]
    pub fn insert_text_if_novel<'k>(
        &self,
        recipe: &fpdb_text::Recipe<F>,
        text: &str,
        key: impl Into<Stamped<'k>>,
    ) -> Result<Option<Decision<F>>> {
        let fingerprint = self.thread.db.fingerprint_of(recipe, text)?;
        Ok(fingerprint.map(|fingerprint| self.insert_if_novel(fingerprint, key)))
    }

    /// Makes the fingerprint of a text, in the calling thread or task, and then does the same as
    /// [`upsert_if_novel`](Self::upsert_if_novel). Returns `None` for a text that is too short to
    /// be compared.
    ///
    /// Only with the feature `text`.
    ///
    /// # Errors
    ///
    /// `Unsupported` if the database has another recipe or none.
    ///
    /// See the example of [`insert_text_if_novel`](Self::insert_text_if_novel).
    #[cfg(feature = "text")]
    pub fn upsert_text_if_novel<'k>(
        &self,
        recipe: &fpdb_text::Recipe<F>,
        text: &str,
        key: impl Into<Stamped<'k>>,
    ) -> Result<Option<Decision<F>>> {
        let fingerprint = self.thread.db.fingerprint_of(recipe, text)?;
        Ok(fingerprint.map(|fingerprint| self.upsert_if_novel(fingerprint, key)))
    }

    /// Removes the document with a key; see [`Db::remove`]. Nothing happens until the decision is
    /// awaited or [waited](Decision::wait) for.
    ///
    /// ```
    /// use fpdb::{Batcher, Db, Ids};
    /// let db = Db::options().ids(Ids::Names).in_memory()?;
    /// let batcher = Batcher::new(&db)?;
    /// let _ = batcher.insert_if_novel(0b1100, "https://a.example/").wait()?;
    /// assert!(batcher.touch("https://a.example/", 2026).wait()?);
    /// assert!(batcher.remove("https://a.example/").wait()?);
    /// assert!(!batcher.touch("https://a.example/", 2027).wait()?);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn remove<'k>(&self, key: impl Into<Key<'k>>) -> Decision<F, bool> {
        self.decide(Action::Remove, key.into().into(), Done::changed)
    }

    /// Raises the stamp of a document; see [`Db::touch`]. Nothing happens until the decision is
    /// awaited or [waited](Decision::wait) for.
    ///
    /// See the example of [`remove`](Self::remove).
    pub fn touch<'k>(&self, key: impl Into<Key<'k>>, stamp: u64) -> Decision<F, bool> {
        self.decide(Action::Touch(stamp), key.into().into(), Done::changed)
    }

    /// Looks up the name of a document, such as the one that another one duplicates; see
    /// [`Snapshot::name`](crate::Snapshot::name). Nothing happens until the decision is awaited or
    /// [waited](Decision::wait) for.
    ///
    /// ```
    /// use fpdb::{Batcher, Db, Ids};
    /// let db = Db::options().ids(Ids::Names).in_memory()?;
    /// let batcher = Batcher::new(&db)?;
    /// let _ = batcher.insert_if_novel(0b1100, "https://a.example/").wait()?;
    /// let copy = batcher.insert_if_novel(0b1110, "https://b.example/").wait()?;
    /// let name = batcher.name(copy.id()).wait()?;
    /// assert_eq!(name.as_deref(), Some("https://a.example/"));
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn name(&self, id: impl Into<DocId>) -> Decision<F, Option<String>> {
        let id = id.into();
        self.decide(Action::Name(id), id.into(), Done::name)
    }

    fn decide<T>(
        &self,
        action: Action<F>,
        key: Stamped<'_>,
        take: fn(Done<F>) -> Option<T>,
    ) -> Decision<F, T> {
        Decision::new(self.thread.queue.clone(), action, key, take)
    }
}
