//! `dedup --exact`: similarities of all features.

use std::collections::HashMap;

use fpdb::text::Recipe;
use serde_json::{Value, json};

use crate::common::{Folder, document, records, text};

/// Pages of one template: two of them have J = 300/382 = .785, and a copy with a replaced word has
/// J = 339/343. A wrong shingle in what is kept, one in a million comparisons, would not matter.
fn pages(first: u64, number: u64) -> Vec<(String, String)> {
    let template = text(1, 300);
    let page = |own: u64| (format!("page/{own}"), format!("{template} {}", text(1000 + own, 41)));
    (first..first + number).map(page).collect()
}

fn copy((id, text): &(String, String)) -> (String, String) {
    (format!("{id}/copy"), text.replacen(' ', " replaced ", 1))
}

fn lines(documents: &[(String, String)]) -> String {
    documents.iter().map(|(id, text)| document(id, text)).collect()
}

/// Returns the duplicates of a report, and its summary.
fn report(folder: &Folder) -> (Vec<Value>, Value) {
    let mut all = records(&folder.read("report"));
    let summary = all.pop().expect("a summary");
    (all, summary)
}

/// Checks each similarity of a report. Returns the ids of the duplicates.
fn checked(duplicates: &[Value], documents: &[(String, String)]) -> Vec<String> {
    let recipe = Recipe::named("pairs/1").expect("a recipe");
    let text: HashMap<_, _> = documents.iter().map(|(id, text)| (&**id, &**text)).collect();
    let id_of = |record: &Value| {
        let [a, b] = ["id", "duplicate_of"].map(|it| record[it].as_str().expect("an id"));
        let exact = recipe.features(text[a]).jaccard(&recipe.features(text[b]));
        assert!(exact >= 0.8, "{record}: {exact}");
        let said = record["similarity"].as_f64().expect("a similarity");
        assert!((said - exact).abs() < 1e-4, "{record}: {exact}");
        a.to_owned()
    };
    duplicates.iter().map(id_of).collect()
}

const DEDUP: &str = "dedup db docs --jaccard 0.8 --recipe pairs/1 --report report --print id";

#[test]
fn no_document_is_dropped_that_is_less_similar() {
    let folder = Folder::new();
    let mut all = pages(0, 80);
    all.extend(pages(0, 80).iter().step_by(2).map(copy));
    folder.write("docs", lines(&all));
    let by_sketches = folder.ok(&DEDUP.replace("db", "other")).text().lines().count();
    assert!(by_sketches < 80, "sketches tell {by_sketches} pages apart, so they are no test");

    let novel = folder.ok(&format!("{DEDUP} --exact")).text();
    assert_eq!(novel.lines().count(), 80);
    let (duplicates, summary) = report(&folder);
    let dropped = checked(&duplicates, &all);
    assert!(dropped.len() == 40 && dropped.iter().all(|id| id.ends_with("/copy")));
    assert_eq!((&summary["estimated"], &summary["crowded"]), (&json!(0), &json!(0)));
    assert_eq!(summary["uncertain"], 0);
}

#[test]
fn later_runs_are_exact_without_the_texts() {
    let folder = Folder::new();
    folder.write("docs", lines(&pages(0, 60)));
    folder.ok(&format!("{DEDUP} --exact"));
    // The same documents again, others of the template, and copies.
    let copies: Vec<_> = pages(0, 60).iter().map(copy).collect();
    let all = [pages(0, 60), pages(60, 60), copies].concat();
    folder.write("docs", lines(&all));
    let novel = folder.ok(&format!("{DEDUP} --exact")).text();
    let expected: String = (60..120).map(|own| format!("page/{own}\n")).collect();
    assert_eq!(novel, expected);
    let (duplicates, summary) = report(&folder);
    assert_eq!(checked(&duplicates, &all).len(), 120);
    assert_eq!(summary["estimated"], 0);
    assert_eq!(folder.ok(&format!("{DEDUP} --exact")).text(), "");

    // What was stored without features is compared by the estimate, which is counted.
    std::fs::remove_dir_all(folder.file("db-features")).unwrap();
    assert_eq!(folder.ok(&format!("{DEDUP} --exact")).text(), "");
    let (_, summary) = report(&folder);
    assert_eq!(summary["estimated"], 180);
}

#[test]
fn updated_documents_are_compared_by_their_new_features() {
    let folder = Folder::new();
    folder.write("docs", lines(&pages(0, 3)));
    folder.ok(&format!("{DEDUP} --exact"));
    // Page 1 gets the text of a page of its own, and a new one its old text.
    let all = [pages(0, 1), pages(7, 1), pages(1, 1)].concat();
    let ids = ["page/0", "page/1", "new"];
    let all: Vec<_> = ids.iter().zip(all).map(|(id, (_, text))| ((*id).to_owned(), text)).collect();
    folder.write("docs", lines(&all));
    let run = folder.ok(&format!("{DEDUP} --exact --recrawl"));
    assert_eq!(run.text(), "page/1\nnew\n");
    let copied = copy(&("page/1".into(), all[1].1.clone()));
    folder.write("docs", lines(std::slice::from_ref(&copied)));
    assert_eq!(folder.ok(&format!("{DEDUP} --exact --recrawl")).text(), "");
    let (duplicates, _) = report(&folder);
    checked(&duplicates, &[all, vec![copied]].concat());
    assert_eq!(duplicates[0]["duplicate_of"], "page/1");
}

#[test]
fn features_that_cannot_be_used_are_an_error() {
    let folder = Folder::new();
    folder.write("docs", lines(&pages(0, 3)));
    let run = folder.exits(2, "dedup by-distance docs --exact");
    assert!(run.err.contains("--jaccard"), "{}", run.err);
    folder.ok(&format!("{DEDUP} --exact"));
    let path = folder.file("db-features").join("lists");
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let stored = folder.ok("export db --format hex").text();
    folder.write("docs", lines(&pages(0, 5)));
    let run = folder.exits(2, &format!("{DEDUP} --exact"));
    assert!(run.err.contains("lists") && run.err.contains("checksum"), "{}", run.err);
    // Nothing was stored.
    assert_eq!(folder.ok("export db --format hex").text(), stored);
    // Without the folder, the run goes on.
    std::fs::remove_dir_all(folder.file("db-features")).unwrap();
    folder.ok(&format!("{DEDUP} --exact"));
}

#[test]
fn with_only_the_first_version_known_ids_are_duplicates_without_a_comparison() {
    let folder = Folder::new();
    folder.write("docs", lines(&pages(0, 3)));
    folder.ok(&format!("{DEDUP} --exact"));
    folder.ok(&format!("{DEDUP} --exact --versions first"));
    let (duplicates, summary) = report(&folder);
    assert_eq!((duplicates.len(), &summary["estimated"]), (3, &json!(0)));
    assert!(duplicates.iter().all(|record| record.get("similarity").is_none()));
}
