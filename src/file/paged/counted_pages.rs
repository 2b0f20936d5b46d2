//! Memory for pages, which counts towards the limit of a database.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::open_file::OpenFile;
use super::read_ahead::ReadAhead;
use crate::base::error::Result;
use crate::file::storage::{PageBudget, PageMemory};

/// The memory for the pages of a file, and what it counts towards.
#[derive(Debug)]
pub(super) struct CountedPages {
    pub(super) memory: PageMemory,
    pub(super) budget: Option<Arc<PageBudget>>,
    /// If there is room for the entire file: its bytes. They count from the beginning, and single
    /// pages do not.
    pub(super) set_aside: u64,
    /// How many of these bytes are not used yet.
    promised: AtomicU64,
    /// Whether memory that is set aside is to be given up.
    pub(super) is_released: AtomicBool,
    /// For readers in order among those who share the pages.
    pub(super) read_ahead: ReadAhead,
}

impl CountedPages {
    /// Counts memory that is used now: that was set aside, if any was.
    pub(super) fn grow(&self, bytes: u64) {
        let Some(budget) = &self.budget else { return };
        let rest = |promised: u64| Some(promised.saturating_sub(bytes));
        let before = self.promised.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest);
        budget.use_promised(before.map_or(0, |before| before.min(bytes)));
        budget.grow(bytes);
    }

    /// Returns whether the memory is set aside and is not to be given up.
    pub(super) fn stays(&self) -> bool {
        self.set_aside > 0 && !self.is_released.load(Ordering::Relaxed)
    }

    /// Makes no memory and counts nothing: a sequential reader has memory of its own.
    pub(super) fn none() -> Result<Self> {
        let memory = PageMemory::private(0, false)?;
        let (promised, is_released) = (AtomicU64::new(0), AtomicBool::new(false));
        let (budget, set_aside, read_ahead) = (None, 0, ReadAhead::default());
        Ok(Self { memory, budget, set_aside, promised, is_released, read_ahead })
    }

    /// Makes memory for the pages of a file, and sets it aside if there is room.
    pub(super) fn new(file: &OpenFile, budget: Arc<PageBudget>) -> Result<Self> {
        let len = file.body_len as u64;
        let set_aside = if budget.set_aside(len) { len } else { 0 };
        // Single pages would take up too much of huge ones.
        match PageMemory::private(file.body_len, set_aside > 0 && file.is_scattered) {
            Ok(memory) => {
                let (budget, is_released) = (Some(budget), AtomicBool::new(false));
                let (promised, read_ahead) = (AtomicU64::new(set_aside), ReadAhead::default());
                Ok(Self { memory, budget, set_aside, promised, is_released, read_ahead })
            }
            Err(error) => {
                budget.use_promised(set_aside);
                budget.end_set_aside(set_aside);
                Err(error.at_path(file.path()))
            }
        }
    }
}

impl Drop for CountedPages {
    fn drop(&mut self) {
        let Some(budget) = &self.budget else { return };
        match self.set_aside {
            0 => budget.drop_pages(self.memory.count_inserted()),
            bytes => {
                budget.use_promised(*self.promised.get_mut());
                budget.end_set_aside(bytes);
            }
        }
    }
}
