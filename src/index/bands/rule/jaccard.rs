//! Jaccard similarity, as a user asks for it.

use std::fmt;

use crate::base::error::{Error, Result};
use crate::file::codec::bytes::{Fields, PutFields};

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
/// let similar = Jaccard::at_least(0.8);
/// assert_eq!((similar.similarity(), similar.expected_recall()), (0.8, 0.95));
/// let similar = similar.recall(0.97);
/// assert_eq!(similar.expected_recall(), 0.97);
/// let db = Options::sketches().expected_entries(10_000_000).similar(similar).in_memory()?;
/// assert!(db.description().rule.found_at(0.8, 500) >= 0.97);
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
    /// Of pairs that are exactly so similar, about 95 % are found, and of more similar ones more.
    /// Some pairs that are a little less similar are found too.
    pub fn at_least(similarity: f64) -> Self {
        Self { similarity: stored(similarity), recall: stored(RECALL) }
    }

    /// Sets the share of the pairs of exactly this similarity that are to be found, 0.5 to 0.999.
    pub fn recall(self, recall: f64) -> Self {
        Self { recall: stored(recall), ..self }
    }

    /// Returns the similarity.
    #[must_use]
    pub fn similarity(self) -> f64 {
        f64::from(self.similarity) / SCALE
    }

    /// Returns the share of the pairs of exactly this similarity that are to be found.
    #[must_use]
    pub fn expected_recall(self) -> f64 {
        f64::from(self.recall) / SCALE
    }

    /// Returns the similarity in units of 1/10,000.
    pub(super) fn units(self) -> u16 {
        self.similarity
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
        // Later releases may create databases for others than this one.
        if f64::from(similarity.max(recall)) > SCALE {
            return Err(fields.corruption("a similarity or recall of more than 1"));
        }
        Ok(Self { similarity, recall })
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
