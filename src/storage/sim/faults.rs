//! Failures on demand: operations that report an error, and syncs that do nothing.

use std::io;

/// How an operation fails. See [`Sim::fail_at`](super::Sim::fail_at).
///
/// # Examples
///
/// ```
/// use fpdb::storage::{Fault, Sim, Storage};
///
/// let sim = Sim::new();
/// sim.create_root()?;
/// sim.fail_at(sim.calls(), Fault::NoSpace, false);
/// assert!(sim.create("a.log").unwrap_err().to_string().contains("disk is full"));
/// assert!(sim.create("a.log").is_ok());
/// # Ok::<(), fpdb::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The operation does nothing and reports an error of the device.
    Error,
    /// An append writes the first half of its bytes and reports an error of the device. Any other
    /// operation fails as with [`Error`](Fault::Error).
    ShortWrite,
    /// The file system is full. An append writes the first half of its bytes, and every operation
    /// that needs space reports this. Reading and removing still work.
    NoSpace,
}

/// What a call needs from the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    Space,
    Nothing,
}

impl Fault {
    pub(super) fn error(self) -> io::Error {
        match self {
            Fault::Error | Fault::ShortWrite => io::Error::other("injected fault of the device"),
            Fault::NoSpace => io::ErrorKind::StorageFull.into(),
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Armed {
    at: usize,
    fault: Fault,
    persistent: bool,
}

/// Which calls fail, and which syncs are skipped.
#[derive(Debug, Clone, Default)]
pub(super) struct Faults {
    /// Calls so far.
    pub(super) calls: usize,
    armed: Option<Armed>,
    /// Syncs, by number, that make nothing durable.
    skipped: Vec<usize>,
    /// Syncs, by how their labels begin, that make nothing durable.
    skipped_labels: Vec<String>,
}

impl Faults {
    pub(super) fn arm(&mut self, at: usize, fault: Fault, persistent: bool) {
        self.armed = Some(Armed { at, fault, persistent });
    }

    pub(super) fn disarm(&mut self) {
        self.armed = None;
    }

    /// Counts a call, and returns its fault, if it has one.
    pub(super) fn next(&mut self, need: Need) -> Option<Fault> {
        let call = self.calls;
        self.calls += 1;
        let armed = self.armed.filter(|armed| {
            call >= armed.at && (armed.fault != Fault::NoSpace || need == Need::Space)
        })?;
        if !armed.persistent {
            self.armed = None;
        }
        Some(armed.fault)
    }

    pub(super) fn skip(&mut self, sync: usize) {
        self.skipped.push(sync);
    }

    pub(super) fn skip_label(&mut self, start: &str) {
        self.skipped_labels.push(start.to_owned());
    }

    pub(super) fn unskip_all(&mut self) {
        self.skipped.clear();
        self.skipped_labels.clear();
    }

    /// Returns whether the sync with this number and label does nothing.
    pub(super) fn skips(&self, sync: usize, label: impl FnOnce() -> String) -> bool {
        if self.skipped.contains(&sync) {
            return true;
        }
        !self.skipped_labels.is_empty() && {
            let label = label();
            self.skipped_labels.iter().any(|start| label.starts_with(start.as_str()))
        }
    }

    /// Returns what still applies after a crash: the program still lacks the syncs skipped by
    /// label.
    pub(super) fn after_crash(&self) -> Self {
        Self { skipped_labels: self.skipped_labels.clone(), ..Self::default() }
    }
}
