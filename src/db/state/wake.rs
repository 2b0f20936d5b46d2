//! A signal that is set once. `tools/models` replaces this file to try every interleaving of
//! `group.rs`.

use std::sync::{Arc, OnceLock};

/// A signal that is set once and that any number of threads wait for. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Signal(Arc<OnceLock<()>>);

impl Signal {
    pub(crate) fn set(&self) {
        // A second call changes nothing.
        let _ = self.0.set(());
    }

    #[cfg(test)]
    pub(crate) fn is_set(&self) -> bool {
        self.0.get().is_some()
    }

    /// Waits until the signal is set.
    pub(crate) fn wait(&self) {
        self.0.wait();
    }
}
