//! From the first places of runs to spans.

use std::ops::Range;

use super::bits::Bits;
use super::pair::numbers;
use super::work::Working;
use crate::base::error::Result;
use crate::file::scratch::Spool;
use crate::file::sorter::Sorted;

/// A run of words of a text that stands in an earlier text, too. See [`Passages`](super::Passages).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Span {
    /// The row of the text.
    pub row: u64,
    /// The row of the earlier text: the first that has this run.
    pub source: u64,
    /// The first byte.
    pub begin: u32,
    /// The byte after the last one.
    pub end: u32,
    /// The first byte in the earlier text.
    pub source_begin: u32,
    /// The byte after the last one, in the earlier text.
    pub source_end: u32,
}

impl Span {
    /// Returns the bytes of the text.
    ///
    /// # Examples
    ///
    /// ```
    /// # use fpdb::passages::Passages;
    /// let texts = ["one two three four five ".repeat(4), "ONE TWO three four five ".repeat(3)];
    /// let found = Passages::new(14)?.find(|each| each(&[&texts[0], &texts[1]]))?;
    /// assert_eq!(found.spans[0].bytes(), 0..71);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn bytes(&self) -> Range<usize> {
        self.begin as usize..self.end as usize
    }

    /// Returns the bytes of the earlier text.
    ///
    /// # Examples
    ///
    /// ```
    /// # use fpdb::passages::Passages;
    /// let texts = ["one two three four five ".repeat(4), "ONE TWO three four five ".repeat(3)];
    /// let found = Passages::new(14)?.find(|each| each(&[&texts[0], &texts[1]]))?;
    /// assert_eq!(found.spans[0].source_bytes(), 0..71);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn source_bytes(&self) -> Range<usize> {
        self.source_begin as usize..self.source_end as usize
    }
}

/// What differs within a span: what is new in a quote, with the white space around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub struct Change {
    /// The row of the text.
    pub row: u64,
    /// The first byte.
    pub begin: u32,
    /// The byte after the last one.
    pub end: u32,
}

impl Change {
    /// Returns the bytes of the text.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::passages::Passages;
    ///
    /// let texts = ["one two three four five six seven eight ".repeat(2), "ONE two three four five six seven eight ".repeat(3)];
    /// let texts = [texts[0].replacen("eight", "8", 1), texts[1].replacen("eight", "9", 1)];
    /// let found = Passages::new(14)?.gaps(3)?.find(|each| each(&[&texts[0], &texts[1]]))?;
    /// assert!(found.changes.iter().all(|change| !texts[1][change.bytes()].is_empty()));
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    #[must_use]
    pub fn bytes(&self) -> Range<usize> {
        self.begin as usize..self.end as usize
    }
}

/// Marks a place that separates runs without a word in common. Its second number says how many rows
/// further the next run is.
pub(super) const GAP: u32 = u32::MAX;
/// Marks a place between runs that may have a word in common. Its second number says how many words
/// between them begin no run. Each of these words has a number, too.
pub(super) const SKIPPED: u32 = GAP - 1;

/// The first place of each run that an earlier text has, too.
pub(super) struct Sources<'a> {
    /// Numbers of runs, and those of their first places.
    pub(super) sorted: Sorted<'a, u128>,
    pub(super) places: Spool<'a>,
    pub(super) gaps: Bits,
}

/// Neighbouring runs whose first places are neighbours, by the numbers of the first and the last
/// run.
#[derive(Debug, Clone, Copy)]
struct Chain {
    first: u64,
    last: u64,
    source: u64,
}

impl Sources<'_> {
    /// Makes spans. Runs have at least `min_words` words.
    pub(super) fn spans(self, min_words: usize, work: &Working<'_>) -> Result<Vec<Span>> {
        let Self { sorted, places, gaps, .. } = self;
        let mut cover =
            Cover { chains: Vec::new(), spare: None, min_words: min_words as u64, gaps };
        let mut chain: Option<Chain> = None;
        work.for_each(&sorted, &mut |pairs| {
            for (number, source) in pairs.iter().copied().map(numbers) {
                match &mut chain {
                    Some(Chain { first, last, source: from })
                        if *last + 1 == number && *from + (number - *first) == source =>
                    {
                        *last = number;
                    }
                    _ => {
                        chain.take().into_iter().for_each(|chain| cover.add(chain));
                        chain = Some(Chain { first: number, last: number, source });
                    }
                }
            }
            Ok(())
        })?;
        chain.into_iter().for_each(|chain| cover.add(chain));
        resolve(&cover.finish(), places)
    }
}

/// Selects chains, which come in the order of the texts, so that few of them cover the same words.
///
/// A text that repeats itself would otherwise have a chain per word.
struct Cover {
    chains: Vec<Chain>,
    /// A chain that overlaps with the last one, and is needed unless the next one does, too.
    spare: Option<Chain>,
    min_words: u64,
    gaps: Bits,
}

impl Cover {
    fn add(&mut self, chain: Chain) {
        if !self.overlaps_last(&chain) {
            self.chains.extend(self.spare.take());
        }
        if self.overlaps_last(&chain) {
            self.spare = Some(chain);
        } else {
            self.chains.push(chain);
        }
    }

    /// Returns whether the last chain and this one have a word in common, for certain. Numbers count
    /// words, so this does not depend on the seed of the hashes, which decides what further runs
    /// have numbers.
    fn overlaps_last(&self, chain: &Chain) -> bool {
        self.chains.last().is_some_and(|last| {
            let is_near = chain.first < last.last + self.min_words;
            is_near && !self.gaps.any(last.last..chain.first)
        })
    }

    fn finish(mut self) -> Vec<Chain> {
        self.chains.extend(self.spare);
        self.chains
    }
}

/// Which end of which span a run's place tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Begin,
    Last,
    SourceBegin,
    SourceLast,
}

/// Looks up the places of chains.
fn resolve(chains: &[Chain], places: Spool<'_>) -> Result<Vec<Span>> {
    let mut wanted = Vec::with_capacity(4 * chains.len());
    for (span, chain) in chains.iter().enumerate() {
        let source_last = chain.source + (chain.last - chain.first);
        wanted.push((chain.first, End::Begin, span));
        wanted.push((chain.last, End::Last, span));
        wanted.push((chain.source, End::SourceBegin, span));
        wanted.push((source_last, End::SourceLast, span));
    }
    wanted.sort_unstable();
    let mut wanted = wanted.into_iter().peekable();
    let mut spans = vec![Span::default(); chains.len()];
    let (mut number, mut row) = (0u64, 0u64);
    places.read(|records| {
        for record in records.as_chunks::<8>().0 {
            let [begin, end] = [&record[..4], &record[4..]]
                .map(|bytes| bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes)));
            if begin == GAP {
                row += u64::from(end);
            }
            while let Some((_, which, span)) = wanted.next_if(|&(run, ..)| run == number) {
                let Some(span) = spans.get_mut(span) else { continue };
                match which {
                    End::Begin => (span.row, span.begin) = (row, begin),
                    End::Last => span.end = end,
                    End::SourceBegin => (span.source, span.source_begin) = (row, begin),
                    End::SourceLast => span.source_end = end,
                }
            }
            number += if begin == SKIPPED { end.into() } else { 1 };
        }
        Ok(())
    })?;
    Ok(spans)
}
