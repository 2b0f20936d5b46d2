//! Compares texts, and decides which of them stand in others.

use std::collections::BTreeSet;

use fpdb_text::jaccard::Shingles;
use fpdb_text::windows::Words;

use crate::base::error::Result;
use crate::base::parallel;
use crate::passages::bits::Bits;
use crate::passages::pair::numbers;
use crate::passages::stored::Stored;
use crate::passages::work::Working;

/// Bytes of texts that are compared together.
const BATCH: usize = if cfg!(test) { 1 << 12 } else { 32 << 20 };
/// Pairs that are compared together.
const PAIRS: usize = if cfg!(test) { 50 } else { 1 << 20 };
/// A text of which a smaller share of the runs is distinct repeats itself too much to be known by
/// its runs.
const DISTINCT: f64 = 0.9;

/// The texts that stand in others.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ContainedTexts {
    /// These texts, by row.
    pub texts: Vec<ContainedText>,
    /// The number of texts.
    pub rows: u64,
    /// The number of texts that are kept, but were compared with some of those with their windows
    /// only.
    pub crowded: u64,
}

/// A text that stands in another one, which is kept.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ContainedText {
    /// The row of the text.
    pub row: u64,
    /// The row of the text that it stands in.
    pub source: u64,
    /// The share of it that stands there, from 0 to 1.
    pub share: f64,
}

/// Returns the ranks of a pair of texts.
pub(super) fn ranks(pair: u128) -> [u64; 2] {
    numbers(pair).into()
}

/// Compares pairs, sorted by rank, and decides which texts are dropped.
pub(super) struct Comparing<'w, 'a> {
    /// The least share of a text that stands in another one.
    least: f64,
    work: &'w Working<'a>,
    /// Returns the row of a rank.
    row_of: &'w (dyn Fn(u64) -> u64 + Sync),
    texts: Stored<'a>,
    /// Pairs that are compared together.
    waiting: Vec<u128>,
    /// The ranks of their texts.
    wanted: BTreeSet<u64>,
    /// The bytes of these.
    bytes: usize,
    /// The ranks before this one were compared.
    done: u64,
    /// By row.
    dropped: Bits,
    found: Vec<ContainedText>,
}

impl<'w, 'a> Comparing<'w, 'a> {
    /// Takes the least share.
    pub(super) fn new(
        least: f64,
        work: &'w Working<'a>,
        row_of: &'w (dyn Fn(u64) -> u64 + Sync),
        texts: Stored<'a>,
    ) -> Self {
        let dropped = Bits::zeros(texts.len());
        Self {
            least,
            work,
            row_of,
            texts,
            waiting: Vec::new(),
            wanted: BTreeSet::new(),
            bytes: 0,
            done: 0,
            dropped,
            found: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, pairs: &[u128]) -> Result<()> {
        for &pair in pairs {
            if self.bytes > BATCH || self.waiting.len() >= PAIRS {
                self.compare()?;
            }
            for rank in ranks(pair) {
                if self.wanted.insert(rank) {
                    self.bytes += self.texts.size((self.row_of)(rank));
                }
            }
            self.waiting.push(pair);
        }
        Ok(())
    }

    /// Decides about the texts of the pairs that wait, in the order of their ranks.
    fn compare(&mut self) -> Result<()> {
        let pairs = std::mem::take(&mut self.waiting);
        self.bytes = 0;
        let wanted: Vec<u64> = std::mem::take(&mut self.wanted).into_iter().collect();
        let runs = parallel::map(self.work.threads, &wanted, |&rank| {
            self.work.meter.check()?;
            let text = self.texts.text((self.row_of)(rank))?;
            Runs::of(&text, self.work.seed).map(Some)
        })?;
        let runs_of = |rank| runs.get(wanted.binary_search(&rank).ok()?)?.as_ref();
        let shares = parallel::map(self.work.threads, &pairs, |&pair| {
            self.work.meter.check()?;
            let [own, other] = ranks(pair).map(runs_of);
            Ok(own.zip(other).map_or(0.0, |(own, other)| own.share_in(other)))
        })?;
        for (&pair, share) in pairs.iter().zip(shares) {
            let [row, source] = ranks(pair).map(|rank| (self.row_of)(rank));
            if share >= self.least && !self.dropped.get(row) && !self.dropped.get(source) {
                self.dropped.set(row);
                self.found.push(ContainedText { row, source, share });
            }
        }
        let done = pairs.last().map_or(self.done, |&pair| ranks(pair)[0] + 1);
        self.work.meter.advance(done - self.done)?;
        self.done = done;
        Ok(())
    }

    pub(super) fn finish(mut self, rows: u64, crowded: &Bits) -> Result<ContainedTexts> {
        self.compare()?;
        self.work.meter.advance(rows - self.done)?;
        self.work.meter.finish();
        let Self { mut found, dropped, .. } = self;
        found.sort_unstable_by_key(|text| text.row);
        let is_crowded = |row: &u64| crowded.get(*row) && !dropped.get(*row);
        let crowded = (0..rows).filter(is_crowded).count() as u64;
        Ok(ContainedTexts { texts: found, rows, crowded })
    }
}

/// The words of a text, and its runs of three words.
pub(super) struct Runs {
    words: Words,
    runs: Shingles,
}

impl Runs {
    pub(super) fn of(text: &str, seed: u64) -> Result<Self> {
        let words = Words::of(text, seed)?;
        let runs = (3..=words.len()).map(|end| words.hash(end - 3..end)).collect();
        Ok(Self { words, runs: Shingles::of_hashes(runs) })
    }

    /// Returns the share of this text's distinct runs that stand in another one. If too few are
    /// distinct, the share is 1 if the other text has all words of this one as one run, and else 0.
    /// A text without runs must be equal.
    fn share_in(&self, other: &Self) -> f64 {
        let (all, others) = (self.words.len(), other.words.len());
        if self.runs.is_empty() {
            f64::from(u8::from(all == others && self.is_run_in(other)))
        } else if (self.runs.len() as f64) < DISTINCT * (all - 2) as f64 {
            f64::from(u8::from(self.is_run_in(other)))
        } else {
            self.runs.shared(&other.runs) as f64 / self.runs.len() as f64
        }
    }

    /// Returns whether all words of this text are one run of another one's, in time that grows with
    /// the sum of their lengths (Knuth, Morris and Pratt, 1977): a text that repeats itself nearly
    /// matches at every place.
    pub(super) fn is_run_in(&self, other: &Self) -> bool {
        let all = self.words.len();
        let is_same = |own: usize, of: &Words, word: usize| {
            self.words.are_same(own..own + 1, of, word..word + 1)
        };
        // For each number of words, the longest shorter beginning of the text that they end with.
        let mut shorter = vec![0; all + 1];
        // Returns how many words match after the next word, from how many match before it.
        let next = |shorter: &[usize], mut matching: usize, of: &Words, word: usize| loop {
            if matching < all && is_same(matching, of, word) {
                return matching + 1;
            }
            match matching.checked_sub(1) {
                None => return 0,
                Some(_) => matching = shorter.get(matching).copied().unwrap_or(0),
            }
        };
        let mut matching = 0;
        for word in 1..all {
            matching = next(&shorter, matching, &self.words, word);
            if let Some(place) = shorter.get_mut(word + 1) {
                *place = matching;
            }
        }
        matching = 0;
        (0..other.words.len()).any(|word| {
            matching = next(&shorter, matching, &other.words, word);
            matching == all
        }) || all == 0
    }
}
