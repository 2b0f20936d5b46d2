//! The words of a text.

use std::ops::Range;

use crate::cut::tokens;
use crate::error::{Error, Result};
use crate::hash::xxh3_with_seed;

/// Eighths of a word that a word and a character of a script without spaces count.
pub(super) const WORD: u32 = 8;
pub(super) const CHARACTER: u32 = 5;
/// The least length of a window: 13 words are 104, 12 are 96, and 20 characters are 100.
pub(super) const WINDOW: u32 = 100;

/// The words of a text, by hash and place.
///
/// A seed decides the hashes. For texts of strangers, let it be random: whoever knows it can choose
/// different words with equal hashes.
///
/// # Examples
///
/// ```
/// use fpdb_text::windows::Words;
///
/// let text = "“Trains leave\nevery ten minutes.”";
/// let words = Words::of(text, 7)?;
/// assert_eq!(words.len(), 5);
/// assert_eq!(&text[words.place(1..3)], "leave\nevery");
/// # Ok::<(), fpdb_text::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Words {
    seed: u64,
    /// Where each word begins and ends.
    places: Vec<(u32, u32)>,
    /// The hash of each word, in little-endian order.
    hashes: Vec<[u8; 8]>,
    /// The length of the words before each word; then of all words.
    pub(super) lengths: Vec<u32>,
}

impl Words {
    /// Returns no words. What is [read](Self::read) then has hashes of this seed.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::windows::Words;
    /// assert!(Words::new(7).is_empty());
    /// ```
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed, places: Vec::new(), hashes: Vec::new(), lengths: vec![0] }
    }

    /// Returns the words of a text, with hashes of this seed.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` if the text is longer than 512 MiB.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::windows::Words;
    /// assert_eq!(Words::of("Don't PANIC!", 7)?.len(), 3);
    /// assert_eq!(Words::of("不要恐慌", 7)?.len(), 4);
    /// # Ok::<(), fpdb_text::Error>(())
    /// ```
    pub fn of(text: &str, seed: u64) -> Result<Self> {
        let mut words = Self::new(seed);
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
    /// let mut words = Words::new(7);
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
        self.lengths.truncate(1);
        tokens(text, |token| {
            let length = if token.is_ideograph { CHARACTER } else { WORD };
            self.push(xxh3_with_seed(token.text.as_bytes(), self.seed), token.place, length);
        });
        Ok(())
    }

    /// The longest text. The length of its words fits in 32 bits: no word is shorter than a byte.
    pub(super) const MAX_TEXT: usize = 1 << 29;

    /// Returns the number of words.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::windows::Words;
    /// assert_eq!(Words::of("日本 and more", 7)?.len(), 4);
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
    /// assert!(Words::of("... !", 7)?.is_empty());
    /// # Ok::<(), fpdb_text::Error>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns the bytes of the text from the beginning of the first to the end of the last of
    /// these words. They are empty if there is no such word.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::windows::Words;
    /// assert_eq!(Words::of("one, two; three", 7)?.place(0..2), 0..8);
    /// # Ok::<(), fpdb_text::Error>(())
    /// ```
    #[must_use]
    pub fn place(&self, words: Range<usize>) -> Range<usize> {
        match self.places.get(words) {
            Some([(begin, _), .., (_, end)] | [(begin, end)]) => *begin as usize..*end as usize,
            _ => 0..0,
        }
    }

    /// Returns the length of a run of words, in which a character of a script without spaces counts
    /// as 5/8 of a word.
    ///
    /// # Panics
    ///
    /// If there are no such words.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::windows::Words;
    /// let words = Words::of("日本 and more", 7)?;
    /// assert_eq!((words.length(0..2), words.length(0..4)), (1.25, 3.25));
    /// # Ok::<(), fpdb_text::Error>(())
    /// ```
    #[must_use]
    pub fn length(&self, words: Range<usize>) -> f64 {
        f64::from(self.lengths[words.end] - self.lengths[words.start]) / f64::from(WORD)
    }

    /// Returns the hash of a run of words: the XXH3-64 of their hashes with the seed. Equal runs
    /// have equal hashes, and different ones hardly ever, in texts of people that do not know the
    /// seed.
    ///
    /// # Panics
    ///
    /// If there are no such words.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::windows::Words;
    ///
    /// let words = Words::of("Again, and again!", 7)?;
    /// assert_eq!(words.hash(0..1), words.hash(2..3));
    /// assert_ne!(words.hash(0..2), words.hash(1..3));
    /// # Ok::<(), fpdb_text::Error>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn hash(&self, words: Range<usize>) -> u64 {
        xxh3_with_seed(self.hashes[words].as_flattened(), self.seed)
    }

    /// Returns whether runs of two texts have the same words, by their hashes, one by one. The seed
    /// must be the same.
    ///
    /// # Panics
    ///
    /// If there are no such words.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_text::windows::Words;
    ///
    /// let (a, b) = (Words::of("Again, and again!", 7)?, Words::of("And AGAIN", 7)?);
    /// assert!(a.are_same(1..3, &b, 0..2) && !a.are_same(0..2, &b, 0..2));
    /// # Ok::<(), fpdb_text::Error>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn are_same(&self, words: Range<usize>, other: &Self, others: Range<usize>) -> bool {
        self.hashes[words] == other.hashes[others]
    }

    /// Returns the hash of each word.
    pub(super) fn hashes(&self) -> impl Iterator<Item = u64> {
        self.hashes.iter().map(|&hash| u64::from_le_bytes(hash))
    }

    /// Returns the word after the last one of the window from a word on, or of the text if it is
    /// shorter.
    pub(super) fn end_of_window(&self, begin: usize) -> usize {
        let least_end = self.lengths[begin] + WINDOW;
        self.lengths.partition_point(|&length| length < least_end).min(self.len())
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "texts are at most `MAX_TEXT` bytes long")]
    fn push(&mut self, hash: u64, place: Range<usize>, length: u32) {
        self.hashes.push(hash.to_le_bytes());
        self.lengths.push(self.lengths.last().copied().unwrap_or(0) + length);
        self.places.push((place.start as u32, place.end as u32));
    }
}
