//! Quotes with changes: runs of words that two texts have in common, joined over a few other words.

use std::collections::HashMap;
use std::ops::Range;

use super::words::WORD;
use super::{Windows, Words};
use crate::error::Result;

/// The least number of words, or of characters of a script without spaces, in a run of a quote.
const RUN: usize = 8;
/// Two texts that share a run of so many words are compared around it.
const SEED: u32 = 20;

/// A text to compare: its words, and its windows.
#[derive(Debug, Clone)]
pub struct Text {
    words: Words,
    /// The hashes of all windows, and the first place of those that are kept.
    windows: Vec<u64>,
    first: HashMap<u64, usize>,
}

impl Text {
    /// Returns the words of the text.
    #[must_use]
    pub fn words(&self) -> &Words {
        &self.words
    }
}

/// A run of words that is the same in two texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Same {
    /// The first word in the text.
    pub word: usize,
    /// The first word in the source.
    pub source: usize,
    /// The number of words.
    pub len: usize,
}

/// The quotes in a text, from one source after the other. See [`Windows::quotes`].
#[derive(Debug)]
pub struct Quotes<'a> {
    windows: &'a Windows,
    text: &'a Text,
    gaps: u32,
    /// Which words are in a quote.
    quoted: Vec<bool>,
}

impl Windows {
    /// Prepares a text for [`quotes`](Self::quotes).
    ///
    /// # Errors
    ///
    /// `InvalidArgument` if the text is longer than 512 MiB.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::windows::Windows;
    /// assert_eq!(Windows::new(50, 7)?.text("Two words")?.words().len(), 2);
    /// # Ok::<(), fpdb_text::Error>(())
    /// ```
    pub fn text(&self, text: &str) -> Result<Text> {
        let words = Words::of(text, self.seed)?;
        let mut first = HashMap::new();
        let kept = Self { min_length: self.min_length.min(SEED * WORD), ..self.clone() };
        kept.keep(&words, |hash, window| {
            first.entry(hash).or_insert(window.start);
        });
        let windows = self.hashes(&words, &self.polynomial.before(&words));
        Ok(Text { windows, words, first })
    }

    /// Looks for quotes in a text: runs of at least 8 words that stand in the same order in a
    /// source, joined over at most `gaps` words on each side that are not the same. A quote has at
    /// least `min_words` words in all. It is found if it has a run of 20 words, and often if it has
    /// one of 13.
    ///
    /// The time grows linearly with the number of words, and with the square of `gaps`.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::windows::{Same, Windows};
    ///
    /// let news = "Nobody knew why the mills were closed, but the owners had found better coal in the north \
    ///             of the country, then as now.";
    /// let page = "Nobody knew why the mills were closed, but (so they say) the owners had found better coal in the north \
    ///             of the country, then as now.";
    /// let windows = Windows::new(14, 7)?;
    /// let (source, text) = (windows.text(news)?, windows.text(page)?);
    /// let runs = [Same { word: 0, source: 0, len: 8 }, Same { word: 11, source: 8, len: 15 }];
    /// assert_eq!(windows.quotes(&text, 5).from(&source), [runs]);
    /// # Ok::<(), fpdb_text::Error>(())
    /// ```
    #[must_use]
    pub fn quotes<'a>(&'a self, text: &'a Text, gaps: u16) -> Quotes<'a> {
        let gaps = u32::from(gaps) * WORD;
        Quotes { windows: self, text, gaps, quoted: vec![false; text.words.len()] }
    }
}

