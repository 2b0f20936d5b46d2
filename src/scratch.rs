//! Scratch files, for what a writer cannot hold in memory. They are of no use after a crash, and
//! removed as orphans at the next open.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::files::FileName;
use crate::storage::{LockedFolder, ReadFile, WriteFile};

/// Makes scratch files.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScratchFiles<'a>(&'a LockedFolder);

impl<'a> ScratchFiles<'a> {
    pub(crate) fn new(folder: &'a LockedFolder) -> Self {
        Self(folder)
    }

    /// Creates the next file.
    pub(crate) fn create(&self) -> Result<ScratchFile<'a>> {
        let storage = self.0.storage();
        let name = FileName::Run(self.0.next_scratch()).to_string();
        let file = storage.create(&name)?;
        Ok(ScratchFile { name: Name { folder: self.0, name }, file })
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
struct Name<'a> {
    folder: &'a LockedFolder,
    name: String,
}

impl Drop for Name<'_> {
    fn drop(&mut self) {
        self.folder.remove(&self.name);
    }
}

/// A scratch file that is being written.
#[derive(Debug)]
pub(crate) struct ScratchFile<'a> {
    name: Name<'a>,
    file: Arc<dyn WriteFile>,
}

impl<'a> ScratchFile<'a> {
    pub(crate) fn append(&self, bytes: &[u8]) -> Result<()> {
        self.file.append(bytes)
    }

    /// Ends the file, so that it can be read.
    pub(crate) fn finish(self) -> Result<ScratchReader<'a>> {
        let file = self.name.folder.storage().open(&self.name.name)?;
        Ok(ScratchReader { name: self.name, file })
    }
}

/// A complete scratch file.
#[derive(Debug)]
pub(crate) struct ScratchReader<'a> {
    name: Name<'a>,
    file: Arc<dyn ReadFile>,
}

impl ScratchReader<'_> {
    /// Returns the number of bytes.
    pub(crate) fn len(&self) -> usize {
        usize::try_from(self.file.length()).unwrap_or(usize::MAX)
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
            self.file.read_at(start as u64, to).map_err(|e| {
                let path = self.name.folder.storage().root().join(&self.name.name);
                Error::io("read the scratch file", &path, e)
            })?;
            visit(to)?;
        }
        Ok(())
    }
}

/// Most bytes of a spool in memory, and about as many as are written or read at a time; few in unit
/// tests, so that small files use scratch files. The size of every record divides this one.
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
}

impl<'a> Spool<'a> {
    pub(crate) fn new(files: Option<ScratchFiles<'a>>) -> Self {
        Self { files, file: None, memory: Vec::new() }
    }

    /// Appends a record.
    #[inline]
    pub(crate) fn push(&mut self, record: &[u8]) -> Result<()> {
        debug_assert!(SPOOL.is_multiple_of(record.len()));
        self.memory.extend_from_slice(record);
        if self.memory.len() >= SPOOL { self.write() } else { Ok(()) }
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

    /// Visits all bytes in order. Each slice consists of entire records.
    pub(crate) fn read(self, mut visit: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        if let Some(file) = self.file {
            let file = file.finish()?;
            file.read(0..file.len(), SPOOL, &mut visit)?;
        }
        visit(&self.memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Sim;
    use crate::storage::Storage;

    #[test]
    fn spool_returns_all_records_in_order_and_leaves_no_file() {
        let sim = Sim::new();
        sim.create_root().unwrap();
        let folder = LockedFolder::lock(&(sim.clone() as Arc<dyn Storage>)).unwrap();
        let most = SPOOL as u64 / 8;
        for count in [0, 1, most - 1, most, most + 1, 10 * most] {
            for files in [None, Some(ScratchFiles::new(&folder))] {
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
}
