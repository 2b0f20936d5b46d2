//! Replaces `src/db/state/wake.rs`: the same signal, of the primitives that a model uses.

use super::explorer::sync::{Arc, Condvar, Mutex};

/// A signal that is set once and that any number of threads wait for. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct Signal(Arc<(Mutex<bool>, Condvar)>);

impl Default for Signal {
    fn default() -> Self {
        Self(Arc::new((Mutex::new(false), Condvar::new())))
    }
}

impl Signal {
    pub(super) fn set(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    /// Waits until the signal is set.
    pub(super) fn wait(&self) {
        let mut is_set = self.0.0.lock().unwrap();
        while !*is_set {
            is_set = self.0.1.wait(is_set).unwrap();
        }
    }
}
