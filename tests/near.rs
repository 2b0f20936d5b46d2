//! Published examples of near fingerprints: which are within a distance, found one by one and by a
//! database. The other examples in that file are about texts and are checked by `fpdb-text`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use fpdb::storage::Sim;
use fpdb::text::Recipe;
use fpdb::{Db, DocId, Fingerprint, Outcome};
use serde_json::Value;

#[test]
fn published_examples_are_found_by_a_database() {
    let examples = lines(include_str!("../crates/fpdb-text/tests/text/golden.ndjson"));
    assert_eq!(check_all(&examples), 4);
}

/// Including those whose texts are not part of the repository.
#[test]
fn all_published_examples_are_found_by_a_database() {
    let Some(file) = read_larger("golden_vectors.json") else { return };
    let file: Value = serde_json::from_str(&file).unwrap();
    assert_eq!(check_all(list(&file, "vectors")), 5);
}

/// Checks the examples that a database can answer, and returns their number.
fn check_all(examples: &[Value]) -> usize {
    let checked = examples.iter().filter(|example| {
        match text(example, "kind") {
            "query" => check_query(example),
            "all_pairs" => check_pairs(example),
            "clusters" => check_clusters(example),
            "stream" => check_stream(text(example, "input_file")),
            _ => return false,
        }
        true
    });
    checked.count()
}

/// Returns a file of the larger collection. If it is missing, prints so.
fn read_larger(name: &str) -> Option<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data").join(name);
    let content = std::fs::read_to_string(&path).ok();
    if content.is_none() {
        // The test harness captures the output of macros, but not the output of this call.
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("sample only: there is no {}\n", path.display()),
        );
    }
    content
}

fn lines(ndjson: &str) -> Vec<Value> {
    ndjson.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_else(|| panic!("no text {field:?} in {value}"))
}

fn list<'v>(value: &'v Value, field: &str) -> &'v [Value] {
    value[field].as_array().unwrap_or_else(|| panic!("no list {field:?} in {value}"))
}

fn hex(value: &Value) -> u64 {
    u64::from_str_radix(value.as_str().unwrap(), 16).unwrap()
}

/// The distance of all the examples about pairs.
const DISTANCE: u32 = 3;

fn database() -> Db {
    Db::options().storage(Sim::new()).max_distance(DISTANCE).create("sim").unwrap()
}

/// A database of fingerprints, each with its position as the id.
fn filled(fingerprints: &[u64]) -> Db {
    let db = database();
    for (id, &fingerprint) in (0..).zip(fingerprints) {
        db.insert(fingerprint, DocId(id)).unwrap();
    }
    db.flush().unwrap();
    db
}

/// Pairs of values within the distance, the lower first.
type Pairs = BTreeSet<(u64, u64)>;

fn pairs_one_by_one(values: &[u64]) -> Pairs {
    let near = |a: u64, b: u64| a < b && a.distance(b) <= DISTANCE;
    values
        .iter()
        .flat_map(|&a| values.iter().map(move |&b| (a, b)))
        .filter(|p| near(p.0, p.1))
        .collect()
}

fn pairs_by_database(values: &[u64]) -> Pairs {
    let db = filled(values);
    let near = |&a: &u64| {
        let matches = db.query(a, DISTANCE).unwrap().into_iter();
        matches
            .map(|m| m.fingerprint)
            .filter(move |&b| a < b)
            .map(move |b| (a, b))
            .collect::<Vec<_>>()
    };
    values.iter().flat_map(near).collect()
}

fn check_pairs(vector: &Value) {
    let values: Vec<u64> = list(vector, "hashes_hex").iter().map(hex).collect();
    let given: Pairs = list(vector, "expected_pairs_hex")
        .iter()
        .map(|pair| (hex(&pair[0]).min(hex(&pair[1])), hex(&pair[0]).max(hex(&pair[1]))))
        .collect();
    assert_eq!(pairs_one_by_one(&values), given);
    assert_eq!(pairs_by_database(&values), given);
}

fn check_clusters(vector: &Value) {
    let values: Vec<u64> = list(vector, "hashes_hex").iter().map(hex).collect();
    let given: BTreeSet<BTreeSet<u64>> = list(vector, "expected_clusters_hex")
        .iter()
        .map(|cluster| cluster.as_array().unwrap().iter().map(hex).collect())
        .collect();
    assert_eq!(clusters(&pairs_one_by_one(&values)), given);
    assert_eq!(clusters(&pairs_by_database(&values)), given);
}

/// The connected components of the pairs.
fn clusters(pairs: &Pairs) -> BTreeSet<BTreeSet<u64>> {
    let mut of: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for &(a, b) in pairs {
        let mut joined: BTreeSet<u64> = [a, b].into();
        for value in [a, b] {
            joined.extend(of.get(&value).into_iter().flatten());
        }
        for value in &joined {
            of.insert(*value, joined.clone());
        }
    }
    of.into_values().collect()
}

/// The test of PyPI `simhash`'s own index: finds, removes (twice) and adds (twice).
fn check_query(vector: &Value) {
    let recipe = Recipe::named("python-simhash/1").unwrap();
    let value = |text: &str| recipe.fingerprint(text).fingerprint.unwrap();
    let corpus: BTreeMap<u64, u64> = vector["corpus"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(id, text)| (id.parse().unwrap(), value(text.as_str().unwrap())))
        .collect();
    let queried = value(text(vector, "query"));
    for (id, fingerprint) in &corpus {
        let given = vector["expected_distances"][id.to_string()].as_u64();
        assert_eq!(given, Some(queried.distance(*fingerprint).into()), "{id}");
    }
    let given: BTreeSet<u64> = list(vector, "expected_ids")
        .iter()
        .map(|id| id.as_str().unwrap().parse().unwrap())
        .collect();

    let db = database();
    for (&id, &fingerprint) in &corpus {
        db.insert(fingerprint, DocId(id)).unwrap();
    }
    let found = || -> BTreeSet<u64> {
        db.query(queried, 10).unwrap().into_iter().map(|m| m.id.0).collect()
    };
    assert_eq!(found(), given);
    for present in [true, false] {
        assert_eq!(db.remove_entry(corpus[&1], DocId(1)).unwrap(), present);
        assert_eq!(found(), BTreeSet::from([2, 4]));
    }
    for _ in 0..2 {
        db.insert(corpus[&1], DocId(1)).unwrap();
        assert_eq!(found(), given);
    }
}

/// Advertisements in the order in which they arrived, each kept unless it is near a kept one.
fn check_stream(file: &str) {
    let ads = lines(&read_larger(file).unwrap());
    let recipe = Recipe::named("go-fnv1/1").unwrap();
    let db = database();
    let mut kept = 0;
    for (id, ad) in (0..).zip(&ads) {
        let fingerprint = recipe.fingerprint(text(ad, "text")).fingerprint.unwrap();
        assert_eq!(fingerprint, hex(&ad["fnv1_words_hex"]), "{ad}");
        let novelty = db.insert_if_novel(fingerprint, DocId(id)).unwrap();
        let is_kept = matches!(novelty, Outcome::Inserted(_));
        assert_eq!(ad["kept_r3"].as_bool(), Some(is_kept), "{ad}");
        kept += usize::from(is_kept);
    }
    assert_eq!((ads.len(), kept), (92, 77));
}
