//! Postings: the ids of each fingerprint, in the order of table 0. There is one id group per block
//! of table 0, so the place of a fingerprint is also the place of its ids. 48 id groups are a
//! section, whose ids have the same number of bits each. If each fingerprint of a section has one
//! id, as nearly all do, then reading an id takes one cache line of the section's head and one of
//! the ids.
//!
//! Ids are read only for matches. storage-format.md, "Postings".

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod builder;
mod group;
mod head;
mod lists;
mod verify;

pub(crate) use builder::PostingsBuilder;
pub(crate) use group::{IdGroup, Ids};

use std::ops::Range;

use crate::base::error::Result;
use crate::base::inspection::Inspection;
use crate::file::codec::bytes::Fields;
use crate::file::paged::{FileSummary, OpenPaged, Paged, PagedFile};
use group::Packed;
use head::{GROUPS, HEAD_LEN, Head};
use lists::Lists;

/// Most bytes that are prefetched for one id group. Of a longer section, only the beginning is.
const PREFETCHED: usize = 1 << 17;

/// An open file of postings.
#[derive(Debug)]
pub(crate) struct Postings {
    file: PagedFile,
    entries: u64,
    groups: usize,
    heads_at: usize,
}

impl Paged for Postings {
    fn file(&self) -> &PagedFile {
        &self.file
    }

    fn file_mut(&mut self) -> &mut PagedFile {
        &mut self.file
    }

    fn with_file(&self, file: PagedFile) -> Self {
        let Self { entries, groups, heads_at, .. } = *self;
        Self { file, entries, groups, heads_at }
    }
}

impl OpenPaged for Postings {
    fn from_file(file: PagedFile) -> Result<Self> {
        let mut meta = file.meta();
        let entries = meta.u64("entry count")?;
        let groups = usize::try_from(meta.u64("number of id groups")?).unwrap_or(usize::MAX);
        let heads_at = usize::try_from(meta.u64("offset of the heads")?).unwrap_or(usize::MAX);
        let heads = groups.div_ceil(GROUPS).checked_mul(HEAD_LEN);
        file.expect_body_end(heads.and_then(|len| heads_at.checked_add(len)))?;
        Ok(Self { file, entries, groups, heads_at })
    }
}

impl Postings {
    /// Reads the heads of all sections and the checksums of pages into memory. Stops early if
    /// `goes_on` returns false.
    pub(crate) fn load_heads(&self, goes_on: &dyn Fn() -> bool) -> Result<()> {
        self.file.load_checksums()?;
        self.file.load(self.heads_at, self.groups.div_ceil(GROUPS) * HEAD_LEN, goes_on)
    }

    /// Returns the number of entries: the ids of all fingerprints.
    pub(crate) fn entries(&self) -> u64 {
        self.entries
    }

    /// Returns the number of id groups, which is the number of blocks of table 0.
    pub(crate) fn groups(&self) -> usize {
        self.groups
    }

