//! Values of other programs: from their own tests, or computed by them. The values in
//! `golden.ndjson` are always checked. The others need texts of the larger collection.

use std::collections::{BTreeMap, BTreeSet};

use fpdb_text::simhash::{Sums, Tie, fold, fold_f64};
use fpdb_text::{Bits, ErrorKind, FeatureHash, Recipe, distance};
use serde_json::Value;

use crate::{hex, lines, list, read_larger, text};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Checked,
    /// Clusters, which the engine finds; seeds of lookup3, which its own tests check; and what
    /// needs a recipe that this build lacks.
    LeftOut,
}

#[test]
fn values_of_other_programs_are_reproduced() {
    let vectors = lines(include_str!("golden.ndjson"));
    assert_eq!(check_all(&vectors), BTreeMap::from([(Verdict::Checked, 103)]));
}

/// Includes the texts that are not part of the repository.
#[test]
fn all_values_of_other_programs_are_reproduced() {
    let Some(file) = read_larger("golden_vectors.json") else { return };
    let file: Value = serde_json::from_str(&file).unwrap();
    let vectors = list(&file, "vectors");
    assert_eq!(file["count"].as_u64(), Some(138));
    let left_out = if cfg!(feature = "zh") { 4 } else { 11 };
    let expected = [(Verdict::Checked, 138 - left_out), (Verdict::LeftOut, left_out)];
    assert_eq!(check_all(vectors), BTreeMap::from(expected));
}

fn check_all(vectors: &[Value]) -> BTreeMap<Verdict, usize> {
    let mut verdicts = BTreeMap::new();
    for vector in vectors {
        *verdicts.entry(check(vector, vectors)).or_default() += 1;
    }
    verdicts
}

fn check(vector: &Value, all: &[Value]) -> Verdict {
    match text(vector, "kind") {
        "hash" => return check_hash(vector),
        "simhash64" => return check_simhash64(vector),
        "simhash128" => check_simhash128(vector),
        "fold" => check_fold(vector),
        "fold_text" => check_sums_of_text(vector),
        "accumulator" => check_accumulator(vector),
        "hamming" => check_distance(vector),
        "hamming_text" => check_distance_of_texts(vector, all),
        "query" => check_query(vector),
        "all_pairs" => check_pairs(vector),
        "stream" => check_stream(text(vector, "input_file")),
        "relation" => return check_news(),
        "clusters" => return Verdict::LeftOut,
        other => panic!("no check of {other:?}"),
    }
    Verdict::Checked
}

/// Returns the rule of a vector: its field `rule`, or the rule of its profile in the shared data.
fn rule(vector: &Value) -> &str {
    const RULES: [(&str, &str); 9] = [
        ("yanyiwu", "jenkins-keywords"),
        ("jieba-rs", "jenkins-keywords"),
        ("1e0ng/simhash 2.1.2", "python-simhash/1"),
        ("1e0ng", "md5-features"),
        ("mfonda", "go-fnv1/1"),
        ("go-dedup simhashCJK", "go-fnv1-cjk/1"),
        ("crate simhash", "rust-simhash/1"),
        ("seed 003", "string-hash-keywords"), // with stop words of its own
        ("seed 004", "string-hash/1"),
    ];
    let Some(profile) = vector["profile"].as_str() else { return text(vector, "rule") };
    let known = RULES.iter().find(|(start, _)| profile.starts_with(start));
    known.unwrap_or_else(|| panic!("no rule {profile:?}")).1
}

/// Returns the text of a vector, which is in the vector or in a file.
fn input(vector: &Value) -> String {
    match vector["input_file"].as_str() {
        Some(name) => read_larger(name).unwrap(),
        None => text(vector, "input").to_owned(),
    }
}

fn expected(vector: &Value) -> u128 {
    match vector["expected_dec"].as_str() {
        Some(decimal) => decimal.parse().unwrap(),
        None => wide_hex(text(vector, "expected_hex")),
    }
}

fn wide_hex(digits: &str) -> u128 {
    u128::from_str_radix(digits.trim_start_matches("0x"), 16).unwrap()
}

fn hashed<F: Bits>(hash: FeatureHash, word: &str) -> F {
    hash.hash(word).unwrap()
}

fn check_hash(vector: &Value) -> Verdict {
    let hash = match text(vector, "hash") {
        name if name.starts_with("fnv1a-64") => FeatureHash::Fnv1a,
        name if name.starts_with("fnv1-64") => FeatureHash::Fnv1,
        name if name.starts_with("jenkins64") => FeatureHash::Jenkins64,
        name if name.contains("string") => FeatureHash::StringHash,
        _ => return Verdict::LeftOut,
    };
    let input = input(vector);
    if hash == FeatureHash::StringHash {
        let wide = wide_hex(text(vector, "expected128_hex"));
        assert_eq!(hash.hash(&input), Some(wide), "{vector}");
        assert_eq!(hash.hash(&input), Some(hex(&vector["expected64_hex"])), "{vector}");
    } else {
        assert_eq!(hash.hash::<u64>(&input).map(u128::from), Some(expected(vector)), "{vector}");
    }
    Verdict::Checked
}

