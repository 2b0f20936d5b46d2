//! Waits for a signal to stop.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use anyhow::{Context, Result};

/// The exit code that shells report for a process ended by Ctrl-C.
const INTERRUPTED: i32 = 130;

/// Whether the process was asked to stop.
#[derive(Debug, Default)]
pub(super) struct Stop {
    is_requested: Mutex<bool>,
    requested: Condvar,
}

impl Stop {
    /// Handles Ctrl-C, SIGTERM and SIGHUP from now on. The second signal ends the process at once.
    pub(super) fn on_signal() -> Result<Arc<Self>> {
        let stop = Arc::new(Self::default());
        let requested = stop.clone();
        ctrlc::set_handler(move || {
            let mut is_requested =
                requested.is_requested.lock().unwrap_or_else(PoisonError::into_inner);
            if *is_requested {
                std::process::exit(INTERRUPTED);
            }
            *is_requested = true;
            requested.requested.notify_all();
        })
        .context("cannot handle Ctrl-C")?;
        Ok(stop)
    }

    pub(super) fn wait(&self) {
        let is_requested = self.is_requested.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.requested.wait_while(is_requested, |requested| !*requested);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}
