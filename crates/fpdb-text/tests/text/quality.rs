//! How well our recipes find duplicates in real texts, compared with recipes of other programs.

use std::collections::{HashMap, HashSet};

use fpdb_text::{Recipe, distance};
use serde_json::Value;

use crate::similarity::{Pair, pairs};
use crate::{DOCUMENTS, in_repository, lines, read, text};

/// The lowest Jaccard similarity of a duplicate, of one that is nearly equal, and of a pair that is
/// not clearly different.
const DUPLICATE: f64 = 0.8;
const STRONG: f64 = 0.9;
const BETWEEN: f64 = 0.5;
/// The largest distance that is considered for a database.
const MAX_DISTANCE: u32 = 8;

/// Fingerprints of texts by their ids.
type Fingerprints = HashMap<String, Option<u64>>;

fn fingerprints<'t>(
    recipe: &str,
    texts: impl IntoIterator<Item = (String, &'t str)>,
) -> Fingerprints {
    let recipe = Recipe::<u64>::named(recipe).unwrap();
    texts.into_iter().map(|(id, text)| (id, recipe.fingerprint(text).fingerprint)).collect()
}

fn is_english(document: &Value) -> bool {
    text(document, "id").starts_with("gnome/C/")
}

/// The sample's documents in one language.
fn documents(language: &str) -> Vec<Value> {
    let all = lines(&read(&in_repository(DOCUMENTS)));
    all.into_iter().filter(|document| is_english(document) == (language == "en")).collect()
}

fn with_ids(documents: &[Value]) -> impl Iterator<Item = (String, &str)> {
    documents.iter().map(|document| (text(document, "id").to_owned(), text(document, "text")))
}

fn is_within(fingerprints: &Fingerprints, pair: &Pair, k: u32) -> bool {
    match (fingerprints[&pair.a], fingerprints[&pair.b]) {
        (Some(a), Some(b)) => distance(a, b) <= k,
        _ => false,
    }
}

/// Returns the share of the pairs of at least this similarity that are within k bits.
fn recall(fingerprints: &Fingerprints, pairs: &[Pair], similarity: f64, k: u32) -> f64 {
    let all: Vec<_> = pairs.iter().filter(|pair| pair.jaccard >= similarity).collect();
    let found = all.iter().filter(|pair| is_within(fingerprints, pair, k)).count();
    found as f64 / all.len() as f64
}

/// Returns the share of duplicates among the pairs within k bits. Pairs that are not listed are
/// different.
fn precision(fingerprints: &Fingerprints, listed: &[Pair], k: u32) -> f64 {
    let others: HashSet<_> = listed
        .iter()
        .filter(|pair| pair.jaccard >= BETWEEN)
        .flat_map(|pair| [(&*pair.a, &*pair.b), (&*pair.b, &*pair.a)])
        .collect();
    let known: Vec<_> = fingerprints.iter().filter_map(|(id, f)| Some((&**id, (*f)?))).collect();
    let wrong = |row: usize| {
        let (a, of_a) = known[row];
        let near = known[..row].iter().filter(move |(_, of_b)| distance(of_a, *of_b) <= k);
        near.filter(|(b, _)| !others.contains(&(a, *b))).count()
    };
    let wrong: usize = (0..known.len()).map(wrong).sum();
    let duplicates = listed.iter().filter(|pair| pair.jaccard >= DUPLICATE);
    let found = duplicates.filter(|pair| is_within(fingerprints, pair, k)).count();
    found as f64 / (found + wrong).max(1) as f64
}

/// Returns F1 at the best k.
fn best(fingerprints: &Fingerprints, listed: &[Pair]) -> f64 {
    let of_k = |k| {
        let precision = precision(fingerprints, listed, k);
        let recall = recall(fingerprints, listed, DUPLICATE, k);
        2.0 * precision * recall / (precision + recall).max(f64::MIN_POSITIVE)
    };
    (0..=MAX_DISTANCE).map(of_k).fold(0.0, f64::max)
}

#[test]
fn default_recipes_separate_duplicates_and_those_of_other_programs_do_not() {
    for (language, ours) in [
        ("en", "default"),
        #[cfg(feature = "zh")]
        ("zh", "default-zh"),
    ] {
        let listed = pairs(&in_repository(&format!("tests/data/pairs_{language}.tsv")));
        let documents = documents(language);
        let of_ours = fingerprints(ours, with_ids(&documents));
        assert_eq!(best(&of_ours, &listed), 1.0, "{language}");
        if language == "zh" {
            for other in ["python-simhash/1", "text-dedup-xxh3/1"] {
                let theirs = best(&fingerprints(other, with_ids(&documents)), &listed);
                assert!(theirs < 1.0, "{other}: {theirs}");
            }
        }
    }
}

/// Paragraphs are too short for the recipes for whole pages.
#[test]
fn default_recipe_for_short_texts_finds_duplicate_paragraphs() {
    let documents = documents("zh");
    let lines = documents.iter().flat_map(|document| text(document, "text").lines());
    let paragraphs = lines.filter(|line| (30..=300).contains(&line.chars().count()));
    let numbered = paragraphs.enumerate().map(|(n, text)| (n.to_string(), text));
    let fingerprints = fingerprints("default-short", numbered);
    let listed = pairs(&in_repository("tests/data/pairs_short_zh.tsv"));
    let precision = precision(&fingerprints, &listed, 3);
    let recall = recall(&fingerprints, &listed, STRONG, 3);
    assert!(precision >= 0.98 && recall >= 0.98, "{precision} {recall}");
}

#[test]
fn default_recipes_find_edited_documents_within_three_bits() {
    for (language, ours) in [
        ("zh", "default"),
        ("en", "default"),
        #[cfg(feature = "zh")]
        ("zh", "default-zh"),
    ] {
        let file = |name: &str| in_repository(&format!("tests/data/variants_{language}{name}"));
        let (documents, variants) = (documents(language), lines(&read(&file(".ndjson.gz"))));
        let fingerprints = fingerprints(ours, with_ids(&documents).chain(with_ids(&variants)));
        let labels = pairs(&file("_labels.tsv"));
        let found = recall(&fingerprints, &labels, STRONG, 3);
        assert!(found >= 0.85, "{language}, {ours}: {found}");
        // Other white space changes no fingerprint.
        let spaces = labels.iter().filter(|pair| pair.b.ends_with("!space"));
        assert!(spaces.clone().count() > 10);
        spaces.for_each(|pair| assert!(is_within(&fingerprints, pair, 0), "{}", pair.b));
    }
}