impl Quotes<'_> {
    /// Returns the quotes from this source, in order. They do not overlap, and a quote that begins
    /// in one from an earlier source is not looked for.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::windows::Windows;
    ///
    /// let source = "the mills were closed in spring because the new owners had found cheaper coal in the north";
    /// let windows = Windows::new(14, 7)?;
    /// let (text, source) = (windows.text(source)?, windows.text(source)?);
    /// let mut quotes = windows.quotes(&text, 5);
    /// assert_eq!([quotes.from(&source).len(), quotes.from(&source).len()], [1, 0]);
    /// # Ok::<(), fpdb_text::Error>(())
    /// ```
    pub fn from(&mut self, source: &Text) -> Vec<Vec<Same>> {
        let (mut floor, mut next, mut found) = (0, 0, Vec::new());
        for (word, hash) in self.text.windows.iter().enumerate() {
            let Some(&place) = source.first.get(hash).filter(|_| word >= next) else { continue };
            if self.quoted[word] {
                continue;
            }
            // Not into the last quote, so that no word is visited often, whatever repeats itself.
            let quote = self.around(floor, word, &source.words, place);
            let [Same { word: begin, .. }, ..] = quote[..] else { continue };
            next = quote.last().map_or(word, |last| last.word + last.len);
            let lengths = &self.text.words.lengths;
            if lengths[next] - lengths[begin] >= self.windows.min_length {
                floor = next;
                self.quoted[begin..next].fill(true);
                found.push(quote);
            }
        }
        found
    }

    /// Returns the runs of the quote around these words, or none if they differ.
    fn around(&self, floor: usize, word: usize, source: &Words, place: usize) -> Vec<Same> {
        let text = &self.text.words;
        let part = |words, range, is_reversed| Part { words, range, is_reversed };
        let after = self.extend(
            &part(text, word..text.len(), false),
            &part(source, place..source.len(), false),
        );
        // Backwards from the end of the first run, so that it is found as a whole.
        let (word_end, place_end) = match after.first() {
            Some(first) if first.word == 0 => (word + first.len, place + first.len),
            _ => return Vec::new(),
        };
        let before =
            self.extend(&part(text, floor..word_end, true), &part(source, 0..place_end, true));
        let before = before.iter().rev().map(|run| Same {
            word: word_end - run.word - run.len,
            source: place_end - run.source - run.len,
            ..*run
        });
        let after = after.iter().skip(1);
        before
            .chain(after.map(|it| Same { word: word + it.word, source: place + it.source, ..*it }))
            .collect()
    }

    /// Returns the runs that are the same from the beginning of both parts on, joined over gaps.
    fn extend(&self, text: &Part<'_>, source: &Part<'_>) -> Vec<Same> {
        let (mut word, mut place, mut runs) = (0, 0, Vec::new());
        loop {
            let len = text.same(word, source, place);
            if len > 0 {
                runs.push(Same { word, source: place, len });
            }
            (word, place) = (word + len, place + len);
            // As few words as possible until a run is the same.
            let most = [text.within(word, self.gaps), source.within(place, self.gaps)];
            let pairs = |size| (0..=size).rev().flat_map(move |less| [(size, less), (less, size)]);
            let mut sizes = (1..=most[0].max(most[1])).flat_map(pairs);
            let is_end = |&(a, b): &(usize, usize)| {
                a <= most[0] && b <= most[1] && text.has_run(word + a, source, place + b)
            };
            let Some((skipped, added)) = sizes.find(is_end) else { break runs };
            (word, place) = (word + skipped, place + added);
        }
    }
}

/// Words of a text, read forwards or backwards.
struct Part<'a> {
    words: &'a Words,
    range: Range<usize>,
    is_reversed: bool,
}

impl Part<'_> {
    /// Returns the place in the text of some words of the part.
    fn place(&self, words: Range<usize>) -> Range<usize> {
        if self.is_reversed {
            self.range.end - words.end..self.range.end - words.start
        } else {
            self.range.start + words.start..self.range.start + words.end
        }
    }

    /// Returns whether so many words are the same from here on in both parts.
    fn are_same(&self, word: usize, other: &Part<'_>, place: usize, len: usize) -> bool {
        let others = other.place(place..place + len);
        self.words.are_same(self.place(word..word + len), other.words, others)
    }

    /// Returns how many words from this one on are at most so long together.
    fn within(&self, word: usize, length: u32) -> usize {
        let of = |count: usize| {
            let place = self.place(word..word + count);
            self.words.lengths[place.end] - self.words.lengths[place.start]
        };
        (1..=self.range.len() - word).take_while(|&count| of(count) <= length).count()
    }

    /// Returns how many words are the same from here on in both parts.
    fn same(&self, word: usize, other: &Part<'_>, place: usize) -> usize {
        let most = (self.range.len() - word).min(other.range.len() - place);
        let is_same = |at: &usize| self.are_same(word + at, other, place + at, 1);
        (0..most).take_while(is_same).count()
    }

    /// Returns whether a run is the same from here on in both parts.
    fn has_run(&self, word: usize, other: &Part<'_>, place: usize) -> bool {
        word + RUN <= self.range.len()
            && place + RUN <= other.range.len()
            && self.are_same(word, other, place, RUN)
    }
}

#[cfg(test)]
mod tests;
