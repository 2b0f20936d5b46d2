//! What a search by bands keeps to.

use crate::base::error::{Error, ErrorKind, Result};
use crate::index::bands::{BandRule, ParityLimits, SketchTest};
use crate::query::options::Within;

/// The rule by which sketches match, and how much a query may read.
#[derive(Debug)]
pub(crate) struct BandPlanner {
    rule: BandRule,
    limits: ParityLimits,
    /// Most pages of documents that a query may read.
    candidate_pages: usize,
}

impl BandPlanner {
    pub(in crate::query) fn of(rule: BandRule, candidate_pages: usize) -> Self {
        Self { rule, limits: rule.limits(), candidate_pages }
    }

    /// Returns which sketches match.
    pub(crate) fn test(&self, within: Within) -> SketchTest<'_> {
        match within {
            Within::Rule => self.rule.test(&self.limits),
            Within::Distance(distance) => self.rule.within(distance),
        }
    }

    /// Fails if this is more pages than a query may read.
    pub(super) fn check_pages(&self, pages: usize) -> Result<()> {
        let most = self.candidate_pages;
        if pages <= most {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::TooManyCandidates,
            format!(
                "the bands of the sketch lead to more than {most} pages of documents, the most that \
                 a query may read; allow more with candidate_pages, or insert the document \
                 without a query"
            ),
        ))
    }
}
