//! `--bits`: how often each bit is set, whether it copies another bit, and the fingerprint that
//! most entries share.
//!
//! Bits are judged by distinct fingerprints: a page that occurs a million times says nothing about
//! the recipe.

use fastrand::Rng;
use fpdb::{DocId, Entry, Word};
use serde::Serialize;

/// The number of distinct fingerprints by which bits are judged, if there are so many.
const SAMPLE: usize = 1 << 17;
/// The least number for a verdict. With fewer, chance would look like a fault.
const FEW: usize = 256;
/// The share of the fingerprints from which a bit counts as constant, and as a copy of another one.
const NEARLY_ALL: f64 = 0.99;
/// The shares below and above which a bit is biased.
const BIASED: std::ops::RangeInclusive<f64> = 0.25..=0.75;
/// It is a fault if one bit in this many is constant or a copy.
const LOST_PART: usize = 8;

/// What was found about the bits of a sample. Bit 0 is the least significant.
#[derive(Debug, Serialize)]
pub(super) struct Bits {
    verdict: Verdict,
    /// The number of distinct fingerprints in the sample.
    sample: usize,
    /// The share of the sample in which each bit is set.
    ones: Vec<f64>,
    /// Bits with the same value in nearly all fingerprints.
    constant: Vec<usize>,
    /// Other bits that are equal to a lower bit in nearly all fingerprints, or opposite to it.
    copied: Vec<usize>,
    /// Bits set in less than a quarter or more than three quarters of the fingerprints, without the
    /// constant ones.
    biased: Vec<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Verdict {
    Good,
    /// The fingerprints are worth much less than their width.
    Fault,
    TooFew,
}

impl Bits {
    fn of<F: Word>(sample: &[F]) -> Self {
        let columns: Vec<Vec<u64>> = (0..F::BITS).map(|bit| column(sample, bit)).collect();
        let n = sample.len().max(1) as f64;
        let ones: Vec<f64> = columns.iter().map(|column| f64::from(count(column)) / n).collect();
        let is_constant = |bit: usize| (1.0 - ones[bit]).max(ones[bit]) >= NEARLY_ALL;
        let (constant, others): (Vec<_>, Vec<_>) = (0..ones.len()).partition(|&b| is_constant(b));
        let is_copy = |&bit: &usize| {
            let lower = others.iter().take_while(|&&other| other < bit);
            lower.into_iter().any(|&other| {
                let pairs = columns[bit].iter().zip(&columns[other]);
                let differ = f64::from(pairs.map(|(a, b)| (a ^ b).count_ones()).sum::<u32>()) / n;
                (1.0 - differ).max(differ) >= NEARLY_ALL
            })
        };
        let copied: Vec<_> = others.iter().copied().filter(is_copy).collect();
        let biased = others.iter().copied().filter(|&bit| !BIASED.contains(&ones[bit])).collect();
        let verdict = match (constant.len() + copied.len()) * LOST_PART {
            _ if sample.len() < FEW => Verdict::TooFew,
            lost if lost >= F::BITS as usize => Verdict::Fault,
            _ => Verdict::Good,
        };
        Self { verdict, sample: sample.len(), ones, constant, copied, biased }
    }

    pub(super) fn is_faulty(&self) -> bool {
        self.verdict == Verdict::Fault
    }

    pub(super) fn rows(&self) -> Vec<(&'static str, String)> {
        let verdict = match self.verdict {
            Verdict::Good => "no fault found",
            Verdict::Fault => {
                "FAULT: many tell nothing; make the fingerprints again with a hash of full width, \
                 or with a recipe of fpdb"
            }
            Verdict::TooFew => return vec![("bits", "too few fingerprints to judge them".into())],
        };
        vec![
            ("bits", verdict.to_owned()),
            ("  constant", bit_list(&self.constant)),
            ("  copied", bit_list(&self.copied)),
            ("  biased", bit_list(&self.biased)),
        ]
    }
}

fn bit_list(bits: &[usize]) -> String {
    match bits {
        [] => "none".to_owned(),
        bits => bits.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
    }
}

/// Returns the values of one bit in all fingerprints, 64 to a word.
fn column<F: Word>(sample: &[F], bit: u32) -> Vec<u64> {
    let is_set = |fingerprint: F| u64::from((fingerprint >> bit) & F::ONE == F::ONE);
    let word = |block: &[F]| block.iter().fold(0, |word, &value| word << 1 | is_set(value));
    sample.chunks(64).map(word).collect()
}

fn count(column: &[u64]) -> u32 {
    column.iter().map(|word| word.count_ones()).sum()
}

/// A fingerprint, and how many entries have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Group<F> {
    pub(super) fingerprint: F,
    pub(super) entries: u64,
    /// The first of them.
    pub(super) example: DocId,
}

