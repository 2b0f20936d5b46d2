//! What is compared of rows.

use fpdb::text::jaccard::Shingles;
use fpdb::text::minhash::one_bit;
use fpdb::text::{FeatureHash, Recipe};
use fpdb::{Fingerprint, Sketch};

/// What is compared of a row.
///
/// # Examples
///
/// ```
/// use fpdb::Jaccard;
/// use fpdb::text::Recipe;
/// use fpdb_dedup::{Dedup, Kind};
///
/// let recipe = Recipe::for_sketches("pairs/1")?;
/// let mut dedup = Dedup::options(recipe, Jaccard::at_least(0.8)).start()?;
/// let verdicts = dedup.add(&["", "One.", "one", "One text of many words."])?;
/// let kinds = [Kind::Nothing, Kind::Equality, Kind::Equality, Kind::Sketch];
/// assert!(verdicts.iter().map(|it| it.kind).eq(kinds));
/// assert_eq!(verdicts[2].duplicate_of(), Some(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing, because there is no text.
    Nothing,
    /// The sketch, and then the features.
    Sketch,
    /// Whether the texts are equal, but for case and punctuation, because this one is too short for
    /// a sketch. The sketch is made of the hash of the text, so it is at a great distance from all
    /// others.
    Equality,
}

/// A row whose text has been read.
#[derive(Debug, Clone)]
pub struct Row {
    /// What is compared of it.
    pub kind: Kind,
    /// The sketch by which it is found.
    pub sketch: Sketch,
    /// Empty unless similarities are exact.
    pub(crate) features: Shingles,
}

/// Makes rows of texts.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    pub(crate) recipe: Recipe<Sketch>,
    /// The number of words of a feature, if it is not the recipe's.
    pub(crate) words: Option<usize>,
    /// Whether similarities are exact.
    pub(crate) is_exact: bool,
}

impl Rows {
    /// Returns a row that has features of its group. They differ from those of the same text in any
    /// other group, so that no search leads from one to the other.
    pub(crate) fn row(&self, text: &str, group: Option<&str>) -> Row {
        let row = self.row_of(text);
        match group {
            None => row,
            Some(group) => self.in_group(row, text, key_of(group)),
        }
    }

    fn row_of(&self, text: &str) -> Row {
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

    fn in_group(&self, row: Row, text: &str, key: u64) -> Row {
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
        let (found, features) = match self.words {
            None => self.recipe.fingerprint_with_features(text),
            Some(words) => (self.recipe.fingerprint(text), self.recipe.runs(text, words)),
        };
        (found.fingerprint, or_whole(features, &self.recipe, text))
    }
}

/// Returns what is compared of a text: the features of a recipe, or with a number of words, the
/// runs of this number; and if it is too short for any, the whole text as its only feature.
///
/// # Examples
///
/// ```
/// use fpdb::text::Recipe;
/// use fpdb_dedup::features_of;
///
/// let recipe = Recipe::<u64>::find("pairs/1")?;
/// let (a, b) = ("The cat sat on the mat.", "the cat sat on the sofa");
/// let jaccard = |words| features_of(&recipe, a, words).jaccard(&features_of(&recipe, b, words));
/// assert_eq!(jaccard(None), 4.0 / 6.0); // pairs of words
/// assert_eq!(jaccard(Some(5)), 1.0 / 3.0); // runs of five words
/// assert_eq!(features_of(&recipe, "Yes!", None).jaccard(&features_of(&recipe, "yes", None)), 1.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn features_of<F: Fingerprint>(
    recipe: &Recipe<F>,
    text: &str,
    words: Option<usize>,
) -> Shingles {
    let found = match words {
        Some(words) => recipe.runs(text, words),
        None => recipe.features(text),
    };
    or_whole(found, recipe, text)
}

fn or_whole<F: Fingerprint>(features: Shingles, recipe: &Recipe<F>, text: &str) -> Shingles {
    if !features.is_empty() {
        return features;
    }
    #[expect(clippy::cast_possible_truncation, reason = "features have 64 bits")]
    let whole = recipe.text_hash(text).map(|hash| hash as u64);
    Shingles::of_hashes(whole.into_iter().collect())
}

/// Returns what tells the features of a group from those of others.
fn key_of(group: &str) -> u64 {
    FeatureHash::Xxh3.hash(group).unwrap_or_default()
}

/// Returns a sketch for a text that is too short to have one.
fn sketch_of(hash: u128) -> Sketch {
    // Odd multiples of a hash are as random as the hash.
    let planes = [1, 3, 5, 7, 9, 11].map(|odd| hash.wrapping_mul(odd).rotate_left(64));
    Sketch::of_parts(planes, 0, [0; 16])
}
