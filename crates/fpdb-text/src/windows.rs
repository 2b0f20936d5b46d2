//! Passages: runs of words that texts have in common, found by hashes of short runs.
//!
//! A *window* is a run of 13 neighbouring words, and its key is a hash of them. Of all windows in any run of
//! `min_words` words, the one with the least key is *kept* (winnowing: Schleimer, Wilkerson and Aiken, SIGMOD 2003).
//! Which one that is depends only on the run. So two texts that have a run of `min_words` words in common always have
//! the key of a kept window in common, and few windows need to be stored: about one of 20 at 50 words.
//!
//! Words are the tokens of the recipe `pairs/1`: in lower case and NFKC, without punctuation. In scripts without spaces
//! between words, each character is a token, and says less than a word. So a word has length 8 and such a character
//! length 5: 80 characters are as long as 50 words, and a window has 20 of them.
//!
//! The hash of a word is the XXH3-64 with seed 0 of its UTF-8 bytes, as in `pairs/1`. The hash of a run of words with
//! hashes h1 to hn is h1 b^(n-1) + ... + hn modulo 2^64, with b = 0x9e3779b97f4a7c15. The key is that number x after
//! x ^= x >> 32, x *= 0xd6e8feb86659fd93, the same once more, and x ^= x >> 32. All this is what the name
//! `passages/1` stands for, and never changes.

mod quotes;

use std::ops::Range;

use crate::cut::tokens;
use crate::error::{Error, Result};
use crate::hash::xxh3;
pub use quotes::{Quotes, Same, Text};

/// Eighths of a word that a word and a character of a script without spaces count.
const WORD: u32 = 8;
const CHARACTER: u32 = 5;
/// The least length of a window: 13 words are 104, 12 are 96, and 20 characters are 100.
const WINDOW: u32 = 100;
/// The base of the polynomial that hashes a run.
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

/// The words of a text, by hash and place.
///
/// # Examples
///
/// ```
/// use fpdb_text::windows::Words;
///
/// let text = "“Trains leave\nevery ten minutes.”";
/// let words = Words::of(text)?;
/// assert_eq!(words.len(), 5);
/// assert_eq!(&text[words.place(1..3)], "leave\nevery");
/// # Ok::<(), fpdb_text::Error>(())
/// ```
#[derive(Debug, Default, Clone)]
pub struct Words {
    /// Where each word begins and ends.
    places: Vec<(u32, u32)>,
    /// The hash, and the length, of the words before each word; then of all words.
    hashes: Vec<u64>,
    lengths: Vec<u32>,
}

impl Words {
    /// Returns the words of a text.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` if the text is longer than 512 MiB.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::windows::Words;
    /// assert_eq!(Words::of("Don't PANIC!")?.len(), 3);
    /// assert_eq!(Words::of("不要恐慌")?.len(), 4);
    /// # Ok::<(), fpdb_text::Error>(())
    /// ```
    pub fn of(text: &str) -> Result<Self> {
        let mut words = Self::default();
        words.read(text)?;
        Ok(words)
    }

    /// Replaces the words with those of another text, and keeps the memory.
    ///
    /// # Errors
    ///
    /// Those of [`of`](Self::of).
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::windows::Words;
    ///
    /// let mut words = Words::default();
    /// for (text, count) in [("one two", 2), ("", 0), ("one two three", 3)] {
    ///     words.read(text)?;
    ///     assert_eq!(words.len(), count);
    /// }
    /// # Ok::<(), fpdb_text::Error>(())
    /// ```
    pub fn read(&mut self, text: &str) -> Result<()> {
        if text.len() > Self::MAX_TEXT {
            let message = format!("a text of {} bytes: expected at most 512 MiB", text.len());
            return Err(Error::invalid(message));
        }
        self.places.clear();
        self.hashes.clear();
        self.lengths.clear();
        self.hashes.push(0);
        self.lengths.push(0);
        tokens(text, |token| {
            let length = if token.is_ideograph { CHARACTER } else { WORD };
            self.push(xxh3(token.text.as_bytes()), token.place, length);
        });
        Ok(())
    }

    /// The longest text. The length of its words fits in 32 bits: no word is shorter than a byte.
    const MAX_TEXT: usize = 1 << 29;

