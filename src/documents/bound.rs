//! The most bytes that a file of documents can take, before its keys are sorted and compressed.

use crate::file::paged::PAGE;

/// Bytes of every file: the symbol table, the ends of the leaves, inner nodes and filter.
pub(crate) const MAX_FIXED_BYTES: u64 = 6 * PAGE as u64;

/// Returns the most bytes that a record with a key of this length adds to a file of fingerprints of
/// `width` bytes.
///
/// A record takes r bytes in a leaf. Besides, a page is never full:
///
/// - If no record takes more than an eighth of a page, a leaf ends when at least 7/8 of its page
///   are used. Its separator in an inner node is no longer than its first record, so the inner
///   nodes take at most a fifth of the leaves. Together that is less than r / 2.
/// - With records up to a third of a page, at least 2/3 are used, and a separator may take half as
///   much as its leaf. Together that is less than 2 r.
/// - A longer record may waste as much of the leaf before as it takes, and every inner node may
///   have only two children. Beyond a page, it also wastes the ends of its own last pages.
pub(crate) fn most_record_bytes(width: usize, key_len: usize) -> u64 {
    /// Ids, stamps and originals, and the lengths and bits that say which there are.
    const COLUMNS: u64 = 3 * 8 + 6;
    /// A chunk of the locator, a page number in it, and bits of the filter.
    const ELSEWHERE: u64 = 24 + 4 + 2;
    const PAGE_LEN: u64 = PAGE as u64;
    const SHORT: u64 = PAGE_LEN / 8;
    const LONG: u64 = PAGE_LEN / 3;
    // Without a fitting symbol, a byte of a key takes two.
    let record = width as u64 + COLUMNS + 2 * key_len as u64;
    let in_tree = match record {
        _ if record <= SHORT => record * 3 / 2,
        _ if record <= LONG => record * 3,
        _ if record <= PAGE_LEN => record * 7,
        _ => record * 7 + 2 * PAGE_LEN,
    };
    in_tree + ELSEWHERE
}