/// One pass over entries sorted by fingerprint, in constant memory.
pub(super) struct Survey<F> {
    pub(super) hottest: Option<Group<F>>,
    last: Option<Group<F>>,
    /// Distinct fingerprints, all or chosen at random (Vitter's algorithm R): the same entries give
    /// the same sample.
    sample: Vec<F>,
    seen: usize,
    random: Rng,
}

impl<F: Word> Survey<F> {
    pub(super) fn new() -> Self {
        Self { hottest: None, last: None, sample: Vec::new(), seen: 0, random: Rng::with_seed(0) }
    }

    /// Adds the next entry.
    pub(super) fn add(&mut self, Entry { fingerprint, id }: Entry<F>) {
        let group = match self.last.filter(|group| group.fingerprint == fingerprint) {
            Some(group) => Group { entries: group.entries + 1, ..group },
            None => {
                self.choose(fingerprint);
                Group { fingerprint, entries: 1, example: id }
            }
        };
        self.last = Some(group);
        if self.hottest.is_none_or(|hottest| hottest.entries < group.entries) {
            self.hottest = Some(group);
        }
    }

    fn choose(&mut self, fingerprint: F) {
        self.seen += 1;
        if self.sample.len() < SAMPLE {
            self.sample.push(fingerprint);
        } else if let Some(chosen) = self.sample.get_mut(self.random.usize(..self.seen)) {
            *chosen = fingerprint;
        }
    }

    pub(super) fn bits(&self) -> Bits {
        Bits::of(&self.sample)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_judged_by_99_in_100_fingerprints() {
        // Bit 0 changes each time, bit 1 with it but for `odd` times, bit 2 is set `odd` times, and
        // bit 3 is the opposite of bit 0.
        let sample = |odd: u64| -> Vec<u64> {
            let value = |i: u64| (i & 1) | ((i & 1) ^ u64::from(i < odd)) << 1;
            (0..1000).map(|i| value(i) | u64::from(i < odd) << 2 | (!i & 1) << 3).collect()
        };
        let near = Bits::of(&sample(10));
        assert_eq!((&near.constant[..2], near.copied), (&[2, 4][..], vec![1, 3]));
        let far = Bits::of(&sample(11));
        assert_eq!((far.constant[0], far.copied, far.biased), (4, vec![3], vec![2]));
        assert_eq!((far.ones[0], far.ones[2]), (0.5, 0.011));
    }

    #[test]
    fn largest_group_is_found_wherever_it_is() {
        for (values, expected) in [
            (&[5u64, 5, 6, 7][..], (5, 2, 0)),
            (&[4, 5, 5, 5, 6, 6], (5, 3, 1)),
            (&[1, 2, 2, 9, 9, 9], (9, 3, 3)),
        ] {
            let mut survey = Survey::new();
            for (id, &fingerprint) in (0..).zip(values) {
                survey.add(Entry { fingerprint, id: DocId(id) });
            }
            let (fingerprint, entries, id) = expected;
            let group = Group { fingerprint, entries, example: DocId(id) };
            assert_eq!(survey.hottest, Some(group));
        }
    }

    #[test]
    fn sample_covers_all_fingerprints() {
        let mut survey = Survey::<u64>::new();
        let all = 4 * SAMPLE as u64;
        (0..all).for_each(|i| survey.add(Entry { fingerprint: i, id: DocId(i) }));
        for tenth in 0..10 {
            let kept = survey.sample.iter().filter(|&i| i * 10 / all == tenth).count();
            assert!((12_500..13_700).contains(&kept), "{tenth}: {kept}");
        }
    }
}
