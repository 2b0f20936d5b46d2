//! Checks keywords in Chinese texts against those that cppjieba and Python's jieba find.

use std::collections::HashMap;

use fpdb_text::keywords;
use serde_json::Value;

use crate::{DOCUMENTS, in_repository, lines, list, read, read_larger, text};

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
        check(vector, text(vector, "input"), 5);
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
        check(vector, &input, usize::try_from(vector["topN"].as_u64().unwrap()).unwrap());
    }
}

fn check(vector: &Value, input: &str, top: usize) {
    if vector["keywords"].is_array() {
        check_keywords(input, top, list(vector, "keywords"));
    }
    let found = keywords::yanyiwu(top).unwrap().fingerprint(input).fingerprint.unwrap();
    assert_eq!(found, text(vector, "expected_dec").parse::<u64>().unwrap(), "{vector}");
}

/// Compares keywords in their order. Keywords of equal weight may be in any order, since some
/// vectors sort them differently.
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

/// `tests/data/README.md` says how the expected keywords were found.
#[test]
fn keywords_of_real_documents_are_those_of_python_jieba() {
    let documents: HashMap<String, String> = lines(&read(&in_repository(DOCUMENTS)))
        .iter()
        .map(|document| (text(document, "id").to_owned(), text(document, "text").to_owned()))
        .collect();
    let table = read(&in_repository("tests/data/jieba_keywords_zh.tsv"));
    assert_eq!(table.lines().count(), 61);
    for line in table.lines().skip(1) {
        let (id, keywords) = line.split_once('\t').unwrap();
        let found = keywords::jieba_tags(&documents[id], 20, &keywords::STOP_WORDS).unwrap();
        let expected: Vec<(&str, f64)> = keywords
            .split(' ')
            .map(|keyword| keyword.rsplit_once(':').unwrap())
            .map(|(word, weight)| (word, weight.parse().unwrap()))
            .collect();
        assert_eq!(found.len(), expected.len(), "{id}");
        for (found, (word, weight)) in found.iter().zip(expected) {
            assert_eq!(found.word, word, "{id}: {found:?}");
            assert!((found.weight - weight).abs() < 1e-8, "{id}: {found:?}, not {weight}");
        }
    }
}
