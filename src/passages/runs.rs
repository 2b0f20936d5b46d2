//! The second pass: the first place of each run that several texts may have.

use std::ops::Range;

use fpdb_text::windows::{Windows, Words};

use super::bits::Bits;
use super::kept::Slots;
use super::pair::{numbers, pair};
use super::spans::{GAP, SKIPPED, Sources};
use super::work::Working;
use crate::base::error::Result;
use crate::file::scratch::Spool;
use crate::file::sorter::Sorter;

/// A run of a text that other texts may have, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Candidate {
    /// The number of the first word, in the text.
    word: usize,
    hash: u64,
    /// The bytes of the text.
    begin: u32,
    end: u32,
}

/// Returns the runs of a text whose kept window occurs in several texts, or `None` if the text does
/// not have these slots.
pub(super) fn repeated(
    windows: &Windows,
    words: &Words,
    slots: &Slots,
    of_row: Range<u64>,
) -> Option<Vec<Candidate>> {
    let (mut found, mut slot, mut last) = (Vec::new(), of_row.start, None);
    windows.runs(words, |run| {
        if last != Some(run.window) {
            slot += u64::from(last.is_some());
            last = Some(run.window);
        }
        if run.is_full && slots.is_repeated(slot) {
            let bytes = words.place(run.begin..run.end);
            // Texts are shorter than 2^32 bytes.
            let [begin, end] = [bytes.start, bytes.end].map(|at| u32::try_from(at).unwrap_or(0));
            found.push(Candidate { word: run.begin, hash: run.hash, begin, end });
        }
    });
    (slot + 1 == of_row.end).then_some(found)
}

/// Takes the runs of all texts. They are numbered. Neighbours in a text have neighbouring numbers,
/// and others do not. Unless there is a gap between two runs of a text, their numbers count words.
pub(super) struct Runs<'a> {
    /// The words of a run. As many words without a run are a gap.
    min_words: usize,
    /// The hashes of runs with their numbers.
    sorter: Sorter<'a, u128>,
    /// For each run, where it begins and ends in bytes. For each gap, how many rows follow the last
    /// one, and for other numbers without a run, how many there are.
    places: Spool<'a>,
    gaps: Bits,
    /// Gaps before the first run of a text.
    starts: Bits,
    /// The last run.
    last: Option<(u64, usize)>,
    len: u64,
}

impl<'a> Runs<'a> {
    pub(super) fn new(min_words: usize, work: &Working<'a>) -> Self {
        Self {
            min_words,
            sorter: work.sorter(2),
            places: Spool::new(Some(work.files)),
            gaps: Bits::default(),
            starts: Bits::default(),
            last: None,
            len: 0,
        }
    }

    /// Returns the number of runs.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Adds runs of a text, in the order of the text.
    pub(super) fn add(&mut self, row: u64, runs: &[Candidate]) -> Result<()> {
        for &Candidate { word, hash, begin, end } in runs {
            match self.last {
                Some((last_row, last)) if last_row == row && word - last <= self.min_words => {
                    self.skip(word - last - 1)?;
                }
                _ => self.push_gaps(row)?,
            }
            let number = self.gaps.len();
            self.sorter.push(pair(hash, number))?;
            self.push(false, false, (begin, end))?;
            self.last = Some((row, word));
            self.len += 1;
        }
        Ok(())
    }

    /// Leaves out the numbers of so many words that begin no run.
    fn skip(&mut self, words: usize) -> Result<()> {
        for _ in 0..words {
            self.gaps.push(false);
            self.starts.push(false);
        }
        match u32::try_from(words) {
            Ok(words @ 1..) => self.push_place((SKIPPED, words)),
            _ => Ok(()),
        }
    }

    /// Adds the gap before a run of this row.
    fn push_gaps(&mut self, row: u64) -> Result<()> {
        let mut rows = row - self.last.map_or(0, |(row, _)| row);
        // More rows without runs than this are as many gaps.
        while let Some(more) = rows.checked_sub(u64::from(u32::MAX)) {
            self.push(true, true, (GAP, u32::MAX))?;
            rows = more;
        }
        let is_start = self.last.is_none_or(|(last_row, _)| last_row != row);
        self.push(true, is_start, (GAP, u32::try_from(rows).unwrap_or(u32::MAX)))
    }

    fn push(&mut self, is_gap: bool, is_start: bool, place: (u32, u32)) -> Result<()> {
        self.gaps.push(is_gap);
        self.starts.push(is_start);
        self.push_place(place)
    }

    fn push_place(&mut self, place: (u32, u32)) -> Result<()> {
        let [a, b] = [place.0, place.1].map(u32::to_le_bytes);
        self.places.push([a, b].as_flattened())
    }

    /// Finds the first place of each run that an earlier text has, too.
    pub(super) fn finish(self, work: &Working<'a>) -> Result<Sources<'a>> {
        let Self { sorter, places, gaps, starts, .. } = self;
        let sorted = work.sorted(sorter, 1)?;
        let mut sources = work.sorter(2);
        let texts = starts.counted();
        let mut first = None;
        work.for_each(&sorted, &mut |pairs| {
            for (hash, run) in pairs.iter().copied().map(numbers) {
                match first.filter(|&(first_hash, _)| first_hash == hash) {
                    None => first = Some((hash, run)),
                    // Not if it is another place in the same text.
                    Some((_, first)) if texts.up_to(first) < texts.up_to(run) => {
                        sources.push(pair(run, first))?;
                    }
                    Some(_) => {}
                }
            }
            Ok(())
        })?;
        Ok(Sources { sorted: work.sorted(sources, 1)?, places, gaps })
    }
}
