//! Checks postings strictly.

use super::Postings;
use super::head::{GROUPS, HEAD_LEN};
use super::lists::Lists;
use crate::base::error::Result;
use crate::base::inspection::Inspection;
use crate::file::codec::header::HEADER_LEN;
use crate::file::paged::Sequential;

impl Postings {
    /// Checks every section and every id group. `fingerprints_in` returns the number of
    /// fingerprints in a block of table 0. Both files must be sound, so that damage is not reported
    /// twice.
    pub(crate) fn verify_groups(
        &self,
        mut fingerprints_in: impl FnMut(usize) -> Result<usize>,
        inspection: &mut Inspection<'_>,
    ) {
        let found = inspection.found();
        let mut entries = 0u64;
        let mut end = HEADER_LEN;
        let mut reader = Sequential::new(self);
        for section in 0..self.groups.div_ceil(GROUPS) {
            let first = section * GROUPS;
            let postings = match reader.get() {
                Ok(postings) => postings,
                Err(error) => return inspection.report(error),
            };
            for block in first..first + self.groups_in(section) {
                let checked = fingerprints_in(block).and_then(|n| postings.check_group(block, n));
                match checked {
                    Ok(ids) => entries = entries.saturating_add(ids),
                    Err(error) => inspection.report(error),
                }
            }
            match postings.check_section(section, end) {
                Ok(next) => end = next,
                Err(error) => return inspection.report(error),
            }
        }
        if inspection.found() > found {
            return;
        }
        if end.checked_next_multiple_of(HEAD_LEN) != Some(self.heads_at) {
            let message = "the heads of the sections do not follow the last section";
            inspection.report(self.file.corruption(end, message));
        }
        if entries != self.entries {
            let message = "the id groups do not hold as many ids as the footer says";
            inspection.report(self.file.corruption(0, message));
        }
    }

    /// Checks an id group and returns its number of ids.
    fn check_group(&self, block: usize, fingerprints: usize) -> Result<u64> {
        let group = self.id_group(block, fingerprints)?;
        let first = group.first_place()?;
        let mut next = first;
        for index in 0..fingerprints {
            let places = group.places(index)?;
            if places.start != next || !group.ids(index)?.is_sorted_by(|a, b| a < b) {
                let message = "the ids of a fingerprint do not ascend or are not its own";
                return Err(self.file.corruption(0, message));
            }
            next = places.end;
        }
        Ok(next - first)
    }

    /// Checks that a section begins at `start`, and returns where it ends.
    fn check_section(&self, section: usize, start: usize) -> Result<usize> {
        let head = self.head(section)?;
        if head.start() != start {
            let message = "a section of the postings does not begin where the previous one ends";
            return Err(self.file.corruption(head.start(), message));
        }
        let (packed, lists) = self.data(section, &head)?;
        let fingerprints = self.end_of(&head, self.groups_in(section).saturating_sub(1))?;
        lists.as_ref().map_or(Ok(()), Lists::check_samples)?;
        let ids = match lists {
            Some(lists) if lists.start(fingerprints)? != lists.ids() => {
                let message = "a section of the postings has more lists than fingerprints";
                return Err(self.file.corruption(start, message));
            }
            Some(lists) => lists.ids(),
            None => fingerprints,
        };
        let bits = ids.saturating_mul(packed.width.into());
        Ok(packed.at.saturating_add(usize::try_from(bits.div_ceil(8)).unwrap_or(usize::MAX)))
    }
}
