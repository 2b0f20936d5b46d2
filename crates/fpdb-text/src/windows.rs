//! Passages: runs of words that texts have in common, found by hashes of short runs.
//!
//! A *window* is a run of 13 neighbouring words. Of all windows in any run of `min_words` words,
//! the one with the least hash is *kept* (winnowing: Schleimer, Wilkerson and Aiken, SIGMOD 2003).
//! Which one that is depends only on the run. So two texts that have a run of `min_words` words in
//! common always have a kept window in common, and few windows need to be stored: about one of 20
//! at 50 words.
//!
//! Words are the tokens of the recipe `pairs/1`: in lower case and NFKC, without punctuation. In
//! scripts without spaces between words, each character is a token, and says less than a word. So a
//! word has length 8 and such a character length 5: 80 characters are as long as 50 words, and a
//! window has 20 of them.
//!
//! A hash has a seed, because texts come from strangers: whoever knows it can write texts that
//! share no word and have equal hashes. The hash of a word is the XXH3-64 of its UTF-8 bytes with
//! the seed. The hash of a run of words with hashes h1 to hn is x = h1 b^(n-1) + ... + hn modulo
//! 2^64 - 59, where b is the hash of the empty string, after x ^= x >> 32, x *= 0xd6e8feb86659fd93
//! modulo 2^64, the same once more, and x ^= x >> 32. Two different runs of n words then have equal
//! hashes for less than n + 1 of 2^64 bases. All this is what the name `passages/1` stands for, and
//! never changes.

mod polynomial;
mod quotes;
mod words;

use std::ops::Range;

use crate::error::{Error, Result};
use polynomial::{Polynomial, hash_of_run};
pub use quotes::{Quotes, Same, Text};
pub use words::Words;
use words::{CHARACTER, WINDOW, WORD};

/// A run of words that is as long as texts must share, and the window that is kept of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// The first word.
    pub begin: usize,
    /// The word after the last one.
    pub end: usize,
    /// The hash of all its words.
    pub hash: u64,
    /// The first word of the window that is kept.
    pub window: usize,
    /// The hash of that window.
    pub window_hash: u64,
    /// Whether the run is as long as texts must share. Only a text that is shorter has a run that
    /// is not.
    pub is_full: bool,
}

/// The recipe `passages/1`: which windows of a text are kept, so that texts that share a run of so
/// many words share a window. See the [module](self).
///
/// # Examples
///
/// ```
/// use std::collections::HashSet;
/// use fpdb_text::windows::{Windows, Words};
///
/// let windows = Windows::new(20, 7)?;
/// let kept = |text: &str| {
///     let mut kept = HashSet::new();
///     windows.keep(&Words::of(text, 7)?, |hash, _| { kept.insert(hash); });
///     Ok::<_, fpdb_text::Error>(kept)
/// };
/// let quote = "the mills were closed in spring, because the new owners had found cheaper coal in the north and \
///              needed neither the river nor its wheels";
/// let (a, b) = (format!("As we reported, {quote}. Nobody"), format!("It is said that {quote}; but"));
/// assert!(!kept(&a)?.is_disjoint(&kept(&b)?));
/// # Ok::<(), fpdb_text::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Windows {
    min_length: u32,
    seed: u64,
    polynomial: Polynomial,
}

impl Windows {
    /// Returns the recipe for runs of this many words, of which 50 are usual: 14 to 1000. The
    /// [`Words`] of texts must have the same seed.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for another number.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::windows::Windows;
    /// assert!(Windows::new(50, 7).is_ok());
    /// assert!(Windows::new(13, 7).is_err());
    /// ```
    pub fn new(min_words: usize, seed: u64) -> Result<Self> {
        if !(14..=1000).contains(&min_words) {
            let message = format!("min_words {min_words}: expected a number from 14 to 1000");
            return Err(Error::invalid(message));
        }
        #[expect(clippy::cast_possible_truncation, reason = "at most 1000")]
        let min_length = min_words as u32 * WORD;
        let most = min_length.div_ceil(CHARACTER) as usize;
        Ok(Self { min_length, seed, polynomial: Polynomial::new(seed, most) })
    }

