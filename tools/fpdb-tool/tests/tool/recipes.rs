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
    let pairs = listed.iter().find(|recipe| recipe["name"] == "pairs/1").unwrap();
    assert_eq!(pairs["min_features"], 4);
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
    assert!(
        run.err.contains(
            "this build does not contain pairs-zh/1, which needs the cargo feature \"zh\""
        )
    );
}
