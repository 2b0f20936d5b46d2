//! The first pass: which kept windows occur in several texts.

use std::ops::Range;

use super::bits::Bits;
use super::pair::{numbers, pair};
use super::work::Working;
use crate::base::error::Result;
use crate::file::sorter::Sorter;

/// Takes the hashes of the windows of all texts. Each has a slot, counted over all texts.
pub(super) struct Kept<'a> {
    /// The windows with their slots.
    sorter: Sorter<'a, u128>,
    /// The first slot of each text. A text without windows has one slot, too.
    starts: Bits,
    rows: u64,
    windows: u64,
}

impl<'a> Kept<'a> {
    pub(super) fn new(sorter: Sorter<'a, u128>) -> Self {
        Self { sorter, starts: Bits::default(), rows: 0, windows: 0 }
    }

    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    pub(super) fn windows(&self) -> u64 {
        self.windows
    }

    /// Adds the windows of the next text.
    pub(super) fn add(&mut self, windows: &[u64]) -> Result<()> {
        self.rows += 1;
        self.windows += windows.len() as u64;
        for (number, &window) in windows.iter().enumerate() {
            self.sorter.push(pair(window, self.starts.len()))?;
            self.starts.push(number == 0);
        }
        if windows.is_empty() {
            self.starts.push(true);
        }
        Ok(())
    }

    /// Finds the windows that occur in several texts.
    pub(super) fn finish(self, work: &Working<'a>) -> Result<Slots> {
        let Self { sorter, starts, .. } = self;
        let texts = starts.counted();
        let mut repeated = Bits::zeros(starts.len());
        let sorted = work.sorted(sorter, 1)?;
        // The slots of the last window, as long as all of them are in one text.
        let (mut last, mut slots) = (None, Vec::new());
        work.for_each(&sorted, &mut |pairs| {
            for (window, slot) in pairs.iter().copied().map(numbers) {
                let before = last.replace((window, slot)).filter(|last| last.0 == window);
                match before.map(|(_, slot)| slot) {
                    None => {
                        slots.clear();
                        slots.push(slot);
                    }
                    Some(before) if slots.is_empty() || texts.up_to(before) < texts.up_to(slot) => {
                        slots.drain(..).for_each(|slot| repeated.set(slot));
                        repeated.set(slot);
                    }
                    Some(_) => slots.push(slot),
                }
            }
            Ok(())
        })?;
        Ok(Slots { starts, repeated })
    }
}

/// The slots of all texts, and which of them have windows that occur in several texts.
pub(super) struct Slots {
    starts: Bits,
    repeated: Bits,
}

impl Slots {
    /// Returns the slots of the text that begins at this one.
    pub(super) fn of_row(&self, first: u64) -> Option<Range<u64>> {
        let is_start = first < self.starts.len() && self.starts.get(first);
        is_start.then(|| {
            let all = self.starts.len();
            first..self.starts.first(first + 1..all).unwrap_or(all)
        })
    }

    pub(super) fn any_repeated(&self, slots: &Range<u64>) -> bool {
        self.repeated.any(slots.clone())
    }

    pub(super) fn is_repeated(&self, slot: u64) -> bool {
        self.repeated.get(slot)
    }
}
