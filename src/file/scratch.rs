//! Scratch files, for what does not fit in memory. They are of no use after a crash. A writer's are
//! in the folder of the database, and removed as orphans at the next open. A reader's have no name.

use std::fmt::Debug;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::error::{Error, Result};
use crate::file::names::FileName;
use crate::file::storage::{
    Kept, LockedFolder, PAGE, PageBudget, ReadFile, TemporaryFile, WriteFile,
};

/// Makes scratch files.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ScratchFiles<'a> {
    /// In the folder of a database that is written to.
    InDatabase(&'a LockedFolder),
    /// Files without a name in any folder. What the system keeps of them counts towards the budget.
    InFolder(&'a Path, &'a Arc<PageBudget>),
}

impl<'a> ScratchFiles<'a> {
    /// Creates the next file.
    pub(crate) fn create(&self) -> Result<ScratchFile<'a>> {
        match *self {
            Self::InDatabase(folder) => {
                let name = FileName::Run(folder.next_scratch()).to_string();
                let file = folder.storage().create(&name)?;
                let kept = Kept::nothing(&folder.storage().page_budget());
                Ok(ScratchFile::Named(Name { folder, name }, kept, file))
            }
            Self::InFolder(folder, pages) => {
                let file = TemporaryFile::create(folder)?;
                Ok(ScratchFile::Unnamed(folder, Kept::nothing(pages), file))
            }
        }
    }
}

/// What a writer of a table may use, in addition to what every writer needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scratch<'a> {
    pub files: ScratchFiles<'a>,
    /// Bytes of memory for a prefix filter.
    pub filter_memory: usize,
}

/// The name of a scratch file, which is removed when the value is dropped.
#[derive(Debug)]
pub(crate) struct Name<'a> {
    folder: &'a LockedFolder,
    name: String,
}

impl Drop for Name<'_> {
    fn drop(&mut self) {
        self.folder.remove(&self.name);
    }
}

impl Name<'_> {
    fn path(&self) -> PathBuf {
        self.folder.storage().root().join(&self.name)
    }
}

/// A scratch file that is being written.
#[derive(Debug)]
pub(crate) enum ScratchFile<'a> {
    Named(Name<'a>, Kept, Arc<dyn WriteFile>),
    /// In this folder.
    Unnamed(&'a Path, Kept, TemporaryFile),
}

impl<'a> ScratchFile<'a> {
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        match self {
            Self::Named(_, kept, file) => kept.append(&**file, bytes),
            Self::Unnamed(_, kept, file) => kept.append(file, bytes),
        }
    }

    /// Ends the file, so that it can be read.
    pub(crate) fn finish(self) -> Result<ScratchReader<'a>> {
        match self {
            Self::Named(name, kept, _) => {
                let file = name.folder.storage().open_scratch(&name.name)?;
                let path = name.path();
                Ok(ScratchReader { file, path, _name: Some(name), _kept: kept })
            }
            Self::Unnamed(folder, kept, file) => {
                let (file, path) = (file.finish()?, folder.to_owned());
                Ok(ScratchReader { file, path, _name: None, _kept: kept })
            }
        }
    }
}

/// A complete scratch file.
#[derive(Debug)]
pub(crate) struct ScratchReader<'a> {
    file: Arc<dyn ReadFile>,
    /// Of the file or its folder, for messages.
    path: PathBuf,
    /// Removes the file.
    _name: Option<Name<'a>>,
    /// Ends counting what the system keeps of it.
    _kept: Kept,
}

impl ScratchReader<'_> {
    /// Returns the number of bytes.
    pub(crate) fn len(&self) -> usize {
        usize::try_from(self.file.length()).unwrap_or(usize::MAX)
    }

    /// Gives back the disk space of these bytes, where the file system can do that. The bytes
    /// before them must have been discarded, too.
    pub(crate) fn discard(&self, range: Range<usize>) {
        let [start, end] = [range.start, range.end].map(|at| at / PAGE * PAGE);
        self.file.discard(start as u64, end.saturating_sub(start) as u64);
    }

    /// Passes these bytes to `visit` in order, at most `most` at a time.
    pub(crate) fn read(
        &self,
        range: Range<usize>,
        most: usize,
        visit: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut buffer = vec![0; range.len().min(most)];
        for start in range.clone().step_by(most.max(1)) {
            let to = buffer.get_mut(..(range.end - start).min(most)).unwrap_or_default();
            let read = self.file.read_once(start as u64, to);
            read.map_err(|e| Error::io("read the scratch file", &self.path, e))?;
            visit(to)?;
        }
        Ok(())
    }
}

/// Most bytes of a spool in memory, and about as many as are written or read at a time; few in unit
/// tests, so that small files use scratch files.
const SPOOL: usize = if cfg!(test) { 1 << 10 } else { 1 << 16 };

/// Records that are written and then read once, in the same order: in memory if they are few, in a
/// scratch file if they are many.
#[derive(Debug)]
pub(crate) struct Spool<'a> {
    /// Without it, all bytes stay in memory.
    files: Option<ScratchFiles<'a>>,
    file: Option<ScratchFile<'a>>,
    /// The last bytes.
    memory: Vec<u8>,
    /// Bytes in memory at which they are written.
    most: usize,
}

