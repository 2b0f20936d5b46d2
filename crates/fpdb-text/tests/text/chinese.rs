//! Keywords and fingerprints of cppjieba, computed from the texts.

use fpdb_text::keywords;
use serde_json::Value;

use crate::{list, read_shared, text};

/// The vectors of `yanyiwu/simhash`: published ones, and others that it computed.
#[test]
fn keywords_and_fingerprints_agree_with_cppjieba_and_yanyiwu() {
    let Some(file) = read_shared("golden_vectors.json") else { return };
    let file: Value = serde_json::from_str(&file).unwrap();
    let of_yanyiwu = |vector: &&Value| {
        vector["kind"] == "simhash64"
            && vector["profile"].as_str().is_some_and(|profile| profile.starts_with("yanyiwu"))
    };
    let vectors: Vec<_> = list(&file, "vectors").iter().filter(of_yanyiwu).collect();
    assert_eq!(vectors.len(), 19);
    for vector in vectors {
        let input = match vector["input_file"].as_str() {
            Some(name) => read_shared(name).unwrap(),
            None => text(vector, "input").to_owned(),
        };
        let top = usize::try_from(vector["topN"].as_u64().unwrap()).unwrap();
        if vector["keywords"].is_array() {
            check_keywords(&input, top, list(vector, "keywords"));
        }
        let found = keywords::yanyiwu(top).unwrap().fingerprint(&input).fingerprint.unwrap();
        assert_eq!(found, text(vector, "expected_dec").parse::<u64>().unwrap(), "{vector}");
    }
}

/// Compares the weights in order and the words as a set: in some vectors, words of equal weight are
/// sorted differently.
fn check_keywords(input: &str, top: usize, expected: &[Value]) {
    let found = keywords::cppjieba(input, top).unwrap();
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found.weight - expected[1].as_f64().unwrap()).abs() < 1e-9, "{found:?}");
    }
    let mut found: Vec<_> = found.iter().map(|keyword| keyword.word.as_str()).collect();
    let mut expected: Vec<_> = expected.iter().map(|word| word[0].as_str().unwrap()).collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
}
