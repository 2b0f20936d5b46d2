//! Divides a record of operations into what is durable and what a crash may still lose.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::world::{FileId, Folders, Op, World};

/// An operation on names that no sync of its folder has covered.
#[derive(Debug, Clone)]
pub(super) struct NameOp {
    pub(super) folder: Arc<Path>,
    pub(super) change: Change,
}

#[derive(Debug, Clone)]
pub(super) enum Change {
    /// The folder itself appears in its parent.
    Folder,
    Link {
        name: Arc<str>,
        file: FileId,
    },
    Move {
        from: Arc<str>,
        to: Arc<str>,
        file: FileId,
    },
    Unlink {
        name: Arc<str>,
    },
}

impl Change {
    pub(super) fn apply(&self, folder: &Arc<Path>, folders: &mut Folders) {
        let names = folders.entry(folder.clone()).or_default();
        match self {
            Change::Folder => {}
            Change::Link { name, file } => {
                names.insert(name.clone(), *file);
            }
            Change::Move { from, to, file } => {
                names.remove(from);
                names.insert(to.clone(), *file);
            }
            Change::Unlink { name } => {
                names.remove(name);
            }
        }
    }

    /// Returns the file that gets a name by this change.
    pub(super) fn file(&self) -> Option<FileId> {
        match self {
            Change::Link { file, .. } | Change::Move { file, .. } => Some(*file),
            Change::Folder | Change::Unlink { .. } => None,
        }
    }

    fn names(&self, wanted: &str) -> bool {
        match self {
            Change::Link { name, .. } | Change::Unlink { name } => **name == *wanted,
            Change::Move { to, .. } => **to == *wanted,
            Change::Folder => false,
        }
    }
}

/// Bytes appended to a file that no sync has covered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unsynced {
    pub(super) start: usize,
    pub(super) end: usize,
    /// A sync has failed since. The system takes the bytes for written, so no later sync writes
    /// them.
    given_up: bool,
}

/// The state of a file at the time of the crash.
#[derive(Debug, Clone, Default)]
pub(super) struct FileState {
    /// The size as the running process saw it.
    pub(super) size: usize,
    /// The durable size. All bytes before it are durable, except those in `unsynced`.
    pub(super) durable_size: usize,
    pub(super) unsynced: Vec<Unsynced>,
}

impl FileState {
    fn append(&mut self, start: usize, end: usize) {
        self.size = end;
        if start < end {
            self.unsynced.push(Unsynced { start, end, given_up: false });
        }
    }

    fn sync(&mut self) {
        let synced = self.unsynced.iter().filter(|append| !append.given_up);
        self.durable_size = synced.map(|append| append.end).fold(self.durable_size, usize::max);
        self.unsynced.retain(|append| append.given_up);
    }

    fn fail_sync(&mut self) {
        self.unsynced.iter_mut().for_each(|append| append.given_up = true);
    }
}

/// The division of a record into what is durable and what is pending.
#[derive(Debug, Default)]
pub(super) struct Pending {
    pub(super) durable: Folders,
    pub(super) name_ops: Vec<NameOp>,
    /// Files created since the recording began. The others are durable.
    pub(super) written: BTreeMap<FileId, FileState>,
}

impl Pending {
    /// Divides the first `at` operations.
    pub(super) fn after(world: &World, at: usize) -> Self {
        let mut pending = Self { durable: (*world.initial).clone(), ..Self::default() };
        for (n, op) in world.log.iter().enumerate().take(at) {
            let skipped = world.faults.skips(n, || op.sync_label(&world.files));
            match op {
                Op::Rename { folder, to, .. } if !skipped && world.faults.splits(n) => {
                    pending.push(folder, Change::Unlink { name: to.clone() });
                    pending.add(op, false);
                }
                op => pending.add(op, skipped),
            }
        }
        pending
    }

    fn add(&mut self, op: &Op, skipped: bool) {
        match op {
            Op::Sync { .. } | Op::SyncDir { .. } | Op::Rename { .. } if skipped => {}
            Op::CreateRoot { folder } => self.create_root(folder, skipped),
            Op::Create { folder, name, file } => {
                self.written.entry(*file).or_default();
                self.push(folder, Change::Link { name: name.clone(), file: *file });
            }
            Op::Append { file, start, end } => {
                self.written.entry(*file).or_default().append(*start, *end);
            }
            Op::Rename { folder, from, to, file } => {
                let change = Change::Move { from: from.clone(), to: to.clone(), file: *file };
                self.push(folder, change);
            }
            Op::Remove { folder, name } => {
                self.push(folder, Change::Unlink { name: name.clone() });
            }
            Op::Sync { file } => self.written.entry(*file).or_default().sync(),
            Op::FailedSync { file } => self.written.entry(*file).or_default().fail_sync(),
            Op::SyncDir { folder } => self.sync_dir(folder),
            Op::Plant { folder, name, file } => {
                self.name_ops.retain(|op| op.folder != *folder || !op.change.names(name));
                Change::Link { name: name.clone(), file: *file }.apply(folder, &mut self.durable);
            }
        }
    }

    fn push(&mut self, folder: &Arc<Path>, change: Change) {
        self.name_ops.push(NameOp { folder: folder.clone(), change });
    }

    /// Makes the name of the folder durable, unless the sync of its parent is skipped.
    fn create_root(&mut self, folder: &Arc<Path>, skipped: bool) {
        let is_folder = |op: &NameOp| op.folder == *folder && matches!(op.change, Change::Folder);
        if !skipped {
            self.name_ops.retain(|op| !is_folder(op));
            self.durable.entry(folder.clone()).or_default();
        } else if !self.durable.contains_key(folder) && !self.name_ops.iter().any(is_folder) {
            self.push(folder, Change::Folder);
        }
    }

    /// Makes the names in the folder durable, but not the folder's own.
    fn sync_dir(&mut self, folder: &Arc<Path>) {
        let mut open = Vec::new();
        for op in std::mem::take(&mut self.name_ops) {
            if op.folder != *folder || matches!(op.change, Change::Folder) {
                open.push(op);
            } else {
                op.change.apply(folder, &mut self.durable);
            }
        }
        self.name_ops = open;
    }
}
