//! What waits to be written, and the answers.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::Waker;

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::parallel::lock;
use crate::base::process::Process;
use crate::db::state::key::{OwnedKey, Stamped};
use crate::db::write::outcome::{OnDuplicate, Outcome};
use crate::fingerprint::{DocId, Fingerprint};

/// The most requests that wait.
pub(super) const CAPACITY: usize = 4096;

/// The most documents of a commit.
const MAX_BATCH: usize = 512;

/// What is done with a document.
#[derive(Debug, Clone, Copy)]
pub(super) enum Action<F> {
    Write { fingerprint: F, or_update: Option<OnDuplicate> },
    Remove,
    Touch(u64),
    Name(DocId),
}

impl<F> Action<F> {
    /// Returns whether two requests can be done together.
    fn goes_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Write { or_update, .. }, Self::Write { or_update: other, .. }) => {
                or_update == other
            }
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

/// What came of a request.
#[derive(Debug)]
pub(super) enum Done<F> {
    Written(Outcome<F>),
    /// Whether the document existed.
    Changed(bool),
    Name(Option<String>),
}

impl<F> Done<F> {
    pub(super) fn outcome(self) -> Option<Outcome<F>> {
        if let Self::Written(outcome) = self { Some(outcome) } else { None }
    }

    pub(super) fn changed(self) -> Option<bool> {
        if let Self::Changed(changed) = self { Some(changed) } else { None }
    }

    pub(super) fn name(self) -> Option<Option<String>> {
        if let Self::Name(name) = self { Some(name) } else { None }
    }
}

/// What to do with a document. It is answered in any case: if it is dropped before, with an error.
pub(super) struct Request<F: Fingerprint> {
    pub(super) action: Action<F>,
    key: OwnedKey,
    stamp: Option<u64>,
    answer: Arc<Answer<F>>,
}

impl<F: Fingerprint> Request<F> {
    pub(super) fn new(action: Action<F>, key: Stamped<'_>) -> (Self, Arc<Answer<F>>) {
        let (Stamped { key, stamp }, answer) = (key, Arc::new(Answer::default()));
        (Self { action, key: key.into(), stamp, answer: answer.clone() }, answer)
    }

    pub(super) fn key(&self) -> Stamped<'_> {
        Stamped { key: self.key.as_key(), stamp: self.stamp }
    }

    pub(super) fn answer(self, result: Result<Done<F>>) {
        self.answer.give(result);
    }
}

impl<F: Fingerprint> Drop for Request<F> {
    fn drop(&mut self) {
        // Does nothing if it was answered.
        self.answer.give(Err(Error::new(
            ErrorKind::Closed,
            "the batcher ended before it came to the document",
        )));
    }
}

/// Wakes a task. If its waker panics, that must not end the thread that writes for all others.
fn wake(waker: Waker) {
    let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
}

/// The place for the answer to a request.
pub(super) struct Answer<F> {
    state: Mutex<Given<F>>,
    given: Condvar,
}

struct Given<F> {
    result: Option<Result<Done<F>>>,
    is_given: bool,
    waker: Option<Waker>,
}

impl<F> Default for Answer<F> {
    fn default() -> Self {
        let state = Given { result: None, is_given: false, waker: None };
        Self { state: Mutex::new(state), given: Condvar::new() }
    }
}

impl<F> Answer<F> {
    /// Gives the answer, unless one was given.
    fn give(&self, result: Result<Done<F>>) {
        let mut state = lock(&self.state);
        if state.is_given {
            return;
        }
        (state.is_given, state.result) = (true, Some(result));
        let waker = state.waker.take();
        drop(state);
        self.given.notify_all();
        waker.into_iter().for_each(wake);
    }

    /// Takes the answer, or has this waker woken when it is given.
    pub(super) fn take_or_wake(&self, waker: &Waker) -> Option<Result<Done<F>>> {
        let mut state = lock(&self.state);
        let result = state.result.take();
        if result.is_none() {
            state.waker = Some(waker.clone());
        }
        result
    }

