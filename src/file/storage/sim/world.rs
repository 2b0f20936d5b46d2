//! What the running process sees, and the record of the operations that led to it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::faults::Faults;

/// The number of a file, like an inode number: a position in [`World::files`].
pub(super) type FileId = usize;

/// The files of a folder by name.
pub(super) type Names = BTreeMap<Arc<str>, FileId>;

pub(super) type Folders = BTreeMap<Arc<Path>, Names>;

/// One recorded operation, with what is needed to know what a crash can lose of it.
#[derive(Debug, Clone)]
pub(super) enum Op {
    CreateRoot {
        folder: Arc<Path>,
    },
    Create {
        folder: Arc<Path>,
        name: Arc<str>,
        file: FileId,
    },
    /// The file grew to `end` bytes.
    Append {
        file: FileId,
        start: usize,
        end: usize,
    },
    Sync {
        file: FileId,
    },
    /// A sync that reported an error. No later sync covers what this one should have made durable.
    FailedSync {
        file: FileId,
    },
    Rename {
        folder: Arc<Path>,
        from: Arc<str>,
        to: Arc<str>,
        file: FileId,
    },
    Remove {
        folder: Arc<Path>,
        name: Arc<str>,
    },
    SyncDir {
        folder: Arc<Path>,
    },
    /// A test put these contents there, as if they had always been there.
    Plant {
        folder: Arc<Path>,
        name: Arc<str>,
        file: FileId,
    },
}

impl Op {
    /// Returns the label of this operation, if it is a sync.
    pub(super) fn sync_label(&self, files: &[SimFile]) -> Option<String> {
        match self {
            Op::CreateRoot { .. } => Some("create_root".to_owned()),
            Op::Sync { file } => Some(format!("sync {}", files[*file].name)),
            Op::SyncDir { .. } => Some("sync_dir".to_owned()),
            _ => None,
        }
    }

    pub(super) fn describe(&self, files: &[SimFile]) -> String {
        match self {
            Op::Create { name, .. } => format!("create {name}"),
            Op::Append { file, start, end } => {
                format!("append bytes {start}..{end} to {}", files[*file].name)
            }
            Op::FailedSync { file } => format!("failed sync {}", files[*file].name),
            Op::Rename { from, to, .. } => format!("rename {from} to {to}"),
            Op::Remove { name, .. } => format!("remove {name}"),
            Op::Plant { name, .. } => format!("set_contents {name}"),
            sync => sync.sync_label(files).unwrap_or_default(),
        }
    }
}

/// A file. Bytes are only ever appended.
#[derive(Debug, Clone)]
pub(super) struct SimFile {
    pub(super) folder: Arc<Path>,
    /// The name it was created under.
    pub(super) name: Arc<str>,
    bytes: Bytes,
}

#[derive(Debug, Clone)]
enum Bytes {
    /// The file survived a crash or was planted. The bytes are shared with other states.
    Fixed(Arc<[u8]>),
    /// The running process created the file. With the last copy that was handed out.
    Growing(Vec<u8>, Option<Arc<[u8]>>),
}

impl SimFile {
    pub(super) fn fixed(folder: Arc<Path>, name: Arc<str>, bytes: Arc<[u8]>) -> Self {
        Self { folder, name, bytes: Bytes::Fixed(bytes) }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Fixed(bytes) => bytes,
            Bytes::Growing(bytes, _) => bytes,
        }
    }

    /// Returns whether somebody reads the file.
    fn is_open(&self) -> bool {
        match &self.bytes {
            Bytes::Fixed(bytes) | Bytes::Growing(_, Some(bytes)) => Arc::strong_count(bytes) > 1,
            Bytes::Growing(_, None) => false,
        }
    }

    /// Returns the current bytes. They are copied only if they grew since the last call.
    pub(super) fn share(&mut self) -> Arc<[u8]> {
        match &mut self.bytes {
            Bytes::Fixed(bytes) => bytes.clone(),
            Bytes::Growing(bytes, copy) => match copy {
                Some(copy) if copy.len() == bytes.len() => copy.clone(),
                _ => copy.insert(bytes.as_slice().into()).clone(),
            },
        }
    }

    fn append(&mut self, more: &[u8]) {
        if let Bytes::Fixed(bytes) = &self.bytes {
            self.bytes = Bytes::Growing(bytes.to_vec(), None);
        }
        if let Bytes::Growing(bytes, _) = &mut self.bytes {
            bytes.extend_from_slice(more);
        }
    }
}

/// The state that one [`Sim`](super::Sim) shares with its sibling folders.
#[derive(Debug, Default)]
pub(super) struct World {
    /// The folders when the recording began, all of them durable.
    pub(super) initial: Arc<Folders>,
    /// The folders as the running process sees them.
    pub(super) live: Arc<Folders>,
    pub(super) files: Vec<SimFile>,
    pub(super) log: Vec<Op>,
    /// The user's marks, each with the number of operations before it.
    pub(super) marks: Vec<(usize, u64)>,
    pub(super) faults: Faults,
    /// The same for reads of open files.
    pub(super) reads: Faults,
    pub(super) locked: Vec<FileId>,
    pub(super) ids: u64,
    pub(super) free_space: u64,
    /// The most bytes that all files together take, if that is limited.
    pub(super) capacity: Option<u64>,
}

