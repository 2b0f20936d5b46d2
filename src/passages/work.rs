//! How a search works: the settings that all searches have.

use std::path::{Path, PathBuf};

use crate::base::error::Result;
use crate::base::progress::{Meter, Phase, Watch};
use crate::file::scratch::ScratchFiles;
use crate::file::sorter::{Record, Sorted, Sorter};
use crate::file::storage::{Disk, Storage};

/// The settings that all searches have.
#[derive(Debug, Clone)]
pub(super) struct Work {
    pub(super) seed: Option<u64>,
    /// Bytes that sorting may take.
    pub(super) memory: u64,
    pub(super) threads: usize,
    pub(super) scratch: Option<PathBuf>,
    pub(super) watch: Watch,
}

impl Default for Work {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Self { seed: None, memory: 512 << 20, threads, scratch: None, watch: Watch::default() }
    }
}

impl Work {
    /// Returns the folder of scratch files.
    pub(super) fn folder(&self) -> PathBuf {
        self.scratch.clone().unwrap_or_else(std::env::temp_dir)
    }

    /// Begins a search with the first reading of the texts.
    pub(super) fn begin<'a>(&'a self, files: ScratchFiles<'a>) -> Result<Working<'a>> {
        Ok(Working {
            seed: self.seed.map_or_else(|| random_seed(&self.folder()), Ok)?,
            memory: usize::try_from(self.memory).unwrap_or(usize::MAX),
            threads: self.threads,
            files,
            meter: Meter::new(&self.watch, Phase::Read, None),
        })
    }
}

/// A search at work.
pub(super) struct Working<'a> {
    pub(super) seed: u64,
    memory: usize,
    pub(super) threads: usize,
    pub(super) files: ScratchFiles<'a>,
    pub(super) meter: Meter<'a>,
}

impl<'a> Working<'a> {
    /// Makes a sorter that takes a share of the memory.
    pub(super) fn sorter<R: Record>(&self, share: usize) -> Sorter<'a, R> {
        Sorter::new(self.files, self.memory / share, self.threads)
    }

    /// Sorts, and lets the caller end that.
    pub(super) fn sorted<R: Record>(
        &self,
        sorter: Sorter<'a, R>,
        passes: usize,
    ) -> Result<Sorted<'a, R>> {
        Ok(sorter.finish(&|_| self.meter.check())?.with_passes(passes))
    }

    /// Calls `each` with the sorted records, and lets the caller end that.
    pub(super) fn for_each<R: Record>(
        &self,
        sorted: &Sorted<'_, R>,
        each: &mut dyn FnMut(&[R]) -> Result<()>,
    ) -> Result<()> {
        sorted.for_each(&mut |records| {
            self.meter.check()?;
            each(records)
        })
    }
}

/// Returns a number of the system that nobody can predict.
#[expect(clippy::cast_possible_truncation, reason = "half of the bits suffice")]
pub(super) fn random_seed(folder: &Path) -> Result<u64> {
    Ok(Disk::new(folder).fresh_id()? as u64)
}
