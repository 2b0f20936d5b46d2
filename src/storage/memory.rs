//! Limits for the memory that copies and pages of files take.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

/// How many bytes copies may take together, and how many they take.
#[derive(Debug)]
pub(crate) struct MemoryBudget {
    limit: u64,
    used: AtomicU64,
}

impl MemoryBudget {
    /// Creates a budget of this many bytes.
    pub(crate) fn new(limit: u64) -> Self {
        Self { limit, used: AtomicU64::new(0) }
    }

    /// Returns the limit in bytes.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Reserves memory until the reservation is dropped; `None` if so much is not left.
    pub(crate) fn reserve(self: &Arc<Self>, bytes: u64) -> Option<Reservation> {
        let fits = |used: u64| used.checked_add(bytes).filter(|&sum| sum <= self.limit);
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

/// How many bytes of memory the pages of a database's files may take, and how many they take.
///
/// # Examples
///
/// ```
/// let budget = fpdb::storage::PageBudget::new(1 << 30);
/// assert_eq!((budget.limit(), budget.used()), (1 << 30, 0));
/// ```
// Pages are not removed one by one. Once they take more than the limit, the next operation begins
// with a version whose page memory is empty, and the old memory is freed after the last operation
// that uses it (`Current` in version.rs).
#[derive(Debug)]
pub struct PageBudget {
    limit: u64,
    used: AtomicU64,
    /// Above this, pages are dropped. More than the limit only while memory of earlier versions is
    /// still in use: dropping pages again and again would not free it.
    threshold: AtomicU64,
}

/// Most of the memory that is available now.
impl Default for PageBudget {
    fn default() -> Self {
        let most = super::available::memory() / 5 * 4;
        Self::new(super::available::memory_now().map_or(most / 4, |now| most.min(now / 10 * 9)))
    }
}

impl PageBudget {
    /// Creates a budget of this many bytes.
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Self { limit, used: AtomicU64::new(0), threshold: AtomicU64::new(limit) }
    }

    /// Returns a budget without a limit, which all that use it share.
    pub(super) fn unlimited() -> Arc<Self> {
        static UNLIMITED: LazyLock<Arc<PageBudget>> =
            LazyLock::new(|| Arc::new(PageBudget::new(u64::MAX)));
        UNLIMITED.clone()
    }

    /// Returns the limit in bytes.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Returns the bytes in use.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, bytes: u64) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn subtract(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        self.threshold.store(self.limit, Ordering::Relaxed);
    }

    /// Sets memory aside for all pages of a file, if that leaves an eighth of the limit for others.
    /// Returns whether it does.
    pub(crate) fn set_aside(&self, bytes: u64) -> bool {
        let most = self.limit - self.limit / 8;
        let fits = |used: u64| used.checked_add(bytes).filter(|&sum| sum <= most);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()
    }

    /// Returns whether the pages take too much memory.
    #[inline]
    pub(crate) fn is_exceeded(&self) -> bool {
        self.used.load(Ordering::Relaxed) > self.threshold.load(Ordering::Relaxed)
    }

    /// Returns whether there is room for this many more bytes, and as many again for others.
    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        self.used().saturating_add(bytes) <= self.limit / 2
    }

    /// Accepts what is in use after pages were dropped, and half of the limit in addition.
    pub(crate) fn accept_rest(&self) {
        let threshold = self.used().saturating_add(self.limit / 2).max(self.limit);
        self.threshold.store(threshold, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_cannot_be_freed_does_not_exceed_the_budget_forever() {
        let budget = PageBudget::new(100);
        budget.add(101);
        assert!(budget.is_exceeded() && !budget.has_room(1));
        budget.accept_rest();
        assert!(!budget.is_exceeded());
        budget.add(51);
        assert!(budget.is_exceeded());
        budget.subtract(110);
        assert!(!budget.is_exceeded() && budget.has_room(8) && !budget.has_room(9));
        budget.add(59);
        assert!(budget.is_exceeded());
        budget.subtract(101);
        assert!(!budget.set_aside(89) && !budget.set_aside(u64::MAX) && budget.set_aside(88));
        assert_eq!(budget.used(), 88);
        assert!(!budget.set_aside(1));
    }

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
}
