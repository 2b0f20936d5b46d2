//! What our recipes are worth on real texts, beside those of other programs.
//!
//! The ordinary run compares with the best of the others; with `FPDB_FULL=1` it is with all.

use std::path::Path;

use serde_json::Value;

use crate::common::Folder;
use crate::corpus;

/// The reports of `evaluate` on these files, by recipe, in the order of the recipes.
fn evaluate(documents: &[&Path], pairs: &Path, options: &[&str], recipes: &[&str]) -> Vec<Value> {
    let mut args = vec!["evaluate", "--json"];
    args.extend(documents.iter().map(|path| path.to_str().unwrap()));
    args.extend(["--pairs", pairs.to_str().unwrap()]);
    args.extend(options);
    args.extend(recipes.iter().flat_map(|recipe| ["--recipe", recipe]));
    let run = Folder::new().run(&args);
    assert_eq!(run.code, 0, "{}", run.err);
    let report: Value = serde_json::from_str(&run.text()).unwrap();
    report["recipes"].as_array().unwrap().clone()
}

fn share(report: &Value, k: usize, what: &str) -> f64 {
    let score = &report["scores"][k];
    assert_eq!(score["k"], k);
    score[what].as_f64().unwrap()
}

/// F1 at the best k of those that a database is made for.
fn best(report: &Value) -> f64 {
    (0..=8).map(|k| share(report, k, "f1")).fold(0.0, f64::max)
}

fn others() -> Vec<&'static str> {
    if std::env::var_os("FPDB_FULL").is_some() {
        return fpdb::text::Recipe::names().filter(|name| !name.starts_with("pairs")).collect();
    }
    vec!["words/1", "python-simhash/1", "levels/1", "text-dedup-xxh3/1"]
}

#[test]
fn default_recipes_tell_duplicates_better_than_those_of_other_programs() {
    let Some(data) = corpus::data() else { return };
    for (documents, pairs, ours) in [
        ("corpus_zh", "pairs_natural_zh", "default-zh"),
        ("corpus_en", "pairs_natural_en", "default"),
        ("reviews_zh", "pairs_natural_reviews_zh", "default-short"),
    ] {
        let file = data.join(format!("{documents}.ndjson.gz"));
        let pairs = data.join(format!("{pairs}.tsv"));
        let recipes = [vec![ours], others()].concat();
        let reports = evaluate(&[&file], &pairs, &["--complete"], &recipes);
        assert!(share(&reports[0], 3, "precision") >= 0.98, "{documents}");
        for other in &reports[1..] {
            let (ours, theirs) = (best(&reports[0]), best(other));
            assert!(ours > theirs, "{documents}: {} has {theirs}, ours {ours}", other["recipe"]);
        }
    }
}

#[test]
fn default_recipes_find_edited_documents_within_three_bits() {
    let Some(data) = corpus::data() else { return };
    for (language, ours) in [("zh", "default-zh"), ("zh", "default"), ("en", "default")] {
        let file = |name: &str| data.join(format!("{name}_{language}.ndjson.gz"));
        let labels = data.join(format!("variants_{language}_labels.tsv"));
        let documents = [file("corpus"), file("variants")];
        let reports =
            evaluate(&documents.each_ref().map(|path| path.as_path()), &labels, &[], &[ours]);
        let found = share(&reports[0], 3, "recall_strong");
        assert!(found >= 0.85, "{language}, {ours}: {found}");
        let spaces = reports[0]["kinds"].as_array().unwrap().iter().find(|k| k["kind"] == "space");
        let distances = &spaces.unwrap()["distances"]["duplicate"];
        assert_eq!(distances["max"], 0, "{distances}");
    }
}
