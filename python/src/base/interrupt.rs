//! Lets Ctrl-C end a long operation.
//!
//! Python runs signal handlers on its main thread, and only when that thread asks for them. So the
//! operation runs on another thread, and the calling thread asks every few milliseconds. When a
//! handler raises an exception, the operation is cancelled through its progress function.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use fpdb::{Db, Progress, ReadOnlyDb, Snapshot};
use pyo3::prelude::*;

use crate::base::errors::{self, OrRaise};
use crate::base::width::Bits;

/// How long a signal can wait.
pub(crate) const INTERVAL: Duration = Duration::from_millis(50);

/// Whether an operation is to end early.
#[derive(Debug, Default)]
pub(crate) struct Cancel(AtomicBool);

impl Cancel {
    pub(crate) fn cancel(&self) {
        self.0.store(true, Relaxed);
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.load(Relaxed)
    }

    /// Returns the progress function of the operation.
    pub(crate) fn progress(
        self: &Arc<Self>,
    ) -> impl Fn(Progress) -> ControlFlow<()> + Send + Sync + use<> {
        let cancel = self.clone();
        move |_| {
            if cancel.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
}

/// A handle whose long operations can be cancelled.
pub(crate) trait Cancellable: Send + Sync {
    /// Returns the same handle, whose operations end when they are cancelled.
    fn until(&self, cancel: &Arc<Cancel>) -> Self;
}

impl<F: Bits> Cancellable for Db<F> {
    fn until(&self, cancel: &Arc<Cancel>) -> Self {
        self.on_progress(cancel.progress())
    }
}

impl<F: Bits> Cancellable for ReadOnlyDb<F> {
    fn until(&self, cancel: &Arc<Cancel>) -> Self {
        self.on_progress(cancel.progress())
    }
}

impl<F: Bits> Cancellable for Snapshot<F> {
    fn until(&self, cancel: &Arc<Cancel>) -> Self {
        self.clone().on_progress(cancel.progress())
    }
}

/// Does long work with a handle.
///
/// # Errors
///
/// What a signal handler raised, or the exception for the error of the work.
pub(crate) fn cancellable<H: Cancellable, T: Send>(
    py: Python<'_>,
    handle: &H,
    work: impl FnOnce(&H) -> fpdb::Result<T> + Send,
) -> PyResult<T> {
    interruptible(py, |cancel| work(&handle.until(cancel)))?.or_raise()
}

/// Waits for the next message, without the interpreter's lock. Returns `None` if the sender is
/// gone.
///
/// # Errors
///
/// What a signal handler raised.
fn receive<T: Send>(py: Python<'_>, receiver: &mut Receiver<T>) -> PyResult<Option<T>> {
    loop {
        let receiver = &mut *receiver;
        let received = py.detach(move || receiver.recv_timeout(INTERVAL));
        match received {
            Ok(message) => return Ok(Some(message)),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
        }
    }
}

/// Does the work on another thread and waits for it. The work gets what it has to look at to notice
/// that it is cancelled.
///
/// # Errors
///
/// What a signal handler raised. The work has ended then, too.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Arc<Cancel>) -> T + Send,
) -> PyResult<T> {
    interruptible_while(py, || Ok(()), work)
}

/// Does the work on another thread, and meanwhile something else on this one; then waits for the
/// work.
///
/// # Errors
///
/// What the other thing or a signal handler raised. The work has ended then, too.
pub(crate) fn interruptible_while<T: Send>(
    py: Python<'_>,
    meanwhile: impl FnOnce() -> PyResult<()>,
    work: impl FnOnce(&Arc<Cancel>) -> T + Send,
) -> PyResult<T> {
    let cancel = Arc::new(Cancel::default());
    thread::scope(|scope| {
        let (sender, mut receiver) = sync_channel(1);
        let cancel = &cancel;
        let run = move || {
            // The receiver is gone if a signal was handled.
            let _ = sender.send(work(cancel));
        };
        let started = thread::Builder::new().spawn_scoped(scope, run);
        let worker = started.map_err(|error| errors::no_thread(&error))?;
        let received = meanwhile().and_then(|()| receive(py, &mut receiver));
        if received.is_err() {
            cancel.cancel();
        }
        drop(receiver);
        let ended = py.detach(|| worker.join());
        match (received, ended) {
            (_, Err(panic)) => std::panic::resume_unwind(panic),
            (Ok(Some(value)), Ok(())) => Ok(value),
            (Err(raised), Ok(())) => Err(raised),
            (Ok(None), Ok(())) => unreachable!("the worker sends its result"),
        }
    })
}
