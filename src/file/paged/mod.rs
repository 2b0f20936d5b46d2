//! Immutable files of checked pages: what tables, postings, tombstones and names have in common.
//!
//! A file is a body, the checksums of the body's 4 KiB pages, and a footer (storage-format.md,
//! "Paged files"). The body begins with the file header. Opening a file reads only its header and
//! footer; a page is read into memory and checked when it is first used.

mod counted_pages;
mod in_order;
mod load;
mod mended;
mod open_file;
mod read_ahead;
mod reader;
mod sequential;
mod writer;

pub(crate) use mended::tail;
pub(crate) use reader::{Body, PagedFile, pages_read};
pub(crate) use sequential::{OpenPaged, Paged, Sequential};
pub(crate) use writer::{FileSummary, PagedWriter};

use crate::file::codec::header::FileHeader;

// The unit in which devices and caches lose data, and short enough for CRC-32 to find any three
// flipped bits.
pub(crate) use crate::file::storage::PAGE;

/// Page checksums in one checksum page, which ends with a checksum of its own.
pub(crate) const CHECKSUMS_PER_PAGE: usize = PAGE / 4 - 1;

/// Length of the trailer: body length (u64), meta length (u32), checksum (u32), end mark.
pub(crate) const TRAILER_LEN: usize = 24;

/// The last bytes of every paged file. A file that was cut short or grew does not end with them.
pub(crate) const END_MARK: [u8; 8] = [0x8f, b'f', b'p', b'e', b'n', b'd', b'\r', 0x1a];

/// Added to a checksum page's index to form the number that its checksum covers.
const CHECKSUM_PAGE_FLAG: u64 = 1 << 63;
/// The number that the footer's checksum covers.
const FOOTER_NUMBER: u64 = u64::MAX;

/// A CRC-32 over the file's identity, the number of the covered piece, and its bytes. A page that
/// was copied from another place or file does not match it.
#[derive(Debug, Clone)]
struct Checksum(crc32fast::Hasher);

impl Checksum {
    fn of_file(header: &FileHeader) -> Self {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&header.identity());
        Self(hasher)
    }

    fn piece(&self, number: u64, bytes: &[u8]) -> u32 {
        let mut hasher = self.0.clone();
        hasher.update(&number.to_le_bytes());
        hasher.update(bytes);
        hasher.finalize()
    }
}

#[cfg(test)]
mod tests;