fn check_simhash64(vector: &Value) -> Verdict {
    let mut found = Vec::new();
    match rule(vector) {
        "md5-features" => found.push(fold_md5(vector)),
        rule => {
            found.extend(vector["keywords"].as_array().map(|words| fold_keywords(words, rule)));
            found.extend(recipe(vector).and_then(|name| value(name, &input(vector))));
        }
    }
    for &found in &found {
        assert_eq!(u128::from(found), expected(vector), "{vector}");
    }
    if found.is_empty() { Verdict::LeftOut } else { Verdict::Checked }
}

/// Returns the recipe of a vector, unless no recipe finds such keywords.
fn recipe(vector: &Value) -> Option<&str> {
    let program = vector["profile"].as_str().unwrap_or_else(|| text(vector, "source"));
    match rule(vector) {
        "jenkins-keywords" if program.starts_with("yanyiwu") => match vector["topN"].as_u64() {
            None | Some(3 | 5) => Some("yanyiwu-5/1"),
            Some(20) => Some("yanyiwu-20/1"),
            Some(50) => Some("yanyiwu-50/1"),
            Some(_) => Some("yanyiwu/1"), // one keyword per 120 bytes
        },
        "jenkins-keywords" | "string-hash-keywords" => None,
        name => Some(name),
    }
}

/// Returns the fingerprint of a text, unless this build lacks the recipe.
fn value(recipe: &str, text: &str) -> Option<u64> {
    match Recipe::named(recipe) {
        Err(error) if error.kind() == ErrorKind::Unsupported => None,
        found => found.unwrap().fingerprint(text).fingerprint,
    }
}

/// Folds keywords with the weights that the program gives them.
fn fold_keywords(keywords: &[Value], rule: &str) -> u64 {
    let (hash, weight) = match rule {
        "jenkins-keywords" => (FeatureHash::Jenkins64, 1),
        _ => (FeatureHash::StringHash, 2), // after the TF-IDF
    };
    let weighted =
        |it: &Value| (hashed(hash, it[0].as_str().unwrap()), it[weight].as_f64().unwrap());
    fold_f64(keywords.iter().map(weighted), Tie::Unset)
}

/// Two news, each in two versions, of which yanyiwu's tests say that the versions are equal.
fn check_news() -> Verdict {
    let files = ["", "_2", "_3", "_4"].map(|number| format!("golden_news{number}.txt"));
    let of_file = |file: String| value("yanyiwu-50/1", &read_larger(&file).unwrap());
    let [a, b, c, d] = files.map(of_file);
    if a.is_none() {
        return Verdict::LeftOut;
    }
    assert!(a == b && c == d && b != c);
    Verdict::Checked
}

fn check_simhash128(vector: &Value) {
    let found = match rule(vector) {
        "md5-features" => fold_md5(vector),
        name => Recipe::bits128(name).unwrap().fingerprint(&input(vector)).fingerprint.unwrap(),
    };
    assert_eq!(found, expected(vector), "{vector}");
}

/// Folds features as PyPI `simhash` does. They are given in a list, or by a rule that generates
/// numbers.
fn fold_md5<F: Bits>(vector: &Value) -> F {
    let md5 = |word: &str| hashed(FeatureHash::Md5Low, word);
    match vector["features_rule"].as_str() {
        None => {
            let features = list(vector, "features").iter();
            let weighted = |it: &Value| (md5(it[0].as_str().unwrap()), it[1].as_i64().unwrap());
            fold(features.map(weighted), Tie::Unset)
        }
        Some(rule) => {
            let weight = |i: i64| if rule.contains("50*i") { 50 * i } else { 1 };
            fold((0..500).map(|i| (md5(&i.to_string()), weight(i))), Tie::Unset)
        }
    }
}

fn check_fold(vector: &Value) {
    let repeat = usize::try_from(vector["repeat"].as_u64().unwrap()).unwrap();
    let hashes: Vec<u64> = list(vector, "hashes_hex").iter().map(hex).collect();
    let repeated = hashes.repeat(repeat).into_iter().map(|hash| (hash, 1));
    assert_eq!(u128::from(fold(repeated, Tie::Unset)), expected(vector), "{vector}");
}

fn check_accumulator(vector: &Value) {
    let mut sums = Sums::new();
    for feature in list(vector, "features") {
        sums.add(hashed::<u64>(FeatureHash::Fnv1, feature.as_str().unwrap()), 1);
    }
    let given: Vec<i64> =
        list(vector, "expected_vector").iter().map(|sum| sum.as_i64().unwrap()).collect();
    assert_eq!(sums.as_slice(), given);
}

