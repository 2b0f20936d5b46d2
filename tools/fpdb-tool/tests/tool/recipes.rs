use fpdb::text::Recipe;
use serde_json::json;

use crate::common::Folder;

#[test]
fn every_recipe_is_listed_with_its_purpose() {
    let report = Folder::new().ok("recipes --json").json();
    assert_eq!(report["schema"], "fpdb.recipes/1");
    let listed = report["recipes"].as_array().unwrap();
    let of_width = |width: u32| -> Vec<&str> {
        let has = listed.iter().filter(|r| r["widths"].as_array().unwrap().contains(&json!(width)));
        has.map(|recipe| recipe["name"].as_str().unwrap()).collect()
    };
    let sorted = |mut names: Vec<&'static str>| {
        names.sort_unstable();
        names
    };
    assert_eq!(of_width(64), Recipe::names().collect::<Vec<_>>());
    let mut wide = of_width(128);
    wide.sort_unstable();
    assert_eq!(wide, sorted(Recipe::names128().collect()));
    let sketches = listed.iter().filter(|recipe| recipe["sketches"] == json!(true));
    let sketches: Vec<_> = sketches.map(|recipe| recipe["name"].as_str().unwrap()).collect();
    assert_eq!(sketches, Recipe::names_for_sketches().collect::<Vec<_>>());
    for recipe in listed {
        assert!(!recipe["purpose"].as_str().unwrap().is_empty(), "{recipe}");
    }
    let words = listed.iter().find(|recipe| recipe["name"] == "words/1").unwrap();
    assert_eq!(words["min_features"], 4);
}

#[test]
#[cfg(feature = "zh")]
fn recipes_of_well_known_programs_and_articles_are_listed_with_their_bits() {
    let listed = Folder::new().ok("recipes").text();
    for (name, bits) in [
        ("yanyiwu/1", "64 "),
        ("yanyiwu-5/1", "64 "),
        ("yanyiwu-20/1", "64 "),
        ("yanyiwu-50/1", "64 "),
        ("go-jieba-fnv1a/1", "64 "),
        ("string-hash/1", "64, 128 "),
        ("jieba/1", "64 "),
        ("levels/1", "64 "),
        ("python-simhash/1", "64, 128 "),
        ("shingle2/1", "64 "),
        ("words/1", "64 "),
        ("sentences/1", "64, 128 "),
    ] {
        let of_recipe = |line: &str| {
            let columns = line.split_once(' ').filter(|(first, _)| *first == name);
            columns.is_some_and(|(_, others)| others.trim_start().starts_with(bits))
        };
        assert!(listed.lines().any(of_recipe), "{name} with {bits}bits: {listed}");
    }
}

#[test]
#[cfg(feature = "zh")]
fn a_text_has_the_fingerprint_that_yanyiwu_simhash_publishes() {
    let folder = Folder::new();
    folder.write("a.txt", "你好世界");
    let found = folder.ok("fingerprint --recipe yanyiwu-5/1 a.txt").text();
    assert!(found.contains(&format!("{:016x}", 17_676_873_585_679_812_141_u64)), "{found}");
}

#[test]
fn an_alias_shows_its_recipe() {
    let folder = Folder::new();
    let (alias, name) = Recipe::aliases().find(|(alias, _)| *alias == "default").unwrap();
    let by_alias = folder.ok(&format!("recipes {alias} --json")).json();
    assert_eq!(by_alias, folder.ok(&format!("recipes {name} --json")).json());
    assert_eq!(by_alias["recipes"].as_array().unwrap().len(), 1);
    assert_eq!(by_alias["recipes"][0]["name"], name);
    assert!(by_alias["recipes"][0]["aliases"].as_array().unwrap().contains(&json!(alias)));
    let table = folder.ok(&format!("recipes {name}")).text();
    assert_eq!(table.lines().count(), 2, "{table}");
    let refused = folder.exits(2, "recipes nonesuch/1");
    assert!(refused.err.contains("nonesuch/1"), "{}", refused.err);
}

#[test]
#[cfg(not(feature = "zh"))]
fn recipes_names_the_feature_that_a_missing_recipe_needs() {
    let run = Folder::new().ok("recipes");
    for name in ["pairs-zh/1", "jieba/1", "yanyiwu-20/1", "string-hash/1 of 64 bits"] {
        let line =
            format!("this build does not contain {name}, which needs the cargo feature \"zh\"");
        assert!(run.err.contains(&line), "{}", run.err);
    }
}
