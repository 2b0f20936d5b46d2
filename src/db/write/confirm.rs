//! Asks the caller whether what is near a document makes it a duplicate.

use std::io;
use std::path::Path;

use crate::base::error::{Error, Result};
use crate::fingerprint::{Fingerprint, Match};

/// A document that is near one that is written, and may make it a duplicate:
/// [`Write::confirm`](crate::Write::confirm).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Candidate<F: Fingerprint = u64> {
    /// The stored document, or the one that this write stores.
    pub found: Match<F>,
    /// Its position among the documents of this write, if it is one of them.
    pub given: Option<usize>,
}

impl<F: Fingerprint> Candidate<F> {
    pub(super) fn stored(found: Match<F>) -> Self {
        Self { found, given: None }
    }
}

/// What decides about candidates, in place of the fingerprints alone.
pub(crate) struct Confirm<'a, F: Fingerprint> {
    /// How many candidates of a document are asked about.
    pub(crate) most: usize,
    pub(crate) ask: Box<dyn FnMut(usize, Candidate<F>) -> io::Result<bool> + 'a>,
}

impl<F: Fingerprint> Confirm<'_, F> {
    /// Returns the first candidate of a document that is confirmed. The caller's error ends the
    /// write of the database in this folder.
    pub(super) fn first(
        &mut self,
        folder: &Path,
        document: usize,
        candidates: impl IntoIterator<Item = Candidate<F>>,
    ) -> Result<Option<Match<F>>> {
        for candidate in candidates.into_iter().take(self.most) {
            let answer = (self.ask)(document, candidate);
            if answer.map_err(|source| Error::ended_by_caller(folder, source))? {
                return Ok(Some(candidate.found));
            }
        }
        Ok(None)
    }
}
