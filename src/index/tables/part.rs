//! The tables of a segment, with their postings and tombstones.

use std::path::Path;

use super::layout::BitOrder;
use super::postings::Postings;
use super::table::Table;
use super::tombstones::Tombstones;
use crate::base::error::{Error, Result};
use crate::base::inspection::Inspection;
use crate::file::codec::header::{FileHeader, FileKind};
use crate::file::codec::set_hash::set_hash;
use crate::file::names::FileName;
use crate::file::paged::{FileSummary, OpenPaged, Paged, PagedFile, Sequential};
use crate::file::storage::Storage;
use crate::fingerprint::{Entry, Word};

/// The files of a [`TablesPart`], as the manifest lists them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableFiles {
    /// The file of each table, in the order of the layout.
    pub tables: Vec<FileSummary>,
    pub postings: FileSummary,
    pub tombstones: Option<FileSummary>,
}

impl TableFiles {
    /// Returns each file with its name; `segment` is the number of the segment.
    pub(crate) fn named(&self, segment: u64) -> Vec<(FileName, FileSummary)> {
        let mut named: Vec<_> =
            (0..).zip(&self.tables).map(|(t, &file)| (FileName::Table(segment, t), file)).collect();
        named.push((FileName::Postings(segment), self.postings));
        named.extend(self.tombstones.map(|file| (FileName::Tombstones(segment), file)));
        named
    }
}

/// The tables of a segment, the ids of their entries, and the entries that the segment removes from
/// older ones.
#[derive(Debug)]
pub(crate) struct TablesPart<W: Word> {
    /// The number of the segment.
    segment: u64,
    files: TableFiles,
    /// In the order of the layout. There is at least one.
    tables: Vec<Table<W>>,
    postings: Postings,
    tombstones: Option<Tombstones<W>>,
}

impl<W: Word> TablesPart<W> {
    /// Opens the files; reads only their headers and footers. `header` returns the header of a part
    /// of the segment.
    pub(crate) fn open(
        storage: &dyn Storage,
        segment: u64,
        files: &TableFiles,
        header: &dyn Fn(FileKind, u16) -> FileHeader,
    ) -> Result<Self> {
        let mut tables = Vec::with_capacity(files.tables.len());
        for (t, file) in (0..).zip(&files.tables) {
            let name = FileName::Table(segment, t).to_string();
            tables.push(Table::open(storage, &name, &header(FileKind::Table, t), file.len)?);
        }
        let (name, expected) = (FileName::Postings(segment), header(FileKind::Postings, 0));
        let postings = Postings::open(storage, &name.to_string(), &expected, files.postings.len)?;
        let tombstones = files.tombstones.map(|file| {
            let (name, expected) = (FileName::Tombstones(segment), header(FileKind::Tombstones, 0));
            Tombstones::open(storage, &name.to_string(), &expected, file.len)
        });
        let (files, tombstones) = (files.clone(), tombstones.transpose()?);
        Ok(Self { segment, files, tables, postings, tombstones })
    }

    /// Returns the first file that does not have these counts.
    pub(crate) fn miscounted_file(
        &self,
        fingerprints: u64,
        entries: u64,
        removed: u64,
    ) -> Option<FileName> {
        let mut tables = (0..).zip(&self.tables);
        if let Some((number, _)) = tables.find(|(_, table)| table.count() != fingerprints) {
            return Some(FileName::Table(self.segment, number));
        }
        let postings = &self.postings;
        if postings.entries() != entries || postings.groups() != self.first().blocks() {
            return Some(FileName::Postings(self.segment));
        }
        let tombstones = self.tombstones.as_ref().map_or(0, Tombstones::count) as u64;
        (tombstones != removed).then_some(FileName::Tombstones(self.segment))
    }

    /// Returns the same part with all its files [renewed](PagedFile::renewed).
    pub(crate) fn renewed(&self) -> Result<Self> {
        Ok(Self {
            segment: self.segment,
            files: self.files.clone(),
            tables: self.tables.iter().map(Table::renewed).collect::<Result<_>>()?,
            postings: self.postings.renewed()?,
            tombstones: self.tombstones.as_ref().map(Tombstones::renewed).transpose()?,
        })
    }

    /// Returns the files, in the order of [`TableFiles::named`].
    pub(crate) fn files(&self) -> Vec<&PagedFile> {
        let mut files: Vec<_> = self.tables.iter().map(Table::file).collect();
        files.push(self.postings.file());
        files.extend(self.tombstones.as_ref().map(Tombstones::file));
        files
    }

    /// Returns all tables, in the order of the layout.
    #[inline]
    pub(crate) fn tables(&self) -> &[Table<W>] {
        &self.tables
    }

    /// Returns table 0, whose bit order is the fingerprint's own.
    #[inline]
    pub(crate) fn first(&self) -> &Table<W> {
        &self.tables[0]
    }

    /// Returns the ids of the entries.
    #[inline]
    pub(crate) fn postings(&self) -> &Postings {
        &self.postings
    }

    /// Returns the tombstones, if the segment has any.
    #[inline]
    pub(crate) fn tombstones(&self) -> Option<&Tombstones<W>> {
        self.tombstones.as_ref()
    }

    /// Returns whether the segment holds this entry, even if something newer removes it.
    pub(crate) fn contains(&self, entry: Entry<W>) -> Result<bool> {
        let table = self.first();
        let Some((block, index)) = table.locate(entry.fingerprint)? else { return Ok(false) };
        self.postings.id_group(block, table.block_len(block)?)?.contains(index, entry.id)
    }

    /// Returns whether this segment removes the entry from older segments.
    pub(crate) fn removes(&self, entry: Entry<W>) -> Result<bool> {
        self.tombstones.as_ref().map_or(Ok(false), |tombstones| tombstones.contains(entry))
    }

    /// Returns the bytes that should be in memory for fast answers.
    pub(crate) fn index_memory(&self) -> u64 {
        let tombstones = self.tombstones.as_ref().map_or(0, Tombstones::memory);
        let tables: u64 = self.tables.iter().map(Table::index_memory).sum();
        tables + (self.postings.memory() + tombstones) as u64
    }

    /// Reads and checks every byte of every file, and that all tables hold the same fingerprints.
    /// What follows from damage that was reported is not reported again. `root` is the folder, for
    /// messages.
    pub(crate) fn verify(
        &self,
        bit_orders: &[BitOrder],
        root: &Path,
        inspection: &mut Inspection<'_>,
    ) -> Result<()> {
        let mut sums = Vec::new();
        for ((table, order), &file) in self.tables.iter().zip(bit_orders).zip(&self.files.tables) {
            sums.push(table.verify(file, |f| set_hash(order.invert(f)), inspection)?);
        }
        let mut sound = (0..).zip(&sums).filter_map(|(number, &sum)| Some((number, sum?)));
        if let Some((first, expected)) = sound.next()
            && let Some((other, _)) = sound.find(|&(_, sum)| sum != expected)
        {
            let message = format!("the table does not hold the same fingerprints as table {first}");
            let name = FileName::Table(self.segment, other).to_string();
            inspection.report(Error::corruption(message).at_path(root.join(name)));
        }
        let is_table_0_sound = sums.first().is_some_and(Option::is_some);
        if self.postings.verify_file(self.files.postings, inspection)? && is_table_0_sound {
            let mut table = Sequential::new(self.first());
            self.postings.verify_groups(|block| table.get()?.block_len(block), inspection);
        }
        if let (Some(tombstones), Some(file)) = (&self.tombstones, self.files.tombstones) {
            tombstones.verify(file, inspection)?;
        }
        Ok(())
    }
}