/// Checks examples of a few bits. The first bit that is written is bit 0 here.
fn check_sums_of_text(vector: &Value) {
    let value = |bits: &str| u64::from_str_radix(&bits.chars().rev().collect::<String>(), 2);
    let given: Vec<i64> = list(vector, "expected_sums").iter().map(thousandths).collect();
    let mut sums = Sums::<u64>::new();
    match vector["weighted"].as_array() {
        Some(features) => {
            for feature in features {
                let bits = feature[0].as_str().unwrap();
                sums.add(value(bits).unwrap(), thousandths(&feature[1]));
            }
        }
        None => {
            // One feature per bit, with weights that give these sums.
            let all = given.iter().sum::<i64>() / (2 - given.len() as i64);
            for (bit, sum) in given.iter().enumerate() {
                sums.add(1 << bit, (sum + all) / 2);
            }
        }
    }
    assert_eq!(sums.as_slice()[..given.len()], given, "{vector}");
    let bits = text(vector, "expected_bits");
    let found = sums.fingerprint(Tie::Unset) & ((1 << bits.len()) - 1);
    assert_eq!(found, value(bits).unwrap(), "{vector}");
}

/// A weight or a sum in thousandths.
#[expect(clippy::cast_possible_truncation, reason = "small numbers")]
fn thousandths(value: &Value) -> i64 {
    (value.as_f64().unwrap() * 1000.0).round() as i64
}

fn check_distance(vector: &Value) {
    let value = |field| text(vector, field).parse::<u64>().unwrap();
    let given = vector["expected"].as_u64();
    assert_eq!(given, Some(distance(value("a_dec"), value("b_dec")).into()), "{vector}");
}

/// Checks the distance of two texts, or of the values of two files.
fn check_distance_of_texts(vector: &Value, all: &[Value]) {
    let texts = ["a", "b"].map(|field| text(vector, field));
    let [a, b] = match rule(vector) {
        "string-hash-keywords" => texts.map(|file| {
            let of_file = |it: &&Value| {
                text(it, "kind") == "simhash64"
                    && it["input_file"] == file
                    && rule(it) == rule(vector)
            };
            expected(all.iter().find(of_file).unwrap())
        }),
        name => {
            let recipe = Recipe::bits128(name).unwrap();
            texts.map(|text| recipe.fingerprint(text).fingerprint.unwrap())
        }
    };
    assert_eq!(vector["expected"].as_u64(), Some(distance(a, b).into()), "{vector}");
}

/// The test of PyPI `simhash`'s own index, which finds documents within 10 bits.
fn check_query(vector: &Value) {
    let recipe = Recipe::<u64>::named("python-simhash/1").unwrap();
    let value = |text: &str| recipe.fingerprint(text).fingerprint.unwrap();
    let queried = value(text(vector, "query"));
    let mut found = Vec::new();
    for (id, document) in vector["corpus"].as_object().unwrap() {
        let distance = distance(queried, value(document.as_str().unwrap()));
        assert_eq!(vector["expected_distances"][id].as_u64(), Some(distance.into()), "{id}");
        found.extend((distance <= 10).then_some(id.as_str()));
    }
    assert_eq!(list(vector, "expected_ids"), found);
}

/// The pairs of values within 3 bits.
fn check_pairs(vector: &Value) {
    let values: Vec<u64> = list(vector, "hashes_hex").iter().map(hex).collect();
    let pairs = values.iter().flat_map(|&a| values.iter().map(move |&b| (a, b)));
    let found: BTreeSet<_> = pairs.filter(|&(a, b)| a < b && distance(a, b) <= 3).collect();
    let pair = |pair: &Value| (hex(&pair[0]).min(hex(&pair[1])), hex(&pair[0]).max(hex(&pair[1])));
    assert_eq!(found, list(vector, "expected_pairs_hex").iter().map(pair).collect());
}

/// Advertisements in the order in which they arrived, each kept unless it is near a kept one.
fn check_stream(file: &str) {
    let ads = lines(&read_larger(file).unwrap());
    let recipe = Recipe::named("go-fnv1/1").unwrap();
    let mut kept: Vec<u64> = Vec::new();
    for ad in &ads {
        let fingerprint = recipe.fingerprint(text(ad, "text")).fingerprint.unwrap();
        assert_eq!(fingerprint, hex(&ad["fnv1_words_hex"]), "{ad}");
        let is_new = kept.iter().all(|&other| distance(fingerprint, other) > 3);
        assert_eq!(ad["kept_r3"].as_bool(), Some(is_new), "{ad}");
        kept.extend(is_new.then_some(fingerprint));
    }
    assert_eq!((ads.len(), kept.len()), (92, 77));
}
