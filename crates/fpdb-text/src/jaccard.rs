//! The exact Jaccard similarity of texts, which sketches and fingerprints estimate.
//!
//! A text is represented by the set of its shingles: all runs of n neighbouring characters or
//! words, each counted once. The Jaccard similarity of two texts is the number of shingles in both
//! divided by the number of shingles in either. [`Recipe::features`](crate::Recipe::features)
//! returns the features of a recipe in the same form.

mod compact;
mod crowd;

pub use compact::{Compact, Mixed};
pub use crowd::{Candidate, Crowd};

use crate::hash::xxh3;
use crate::normalization::{NFKC_LOWER_CASE, normalized};

/// The shingles of a text, each stored as a hash of 64 bits: 8 bytes per shingle.
///
/// The similarity is exact with this exception: two different shingles of equal hash would count as
/// one. Of two texts with a million shingles each, this happens once in some 10^7 pairs, and
/// changes the similarity by a millionth.
///
/// # Examples
///
/// ```
/// use fpdb_text::jaccard::Shingles;
///
/// let a = Shingles::of_words("The cat sat on the mat.", 3);
/// let b = Shingles::of_words("the cat sat on the MAT again", 3);
/// assert_eq!((a.len(), b.len(), a.shared(&b)), (4, 5, 4));
/// assert_eq!(a.jaccard(&b), 4.0 / 5.0);
/// assert_eq!(Shingles::of_words("It's snake_case.", 2).len(), 2); // it s, s snake_case
///
/// let a = Shingles::of_characters("今天天气很好。", 5);
/// let b = Shingles::of_characters("今天，天气很好！", 5);
/// assert_eq!(a.jaccard(&b), 1.0);
/// assert!(Shingles::of_characters("你好", 5).is_empty());
/// assert_eq!(Shingles::of_hashes(a.hashes().to_vec()), a);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shingles {
    /// In ascending order, without duplicates.
    hashes: Vec<u64>,
}

impl Shingles {
    /// Returns the runs of `n` characters. The text is brought to NFKC and lower case, and
    /// everything but letters and digits is removed first. For Chinese, n = 5 is usual.
    ///
    /// A text with fewer than `n` letters and digits has no shingles. If `n` is 0, it counts as 1.
    #[must_use]
    pub fn of_characters(text: &str, n: usize) -> Self {
        let mut kept = String::with_capacity(text.len());
        let mut parts = Vec::with_capacity(text.len());
        for c in normalized(text, NFKC_LOWER_CASE).chars().filter(|c| c.is_alphanumeric()) {
            let start = kept.len();
            kept.push(c);
            parts.push((start, kept.len()));
        }
        Self::of_parts(&kept, &parts, n)
    }

    /// Returns the runs of `n` words of the text in NFKC and lower case. A word is a run of
    /// letters, digits and underscores, the `\w+` of regular expressions. For English, n = 3 is
    /// usual.
    ///
    /// A text with fewer than `n` words has no shingles. If `n` is 0, it counts as 1.
    #[must_use]
    pub fn of_words(text: &str, n: usize) -> Self {
        let mut kept = String::with_capacity(text.len());
        let mut parts = Vec::new();
        let text = normalized(text, NFKC_LOWER_CASE);
        for word in text.split(|c: char| !c.is_alphanumeric() && c != '_') {
            if !word.is_empty() {
                let start = kept.len();
                kept.push_str(word);
                parts.push((start, kept.len()));
                kept.push(' ');
            }
        }
        Self::of_parts(&kept, &parts, n)
    }

    /// Hashes the runs of `n` neighbouring parts, including what separates the parts.
    fn of_parts(text: &str, parts: &[(usize, usize)], n: usize) -> Self {
        let runs = parts.windows(n.max(1));
        let run = |run: &[(usize, usize)]| &text.as_bytes()[run[0].0..run[run.len() - 1].1];
        Self::of_hashes(runs.map(|parts| xxh3(run(parts))).collect())
    }

    /// Takes the hashes of shingles, in any order and with repetitions.
    #[must_use]
    pub fn of_hashes(mut hashes: Vec<u64>) -> Self {
        hashes.sort_unstable();
        hashes.dedup();
        hashes.shrink_to_fit();
        Self { hashes }
    }

    /// Returns the number of distinct shingles.
    #[must_use]
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Returns whether the text has no shingles, because it is too short.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Returns the number of shingles that both texts have. The time grows linearly with the number
    /// of shingles.
    #[must_use]
    pub fn shared(&self, other: &Self) -> usize {
        let (mut a, mut b, mut shared) = (0, 0, 0);
        // Without branches, because nobody can predict which of two hashes is the smaller one.
        while let (Some(left), Some(right)) = (self.hashes.get(a), other.hashes.get(b)) {
            shared += usize::from(left == right);
            a += usize::from(left <= right);
            b += usize::from(left >= right);
        }
        shared
    }

    /// Returns the Jaccard similarity, from 0 to 1. It is 1 for two texts without shingles.
    #[must_use]
    pub fn jaccard(&self, other: &Self) -> f64 {
        let shared = self.shared(other);
        match self.len() + other.len() - shared {
            0 => 1.0,
            all => shared as f64 / all as f64,
        }
    }

    /// Returns the hashes, in ascending order.
    #[must_use]
    pub fn hashes(&self) -> &[u64] {
        &self.hashes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(a: &str, b: &str) -> f64 {
        Shingles::of_words(a, 2).jaccard(&Shingles::of_words(b, 2))
    }

    #[test]
    fn separators_between_words_make_no_difference() {
        assert_eq!(words("one two, three", "One  (two)\nTHREE!"), 1.0);
        assert_eq!(words("one two three", "two one three"), 0.0);
        // The run is hashed as one string, so it must contain the boundaries between its words.
        assert_eq!(words("ab c", "a bc"), 0.0);
    }

    #[test]
    fn underscores_are_parts_of_words() {
        assert_eq!(Shingles::of_words("a_b c", 1).len(), 2);
        assert_eq!(Shingles::of_words("__ a", 1).len(), 2);
        assert_eq!(Shingles::of_characters("a_b", 2).len(), 1);
    }

    #[test]
    fn repeated_shingles_count_once() {
        let once = Shingles::of_characters("哈哈哈哈哈", 2);
        assert_eq!(once.len(), 1);
        assert_eq!(once.jaccard(&Shingles::of_characters("哈哈", 2)), 1.0);
    }

    #[test]
    fn texts_shorter_than_a_shingle_have_none() {
        let (short, long) = (Shingles::of_characters("四个字符", 5), "五个字符吧");
        assert!(short.is_empty());
        assert_eq!(short.jaccard(&short), 1.0);
        assert_eq!(short.jaccard(&Shingles::of_characters(long, 5)), 0.0);
        assert_eq!(Shingles::of_characters(long, 0), Shingles::of_characters(long, 1));
    }

    #[test]
    fn similarity_is_symmetric_and_counts_the_union() {
        let [a, b] = ["a b c d e", "c d e f"].map(|text| Shingles::of_words(text, 1));
        assert_eq!((a.shared(&b), b.shared(&a)), (3, 3));
        assert_eq!((a.jaccard(&b), b.jaccard(&a)), (0.5, 0.5));
    }
}