    /// Calls `each` with the hash and the words of each window that is kept, in the order of the
    /// text.
    ///
    /// If the text is shorter than a run, the least window of all is kept; if it is shorter than a
    /// window, the whole text is one. A text without words has none. If several windows in a run
    /// have the least hash, only one of them is kept.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::windows::{Windows, Words};
    ///
    /// let mut kept = Vec::new();
    /// Windows::new(50, 7)?.keep(&Words::of("A short text.", 7)?, |_, words| kept.push(words));
    /// assert_eq!(kept, [0..3]);
    /// # Ok::<(), fpdb_text::Error>(())
    /// ```
    pub fn keep(&self, words: &Words, mut each: impl FnMut(u64, Range<usize>)) {
        // In most texts all words have one length, so windows and runs have, too.
        let all = words.lengths.last().copied().unwrap_or(0) as usize;
        for length in [WORD, CHARACTER] {
            if all == words.len() * length as usize && all >= self.min_length as usize {
                return self.keep_of_one_length(words, length, each);
            }
        }
        let mut last = None;
        self.runs(words, |run| {
            if last != Some(run.window) {
                last = Some(run.window);
                each(run.window_hash, run.window..words.end_of_window(run.window));
            }
        });
    }

    /// Does what [`keep`](Self::keep) does, if each word has this length and there is at least one
    /// run.
    fn keep_of_one_length(
        &self,
        words: &Words,
        length: u32,
        mut each: impl FnMut(u64, Range<usize>),
    ) {
        let [window, run] = [WINDOW, self.min_length].map(|least| least.div_ceil(length) as usize);
        let values = self.polynomial.before(words);
        let power = self.polynomial.power(window);
        let pairs = values.iter().zip(values.iter().skip(window));
        let hashes: Vec<u64> =
            pairs.map(|(&before, &after)| hash_of_run(before, after, power)).collect();
        let mut least = last_least(&hashes[..=run - window]);
        each(hashes[least], least..least + window);
        for (begin, &hash) in (1..).zip(&hashes[run - window + 1..]) {
            let before = least;
            if hash < hashes[least] {
                least = begin + run - window;
            } else if least < begin {
                least = begin + last_least(&hashes[begin..=begin + run - window]);
            }
            if least != before {
                each(hashes[least], least..least + window);
            }
        }
    }

    /// Calls `each` with every shortest run that is long enough, from each word on, and with the
    /// window that is kept of it. If the text is shorter, it is the only run.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::windows::{Windows, Words};
    ///
    /// let (windows, words) = (Windows::new(50, 7)?, Words::of(&"once and again ".repeat(20), 7)?);
    /// let mut runs = Vec::new();
    /// windows.runs(&words, |run| runs.push((run.begin, run.end)));
    /// assert_eq!((runs.len(), runs[0], runs[10]), (11, (0, 50), (10, 60)));
    /// # Ok::<(), fpdb_text::Error>(())
    /// ```
    pub fn runs(&self, words: &Words, mut each: impl FnMut(Run)) {
        let values = self.polynomial.before(words);
        let hashes = self.hashes(words, &values);
        let (lengths, all) = (&words.lengths[..], words.len());
        // The windows that end by the end of the run, and the one that is kept.
        let (mut end, mut ended, mut least) = (0, 0, 0);
        for begin in 0..all {
            let least_end = lengths[begin] + self.min_length;
            while end < all && lengths[end] < least_end {
                end += 1;
            }
            let is_full = lengths[end] >= least_end;
            if begin > 0 && !is_full {
                break;
            }
            let known = ended;
            while ended < hashes.len() && lengths[ended] + WINDOW <= lengths[end] {
                ended += 1;
            }
            if least < begin || begin == 0 {
                // Of equal ones the last, because it remains longest. While it does, equal ones are
                // not kept.
                least = begin + last_least(&hashes[begin.min(ended)..ended]);
            } else {
                let later = hashes[known..ended].iter().position(|&hash| hash < hashes[least]);
                least = later.map_or(least, |_| known + last_least(&hashes[known..ended]));
            }
            let hash = self.polynomial.hash(values[begin], values[end], end - begin);
            let window_hash = hashes.get(least).copied().unwrap_or(hash);
            each(Run { begin, end, hash, window: least, window_hash, is_full });
        }
    }

    /// Returns the hashes of all windows of a text, from the values of the polynomial before each
    /// word.
    fn hashes(&self, words: &Words, values: &[u64]) -> Vec<u64> {
        let lengths = &words.lengths[..];
        let mut hashes = Vec::with_capacity(words.len());
        let mut end = 0;
        for (begin, (&before, &length)) in values.iter().zip(lengths).enumerate() {
            while lengths.get(end).is_some_and(|&at_end| at_end < length + WINDOW) {
                end += 1;
            }
            let Some(&after) = values.get(end) else { break };
            hashes.push(self.polynomial.hash(before, after, end - begin));
        }
        hashes
    }
}

/// Returns the place of the last of the least hashes, or 0 if there are none.
#[inline]
fn last_least(hashes: &[u64]) -> usize {
    let mut least = 0;
    for (place, &hash) in hashes.iter().enumerate() {
        if hash <= hashes[least] {
            least = place;
        }
    }
    least
}

#[cfg(test)]
mod tests;
