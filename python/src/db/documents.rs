//! The documents of a batch: fingerprints, or texts from which these are made.

use fpdb::text::Recipe;
use pyo3::prelude::*;

use crate::base::errors;
use crate::base::width::Bits;
use crate::text::fingerprints;

/// The documents that a caller passed, of which only some may have a fingerprint.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Documents<'a, F> {
    /// The fingerprints of those that have one.
    pub(crate) fingerprints: &'a [F],
    /// Which have one, unless all do.
    has_one: Option<&'a [bool]>,
}

impl<F> Documents<'_, F> {
    pub(crate) fn len(&self) -> usize {
        self.has_one.map_or(self.fingerprints.len(), <[bool]>::len)
    }

    /// Returns whether a document has a fingerprint.
    pub(crate) fn has_one(&self, at: usize) -> bool {
        self.has_one.is_none_or(|has_one| has_one.get(at) == Some(&true))
    }

    /// Returns the items of the documents that have a fingerprint.
    pub(crate) fn of_those<T>(&self, items: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
        items.enumerate().filter(|(at, _)| self.has_one(*at)).map(|(_, item)| item)
    }
}

/// Lets `work` read fingerprints, or those that are made of texts. A caller gives one of both.
pub(crate) fn with_documents<F: Bits, T>(
    fingerprints: Option<&Bound<'_, PyAny>>,
    texts: Option<&Bound<'_, PyAny>>,
    recipe: impl FnOnce() -> PyResult<Recipe<F>>,
    work: impl FnOnce(Documents<'_, F>) -> PyResult<T>,
) -> PyResult<T> {
    match (fingerprints, texts) {
        (Some(fingerprints), None) => F::with_batch(fingerprints, |fingerprints| {
            work(Documents { fingerprints, has_one: None })
        }),
        (None, Some(texts)) => {
            let found = fingerprints::fingerprints(texts, &recipe()?, None)?;
            let has_one: Vec<bool> = found.iter().map(Option::is_some).collect();
            let fingerprints: Vec<F> = found.into_iter().flatten().collect();
            work(Documents { fingerprints: &fingerprints, has_one: Some(&has_one) })
        }
        _ => Err(errors::invalid("give either fingerprints or texts=...")),
    }
}
