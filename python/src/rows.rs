//! What is compared of rows.

use fpdb::Sketch;
use fpdb::text::jaccard::Shingles;
use fpdb::text::minhash::one_bit;
use fpdb::text::{FeatureHash, Recipe};

use crate::jaccard::or_whole;

/// What is compared of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// There is no text.
    Nothing,
    /// The sketch.
    Sketch,
    /// Whether the texts are equal, because this one is too short for a sketch. Its sketch is made
    /// of the hash of the text, so it is at a great distance from all others.
    Equality,
}

/// A row whose text has been read.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) kind: Kind,
    pub(crate) sketch: Sketch,
    /// Empty unless exact similarities are wanted.
    pub(crate) features: Shingles,
}

/// Makes rows of texts.
pub(crate) struct Rows {
    pub(crate) recipe: Recipe<Sketch>,
    /// The number of words of a feature, if it is not the recipe's.
    pub(crate) ngram: Option<usize>,
    /// Whether exact similarities are wanted.
    pub(crate) is_exact: bool,
}

impl Rows {
    pub(crate) fn row(&self, text: &str) -> Row {
        let (sketch, features) = match self.is_exact {
            false => (self.recipe.fingerprint(text).fingerprint, Shingles::default()),
            true => self.sketch_and_features(text),
        };
        if let Some(sketch) = sketch {
            return Row { kind: Kind::Sketch, sketch, features };
        }
        let (kind, sketch) = match self.recipe.text_hash(text) {
            Some(hash) => (Kind::Equality, sketch_of(hash)),
            None => (Kind::Nothing, Sketch::ZERO),
        };
        Row { kind, sketch, features: Shingles::default() }
    }

    /// Returns a row whose features differ from those of the same text in any other group, so that
    /// no search leads from one to the other.
    pub(crate) fn in_group(&self, row: Row, text: &str, key: u64) -> Row {
        let of_group = |features: &Shingles| {
            Shingles::of_hashes(features.hashes().iter().map(|hash| hash ^ key).collect())
        };
        let sketch = match row.kind {
            Kind::Nothing => None,
            Kind::Sketch => one_bit(of_group(&self.recipe.features(text)).hashes()),
            Kind::Equality => {
                let hash = self.recipe.text_hash(text);
                hash.map(|hash| sketch_of(hash ^ (u128::from(key) << 64 | u128::from(key))))
            }
        };
        let features = of_group(&row.features);
        Row { sketch: sketch.unwrap_or(row.sketch), features, ..row }
    }

    pub(crate) fn sketch_and_features(&self, text: &str) -> (Option<Sketch>, Shingles) {
        let (found, features) = match self.ngram {
            None => self.recipe.fingerprint_with_features(text),
            Some(words) => (self.recipe.fingerprint(text), self.recipe.runs(text, words)),
        };
        (found.fingerprint, or_whole(features, &self.recipe, text))
    }
}

/// Returns what tells the features of a group from those of others.
pub(crate) fn key_of(group: &str) -> u64 {
    FeatureHash::Xxh3.hash(group).unwrap_or_default()
}

/// Returns a sketch for a text that is too short to have one.
fn sketch_of(hash: u128) -> Sketch {
    // Odd multiples of a hash are as random as the hash.
    let planes = [1, 3, 5, 7, 9, 11].map(|odd| hash.wrapping_mul(odd).rotate_left(64));
    Sketch::of_parts(planes, 0, [0; 16])
}
