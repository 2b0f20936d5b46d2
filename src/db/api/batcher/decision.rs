//! What the caller waits for.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::db::api::batcher::queue::{Answer, Queue, Request};
use crate::db::write::outcome::Outcome;
use crate::error::Result;
use crate::fingerprint::Fingerprint;

/// What a [`Batcher`](crate::Batcher) will decide about a document. Nothing happens until it is
/// awaited or [waited](Self::wait) for.
///
/// If it is dropped before it is complete, the document may be written or not.
///
/// # Errors
///
/// The same as [`Db::insert_if_novel`](crate::Db::insert_if_novel) and
/// [`Db::upsert_if_novel`](crate::Db::upsert_if_novel), and `Closed` if the last clone of the batcher
/// was dropped before.
///
/// See the example of [`Batcher`](crate::Batcher).
#[must_use = "nothing is written until it is awaited"]
pub struct Decision<F: Fingerprint = u64> {
    queue: Arc<Queue<F>>,
    /// Until it is in the queue.
    request: Option<Request<F>>,
    answer: Arc<Answer<F>>,
}

impl<F: Fingerprint> fmt::Debug for Decision<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_waiting = self.request.is_none();
        f.debug_struct("Decision").field("is_waiting", &is_waiting).finish_non_exhaustive()
    }
}

impl<F: Fingerprint> Decision<F> {
    pub(super) fn new(queue: Arc<Queue<F>>, request: Request<F>, answer: Arc<Answer<F>>) -> Self {
        Self { queue, request: Some(request), answer }
    }

    /// Waits for the decision in the calling thread. Do not call this in a task.
    ///
    /// # Errors
    ///
    /// See [`Decision`].
    ///
    /// See the example of [`Batcher`](crate::Batcher).
    pub fn wait(mut self) -> Result<Outcome<F>> {
        if let Some(request) = self.request.take() {
            self.queue.add_blocking(request)?;
        }
        self.answer.wait()
    }
}

/// Nothing in it refers to itself.
impl<F: Fingerprint> Unpin for Decision<F> {}

impl<F: Fingerprint> Future for Decision<F> {
    type Output = Result<Outcome<F>>;

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
            Some(result) => Poll::Ready(result),
            None => Poll::Pending,
        }
    }
}
