//! Immutable files of checked pages: what tables, postings, tombstones and names have in common.
//!
//! A file is a body, the checksums of its 4 KiB pages, and a footer (storage-format.md, "Paged
//! files"). A body begins with the file header. Nothing is read at open but header and footer; a
//! page is checked when it is first touched.

mod reader;
mod writer;

pub(crate) use reader::{Body, PagedFile};
pub(crate) use writer::{FileSummary, PagedWriter};

use crate::codec::header::FileHeader;

/// Bytes under one checksum: the unit in which devices and caches lose data, and short enough for
/// CRC-32 to find any three flipped bits.
pub(crate) const PAGE: usize = 4096;

/// Page checksums in one group; a group is a page of its own with its own checksum at the end.
pub(crate) const GROUP: usize = PAGE / 4 - 1;

/// body length u64, meta length u32, checksum u32, end magic.
pub(crate) const TRAILER_LEN: usize = 24;

/// The last bytes of every paged file: a file cut short, or grown, does not end with it.
pub(crate) const END_MAGIC: [u8; 8] = [0x8f, b'f', b'p', b'e', b'n', b'd', b'\r', 0x1a];

/// Set in the number under a checksum that covers page checksums rather than a page.
const GROUP_MARK: u64 = 1 << 63;
/// The number under the footer's checksum.
const FOOTER_MARK: u64 = u64::MAX;

/// CRC-32 over the file's identity, the number of the covered piece, and its bytes: a page that
/// strayed from another place or file fails.
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
