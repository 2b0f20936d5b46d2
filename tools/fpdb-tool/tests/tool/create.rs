use serde_json::json;

use crate::common::Folder;

#[test]
fn create_uses_the_requested_options() {
    let folder = Folder::new();
    let line = "create crawl.fpdb --max-distance 3 --layout auto --expected 1000000";
    let run = folder.ok(line);
    assert!(run.out.is_empty() && run.err.contains("crawl.fpdb"), "{run:?}");

    let line = "create wide.fpdb -k 5 --bits 128 --ids names --block-size 1024 \
                --recipe pairs/1 --json";
    let made = folder.ok(line).json();
    assert_eq!(made["schema"], "fpdb.create/1");
    let stats = folder.ok("stats wide.fpdb --json").json();
    for (key, value) in [
        ("bits", json!(128)),
        ("ids", json!("names")),
        ("max_distance", json!(5)),
        ("block_size", json!(1024)),
        ("recipe", json!("pairs/1")),
    ] {
        assert_eq!(made[key], value, "{key}");
        assert_eq!(stats[key], value, "{key}");
    }
}

#[test]
fn create_takes_a_layout_by_name() {
    let folder = Folder::new();
    folder.ok("create a --layout half-2");
    assert_eq!(folder.ok("stats a --json").json()["layout"], "half-2");
    let run = folder.exits(2, "create b --layout no-such-layout");
    assert!(run.err.contains("no-such-layout"), "{}", run.err);
    assert!(!folder.file("b").exists());
}

#[test]
fn a_similarity_makes_a_database_of_sketches_and_contradicting_options_are_refused() {
    let folder = Folder::new();
    let run = folder.ok("create a --jaccard 0.8");
    assert!(run.err.contains("10 bands of 5 minima") && run.err.contains("ids: unique"), "{run:?}");
    let made = folder.ok("create b --jaccard 0.9 --expected 1e9 --ids names --json").json();
    assert_eq!((&made["bits"], &made["ids"]), (&json!(1824), &json!("names")));
    assert_eq!(made["rule"]["jaccard"], 0.9);
    for option in
        ["--bits 128", "--bits 64", "--layout ring-4", "--block-size 128", "--filter-bits 8"]
    {
        let run = folder.exits(2, &format!("create c --jaccard 0.8 {option}"));
        assert!(run.err.contains("--jaccard") && run.err.contains("leave"), "{run:?}");
    }
    folder.exits(2, "create c --jaccard 0.8 -k 3");
    let run = folder.exits(2, "create c --jaccard 0.8 --ids user");
    assert!(run.err.contains("must be names or unique"), "{run:?}");
    folder.ok("create wide --bits 128");
    folder.write("list", "0x1\n");
    for line in ["import wide list --jaccard 0.8", "rebuild wide --out c --jaccard 0.8"] {
        let run = folder.exits(2, line);
        assert!(run.err.contains("this one has 128-bit fingerprints"), "{run:?}");
    }
    assert!(!folder.file("c").exists());
}

#[test]
fn an_unknown_recipe_is_refused_unless_it_is_said_to_be_another_programs() {
    let folder = Folder::new();
    for name in ["words/999", "pairs", "pairs/01"] {
        let run = folder.exits(2, &format!("create a --recipe {name}"));
        assert!(run.err.contains(&format!("no recipe \"{name}\"; the recipes are: pairs/1")));
        assert!(!folder.file("a").exists());
    }
    folder.ok("create a --custom-recipe acme-simhash/3");
    assert_eq!(folder.ok("stats a --json").json()["recipe"], "acme-simhash/3");
}

#[test]
fn an_alias_is_stored_as_the_name_of_its_recipe() {
    let folder = Folder::new();
    folder.ok("create a --recipe default");
    let default = fpdb::text::Recipe::named("default").unwrap();
    assert_eq!(folder.ok("stats a --json").json()["recipe"], default.name());
}
