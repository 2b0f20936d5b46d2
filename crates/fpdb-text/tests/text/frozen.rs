//! The fingerprints that every recipe gives to texts of many kinds. These values are in users'
//! databases. After a failure the recipe needs a new version; do not change the values.
//!
//! The values of compatible recipes were computed by the other programs where these could be run
//! (PyPI `simhash` 2.1.2, Daft 0.7.26), or else by plain Python code of their rules. The sketches
//! were computed from the hashes of the features by plain Python code of their definition in
//! recipes.md.

use std::collections::BTreeMap;

use fpdb_text::simhash::Tie;
use fpdb_text::{Builder, Counting, FeatureHash, Normalization, Recipe, Segment, Sketch, Width};
use serde_json::Value;

use crate::{lines, text};

#[test]
fn recipes_are_frozen() {
    let mut vectors = BTreeMap::new();
    for vector in lines(include_str!("frozen.ndjson")) {
        let name = text(&vector, "recipe").to_owned();
        let bits = vector["bits"].as_u64().unwrap();
        match bits {
            64 => check(&Recipe::named(&name), &vector, |bits| format!("{bits:#018x}").into()),
            128 => check(&Recipe::bits128(&name), &vector, hex128),
            _ => check(&Recipe::for_sketches(&name), &vector, parts),
        }
        *vectors.entry((bits, name)).or_insert(0) += 1;
    }
    let all = Recipe::names().map(|name| (64, name));
    let all = all.chain(Recipe::names128().map(|name| (128, name)));
    for (bits, name) in all.chain(Recipe::names_for_sketches().map(|name| (1824, name))) {
        let count = vectors.get(&(bits, name.to_owned()));
        assert!(count >= Some(&11), "{name} of {bits} bits has {count:?} vectors");
    }
}

/// Skips recipes that this build lacks.
fn check<F: Width>(
    recipe: &fpdb_text::Result<Recipe<F>>,
    vector: &Value,
    written: impl Fn(F) -> Value,
) {
    let Ok(recipe) = recipe else { return };
    let found = recipe.fingerprint(text(vector, "text"));
    assert_eq!(found.fingerprint.map_or(Value::Null, written), vector["fingerprint"], "{vector}");
    assert_eq!(Some(found.features as u64), vector["features"].as_u64(), "{vector}");
}

/// The planes, the number of features and the parities.
fn parts(sketch: Sketch) -> Value {
    let parities: String = sketch.parities().iter().map(|word| format!("{word:016x}")).collect();
    let planes: Vec<Value> = sketch.planes().iter().copied().map(hex128).collect();
    serde_json::json!([planes, sketch.features(), parities])
}

fn hex128(bits: u128) -> Value {
    format!("{bits:#034x}").into()
}

#[test]
fn first_plane_of_a_sketch_is_the_fingerprint_of_128_bits() {
    let mut checked = 0;
    for name in Recipe::names_for_sketches() {
        let recipe = Recipe::for_sketches(name).unwrap();
        for vector in lines(include_str!("frozen.ndjson")) {
            if text(&vector, "recipe") == name && vector["bits"] == 128 {
                let sketch: Option<Sketch> = recipe.fingerprint(text(&vector, "text")).fingerprint;
                let first = sketch.map_or(Value::Null, |sketch| hex128(sketch.planes()[0]));
                assert_eq!(first, vector["fingerprint"], "{vector}");
                checked += 1;
            }
        }
    }
    assert!(checked >= 3 * 19, "{checked}");
}

/// The same sentence in four programs.
#[test]
fn fox_has_the_value_of_each_program() {
    for (name, expected) in [
        ("python-simhash/1", 0x2c2a_1290_908a_898a_u64),
        ("seomoz/1", 0xb163_c917_2b82_30a1),
        ("go-fnv1/1", 0xd8dc_c618_6b79_3c3e),
        ("daft-xxh3/1", 0xa23e_d544_6c5f_306c),
    ] {
        let fox = "The quick brown fox jumps over the lazy dog";
        let found = Recipe::named(name).unwrap().fingerprint(fox).fingerprint.unwrap();
        assert_eq!(found, expected, "{name}: {found:#x}");
    }
}

/// The parts of a user's recipe are frozen too, because its name promises it.
#[test]
fn parts_are_frozen() {
    let begin = || -> Builder { Recipe::builder("mine/1").min_features(0) };
    let built = [
        (begin(), "mine/1#ed3bbebd", 0xe302_006f_16f2_9f5e_u64),
        (
            begin().normalization(&[Normalization::StripInvisible, Normalization::Nfkc]).words(2),
            "mine/1#6c04d076",
            0xa022_1cab_52ce_406e,
        ),
        (
            begin().normalization(&[Normalization::LowerCaseSimple]).segment(Segment::Whitespace),
            "mine/1#dfb0f590",
            0xb718_837a_1cd2_1a3e,
        ),
        (
            begin().segment(Segment::WordRuns).characters(3).counting(Counting::Each),
            "mine/1#e9feadb2",
            0x69ef_ec5e_64e2_9fd5,
        ),
        (
            begin().segment(Segment::Whole).characters(2).counting(Counting::Set),
            "mine/1#99e23ded",
            0xdd74_21a2_67c0_40cc,
        ),
        (
            begin().segment(Segment::PythonWhitespace).hash(FeatureHash::StringHash),
            "mine/1#fe2b1090",
            0x082f_de00_a0c8_a3bf,
        ),
        (
            begin().segment(Segment::PythonWhitespace).hash(FeatureHash::Jenkins64),
            "mine/1#0fd84c03",
            0x09e5_e786_1172_6228,
        ),
        (begin().longest_sentences(1), "mine/1#f6830c9a", 0xddca_d709_2f8b_b4bc),
        #[cfg(feature = "zh")]
        (begin().keywords(5), "mine/1#b16782b0", 0x3706_4f6f_9e32_ae7b),
        (
            begin().segment(Segment::GoWords).hash(FeatureHash::Fnv1).tie(Tie::Set),
            "mine/1#bd98f659",
            0xc83e_761e_a6cb_b47e,
        ),
    ];
    let text = "The ﬁrst co\u{ad}operative bank,\u{1c}the bank of İzmir: 合作银行 opened at \
        http://example.org/x in ２０２６; cooperative, first and last.";
    for (builder, name, expected) in built {
        let recipe = builder.build().unwrap();
        let found = recipe.fingerprint(text).fingerprint.unwrap();
        assert_eq!((recipe.name(), found), (name, expected), "{found:#x}");
    }
}
