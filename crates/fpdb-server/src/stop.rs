//! Stops a server from another thread.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Stops a server. All clones are one: keep one, and give [`Server::serve`](crate::Server::serve)
/// the other.
///
/// # Examples
///
/// ```
/// use fpdb::Db;
/// use fpdb_server::{Options, Server, Stop};
/// # let folder = tempfile::tempdir()?;
/// let db = Db::options().create(folder.path().join("db"))?;
/// let server = Server::bind("127.0.0.1:0", &Options::default())?;
/// let stop = Stop::new();
/// let handler = stop.clone(); // for a signal, say
/// let requested = std::thread::spawn(move || handler.request());
/// server.serve(db, &stop)?;
/// assert!(stop.is_requested());
/// # requested.join().unwrap();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<State>);

#[derive(Debug, Default)]
struct State {
    is_requested: Mutex<bool>,
    requested: Condvar,
}

impl Stop {
    /// Returns one that nobody has requested yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets the server stop, also one that starts later. Returns at once.
    pub fn request(&self) {
        *self.0.is_requested.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.requested.notify_all();
    }

    /// Returns whether the server was asked to stop.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        *self.0.is_requested.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the server is asked to stop, but no longer than this. Returns whether it was.
    pub(crate) fn wait(&self, time: Duration) -> bool {
        let is_requested = self.0.is_requested.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.0.requested.wait_timeout_while(is_requested, time, |it| !*it);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}
