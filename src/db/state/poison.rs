//! Poison: why a handle accepts no more writes.
//!
//! After a failed sync nobody knows what is on disk, and a second sync that succeeds proves
//! nothing. So the first such failure is kept, and every later write returns it until the database
//! is opened again. A closed handle is the same case with another error.

use std::sync::OnceLock;

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::events::Event;
use crate::base::process::Process;

/// The error after which no more writes are accepted.
#[derive(Debug)]
pub(crate) struct Poison {
    error: OnceLock<Error>,
    /// The process that writes. Its children may not.
    process: Process,
}

impl Poison {
    pub(crate) fn new() -> Self {
        Self { error: OnceLock::new(), process: Process::current() }
    }

    /// Returns the process in which the handle works.
    pub(crate) fn process(&self) -> &Process {
        &self.process
    }

    /// Fails if no more writes are accepted.
    pub(crate) fn check(&self) -> Result<()> {
        self.process.expect_current()?;
        match self.error.get() {
            None => Ok(()),
            Some(error) if error.kind() == ErrorKind::Closed => Err(error.clone()),
            Some(error) => Err(error.repeat_as(
                ErrorKind::Poisoned,
                "an earlier write failed, so open the database again before you write: ",
            )),
        }
    }

    /// Passes on a result. Accepts no more writes if somebody else has replaced the folder.
    pub(crate) fn after<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| match error.kind() {
            ErrorKind::Replaced => self.set(error),
            _ => error,
        })
    }

    /// Whether no more writes are accepted.
    pub(crate) fn is_set(&self) -> bool {
        self.error.get().is_some()
    }

    /// Accepts no more writes from now on, because of `error`, and returns that error. The first
    /// one is kept.
    pub(crate) fn set(&self, error: Error) -> Error {
        let error = error.into_fatal();
        if self.error.set(error.clone()).is_ok() && error.kind() != ErrorKind::Closed {
            Event::Poisoned { error: &error }.report();
        }
        error
    }
}

/// Accepts no more writes if the thread panics while this exists. Other threads would otherwise
/// wait forever for what it had begun.
pub(crate) struct PanicGuard<'a> {
    poison: &'a Poison,
    /// Wakes the threads that wait.
    wake: &'a dyn Fn(),
    /// Whether the thread was panicking already.
    panicking: bool,
}

impl<'a> PanicGuard<'a> {
    pub(crate) fn new(poison: &'a Poison, wake: &'a dyn Fn()) -> Self {
        Self { poison, wake, panicking: std::thread::panicking() }
    }
}

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.panicking {
            let message = "a thread panicked during a write; this is a bug in fpdb";
            self.poison.set(Error::new(ErrorKind::Poisoned, message));
            (self.wake)();
        }
    }
}
