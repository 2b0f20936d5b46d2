//! Jaccard similarity, and the share of the pairs that a rule finds.
//!
//! With a one-bit MinHash recipe, each bit of two fingerprints differs with the probability
//! p = (1 - J) / 2, independently of the others (Li and König, *b-Bit Minwise Hashing*, WWW 2010,
//! with b = 1). So the number of errors in any set of bits is binomial.
//!
//! A rule has one staircase per table, within the table's first cell. These cells are disjoint, so
//! the errors in them are independent. For each cell, the distribution of its errors is split into
//! those that the table accepts and those that it does not. The convolution of the latter over all
//! cells is the distribution of the errors that no table accepts.

use std::fmt;

use super::staircase::Step;
use crate::codec::bytes::{Fields, PutFields};
use crate::error::{Error, Result};

/// Units of a stored share.
const SCALE: f64 = 10_000.0;
/// Recall unless another is asked for.
const RECALL: f64 = 0.95;

/// A Jaccard similarity: pairs of documents that are at least so similar are to be found.
///
/// A recipe makes a set of features of each text. The similarity is the number of features in both
/// sets, divided by the number in at least one. The features of `pairs/1` are pairs of neighbouring
/// words.
///
/// # Examples
///
/// ```
/// use fpdb::{Jaccard, Options};
///
/// let similar = Jaccard::at_least(0.8).recall(0.97);
/// let db = Options::bits128().expected_entries(10_000_000).similar(similar).in_memory()?;
/// assert!(db.description().rule.found_at(0.8) >= 0.97);
/// # Ok::<(), fpdb::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
pub struct Jaccard {
    /// In units of 1/[`SCALE`].
    similarity: u16,
    recall: u16,
}

impl Jaccard {
    /// Pairs of at least this similarity are to be found, 0.5 to 1, with a recall of 0.95.
    ///
    /// Of pairs that are exactly so similar, 95 % are found, and of more similar ones more. Some
    /// less similar pairs are found too.
    ///
    /// ```
    /// assert_eq!(fpdb::Jaccard::at_least(0.85).similarity(), 0.85);
    /// ```
    pub fn at_least(similarity: f64) -> Self {
        Self { similarity: stored(similarity), recall: stored(RECALL) }
    }

    /// Sets the share of the pairs of exactly this similarity that are to be found, 0.5 to 0.999.
    ///
    /// ```
    /// let similar = fpdb::Jaccard::at_least(0.85).recall(0.99);
    /// assert_eq!(similar.expected_recall(), 0.99);
    /// ```
    pub fn recall(self, recall: f64) -> Self {
        Self { recall: stored(recall), ..self }
    }

    /// Returns the similarity.
    ///
    /// ```
    /// assert_eq!(fpdb::Jaccard::at_least(0.9).similarity(), 0.9);
    /// ```
    #[must_use]
    pub fn similarity(self) -> f64 {
        f64::from(self.similarity) / SCALE
    }

    /// Returns the share of the pairs of exactly this similarity that are to be found.
    ///
    /// ```
    /// assert_eq!(fpdb::Jaccard::at_least(0.9).expected_recall(), 0.95);
    /// ```
    #[must_use]
    pub fn expected_recall(self) -> f64 {
        f64::from(self.recall) / SCALE
    }

    /// Refuses what no database can have.
    pub(crate) fn check(self) -> Result<()> {
        let is_allowed = |share: u16, most: u16| (5_000..=most).contains(&share);
        if !is_allowed(self.similarity, 10_000) {
            return Err(Error::invalid(format!(
                "Jaccard similarity {}: expected 0.5 to 1",
                self.similarity()
            )));
        }
        if !is_allowed(self.recall, 9_990) {
            return Err(Error::invalid(format!(
                "recall {}: expected 0.5 to 0.999",
                self.expected_recall()
            )));
        }
        Ok(())
    }

    pub(super) fn encode(self, out: &mut Vec<u8>) {
        out.put_u16(self.similarity);
        out.put_u16(self.recall);
    }

    pub(super) fn decode(fields: &mut Fields<'_>) -> Result<Self> {
        let (similarity, recall) = (fields.u16("similarity")?, fields.u16("recall")?);
        let jaccard = Self { similarity, recall };
        jaccard.check().map_err(|error| fields.corruption(error.to_string()))?;
        Ok(jaccard)
    }
}

/// `Jaccard similarity at least 0.8 (recall 0.95)`.
impl fmt::Display for Jaccard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (similarity, recall) = (self.similarity(), self.expected_recall());
        write!(f, "Jaccard similarity at least {similarity} (recall {recall})")
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 65,535")]
fn stored(share: f64) -> u16 {
    (share * SCALE).round().clamp(0.0, f64::from(u16::MAX)) as u16
}

/// The probability of each number of errors, up to a limit.
type Errors = Vec<f64>;

/// Returns the distribution of the errors in `bits` bits, up to `most`.
fn binomial(bits: u32, p: f64, most: usize) -> Errors {
    let mut errors = vec![0.0; most + 1];
    errors[0] = 1.0;
    for _ in 0..bits {
        for at in (0..=most).rev() {
            let below = if at > 0 { errors[at - 1] } else { 0.0 };
            errors[at] = errors[at] * (1.0 - p) + below * p;
        }
    }
    errors
}

fn convolved(a: &[f64], b: &[f64]) -> Errors {
    let sum = |at: usize| (0..=at).map(|i| a[i] * b[at - i]).sum();
    (0..a.len()).map(sum).collect()
}

/// Returns the distribution of the errors in the first bits of a table, down to its last step, with
/// which it accepts the difference.
fn accepted(steps: &[Step], p: f64, most: usize) -> Errors {
    let mut errors = binomial(0, p, most);
    let mut depth = 0;
    for step in steps {
        errors = convolved(&errors, &binomial(u32::from(step.depth) - depth, p, most));
        errors.iter_mut().skip(usize::from(step.most) + 1).for_each(|share| *share = 0.0);
        depth = step.depth.into();
    }
    errors
}

/// Returns the share of the pairs of this similarity that differ in at most `distance` bits and
/// that some table accepts. The bits of different tables' steps must be disjoint.
pub(super) fn found(bits: u32, distance: u8, tables: Option<&[Vec<Step>]>, similarity: f64) -> f64 {
    let (p, most) = ((1.0 - similarity.clamp(0.0, 1.0)) / 2.0, usize::from(distance));
    let near: f64 = binomial(bits, p, most).iter().sum();
    let Some(tables) = tables else { return near };
    let (mut missed, mut rest) = (binomial(0, p, most), bits);
    // Usually all tables have the same steps.
    let (mut before, mut refused) = (&Vec::new(), Errors::new());
    for steps in tables.iter().filter(|steps| !steps.is_empty()) {
        let depth = steps.last().map_or(0, |step| u32::from(step.depth));
        if steps != before {
            let (all, accepted) = (binomial(depth, p, most), accepted(steps, p, most));
            refused = all.iter().zip(accepted).map(|(all, some)| all - some).collect();
            before = steps;
        }
        missed = convolved(&missed, &refused);
        rest = rest.saturating_sub(depth);
    }
    near - convolved(&missed, &binomial(rest, p, most)).iter().sum::<f64>()
}
