//! Where queries come from: arguments, lists of fingerprints, documents.

use std::path::PathBuf;

use anyhow::Result;
use fpdb::{Description, Fingerprint};
use indicatif::ProgressBar;

use super::args::Args;
use crate::args::recipe;
use crate::input::fingerprints::{Listed, Lists};
use crate::input::{Document, InputFormat, Intake};
use crate::output::Context;
use crate::output::failure;

/// Fingerprints of a list that are answered together. Large batches are faster.
const LISTED: usize = 1 << 16;

/// Documents that are answered together, and bytes of documents that fill a batch.
const BATCH: usize = 256;
const BATCH_BYTES: usize = 8 << 20;

pub(super) struct Query<F> {
    /// `None` for a document with too few features.
    pub(super) fingerprint: Option<F>,
    /// The id of the document that the fingerprint was computed from, if any.
    pub(super) document: Option<String>,
}

/// The queries, in order.
pub(super) enum Queries<'a, F> {
    Fingerprints(Box<dyn Iterator<Item = Result<F>> + 'a>),
    Documents(Box<Intake<Query<F>>>),
}

impl Args {
    pub(super) fn lists<'a>(&'a self, bar: &'a ProgressBar) -> Lists<'a> {
        let max_ratio = self.documents.max_ratio;
        Lists { args: &self.list, id_column: None, max_ratio, bar }
    }

    pub(super) fn queries<'a, F: Fingerprint>(
        &'a self,
        description: &Description,
        files: &'a [PathBuf],
        lists: &'a Lists<'_>,
        bar: &ProgressBar,
    ) -> Result<Queries<'a, F>> {
        let from = self.from.map(|from| from.resolve(files)).transpose()?;
        Ok(match from {
            None => Queries::Fingerprints(Box::new(self.queries.iter().map(|query| {
                F::parse(&query.to_string_lossy()).map_err(|e| failure::as_usage(&e))
            }))),
            Some(InputFormat::Fingerprints) => {
                let list = lists.read(files);
                Queries::Fingerprints(Box::new(
                    list.map(|listed: Result<Listed<F>>| Ok(listed?.fingerprint)),
                ))
            }
            Some(InputFormat::Documents(from)) => {
                let recipe = recipe::of_database(Some(description), self.recipe.as_deref())?;
                let query = move |Document { id, text, .. }| Query {
                    fingerprint: recipe.fingerprint(&text).fingerprint,
                    document: Some(id),
                };
                let stored = description.extraction.as_deref();
                Queries::Documents(Box::new(self.documents.start(files, from, stored, bar, query)?))
            }
        })
    }
}

impl<F: Fingerprint> Queries<'_, F> {
    /// Returns the next queries, and whether more may follow or the error that ended them.
    pub(super) fn take(&mut self, context: &mut Context<'_>) -> (Vec<Query<F>>, Result<bool>) {
        let mut taken = Vec::new();
        let more = match self {
            Self::Fingerprints(list) => take(list, &mut taken),
            Self::Documents(documents) => {
                let mut batch = Vec::new();
                let more = documents.fill(&mut batch, BATCH, BATCH_BYTES, context);
                taken.extend(batch.into_iter().map(|item| item.value));
                more
            }
        };
        (taken, more)
    }

    /// Reports the records without a document. Fails if damaged ones were passed over without
    /// `--skip-bad`.
    pub(super) fn verdict(&self, context: &mut Context<'_>) -> Result<()> {
        let Self::Documents(documents) = self else { return Ok(()) };
        documents.counts.report_ignored(context);
        documents.verdict()
    }
}

fn take<F>(list: &mut dyn Iterator<Item = Result<F>>, taken: &mut Vec<Query<F>>) -> Result<bool> {
    for fingerprint in list.take(LISTED) {
        taken.push(Query { fingerprint: Some(fingerprint?), document: None });
    }
    Ok(taken.len() == LISTED)
}
