//! The two formats of archives: how a record begins and ends.

use super::{arc, warc};

/// Bytes that are looked at to decide whether a record begins: almost the longest ARC header.
pub(super) const PEEK: usize = 1 << 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Warc,
    Arc,
}

impl Format {
    /// Returns whether a record begins here.
    pub(super) fn is_header(self, bytes: &[u8]) -> bool {
        match self {
            Self::Warc => warc::is_header(bytes),
            Self::Arc => arc::is_header(bytes),
        }
    }

    /// Returns where the first line is that begins a record, at `from` or later.
    pub(super) fn find_header(self, bytes: &[u8], from: usize) -> Option<usize> {
        let begins = |&at: &usize| match bytes.get(at..) {
            None | Some([]) => false,
            Some(line) => self.is_header(line),
        };
        let rest = bytes.get(from..).unwrap_or_default();
        let ends = memchr::memchr_iter(b'\n', rest).map(|end| from + end + 1);
        std::iter::once(0).filter(|_| from == 0).chain(ends).find(begins)
    }

    /// Removes what separates a block from the next record.
    pub(super) fn trim_separator(self, block: &mut Vec<u8>) {
        let separators: [&[u8]; 3] = match self {
            Format::Warc => [b"\r\n\r\n", b"\n\n", b"\r\n"],
            Format::Arc => [b"\r\n", b"\n", b"\n"],
        };
        let found = separators.iter().find(|separator| block.ends_with(separator));
        block.truncate(block.len() - found.map_or(0, |separator| separator.len()));
    }

    /// Returns whether a block ends as a record does. Text hardly ever ends so.
    pub(super) fn ends_record(self, block: &[u8]) -> bool {
        self == Self::Warc && block.ends_with(b"\r\n\r\n")
    }

    /// Returns where the last line of a block begins if that line and what follows the block are
    /// the first line of a record.
    pub(super) fn find_cut_header(self, block: &[u8], next: &[u8]) -> Option<usize> {
        let at = memchr::memrchr(b'\n', block)? + 1;
        let line = block.get(at..).filter(|line| !line.is_empty() && line.len() < PEEK)?;
        self.is_header(&[line, next].concat()).then_some(at)
    }
}