    /// Returns the number of words.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::windows::Words;
    /// assert_eq!(Words::of("日本 and more")?.len(), 4);
    /// # Ok::<(), fpdb_text::Error>(())
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns whether there are no words.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::windows::Words;
    /// assert!(Words::of("... !")?.is_empty());
    /// # Ok::<(), fpdb_text::Error>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns the bytes of the text from the beginning of the first to the end of the last of these words. They are
    /// empty if there is no such word.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::windows::Words;
    /// assert_eq!(Words::of("one, two; three")?.place(0..2), 0..8);
    /// # Ok::<(), fpdb_text::Error>(())
    /// ```
    #[must_use]
    pub fn place(&self, words: Range<usize>) -> Range<usize> {
        match self.places.get(words) {
            Some([(begin, _), .., (_, end)] | [(begin, end)]) => *begin as usize..*end as usize,
            _ => 0..0,
        }
    }

    /// Returns the length of a run of words, in which a character of a script without spaces counts as 5/8 of a word.
    ///
    /// # Panics
    ///
    /// If there are no such words.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::windows::Words;
    /// let words = Words::of("日本 and more")?;
    /// assert_eq!((words.length(0..2), words.length(0..4)), (1.25, 3.25));
    /// # Ok::<(), fpdb_text::Error>(())
    /// ```
    #[must_use]
    pub fn length(&self, words: Range<usize>) -> f64 {
        f64::from(self.lengths[words.end] - self.lengths[words.start]) / f64::from(WORD)
    }

    /// Returns the word after the last one of the window from a word on, or of the text if it is shorter.
    fn end_of_window(&self, begin: usize) -> usize {
        let least_end = self.lengths[begin] + WINDOW;
        self.lengths.partition_point(|&length| length < least_end).min(self.len())
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "texts are at most `MAX_TEXT` bytes long")]
    fn push(&mut self, hash: u64, place: Range<usize>, length: u32) {
        let before = self.hashes.last().copied().unwrap_or(0);
        self.hashes.push(before.wrapping_mul(BASE).wrapping_add(hash));
        self.lengths.push(self.lengths.last().copied().unwrap_or(0) + length);
        self.places.push((place.start as u32, place.end as u32));
    }
}

/// Returns the hash of a run of words, from the hashes of all words before its ends and the power for its length.
#[inline]
fn hash_of_run(before: u64, at_end: u64, power: u64) -> u64 {
    let mut x = at_end.wrapping_sub(before.wrapping_mul(power));
    for _ in 0..2 {
        x ^= x >> 32;
        x = x.wrapping_mul(0xd6e8_feb8_6659_fd93);
    }
    x ^ x >> 32
}

/// A run of words that is as long as texts must share, and the window that is kept of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// The first word.
    pub begin: usize,
    /// The word after the last one.
    pub end: usize,
    /// The key of the window that is kept.
    pub key: u64,
    /// The first word of that window.
    pub window: usize,
    /// Whether the run is as long as texts must share. Only a text that is shorter has a run that is not.
    pub is_full: bool,
}

/// The recipe `passages/1`: which windows of a text are kept, so that texts that share a run of so many words share a
/// key. See the [module](self).
///
/// # Examples
///
/// ```
/// use std::collections::HashSet;
/// use fpdb_text::windows::{Windows, Words};
///
/// let windows = Windows::new(20)?;
/// let keys = |text: &str| {
///     let mut keys = HashSet::new();
///     windows.keep(&Words::of(text)?, |key, _| { keys.insert(key); });
///     Ok::<_, fpdb_text::Error>(keys)
/// };
/// let quote = "the mills were closed in spring, because the new owners had found cheaper coal in the north and \
///              needed neither the river nor its wheels";
/// let (a, b) = (format!("As we reported, {quote}. Nobody"), format!("It is said that {quote}; but"));
/// assert!(!keys(&a)?.is_disjoint(&keys(&b)?));
/// # Ok::<(), fpdb_text::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Windows {
    min_length: u32,
    /// The powers of the base, for runs of any number of words.
    powers: Vec<u64>,
}

impl Windows {
    /// Returns the recipe for runs of this many words, of which 50 are usual: 14 to 1000.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for another number.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::windows::Windows;
    /// assert!(Windows::new(50).is_ok());
    /// assert!(Windows::new(13).is_err());
    /// ```
    pub fn new(min_words: usize) -> Result<Self> {
        if !(14..=1000).contains(&min_words) {
            let message = format!("min_words {min_words}: expected a number from 14 to 1000");
            return Err(Error::invalid(message));
        }
        #[expect(clippy::cast_possible_truncation, reason = "at most 1000")]
        let min_length = min_words as u32 * WORD;
        let most = min_length.div_ceil(CHARACTER) as usize;
        let powers = std::iter::successors(Some(1u64), |power| Some(power.wrapping_mul(BASE)));
        Ok(Self { min_length, powers: powers.take(most + 1).collect() })
    }