impl<'a> Spool<'a> {
    pub(crate) fn new(files: Option<ScratchFiles<'a>>) -> Self {
        Self { files, file: None, memory: Vec::new(), most: SPOOL }
    }

    /// Makes a spool that keeps everything in memory until [`spill`](Self::spill).
    pub(crate) fn in_memory(files: ScratchFiles<'a>) -> Self {
        Self { most: usize::MAX, ..Self::new(Some(files)) }
    }

    /// Keeps only few bytes in memory from now on.
    pub(crate) fn spill(&mut self) -> Result<()> {
        if self.most == SPOOL {
            return Ok(());
        }
        self.most = SPOOL;
        self.write()?;
        self.memory.shrink_to(SPOOL);
        Ok(())
    }

    /// Returns the number of bytes in memory.
    pub(crate) fn memory(&self) -> usize {
        self.memory.len()
    }

    /// Appends a record. Its size must be a divisor of [`SPOOL`].
    #[inline]
    pub(crate) fn push(&mut self, record: &[u8]) -> Result<()> {
        debug_assert!(SPOOL.is_multiple_of(record.len()));
        self.append(record)
    }

    /// Appends bytes, which may be in two slices when they are read.
    #[inline]
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.memory.extend_from_slice(bytes);
        if self.memory.len() >= self.most { self.write() } else { Ok(()) }
    }

    /// Moves the bytes in memory to the file.
    #[cold]
    fn write(&mut self) -> Result<()> {
        let Some(files) = self.files else { return Ok(()) };
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(files.create()?),
        };
        file.append(&self.memory)?;
        self.memory.clear();
        Ok(())
    }

    /// Visits all bytes in order. Of [records](Self::push), each slice has entire ones.
    pub(crate) fn read(self, mut visit: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        if let Some(file) = self.file {
            let file = file.finish()?;
            file.read(0..file.len(), SPOOL, &mut visit)?;
        }
        self.memory.chunks(SPOOL).try_for_each(visit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::storage::Sim;
    use crate::file::storage::Storage;

    #[test]
    fn spool_returns_all_records_in_order_and_leaves_no_file() {
        let sim = Sim::new();
        sim.create_root().unwrap();
        let folder = LockedFolder::lock(&(sim.clone() as Arc<dyn Storage>)).unwrap();
        let most = SPOOL as u64 / 8;
        for count in [0, 1, most - 1, most, most + 1, 10 * most] {
            for files in [None, Some(ScratchFiles::InDatabase(&folder))] {
                let mut spool = Spool::new(files);
                (0..count).for_each(|i| spool.push(&i.to_le_bytes()).unwrap());
                let is_on_disk = files.is_some() && count >= most;
                assert_eq!(sim.list().unwrap().unwrap().len(), 1 + usize::from(is_on_disk));
                assert!(files.is_none() || spool.memory.len() < SPOOL);
                let mut read = Vec::new();
                spool
                    .read(|bytes| {
                        assert!(bytes.len().is_multiple_of(8));
                        read.extend_from_slice(bytes);
                        Ok(())
                    })
                    .unwrap();
                assert_eq!(read, (0..count).flat_map(u64::to_le_bytes).collect::<Vec<u8>>());
                assert_eq!(sim.list().unwrap().unwrap(), ["LOCK"]);
            }
        }
    }

    #[test]
    fn spool_in_memory_writes_nothing_until_it_spills() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing");
        let pages = Arc::new(PageBudget::new(0));
        let count = 10 * SPOOL as u64 / 8;
        for spill_at in [0, 1, count / 2, count] {
            let files = ScratchFiles::InFolder(folder.path(), &pages);
            let (mut spool, mut read) = (Spool::in_memory(files), Vec::new());
            let mut in_memory = Spool::in_memory(ScratchFiles::InFolder(&missing, &pages));
            for i in 0..count {
                if i == spill_at {
                    spool.spill().unwrap();
                }
                spool.push(&i.to_le_bytes()).unwrap();
                in_memory.push(&i.to_le_bytes()).unwrap();
                assert!(i < spill_at || spool.memory() < SPOOL);
            }
            assert_eq!(in_memory.memory() as u64, 8 * count);
            assert!(in_memory.spill().is_err());
            spool
                .read(|bytes| {
                    read.extend_from_slice(bytes);
                    Ok(())
                })
                .unwrap();
            assert_eq!(read, (0..count).flat_map(u64::to_le_bytes).collect::<Vec<u8>>());
        }
    }
    #[test]
    fn files_without_a_name_count_towards_the_memory_for_pages_until_they_were_read() {
        let (folder, pages) = (tempfile::tempdir().unwrap(), Arc::new(PageBudget::new(1000)));
        let mut file = ScratchFiles::InFolder(folder.path(), &pages).create().unwrap();
        file.append(&[1; 600]).unwrap();
        // There is no room for these.
        file.append(&[2; 600]).unwrap();
        let file = file.finish().unwrap();
        assert!(!pages.keep_written(401));
        let mut read = Vec::new();
        file.read(0..file.len(), 500, &mut |bytes| {
            read.extend_from_slice(bytes);
            Ok(())
        })
        .unwrap();
        assert_eq!(read, [[1; 600], [2; 600]].concat());
        drop(file);
        assert!(pages.keep_written(1000));
    }
}
