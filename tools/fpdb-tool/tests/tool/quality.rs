//! How well our recipes find duplicates in real texts, compared with other programs' recipes.
//!
//! The ordinary run compares with the best of the others, `FPDB_FULL=1` with all of them. The small
//! sample in the repository has few pairs, so the comparison says more where the larger collection
//! is beside the checkout.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::Folder;
use crate::corpus;

/// Returns the reports of `evaluate` on these files, in the order of the recipes.
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

/// Returns F1 at the best k up to 8, the largest considered for a database.
fn best(report: &Value) -> f64 {
    (0..=8).map(|k| share(report, k, "f1")).fold(0.0, f64::max)
}

fn others() -> Vec<&'static str> {
    if std::env::var_os("FPDB_FULL").is_some() {
        return fpdb::text::Recipe::names().filter(|name| !name.starts_with("pairs")).collect();
    }
    vec!["words/1", "python-simhash/1", "levels/1", "text-dedup-xxh3/1"]
}

/// Checks our recipe on a complete list of duplicates, and that no other recipe does better.
fn compare_with_others(documents: &Path, pairs: &Path, ours: &str) {
    let recipes = [vec![ours], others()].concat();
    let reports = evaluate(&[documents], pairs, &["--complete"], &recipes);
    assert!(share(&reports[0], 3, "precision") >= 0.98, "{}", documents.display());
    for other in &reports[1..] {
        let (ours, theirs) = (best(&reports[0]), best(other));
        let is_best = ours > theirs || ours == 1.0;
        assert!(is_best, "{}: {} has {theirs}, ours {ours}", documents.display(), other["recipe"]);
    }
}

/// Checks that our recipe finds the edited versions of documents.
fn find_edits(documents: [&Path; 2], labels: &Path, ours: &str) {
    let reports = evaluate(&documents, labels, &[], &[ours]);
    let found = share(&reports[0], 3, "recall_strong");
    assert!(found >= 0.85, "{}, {ours}: {found}", labels.display());
    let spaces = reports[0]["kinds"].as_array().unwrap().iter().find(|k| k["kind"] == "space");
    let distances = &spaces.unwrap()["distances"]["duplicate"];
    assert_eq!(distances["max"], 0, "{distances}");
}

/// Writes the sample's documents in one language to a file and returns its path.
fn sample_in(language: &str, folder: &Folder) -> PathBuf {
    let is_english = |document: &Value| document["id"].as_str().unwrap().starts_with("gnome/C/");
    let documents = corpus::documents(&corpus::sample_documents());
    let lines = documents.iter().filter(|document| is_english(document) == (language == "en"));
    let name = format!("documents_{language}.ndjson");
    folder.write(&name, lines.map(|document| format!("{document}\n")).collect::<String>());
    folder.file(&name)
}

#[test]
fn default_recipes_separate_duplicates_in_the_sample() {
    let folder = Folder::new();
    for (language, ours) in [("zh", "default-zh"), ("en", "default")] {
        let pairs = corpus::sample(&format!("pairs_{language}.tsv"));
        let documents = sample_in(language, &folder);
        let reports = evaluate(&[&documents], &pairs, &["--complete"], &[ours]);
        assert_eq!(best(&reports[0]), 1.0, "{language}");
    }
    compare_with_others(&sample_in("zh", &folder), &corpus::sample("pairs_zh.tsv"), "default-zh");
}

/// Paragraphs are too short for the recipes for whole pages.
#[test]
fn default_recipe_for_short_texts_finds_duplicate_paragraphs_of_the_sample() {
    let folder = Folder::new();
    let documents = corpus::documents(&corpus::sample_documents());
    let chinese = documents.iter().filter(|d| !d["id"].as_str().unwrap().starts_with("gnome/C/"));
    let lines = chinese.flat_map(|document| document["text"].as_str().unwrap().lines());
    let paragraphs = lines.filter(|line| (30..=300).contains(&line.chars().count()));
    let ndjson = (0..).zip(paragraphs).map(|(n, text): (u32, _)| {
        format!("{}\n", serde_json::json!({ "id": n.to_string(), "text": text }))
    });
    folder.write("paragraphs.ndjson", ndjson.collect::<String>());
    let pairs = corpus::sample("pairs_short_zh.tsv");
    let paragraphs = folder.file("paragraphs.ndjson");
    let reports = evaluate(&[&paragraphs], &pairs, &["--complete"], &["default-short"]);
    assert!(share(&reports[0], 3, "precision") >= 0.98);
    assert!(share(&reports[0], 3, "recall_strong") >= 0.98);
}

#[test]
fn default_recipes_find_edited_documents_of_the_sample_within_three_bits() {
    let folder = Folder::new();
    for (language, ours) in [("zh", "default-zh"), ("zh", "default"), ("en", "default")] {
        let variants = corpus::sample(&format!("variants_{language}.ndjson.gz"));
        let labels = corpus::sample(&format!("variants_{language}_labels.tsv"));
        find_edits([&sample_in(language, &folder), &variants], &labels, ours);
    }
}

#[test]
fn default_recipes_separate_duplicates_better_than_those_of_other_programs() {
    let Some(data) = corpus::larger_collection() else { return };
    for (documents, pairs, ours) in [
        ("corpus_zh", "pairs_natural_zh", "default-zh"),
        ("corpus_en", "pairs_natural_en", "default"),
        ("reviews_zh", "pairs_natural_reviews_zh", "default-short"),
    ] {
        let file = data.join(format!("{documents}.ndjson.gz"));
        compare_with_others(&file, &data.join(format!("{pairs}.tsv")), ours);
    }
}

#[test]
fn default_recipes_find_edited_documents_within_three_bits() {
    let Some(data) = corpus::larger_collection() else { return };
    for (language, ours) in [("zh", "default-zh"), ("zh", "default"), ("en", "default")] {
        let file = |name: &str| data.join(format!("{name}_{language}.ndjson.gz"));
        let labels = data.join(format!("variants_{language}_labels.tsv"));
        find_edits([&file("corpus"), &file("variants")], &labels, ours);
    }
}
