//! `--exact`: similarities of all features, and not of sketches.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::Result;
use fpdb::text::Recipe;
use fpdb::{Db, DocId, Fingerprint, Match, Options};
use fpdb_dedup::{FeatureStore, MOST_CANDIDATES};

use super::prepare::Prepared;
use super::report::Similarity;
use crate::input::Item;

/// Compares documents by their features, which it keeps in a folder beside the database.
pub(super) struct Exact<F: Fingerprint> {
    store: FeatureStore,
    recipe: Recipe<F>,
    least: f64,
    /// What was found of the documents of the batch, by position.
    found: HashMap<usize, Found>,
}

/// What was found of a document.
#[derive(Default)]
struct Found {
    /// The near documents that are not similar enough: their ids, and their positions in the batch.
    refused: HashSet<(DocId, Option<usize>)>,
    like: Option<Similarity>,
}

impl<F: Fingerprint> Exact<F> {
    /// Opens the features of a database.
    pub(super) fn open(db: &Path, recipe: Recipe<F>, least: f64, options: Options) -> Result<Self> {
        let store = FeatureStore::open(&folder_of(db), recipe.name(), options)?;
        Ok(Self { store, recipe, least, found: HashMap::new() })
    }

    pub(super) fn seed(&self) -> u64 {
        self.store.seed()
    }

    /// Returns whether a document of the batch is similar enough to one that is near.
    pub(super) fn confirms(
        &mut self,
        db: &Db<F>,
        batch: &[Item<Prepared<F>>],
        own: usize,
        other: Match<F>,
        given: Option<usize>,
    ) -> Result<bool> {
        let Prepared { fingerprint, features, .. } = &batch[own].value;
        let similarity = match given {
            Some(given) => exactly(features.jaccard(&batch[given].value.features)),
            None => {
                let name = db.snapshot().name(other.id)?.unwrap_or_default();
                match self.store.get(&name, other.fingerprint)? {
                    Some(list) => exactly(list.jaccard(features)),
                    None => {
                        let estimate = fingerprint
                            .and_then(|own| self.recipe.similarity_of(own, other.fingerprint));
                        let (value, error) = estimate.unwrap_or_default();
                        Similarity { value, error: Some(error) }
                    }
                }
            }
        };
        let found = self.found.entry(own).or_default();
        let is_like = similarity.value >= self.least;
        if is_like {
            found.like = Some(similarity);
        } else {
            found.refused.insert((other.id, given));
        }
        Ok(is_like)
    }

    /// Keeps the features of documents that are about to be stored under these names.
    pub(super) fn keep<'a>(
        &mut self,
        documents: impl Iterator<Item = (&'a str, &'a Prepared<F>)>,
        survives_power_failures: bool,
    ) -> Result<()> {
        let documents = documents
            .filter_map(|(name, document)| Some((name, document.fingerprint?, &document.features)));
        self.store.insert(documents)?;
        if survives_power_failures {
            self.store.sync()?;
        }
        Ok(())
    }

    /// Returns how similar a document of the batch is to what it is a duplicate of, and whether
    /// there may be more near documents than it was compared with.
    pub(super) fn take(&mut self, document: usize) -> (Option<Similarity>, bool) {
        let found = self.found.remove(&document).unwrap_or_default();
        (found.like, found.refused.len() >= MOST_CANDIDATES)
    }

    pub(super) fn close(self) -> Result<()> {
        Ok(self.store.close()?)
    }
}

fn exactly(value: f64) -> Similarity {
    Similarity { value, error: None }
}

/// Returns the folder with the features of a database: `crawl.fpdb-features` beside `crawl.fpdb`.
pub(super) fn folder_of(db: &Path) -> PathBuf {
    let mut name = db.components().as_path().as_os_str().to_owned();
    name.push("-features");
    name.into()
}