/// Bytes of which a file system with limited space allocates a multiple to each file.
const ALLOCATED: u64 = 4096;

impl World {
    pub(super) fn names(&self, folder: &Path) -> io::Result<&Names> {
        self.live.get(folder).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Returns how many more bytes can be written.
    pub(super) fn free(&self) -> u64 {
        let Some(capacity) = self.capacity else { return self.free_space };
        let named: BTreeSet<FileId> =
            self.live.values().flat_map(BTreeMap::values).copied().collect();
        let takes_space = |(id, file): &(FileId, &SimFile)| named.contains(id) || file.is_open();
        let files = self.files.iter().enumerate().filter(takes_space);
        let lens = files.map(|(_, file)| file.bytes().len() as u64);
        let used: u64 = lens.map(|len| len.next_multiple_of(ALLOCATED).max(ALLOCATED)).sum();
        self.free_space.min(capacity.saturating_sub(used))
    }

    /// Returns how many of `len` bytes can still be appended to a file.
    pub(super) fn room(&self, file: FileId, len: usize) -> usize {
        if self.capacity.is_none() {
            return len;
        }
        let has = self.files[file].bytes().len() as u64;
        let allocated = has.next_multiple_of(ALLOCATED).max(ALLOCATED) - has;
        let room = allocated + self.free() / ALLOCATED * ALLOCATED;
        len.min(usize::try_from(room).unwrap_or(usize::MAX))
    }

    /// Returns the first `size` bytes of a file.
    pub(super) fn snapshot(&mut self, file: FileId, size: usize) -> Arc<[u8]> {
        let file = &mut self.files[file];
        if file.bytes().len() == size { file.share() } else { file.bytes()[..size].into() }
    }

    /// Returns the last file of the same folder and kind (with the same extension) that was created
    /// before this one. A file system may put the new file where that one was on the disk. Files of
    /// other folders are left out: a database rightly refuses a file with the header of another
    /// one.
    pub(super) fn predecessor(&self, file: FileId) -> Option<FileId> {
        fn kind(file: &SimFile) -> Option<&str> {
            file.name.rsplit_once('.').map(|(_, kind)| kind)
        }
        let new = &self.files[file];
        (0..file).rev().find(|&other| {
            let other = &self.files[other];
            other.folder == new.folder && kind(other) == kind(new)
        })
    }

    fn names_mut(&mut self, folder: &Path) -> io::Result<&mut Names> {
        Arc::make_mut(&mut self.live).get_mut(folder).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    pub(super) fn find(&self, folder: &Path, name: &str) -> io::Result<FileId> {
        self.names(folder)?.get(name).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    pub(super) fn create_root(&mut self, folder: &Arc<Path>) {
        Arc::make_mut(&mut self.live).entry(folder.clone()).or_default();
        self.log.push(Op::CreateRoot { folder: folder.clone() });
    }

    pub(super) fn create(&mut self, folder: &Arc<Path>, name: &str) -> io::Result<FileId> {
        let (file, free) = (self.files.len(), self.free());
        let is_limited = self.capacity.is_some();
        let names = self.names_mut(folder)?;
        if names.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        if is_limited && free < ALLOCATED {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let name: Arc<str> = name.into();
        names.insert(name.clone(), file);
        let bytes = Bytes::Growing(Vec::new(), None);
        self.files.push(SimFile { folder: folder.clone(), name: name.clone(), bytes });
        self.log.push(Op::Create { folder: folder.clone(), name, file });
        Ok(file)
    }

    pub(super) fn append(&mut self, file: FileId, bytes: &[u8]) {
        let start = self.files[file].bytes().len();
        self.files[file].append(bytes);
        self.log.push(Op::Append { file, start, end: start + bytes.len() });
    }

    pub(super) fn rename(&mut self, folder: &Arc<Path>, from: &str, to: &str) -> io::Result<()> {
        let file = self.find(folder, from)?;
        let (from, to): (Arc<str>, Arc<str>) = (from.into(), to.into());
        let names = self.names_mut(folder)?;
        names.remove(&from);
        names.insert(to.clone(), file);
        self.log.push(Op::Rename { folder: folder.clone(), from, to, file });
        Ok(())
    }

    pub(super) fn remove(&mut self, folder: &Arc<Path>, name: &str) -> io::Result<()> {
        self.find(folder, name)?;
        self.names_mut(folder)?.remove(name);
        self.log.push(Op::Remove { folder: folder.clone(), name: name.into() });
        Ok(())
    }

    pub(super) fn plant(&mut self, folder: &Arc<Path>, name: &str, bytes: &[u8]) {
        let (file, name): (FileId, Arc<str>) = (self.files.len(), name.into());
        self.files.push(SimFile::fixed(folder.clone(), name.clone(), bytes.into()));
        let names = Arc::make_mut(&mut self.live).entry(folder.clone()).or_default();
        names.insert(name.clone(), file);
        self.log.push(Op::Plant { folder: folder.clone(), name, file });
    }
}
