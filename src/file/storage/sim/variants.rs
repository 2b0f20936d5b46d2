//! The contents of one file, or the names in the folders, after a crash, for one choice of what was
//! kept.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::pending::{Change, FileState, NameOp};
use super::world::{FileId, Folders, SimFile};

/// The contents of bytes that are within a file's size but were never written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fill {
    Zeros,
    Noise,
    /// What an older file of the same kind had there, for example valid frames of a removed log.
    Stale,
}

/// A file with changes that a crash may lose. Its digits are the choice of a size, then one digit
/// per piece.
#[derive(Debug)]
pub(super) struct PendingFile {
    folder: Arc<Path>,
    pub(super) name: Arc<str>,
    bytes: Arc<[u8]>,
    stale: Option<Arc<[u8]>>,
    /// The durable size, then the sizes that it may have grown to.
    pub(super) sizes: Vec<usize>,
    /// The parts of the unsynced bytes that reach the disk independently.
    pub(super) pieces: Vec<Range<usize>>,
    sector: usize,
}

/// One possible state of a file after the crash.
#[derive(Debug, Clone)]
pub(super) struct Variant {
    pub(super) bytes: Arc<[u8]>,
    pub(super) hash: u64,
    /// Whether there are bytes that depend on the fill.
    pub(super) has_holes: bool,
}

impl PendingFile {
    pub(super) fn new(
        folder: Arc<Path>,
        name: Arc<str>,
        bytes: Arc<[u8]>,
        stale: Option<Arc<[u8]>>,
        written: &FileState,
        sector: usize,
        max_pieces: usize,
    ) -> Self {
        let mut sizes = vec![written.durable_size];
        let mut pieces = Vec::new();
        for append in &written.unsynced {
            if append.end > written.durable_size {
                sizes.push(append.end);
            }
            let sectors = (append.end - append.start).div_ceil(sector);
            let step = sector * sectors.div_ceil(max_pieces);
            let mut start = append.start;
            while start < append.end {
                let end = ((start / step + 1) * step).min(append.end);
                pieces.push(start..end);
                start = end;
            }
        }
        Self { folder, name, bytes, stale, sizes, pieces, sector }
    }

    /// Returns this file with other bytes.
    pub(super) fn with_bytes(&self, bytes: Arc<[u8]>) -> SimFile {
        SimFile::fixed(self.folder.clone(), self.name.clone(), bytes)
    }

    pub(super) fn has_stale(&self) -> bool {
        self.stale.is_some()
    }

    pub(super) fn digits(&self) -> usize {
        1 + self.pieces.len()
    }

    pub(super) fn radix(&self) -> impl Iterator<Item = u16> {
        let sizes = u16::try_from(self.sizes.len()).unwrap_or(u16::MAX);
        std::iter::once(sizes).chain(self.pieces.iter().map(|_| 2))
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn build(&self, digits: &[u16], fill: Fill) -> Variant {
        let size = self.sizes[usize::from(digits[0])];
        let mut bytes = self.bytes[..size].to_vec();
        let mut has_holes = false;
        for hole in self.lost(digits).filter(|hole| hole.start < size) {
            has_holes = true;
            let range = hole.start..hole.end.min(size);
            for (byte, offset) in bytes[range.clone()].iter_mut().zip(range) {
                *byte = self.filler(offset, fill);
            }
        }
        let mut hasher = DefaultHasher::new();
        hasher.write(&bytes);
        Variant { bytes: bytes.into(), hash: hasher.finish(), has_holes }
    }

    /// Returns the pieces that did not reach the disk. A sector is written all or nothing, so a
    /// later piece also writes the earlier piece that ends in its first sector.
    pub(super) fn lost(&self, digits: &[u16]) -> impl Iterator<Item = Range<usize>> {
        let mut kept_from = None;
        self.pieces.iter().zip(&digits[1..]).rev().filter_map(move |(piece, &digit)| {
            let last_sector = (piece.end - 1) / self.sector;
            if digit == 1 || kept_from == Some(last_sector) {
                kept_from = Some(piece.start / self.sector);
                None
            } else {
                kept_from = None;
                Some(piece.clone())
            }
        })
    }

    fn filler(&self, offset: usize, fill: Fill) -> u8 {
        match (fill, &self.stale) {
            (Fill::Zeros, _) => 0,
            (Fill::Stale, Some(stale)) => stale[offset % stale.len()],
            _ => offset.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()[5] | 1,
        }
    }
}

/// The names after a crash. Files are renumbered by their positions in a list.
#[derive(Debug)]
pub(super) struct NameState {
    pub(super) folders: Arc<Folders>,
    /// The file of each name, in the order of names.
    pub(super) used: Vec<FileId>,
    /// Hash of the names only.
    pub(super) hash: u64,
}

impl NameState {
    pub(super) fn build(
        durable: &Folders,
        ops: &[NameOp],
        digits: &[u16],
        places: &BTreeMap<FileId, usize>,
    ) -> Self {
        let mut folders = durable.clone();
        for (op, _) in ops.iter().zip(digits).filter(|(_, digit)| **digit == 1) {
            op.change.apply(&op.folder, &mut folders);
        }
        for (op, _) in ops.iter().zip(digits).filter(|(_, digit)| **digit == 0) {
            if matches!(op.change, Change::Folder) {
                folders.remove(&op.folder);
            }
        }
        let mut used = Vec::new();
        let mut hasher = DefaultHasher::new();
        for (folder, names) in &mut folders {
            folder.hash(&mut hasher);
            names.len().hash(&mut hasher);
            for (name, file) in names {
                name.hash(&mut hasher);
                *file = places[file];
                used.push(*file);
            }
        }
        Self { folders: Arc::new(folders), used, hash: hasher.finish() }
    }
}
