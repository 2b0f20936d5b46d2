//! The ids of one block of table 0.

use std::cmp::Ordering;
use std::ops::Range;

use super::lists::Lists;
use crate::base::error::{Error, Result};
use crate::file::codec::bits::peek_low;
use crate::file::paged::PagedFile;
use crate::fingerprint::DocId;

/// The ids of a section, which have the same number of bits each.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packed<'a> {
    pub(super) file: &'a PagedFile,
    /// The offset in the file of the first id.
    pub(super) at: usize,
    /// The bits of each id, at most 64.
    pub(super) width: u32,
    /// What is added to each id.
    pub(super) base: u64,
}

impl<'a> Packed<'a> {
    /// Returns the ids at these places of the section.
    #[inline]
    fn ids(&self, places: Range<u64>) -> Result<Ids<'a>> {
        let width = u64::from(self.width);
        let bits = places.start.saturating_mul(width)..places.end.saturating_mul(width);
        let first = usize::try_from(bits.start / 8).unwrap_or(usize::MAX);
        let end = usize::try_from(bits.end.div_ceil(8)).unwrap_or(usize::MAX);
        let at = self.at.saturating_add(first);
        let bytes = self.file.bytes_with_tail(at, end.saturating_sub(first))?;
        Ok(Ids {
            bytes,
            position: usize::try_from(bits.start % 8).unwrap_or(0),
            left: places.end.saturating_sub(places.start),
            width: self.width,
            base: self.base,
        })
    }
}

/// The ids of the fingerprints of one block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IdGroup<'a> {
    pub(super) packed: Packed<'a>,
    /// The fingerprints, counted from the start of the section.
    pub(super) fingerprints: (u64, u64),
    /// `None` if each fingerprint of the section has one id.
    pub(super) lists: Option<Lists<'a>>,
}

impl<'a> IdGroup<'a> {
    /// Returns the places in the section of the ids of the fingerprint at place `index`.
    #[inline]
    pub(super) fn places(&self, index: usize) -> Result<Range<u64>> {
        let number = self.fingerprints.0.saturating_add(index as u64);
        let Some(lists) = &self.lists else { return Ok(number..number.saturating_add(1)) };
        let places = lists.places(number)?;
        if places.is_empty() {
            return Err(self.corruption());
        }
        Ok(places)
    }

    /// Returns the place in the section of the first id.
    pub(super) fn first_place(&self) -> Result<u64> {
        let first = self.fingerprints.0;
        self.lists.as_ref().map_or(Ok(first), |lists| lists.start(first))
    }

    /// Returns the ids of the fingerprint at place `index`, ascending. They are decoded lazily.
    #[inline]
    pub(crate) fn ids(&self, index: usize) -> Result<Ids<'a>> {
        self.packed.ids(self.places(index)?)
    }

    /// Returns whether the fingerprint at place `index` has this id. This is a binary search,
    /// because a fingerprint may have very many ids.
    pub(crate) fn contains(&self, index: usize, id: DocId) -> Result<bool> {
        let ids = self.ids(index)?;
        let (mut low, mut high) = (0, ids.left);
        while low < high {
            let middle = low + (high - low) / 2;
            match ids.get(middle).cmp(&id) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Ok(true),
                Ordering::Greater => high = middle,
            }
        }
        Ok(false)
    }

    /// Finds the ids of all fingerprints, for [`ids_from`](Self::ids_from). Replaces what is in
    /// `starts`.
    pub(crate) fn find_all(&self, starts: &mut Vec<u64>) -> Result<()> {
        starts.clear();
        let Some(lists) = &self.lists else { return Ok(()) };
        let places = self.first_place()?..lists.start(self.fingerprints.1)?;
        let count = self.fingerprints.1.saturating_sub(self.fingerprints.0);
        starts.reserve(usize::try_from(count).unwrap_or(0) + 1);
        lists.starts_in(&places, starts)?;
        if starts.len() as u64 != count {
            return Err(self.corruption());
        }
        starts.push(places.end);
        Ok(())
    }

    /// Returns what [`ids`](Self::ids) does, faster, given what [`find_all`](Self::find_all) found.
    #[inline]
    pub(crate) fn ids_from(&self, starts: &[u64], index: usize) -> Result<Ids<'a>> {
        match starts.get(index..) {
            Some(&[start, end, ..]) => self.packed.ids(start..end),
            _ => self.ids(index),
        }
    }

    /// Returns the places of the ids in their section, from the fingerprint at place `index` to the
    /// end, given what [`find_all`](Self::find_all) found.
    pub(crate) fn places_from(&self, starts: &[u64], index: usize) -> Range<u64> {
        let (start, end) = self.fingerprints;
        match (starts.get(index), starts.last()) {
            (Some(&start), Some(&end)) => start..end,
            _ => start.saturating_add(index as u64)..end,
        }
    }

    /// Passes the ids at these places of the section to `visit`, in order, each with the place of
    /// its fingerprint. Needs what [`find_all`](Self::find_all) found.
    #[inline]
    pub(crate) fn for_each(
        &self,
        starts: &[u64],
        places: Range<u64>,
        mut visit: impl FnMut(usize, DocId),
    ) -> Result<()> {
        let len = |places: Range<u64>| {
            usize::try_from(places.end.saturating_sub(places.start)).unwrap_or(usize::MAX)
        };
        let mut ids = self.packed.ids(places.clone())?;
        if starts.is_empty() {
            let first = len(self.fingerprints.0..places.start);
            ids.first(u64::MAX).enumerate().for_each(|(index, id)| visit(first + index, id));
            return Ok(());
        }
        let mut place = places.start;
        let after = starts.partition_point(|&start| start <= place);
        for (index, end) in (after.saturating_sub(1)..).zip(starts.iter().skip(after)) {
            let end = places.end.min(*end);
            ids.by_ref().take(len(place..end)).for_each(|id| visit(index, id));
            place = end;
        }
        Ok(())
    }

    fn corruption(&self) -> Error {
        let message = "a section of the postings does not have as many lists as fingerprints";
        self.packed.file.corruption(self.packed.at, message)
    }
}

/// An iterator over ids in their order in the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ids<'a> {
    bytes: &'a [u8],
    /// The bit at which the next id begins.
    position: usize,
    left: u64,
    width: u32,
    base: u64,
}

impl<'a> Ids<'a> {
    /// Returns at most `limit` of the ids left, in a form that collections take fastest.
    #[inline]
    pub(crate) fn first(self, limit: u64) -> impl ExactSizeIterator<Item = DocId> + 'a {
        let count = usize::try_from(self.left.min(limit)).unwrap_or(usize::MAX);
        (0..count).map(move |index| self.get(index as u64))
    }

    /// Returns the id at index `index` of those left.
    #[inline]
    fn get(&self, index: u64) -> DocId {
        // Below the number of ids left, whose bits are all in `bytes`, this does not overflow.
        let skipped = usize::try_from(index).unwrap_or(usize::MAX);
        self.read(self.position.wrapping_add(skipped.wrapping_mul(self.width as usize)))
    }

    #[inline]
    fn read(&self, position: usize) -> DocId {
        DocId(self.base.wrapping_add(peek_low(self.bytes, position, self.width)))
    }
}

impl Iterator for Ids<'_> {
    type Item = DocId;

    #[inline]
    fn next(&mut self) -> Option<DocId> {
        self.left = self.left.checked_sub(1)?;
        let id = self.read(self.position);
        self.position = self.position.wrapping_add(self.width as usize);
        Some(id)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.left);
        (left.unwrap_or(usize::MAX), left.ok())
    }
}
