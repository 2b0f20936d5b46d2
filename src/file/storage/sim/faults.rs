//! Failures on demand: operations that report an error, syncs and renames that do nothing, and
//! renames that are not atomic.

use std::io;

/// How an operation fails. See [`Sim::fail_at`](super::Sim::fail_at) and
/// [`Sim::fail_read_at`](super::Sim::fail_read_at).
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
    /// An append writes the first half of its bytes and reports an error of the device. Other
    /// operations still work.
    ShortWrite,
    /// The file system is full. An append writes the first half of its bytes, and every operation
    /// that needs space reports this. Reading and removing still work.
    NoSpace,
    /// The disk quota is used up. Otherwise the same as [`NoSpace`](Fault::NoSpace).
    Quota,
    /// A file ends early while it is read, which is reported. Other operations still work.
    ShortRead,
}

/// What a call needs from the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// To append bytes, which takes space.
    Append,
    /// Space for something else, such as a name.
    Space,
    /// To read a file.
    Read,
    Nothing,
}

impl Fault {
    pub(super) fn error(self) -> io::Error {
        match self {
            Fault::Error | Fault::ShortWrite => io::Error::other("injected fault of the device"),
            Fault::NoSpace => io::ErrorKind::StorageFull.into(),
            Fault::Quota => io::ErrorKind::QuotaExceeded.into(),
            Fault::ShortRead => io::ErrorKind::UnexpectedEof.into(),
        }
    }

    /// Returns whether a call with this need can fail in this way.
    fn applies(self, need: Need) -> bool {
        match self {
            Fault::Error => true,
            Fault::ShortWrite => need == Need::Append,
            Fault::NoSpace | Fault::Quota => matches!(need, Need::Append | Need::Space),
            Fault::ShortRead => need == Need::Read,
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
    /// The first call that failed since faults were last set.
    pub(super) first_failed: Option<usize>,
    /// Syncs and renames, by their position in the record, that change nothing.
    skipped: Vec<usize>,
    /// Renames, by their position in the record, before which the target is removed.
    split: Vec<usize>,
    /// Syncs, by how their labels begin, that make nothing durable.
    skipped_labels: Vec<String>,
}

impl Faults {
    pub(super) fn arm(&mut self, at: usize, fault: Fault, persistent: bool) {
        self.armed = Some(Armed { at, fault, persistent });
        self.first_failed = None;
    }

    pub(super) fn disarm(&mut self) {
        self.armed = None;
    }

    /// Counts a call, and returns its fault, if it has one.
    pub(super) fn next(&mut self, need: Need) -> Option<Fault> {
        let call = self.calls;
        self.calls += 1;
        let armed = self.armed.filter(|armed| call >= armed.at && armed.fault.applies(need))?;
        self.first_failed.get_or_insert(call);
        if !armed.persistent {
            self.armed = None;
        }
        Some(armed.fault)
    }

    pub(super) fn skip(&mut self, operation: usize) {
        self.skipped.push(operation);
    }

    pub(super) fn skip_label(&mut self, start: &str) {
        self.skipped_labels.push(start.to_owned());
    }

    pub(super) fn split(&mut self, rename: usize) {
        self.split.push(rename);
    }

    pub(super) fn unskip_all(&mut self) {
        self.skipped.clear();
        self.split.clear();
        self.skipped_labels.clear();
    }

    /// Returns whether this operation, a sync if it has a label, does nothing.
    pub(super) fn skips(&self, operation: usize, label: impl FnOnce() -> Option<String>) -> bool {
        if self.skipped.contains(&operation) {
            return true;
        }
        !self.skipped_labels.is_empty()
            && label().is_some_and(|label| {
                self.skipped_labels.iter().any(|start| label.starts_with(start.as_str()))
            })
    }

    /// Returns whether the target of this rename is removed first.
    pub(super) fn splits(&self, rename: usize) -> bool {
        self.split.contains(&rename)
    }

    /// Returns what still applies after a crash: the program still lacks the syncs skipped by
    /// label.
    pub(super) fn after_crash(&self) -> Self {
        Self { skipped_labels: self.skipped_labels.clone(), ..Self::default() }
    }
}