    /// Calls `each` with the key and the words of each window that is kept, in the order of the text.
    ///
    /// If the text is shorter than a run, the least window of all is kept; if it is shorter than a window, the whole
    /// text is one. A text without words has none. If a key is the least of several windows in a run, only one of
    /// them is kept.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::windows::{Windows, Words};
    ///
    /// let mut kept = Vec::new();
    /// Windows::new(50)?.keep(&Words::of("A short text.")?, |_, words| kept.push(words));
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
                each(run.key, run.window..words.end_of_window(run.window));
            }
        });
    }

    /// Does what [`keep`](Self::keep) does, if each word has this length and there is at least one run.
    fn keep_of_one_length(
        &self,
        words: &Words,
        length: u32,
        mut each: impl FnMut(u64, Range<usize>),
    ) {
        let [window, run] = [WINDOW, self.min_length].map(|least| least.div_ceil(length) as usize);
        let power = self.powers[window];
        let pairs = words.hashes.iter().zip(words.hashes.iter().skip(window));
        let keys: Vec<u64> =
            pairs.map(|(&before, &at_end)| hash_of_run(before, at_end, power)).collect();
        let mut least = last_least(&keys[..=run - window]);
        each(keys[least], least..least + window);
        for (begin, &key) in (1..).zip(&keys[run - window + 1..]) {
            let before = least;
            if key < keys[least] {
                least = begin + run - window;
            } else if least < begin {
                least = begin + last_least(&keys[begin..=begin + run - window]);
            }
            if least != before {
                each(keys[least], least..least + window);
            }
        }
    }

    /// Calls `each` with every shortest run that is long enough, from each word on, and with the window that is kept
    /// of it. If the text is shorter, it is the only run.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::windows::{Windows, Words};
    ///
    /// let (windows, words) = (Windows::new(50)?, Words::of(&"once and again ".repeat(20))?);
    /// let mut runs = Vec::new();
    /// windows.runs(&words, |run| runs.push((run.begin, run.end)));
    /// assert_eq!((runs.len(), runs[0], runs[10]), (11, (0, 50), (10, 60)));
    /// # Ok::<(), fpdb_text::Error>(())
    /// ```
    pub fn runs(&self, words: &Words, mut each: impl FnMut(Run)) {
        let keys = self.keys(words);
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
            while ended < keys.len() && lengths[ended] + WINDOW <= lengths[end] {
                ended += 1;
            }
            if least < begin || begin == 0 {
                // Of equal ones the last, because it remains longest. While it does, equal ones are not kept.
                least = begin + last_least(&keys[begin.min(ended)..ended]);
            } else {
                let later = keys[known..ended].iter().position(|&key| key < keys[least]);
                least = later.map_or(least, |_| known + last_least(&keys[known..ended]));
            }
            let key = keys.get(least).copied().unwrap_or_else(|| self.hash_of(words, begin..end));
            each(Run { begin, end, key, window: least, is_full });
        }
    }

    /// Returns the keys of all windows of a text.
    fn keys(&self, words: &Words) -> Vec<u64> {
        let (hashes, lengths) = (&words.hashes[..], &words.lengths[..]);
        let mut keys = Vec::with_capacity(words.len());
        let mut end = 0;
        for (begin, (&before, &length)) in hashes.iter().zip(lengths).enumerate() {
            while lengths.get(end).is_some_and(|&at_end| at_end < length + WINDOW) {
                end += 1;
            }
            let Some(&at_end) = hashes.get(end) else { break };
            keys.push(hash_of_run(before, at_end, self.powers[end - begin]));
        }
        keys
    }

    #[inline]
    fn hash_of(&self, words: &Words, run: Range<usize>) -> u64 {
        hash_of_run(words.hashes[run.start], words.hashes[run.end], self.powers[run.len()])
    }

    /// Returns the hash of all words of a run.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::windows::{Windows, Words};
    ///
    /// let (windows, words) = (Windows::new(14)?, Words::of(&"again and ".repeat(20))?);
    /// let mut hashes = Vec::new();
    /// windows.runs(&words, |run| hashes.push(windows.hash(&words, &run)));
    /// assert_eq!(hashes[0], hashes[2]);
    /// assert_ne!(hashes[0], hashes[1]);
    /// # Ok::<(), fpdb_text::Error>(())
    /// ```
    #[must_use]
    pub fn hash(&self, words: &Words, run: &Run) -> u64 {
        self.hash_of(words, run.begin..run.end)
    }
}

/// Returns the place of the last of the least keys, or 0 if there are none.
#[inline]
fn last_least(keys: &[u64]) -> usize {
    let mut least = 0;
    for (place, &key) in keys.iter().enumerate() {
        if key <= keys[least] {
            least = place;
        }
    }
    least
}

#[cfg(test)]
mod tests;