    /// Waits for the answer.
    pub(super) fn wait(&self) -> Result<Done<F>> {
        let mut state = lock(&self.state);
        loop {
            if let Some(result) = state.result.take() {
                return result;
            }
            state = self.given.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The requests that wait.
pub(super) struct Queue<F: Fingerprint> {
    state: Mutex<State<F>>,
    /// Something was added, or the queue was closed.
    added: Condvar,
    /// There is room again.
    room: Condvar,
    process: Process,
    /// The folder of the database, for messages.
    path: PathBuf,
}

struct State<F: Fingerprint> {
    waiting: VecDeque<Request<F>>,
    /// Decisions that wait for room, by the address of the answer. A decision that is polled again
    /// replaces its waker.
    wakers: HashMap<usize, Waker>,
    is_closed: bool,
}

impl<F: Fingerprint> Queue<F> {
    pub(super) fn new(path: PathBuf) -> Self {
        let state = State { waiting: VecDeque::new(), wakers: HashMap::new(), is_closed: false };
        let (added, room, process) = (Condvar::new(), Condvar::new(), Process::current());
        Self { state: Mutex::new(state), added, room, process, path }
    }

    pub(super) fn len(&self) -> usize {
        lock(&self.state).waiting.len()
    }

    #[cfg(test)]
    pub(super) fn waiting_for_room(&self) -> usize {
        lock(&self.state).wakers.len()
    }

    /// Returns whether this process has the thread.
    pub(super) fn is_in_own_process(&self) -> bool {
        self.process.is_current()
    }

    /// Adds a request. If there is no room, returns it, and has this waker woken when there is.
    pub(super) fn add(&self, request: Request<F>, waker: &Waker) -> Result<Option<Request<F>>> {
        self.process.expect_current().map_err(|e| e.at_path(&self.path))?;
        let mut state = lock(&self.state);
        if state.is_closed {
            return Err(self.closed());
        }
        if state.waiting.len() >= CAPACITY {
            state.wakers.insert(Arc::as_ptr(&request.answer).addr(), waker.clone());
            return Ok(Some(request));
        }
        state.waiting.push_back(request);
        drop(state);
        self.added.notify_one();
        Ok(None)
    }

    /// Adds a request, and waits for room before if necessary.
    pub(super) fn add_blocking(&self, request: Request<F>) -> Result<()> {
        self.process.expect_current().map_err(|e| e.at_path(&self.path))?;
        let mut state = lock(&self.state);
        while state.waiting.len() >= CAPACITY && !state.is_closed {
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.is_closed {
            return Err(self.closed());
        }
        state.waiting.push_back(request);
        drop(state);
        self.added.notify_one();
        Ok(())
    }

    fn closed(&self) -> Error {
        let message = "the batcher has ended: keep a clone of it until every document is decided";
        Error::new(ErrorKind::Closed, message).at_path(&self.path)
    }

    /// Waits for requests, and returns those that are done next: of one kind, in their order.
    /// `None` means that there will be no more.
    pub(super) fn next(&self) -> Option<Vec<Request<F>>> {
        let mut state = lock(&self.state);
        while state.waiting.is_empty() {
            if state.is_closed {
                return None;
            }
            state = self.added.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let first = state.waiting.front().map(|request| request.action);
        let same =
            |request: &&Request<F>| first.is_some_and(|first| first.goes_with(&request.action));
        let count = state.waiting.iter().take(MAX_BATCH).take_while(same).count();
        let batch = state.waiting.drain(..count).collect();
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        self.room.notify_all();
        wakers.into_values().for_each(wake);
        Some(batch)
    }

    /// Accepts no more requests. Those that wait are still written.
    pub(super) fn close(&self) {
        let mut state = lock(&self.state);
        state.is_closed = true;
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        self.added.notify_all();
        self.room.notify_all();
        wakers.into_values().for_each(wake);
    }

    /// Accepts no more requests, and answers those that wait with an error.
    pub(super) fn abandon(&self) {
        self.close();
        let waiting = std::mem::take(&mut lock(&self.state).waiting);
        drop(waiting);
    }
}
