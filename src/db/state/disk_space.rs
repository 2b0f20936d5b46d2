//! Disk space that is free, but promised to somebody.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// What is promised of the free space. `commit/space.rs` decides about it.
#[derive(Debug, Default)]
pub(crate) struct DiskSpace {
    /// Bytes that commits may still use before the free space is read again.
    pub(crate) grant: u64,
    claims: Vec<Weak<Claim>>,
    /// Whether the last write was refused, and that was reported.
    pub(crate) is_full: bool,
    /// When a refusal was last reported.
    reported: Option<Instant>,
}

/// Bytes that an operation may use, until this is dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    most: AtomicU64,
    written: Arc<AtomicU64>,
}

impl Claim {
    /// Counts the bytes that are written already: the free space does not have them any more.
    pub(crate) fn written(&self) -> &Arc<AtomicU64> {
        &self.written
    }

    /// Returns all bytes of the claim, written or not.
    pub(crate) fn most(&self) -> u64 {
        self.most.load(Ordering::Relaxed)
    }

    /// Adds bytes to the claim.
    pub(crate) fn grow(&self, bytes: u64) {
        self.most.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Gives back what is not written yet.
    pub(crate) fn end(&self) {
        self.most.store(0, Ordering::Relaxed);
    }

    fn left(&self) -> u64 {
        self.most().saturating_sub(self.written.load(Ordering::Acquire))
    }
}

/// How long refusals are not reported after one that was. On a disk that is about to be full, small
/// writes still fit between large ones that do not, so refusals begin again and again.
const QUIET: Duration = Duration::from_secs(10);

impl DiskSpace {
    /// Returns whether to report a refusal that happens now: the first in a row, but not soon after
    /// another one.
    pub(crate) fn is_refusal_news(&mut self, now: Instant) -> bool {
        let is_soon = self.reported.is_some_and(|then| now.duration_since(then) < QUIET);
        if self.is_full || is_soon {
            return false;
        }
        (self.is_full, self.reported) = (true, Some(now));
        true
    }

    pub(crate) fn claim(&mut self, most: u64) -> Arc<Claim> {
        let claim = Arc::new(Claim { most: AtomicU64::new(most), written: Arc::default() });
        self.claims.push(Arc::downgrade(&claim));
        claim
    }

    /// Returns how many bytes all operations may still write.
    pub(crate) fn claimed(&mut self) -> u64 {
        self.claims.retain(|claim| claim.strong_count() > 0);
        self.claims.iter().filter_map(Weak::upgrade).map(|claim| claim.left()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_counts_what_is_not_written_yet_until_it_is_dropped() {
        let mut space = DiskSpace::default();
        let (first, second) = (space.claim(100), space.claim(10));
        assert_eq!(space.claimed(), 110);
        first.written().fetch_add(30, Ordering::Relaxed);
        second.written().fetch_add(30, Ordering::Relaxed);
        assert_eq!(space.claimed(), 70);
        second.grow(50);
        assert_eq!(space.claimed(), 100);
        drop(first);
        assert_eq!((space.claimed(), space.claims.len()), (30, 1));
    }

    #[test]
    fn refusals_are_reported_once_in_a_row_and_not_again_soon() {
        let (mut space, start) = (DiskSpace::default(), Instant::now());
        let mut report = |seconds: u64, is_full: bool| {
            space.is_full &= is_full;
            space.is_refusal_news(start + Duration::from_secs(seconds))
        };
        assert!(report(0, true));
        assert!(!report(3600, true), "no write has succeeded since");
        assert!(report(3601, false));
        assert!(!report(3602, false), "so soon");
        assert!(!report(3610, true), "so soon");
        assert!(report(3611, true), "it lasts, and the last report is long ago");
        assert!(!report(3622, true));
    }
}
