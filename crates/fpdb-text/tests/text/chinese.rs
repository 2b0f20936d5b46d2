//! Checks keywords in Chinese texts, and the fingerprints made of them, against those of yanyiwu's
//! `simhash`.

use fpdb_text::Recipe;
use serde_json::Value;

use crate::{lines, list, read_larger, text};

/// The published values of `yanyiwu/simhash`, with the keywords that they are made of.
#[test]
fn published_keywords_and_values_of_yanyiwu_are_reproduced() {
    let vectors = lines(include_str!("golden.ndjson"));
    let of_yanyiwu = |vector: &&Value| {
        vector["kind"] == "simhash64"
            && vector["source"].as_str().is_some_and(|source| source.starts_with("yanyiwu"))
    };
    let vectors: Vec<_> = vectors.iter().filter(of_yanyiwu).collect();
    assert_eq!(vectors.len(), 3);
    for vector in vectors {
        check(vector, text(vector, "input"));
    }
}

/// The published values and others that were computed by it.
#[test]
fn computed_keywords_and_values_of_yanyiwu_are_reproduced() {
    let Some(file) = read_larger("golden_vectors.json") else { return };
    let file: Value = serde_json::from_str(&file).unwrap();
    let of_yanyiwu = |vector: &&Value| {
        vector["kind"] == "simhash64"
            && vector["profile"].as_str().is_some_and(|profile| profile.starts_with("yanyiwu"))
    };
    let vectors: Vec<_> = list(&file, "vectors").iter().filter(of_yanyiwu).collect();
    assert_eq!(vectors.len(), 19);
    for vector in vectors {
        let input = match vector["input_file"].as_str() {
            Some(name) => read_larger(name).unwrap(),
            None => text(vector, "input").to_owned(),
        };
        check(vector, &input);
    }
}

fn check(vector: &Value, input: &str) {
    // The largest numbers are those of `yanyiwu/1`: one keyword per 120 bytes.
    let recipe = match vector["topN"].as_u64().unwrap_or(5) {
        3 | 5 => "yanyiwu-5/1",
        20 => "yanyiwu-20/1",
        50 => "yanyiwu-50/1",
        _ => "yanyiwu/1",
    };
    let why = Recipe::named(recipe).unwrap().explain(input);
    if vector["keywords"].is_array() {
        let found = why.features.iter().map(|feature| (feature.text.as_str(), feature.weight));
        check_keywords(found.collect(), list(vector, "keywords"));
    }
    assert_eq!(why.fingerprint, Some(text(vector, "expected_dec").parse().unwrap()), "{vector}");
}

/// Compares keywords in their order. Keywords of equal weight may be in any order, since some
/// vectors sort them differently.
fn check_keywords(found: Vec<(&str, f64)>, expected: &[Value]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found.1 - expected[1].as_f64().unwrap()).abs() < 1e-9, "{found:?}");
    }
    let mut found: Vec<_> = found.iter().map(|keyword| keyword.0).collect();
    let mut expected: Vec<_> = expected.iter().map(|word| word[0].as_str().unwrap()).collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
}
