//! A copy of a part of a file in memory.

use crate::storage::{PageMemory, Reservation};

/// A copy of the end of a file's body, whose pages have all passed their checksums.
#[derive(Debug)]
pub(super) struct BodyCopy {
    /// The offset in the file of the first byte, a multiple of the length of a page.
    pub(super) base: usize,
    pub(super) memory: PageMemory,
    /// Held for its drop.
    pub(super) _reserved: Reservation,
}
