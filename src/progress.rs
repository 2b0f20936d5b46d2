//! How far a long operation is, and the caller's say whether it goes on.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, ErrorKind, Result};

/// What a long operation is doing. A step may be left out, and come again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// Takes entries from the caller.
    Read,
    /// Sorts in memory.
    Sort,
    /// Writes tables, sorting again what was sorted on disk.
    Write,
}

/// How far a long operation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The present step.
    pub phase: Phase,
    /// Entries done in this step; in [`Phase::Write`], rows of tables.
    pub done: u64,
    /// Of how many, where that is known; a little too many where entries come twice.
    pub total: Option<u64>,
}

/// The caller's function, which may be called from any thread, one at a time.
type Report<'a> = &'a mut (dyn FnMut(Progress) -> ControlFlow<()> + Send);

/// Counts what threads do, tells the caller, and ends their work when the caller says so.
pub(crate) struct Meter<'a>(Mutex<State<'a>>);

struct State<'a> {
    report: Report<'a>,
    progress: Progress,
    cancelled: bool,
}

impl<'a> Meter<'a> {
    /// Begins with [`Phase::Read`].
    pub(crate) fn new(report: Report<'a>) -> Self {
        let progress = Progress { phase: Phase::Read, done: 0, total: None };
        Self(Mutex::new(State { report, progress, cancelled: false }))
    }

    /// Begins the next step.
    pub(crate) fn begin(&self, phase: Phase, total: u64) -> Result<()> {
        self.tell(|_| Progress { phase, done: 0, total: Some(total) })
    }

    /// So many more are done. `Cancelled` if the caller does not want the rest.
    pub(crate) fn advance(&self, more: u64) -> Result<()> {
        self.tell(|progress| Progress { done: progress.done + more, ..progress })
    }

    fn tell(&self, change: impl FnOnce(Progress) -> Progress) -> Result<()> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *state;
        state.progress = change(state.progress);
        state.cancelled = state.cancelled || (state.report)(state.progress).is_break();
        if state.cancelled {
            return Err(Error::new(ErrorKind::Cancelled, "cancelled by the caller"));
        }
        Ok(())
    }
}

impl fmt::Debug for Meter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Meter")
    }
}
