//! What the caller waits for.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::base::error::{Error, Result};
use crate::db::api::batcher::queue::{Action, Answer, Done, Queue, Request};
use crate::db::state::key::Stamped;
use crate::db::write::outcome::{OnDuplicate, Outcome};
use crate::fingerprint::Fingerprint;

/// What a [`Batcher`](crate::Batcher) will do with a document: mostly what it will decide, an
/// [`Outcome`]. Nothing happens until it is awaited or [waited](Self::wait) for.
///
/// If it is dropped before it is complete, the document may be written or not.
///
/// # Errors
///
/// The same as the method of [`Db`](crate::Db) with the same name, and `Closed` if the last clone
/// of the batcher was dropped before.
///
/// See the example of [`Batcher`](crate::Batcher).
#[must_use = "nothing is written until it is awaited"]
pub struct Decision<F: Fingerprint = u64, T = Outcome<F>> {
    queue: Arc<Queue<F>>,
    /// Until it is in the queue.
    request: Option<Request<F>>,
    answer: Arc<Answer<F>>,
    /// Takes the result out of what was done. `None` if something else was done.
    take: fn(Done<F>) -> Option<T>,
}

impl<F: Fingerprint, T> fmt::Debug for Decision<F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_waiting = self.request.is_none();
        f.debug_struct("Decision").field("is_waiting", &is_waiting).finish_non_exhaustive()
    }
}

impl<F: Fingerprint> Decision<F> {
    /// Updates the document if its key exists, and says what becomes of the key if the document is
    /// a duplicate of another one. See [`Write::or_update`](crate::Write::or_update).
    ///
    /// ```
    /// use fpdb::{Batcher, Db, DocId, Ids, OnDuplicate};
    /// let db = Db::options().ids(Ids::Names).in_memory()?;
    /// let batcher = Batcher::new(&db)?;
    /// let _ = batcher.insert_if_novel(0b1100, "https://a.example/").wait()?;
    /// let copy = batcher.insert_if_novel(0b1110, "https://b.example/");
    /// assert!(copy.or_update(OnDuplicate::Remember).wait()?.is_duplicate());
    /// assert_eq!(db.get("https://b.example/")?.unwrap().duplicate_of, Some(DocId(0)));
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn or_update(mut self, on_duplicate: OnDuplicate) -> Self {
        if let Some(Request { action: Action::Write { or_update, .. }, .. }) = &mut self.request {
            *or_update = Some(on_duplicate);
        }
        self
    }
}

impl<F: Fingerprint, T> Decision<F, T> {
    pub(super) fn new(
        queue: Arc<Queue<F>>,
        action: Action<F>,
        key: Stamped<'_>,
        take: fn(Done<F>) -> Option<T>,
    ) -> Self {
        let (request, answer) = Request::new(action, key);
        Self { queue, request: Some(request), answer, take }
    }

    fn result(&self, done: Result<Done<F>>) -> Result<T> {
        (self.take)(done?).ok_or_else(|| Error::invalid("the batcher did something else"))
    }

    /// Waits for the decision in the calling thread. Do not call this in a task.
    ///
    /// # Errors
    ///
    /// See [`Decision`].
    ///
    /// See the example of [`Batcher`](crate::Batcher).
    pub fn wait(mut self) -> Result<T> {
        if let Some(request) = self.request.take() {
            self.queue.add_blocking(request)?;
        }
        self.result(self.answer.wait())
    }
}

/// Nothing in it refers to itself.
impl<F: Fingerprint, T> Unpin for Decision<F, T> {}

impl<F: Fingerprint, T> Future for Decision<F, T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(request) = self.request.take() {
            match self.queue.add(request, context.waker()) {
                Ok(None) => {}
                Ok(request) => {
                    self.request = request;
                    return Poll::Pending;
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        match self.answer.take_or_wake(context.waker()) {
            Some(done) => Poll::Ready(self.result(done)),
            None => Poll::Pending,
        }
    }
}
