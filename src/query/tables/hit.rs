//! What a query finds, before ids are read.

use super::short_list::ShortList;
use crate::fingerprint::Word;

/// A fingerprint within the distance, and the source that has it. Ordered as answers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hit<F> {
    pub(super) distance: u32,
    pub(super) fingerprint: F,
    /// Segments by number, oldest first, then memtables.
    pub(super) source: usize,
    /// The block of table 0 that holds it, if it was found there.
    pub(super) block: Option<u32>,
}

impl<F: Word> Hit<F> {
    /// Fills unused places of lists.
    pub(super) const NONE: Self = Self::new(0, F::ZERO, 0);

    pub(super) const fn new(distance: u32, fingerprint: F, source: usize) -> Self {
        Self { distance, fingerprint, source, block: None }
    }
}

/// What a query finds.
pub(super) type Hits<F> = ShortList<Hit<F>, 4>;
