//! Values that are about what lies near what, looked for one by one and by a database.

use std::collections::{BTreeMap, BTreeSet};

use fpdb::storage::Sim;
use fpdb::text::Recipe;
use fpdb::{Db, DocId, Fingerprint, Novelty};
use serde_json::Value;

use crate::{hex, lines, list, read_shared, text};

/// That of all the vectors about pairs.
const DISTANCE: u32 = 3;

fn database() -> Db {
    Db::options().storage(Sim::new()).max_distance(DISTANCE).create("sim").unwrap()
}

/// A database of values, each under its place as id.
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

pub(crate) fn check_pairs(vector: &Value) {
    let values: Vec<u64> = list(vector, "hashes_hex").iter().map(hex).collect();
    let given: Pairs = list(vector, "expected_pairs_hex")
        .iter()
        .map(|pair| (hex(&pair[0]).min(hex(&pair[1])), hex(&pair[0]).max(hex(&pair[1]))))
        .collect();
    assert_eq!(pairs_one_by_one(&values), given);
    assert_eq!(pairs_by_database(&values), given);
}

pub(crate) fn check_clusters(vector: &Value) {
    let values: Vec<u64> = list(vector, "hashes_hex").iter().map(hex).collect();
    let given: BTreeSet<BTreeSet<u64>> = list(vector, "expected_clusters_hex")
        .iter()
        .map(|cluster| cluster.as_array().unwrap().iter().map(hex).collect())
        .collect();
    assert_eq!(clusters(&pairs_one_by_one(&values)), given);
    assert_eq!(clusters(&pairs_by_database(&values)), given);
}

/// What the pairs connect.
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

/// The test of PyPI `simhash`'s own index: found, removed (twice), added (twice).
pub(crate) fn check_query(vector: &Value) {
    let recipe = Recipe::named("python-simhash/1").unwrap();
    let value = |text: &str| recipe.fingerprint(text).fingerprint.unwrap();
    let corpus: BTreeMap<u64, u64> = vector["corpus"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(id, text)| (id.parse().unwrap(), value(text.as_str().unwrap())))
        .collect();
    let asked = value(text(vector, "query"));
    for (id, fingerprint) in &corpus {
        let given = vector["expected_distances"][id.to_string()].as_u64();
        assert_eq!(given, Some(asked.distance(*fingerprint).into()), "{id}");
    }
    let given: BTreeSet<u64> = list(vector, "expected_ids")
        .iter()
        .map(|id| id.as_str().unwrap().parse().unwrap())
        .collect();

    let db = database();
    for (&id, &fingerprint) in &corpus {
        db.insert(fingerprint, DocId(id)).unwrap();
    }
    let found =
        || -> BTreeSet<u64> { db.query(asked, 10).unwrap().into_iter().map(|m| m.id.0).collect() };
    assert_eq!(found(), given);
    for present in [true, false] {
        assert_eq!(db.remove(corpus[&1], DocId(1)).unwrap(), present);
        assert_eq!(found(), BTreeSet::from([2, 4]));
    }
    for _ in 0..2 {
        db.insert(corpus[&1], DocId(1)).unwrap();
        assert_eq!(found(), given);
    }
}

/// Ads in the order in which they came, each kept unless one that was kept is near.
pub(crate) fn check_stream(file: &str) {
    let ads = lines(&read_shared(file).unwrap());
    let recipe = Recipe::named("go-fnv1/1").unwrap();
    let db = database();
    let mut kept = 0;
    for (id, ad) in (0..).zip(&ads) {
        let fingerprint = recipe.fingerprint(text(ad, "text")).fingerprint.unwrap();
        assert_eq!(fingerprint, hex(&ad["fnv1_words_hex"]), "{ad}");
        let novelty = db.insert_if_novel(fingerprint, DocId(id)).unwrap();
        let is_kept = matches!(novelty, Novelty::Inserted(_));
        assert_eq!(ad["kept_r3"].as_bool(), Some(is_kept), "{ad}");
        kept += usize::from(is_kept);
    }
    assert_eq!((ads.len(), kept), (92, 77));
}
