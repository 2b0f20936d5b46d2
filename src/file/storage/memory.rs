//! The limit for the memory that copies of indexes take.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::available::default_for_copies;
use super::page_budget::PageBudget;

/// How many bytes copies may take together, and how many they take.
#[derive(Debug)]
pub(crate) struct MemoryBudget {
    limit: u64,
    /// Whose memory the copies take, if they may take only a part of it.
    pages: Option<Arc<PageBudget>>,
    used: AtomicU64,
}

impl MemoryBudget {
    /// Creates a budget of this many bytes.
    pub(crate) fn new(limit: u64) -> Self {
        Self { limit, pages: None, used: AtomicU64::new(0) }
    }

    /// Creates a budget of most of the memory for pages.
    pub(crate) fn part_of(pages: Arc<PageBudget>) -> Self {
        Self { pages: Some(pages), ..Self::new(default_for_copies()) }
    }

    /// Returns the limit in bytes.
    pub(crate) fn limit(&self) -> u64 {
        self.pages.as_ref().map_or(self.limit, |pages| self.limit.min(pages.most_copies()))
    }

    /// Reserves memory until the reservation is dropped; `None` if so much is not left.
    pub(crate) fn reserve(self: &Arc<Self>, bytes: u64) -> Option<Reservation> {
        let limit = self.limit();
        let fits = |used: u64| used.checked_add(bytes).filter(|&sum| sum <= limit);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).ok()?;
        Some(Reservation { budget: self.clone(), bytes })
    }
}

/// A part of a [`MemoryBudget`].
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Arc<MemoryBudget>,
    bytes: u64,
}

impl Reservation {
    /// Takes up to this many bytes out of the reservation, as one of their own.
    pub(crate) fn split(&mut self, bytes: u64) -> Self {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Self { budget: self.budget.clone(), bytes }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservations_never_exceed_the_budget_and_are_freed_when_dropped() {
        let budget = Arc::new(MemoryBudget::new(100));
        let mut first = budget.reserve(60).unwrap();
        assert!(budget.reserve(41).is_none() && budget.reserve(u64::MAX).is_none());
        let second = budget.reserve(40).unwrap();
        let part = first.split(50);
        drop(first);
        assert!(budget.reserve(11).is_none());
        drop((part, second));
        assert!(budget.reserve(100).is_some());
    }

    #[test]
    fn copies_may_take_seven_eighths_of_the_memory_for_pages() {
        let budget = Arc::new(MemoryBudget::part_of(Arc::new(PageBudget::new(800))));
        assert!(budget.reserve(701).is_none() && budget.reserve(700).is_some());
        let unlimited = MemoryBudget::part_of(PageBudget::unlimited());
        assert_eq!(unlimited.limit(), default_for_copies());
    }
}