    #[inline]
    fn head(&self, section: usize) -> Result<Head<'_>> {
        let at = self.heads_at.saturating_add(section.saturating_mul(HEAD_LEN));
        let head = self.file.bytes(at, HEAD_LEN)?.first_chunk().map(Head);
        let head = head.ok_or_else(|| self.file.corruption(at, "a section's head is cut short"))?;
        // The ids of a fingerprint differ. If ids have no bits, each fingerprint has exactly one.
        if head.width() > u64::BITS || (head.width() == 0 && head.has_lists()) {
            let message = "the ids of a section have a width that is not allowed";
            return Err(self.file.corruption(at, message));
        }
        Ok(head)
    }

    /// Returns an upper limit of all ids, from the heads of all sections.
    pub(crate) fn most_id(&self) -> Result<u64> {
        let mut most = 0;
        for section in 0..self.groups.div_ceil(GROUPS) {
            let head = self.head(section)?;
            let range = u64::MAX.checked_shr(u64::BITS - head.width()).unwrap_or(0);
            most = most.max(head.base().saturating_add(range));
        }
        Ok(most)
    }

    /// Returns the number of id groups in a section.
    #[inline]
    fn groups_in(&self, section: usize) -> usize {
        self.groups.saturating_sub(section.saturating_mul(GROUPS)).min(GROUPS)
    }

    /// Returns the number of fingerprints of the section up to the end of `group`, counted from the
    /// start of the section.
    #[inline]
    fn end_of(&self, head: &Head<'_>, group: usize) -> Result<u64> {
        if head.is_wide() {
            let at = head.start().saturating_add(group.saturating_mul(4));
            return Ok(Fields::new(self.file.bytes(at, 4)?, at as u64)
                .u32("end of a group")?
                .into());
        }
        Ok(head.end(group))
    }

    /// Returns the fingerprints of an id group, counted from the start of its section.
    #[inline]
    fn range_of(&self, head: &Head<'_>, group: usize) -> Result<(u64, u64)> {
        let end = self.end_of(head, group)?;
        let start = if group == 0 { 0 } else { self.end_of(head, group - 1)? };
        Ok((start, end))
    }

    /// Returns how many fingerprints a block of table 0 has.
    pub(crate) fn group_len(&self, block: usize) -> Result<usize> {
        let head = self.head(block / GROUPS)?;
        let (start, end) = self.range_of(&head, block % GROUPS)?;
        let len = end.checked_sub(start).and_then(|len| usize::try_from(len).ok());
        len.ok_or_else(|| self.file.corruption(head.start(), "an id group ends before it begins"))
    }

    /// Returns the ids of a block of table 0 that has `fingerprints` fingerprints.
    #[inline]
    pub(crate) fn id_group(&self, block: usize, fingerprints: usize) -> Result<IdGroup<'_>> {
        let (section, group) = (block / GROUPS, block % GROUPS);
        let head = self.head(section)?;
        let (start, end) = self.range_of(&head, group)?;
        if start.checked_add(fingerprints as u64) != Some(end) {
            let message = "an id group is not for as many fingerprints as the block has";
            return Err(self.file.corruption(head.start(), message));
        }
        let (packed, lists) = self.data(section, &head)?;
        Ok(IdGroup { packed, fingerprints: (start, end), lists })
    }

    /// Returns the ids of a section and, if some fingerprint has several, where its lists begin.
    #[inline]
    fn data(&self, section: usize, head: &Head<'_>) -> Result<(Packed<'_>, Option<Lists<'_>>)> {
        let ends = if head.is_wide() { self.groups_in(section) * 4 } else { 0 };
        let at = head.start().saturating_add(ends);
        let lists = head.has_lists().then(|| Lists::open(&self.file, at)).transpose()?;
        let at = lists.map_or(at, |lists| lists.end());
        Ok((Packed { file: &self.file, at, width: head.width(), base: head.base() }, lists))
    }

    /// Prefetches the ids of these blocks of table 0 if the file is cold.
    pub(crate) fn prefetch(&self, blocks: Range<usize>) -> Result<()> {
        if self.file.is_cold() && !blocks.is_empty() {
            let (first, last) = (self.place(blocks.start)?, self.place(blocks.end - 1)?);
            self.file.prefetch(first.start, last.end.saturating_sub(first.start));
        }
        Ok(())
    }

    /// Returns the bytes that hold an id group, as far as the section's head says: otherwise, those
    /// of the section.
    fn place(&self, block: usize) -> Result<Range<usize>> {
        let (section, group) = (block / GROUPS, block % GROUPS);
        let head = self.head(section)?;
        if head.is_wide() || head.has_lists() {
            let last = section + 1 == self.groups.div_ceil(GROUPS);
            let end = if last { self.heads_at } else { self.head(section + 1)?.start() };
            return Ok(head.start()..end.min(head.start().saturating_add(PREFETCHED)));
        }
        let byte = |fingerprints: u64| {
            let bits = fingerprints.saturating_mul(head.width().into());
            head.start().saturating_add(usize::try_from(bits / 8).unwrap_or(usize::MAX))
        };
        let start = if group == 0 { 0 } else { head.end(group - 1) };
        Ok(byte(start)..byte(head.end(group)).saturating_add(1))
    }

    /// Reads the entire file and checks its checksums. Returns whether it is sound.
    pub(crate) fn verify_file(
        &self,
        expected: FileSummary,
        inspection: &mut Inspection<'_>,
    ) -> Result<bool> {
        self.file.verify(expected, inspection)
    }

    /// Returns the memory used in addition to pages, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.file.memory()
    }
}

#[cfg(test)]
mod tests;
