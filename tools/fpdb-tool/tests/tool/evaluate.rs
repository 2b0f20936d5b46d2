use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use fpdb::Fingerprint;
use fpdb::text::Recipe;
use serde_json::{Value, json};

use crate::common::{Folder, document, gzip, text};
use crate::corpus;
use crate::markup;

/// Creates documents whose distances are 0, undefined, or as large as between unrelated texts.
/// `words/1` ignores the order of words, and needs more than two.
fn folder() -> Folder {
    let (a, b, c) = (text(1, 60), text(2, 60), text(3, 60));
    let reversed = b.split(' ').rev().collect::<Vec<_>>().join(" ");
    let far: Vec<_> = (10..14).map(|seed| text(seed, 60)).collect();
    let documents = [
        ("a1", a.as_str()),
        ("a2", &a),
        ("a3", &a),
        ("b1", &b),
        ("b2", &reversed),
        ("c1", &c),
        ("c2", &c),
        ("s1", "too short"),
        ("s2", "too short"),
        ("e1", &far[0]),
        ("e2", &far[1]),
        ("e3", &far[2]),
        ("e4", &far[3]),
    ];
    let folder = Folder::new();
    let lines: String = documents.iter().map(|(id, text)| document(id, text)).collect();
    folder.write("docs.gz", gzip(lines.as_bytes()));
    folder.write("pairs.tsv", PAIRS);
    folder
}

/// The last two lines repeat earlier ones.
const PAIRS: &str = "\
id_a\tid_b\tjaccard\tkind
a2\ta1\t1.0\tcopy
b1\tb2\t0.85\torder
s1\ts2\t0.95\tshort
e3\te4\t0.9\tcopy
c1\tc2\t0.4\tother
e1\te2\t0.6\t
b2\tb1\t0.85\torder
e1\te2\t0.6\t
";

const EVALUATE: &str = "evaluate docs.gz --pairs pairs.tsv --recipe words/1";

fn score(report: &Value, k: usize) -> [Value; 7] {
    let score = &report["scores"][k];
    assert_eq!(score["k"], k);
    let fields = ["true_positives", "false_positives", "false_negatives"];
    let shares = ["precision", "recall", "f1", "recall_strong"];
    let all: Vec<_> = fields.iter().chain(&shares).map(|field| score[field].clone()).collect();
    all.try_into().unwrap()
}

/// Found, wrong and missed; then precision, recall, F1 and recall of the strong duplicates.
fn values(counts: [u64; 3], shares: [f64; 4]) -> [Value; 7] {
    let values: Vec<_> =
        counts.iter().map(|count| json!(count)).chain(shares.iter().map(|s| json!(s))).collect();
    values.try_into().unwrap()
}

#[test]
fn scores_are_those_computed_by_hand() {
    let report = folder().ok(&format!("{EVALUATE} --json")).json();
    assert_eq!((&report["schema"], &report["documents"]), (&json!("fpdb.evaluate/1"), &json!(13)));
    assert_eq!(report["listed_pairs"], 6);
    let recipe = &report["recipes"][0];
    assert_eq!((&recipe["recipe"], &recipe["without_fingerprint"]), (&json!("words/1"), &json!(2)));
    // Found: a, b. Wrong: c. Missed: s, which has no fingerprint, and e3 with e4.
    let by_hand = values([2, 1, 2], [2.0 / 3.0, 0.5, 4.0 / 7.0, 1.0 / 3.0]);
    assert_eq!(score(recipe, 0), by_hand);
    assert_eq!(score(recipe, 3), by_hand);
    assert_eq!((&recipe["best_k"], recipe["scores"].as_array().unwrap().len()), (&json!(0), 17));
    let duplicate = &recipe["distances"]["duplicate"];
    assert_eq!((&duplicate["pairs"], &duplicate["unreachable"]), (&json!(4), &json!(1)));
    assert_eq!(
        (&duplicate["p50"], &recipe["distances"]["between"]["pairs"]),
        (&json!(0), &json!(1))
    );
}

#[test]
fn kinds_are_scored_separately() {
    let report = folder().ok(&format!("{EVALUATE} --json --complete")).json();
    let kinds = report["recipes"][0]["kinds"].as_array().unwrap();
    let names: Vec<_> = kinds.iter().map(|kind| kind["kind"].as_str().unwrap()).collect();
    assert_eq!(names, ["copy", "order", "short", "other"]);
    assert_eq!(score(&kinds[0], 0), values([1, 0, 1], [1.0, 0.5, 2.0 / 3.0, 0.5]));
    assert_eq!(kinds[2]["scores"][16]["recall"], 0.0);
    assert_eq!(kinds[2]["scores"][16]["precision"], Value::Null);
    assert_eq!(kinds[3]["scores"][0]["precision"], 0.0);
    assert_eq!(kinds[3]["scores"][0]["recall"], Value::Null);
}

#[test]
fn complete_list_makes_all_other_pairs_different() {
    let report = folder().ok(&format!("{EVALUATE} --json --complete")).json();
    let recipe = &report["recipes"][0];
    // The pairs of a3 with a1 and a2 are wrong too.
    assert_eq!(score(recipe, 0), values([2, 3, 2], [2.0 / 5.0, 0.5, 4.0 / 9.0, 1.0 / 3.0]));
    let different = &recipe["distances"]["different"];
    // 13 documents have 78 pairs, 11 have 55.
    assert_eq!((&different["pairs"], &different["unreachable"]), (&json!(73), &json!(22)));
}

#[test]
fn labels_replace_similarities() {
    let folder = folder();
    let labels = "\
base_id\tvariant_id\tlabel
a1\ta2\t1
b1\tb2\tduplicate
s1\ts2\t1
e3\te4\t1
c1\tc2\t0
a1\tc2\tdifferent
";
    folder.write("labels.tsv", labels);
    let run = folder.ok("evaluate docs.gz --pairs labels.tsv --recipe words/1 --json");
    let recipe = &run.json()["recipes"][0];
    let [tp, fp, missed, .., strong] = score(recipe, 0);
    assert_eq!([tp, fp, missed, strong], [json!(2), json!(1), json!(2), Value::Null]);
}

#[test]
fn bounds_define_what_a_duplicate_is() {
    let folder = folder();
    let run = folder.ok(&format!("{EVALUATE} --json --duplicate 0.4 --different 0.4 -k 2"));
    let recipe = &run.json()["recipes"][0];
    let [tp, fp, missed, ..] = score(recipe, 0);
    assert_eq!([tp, fp, missed], [3, 0, 3].map(|n| json!(n)));
    assert_eq!(recipe["scores"].as_array().unwrap().len(), 3);
    folder.exits(2, &format!("{EVALUATE} --duplicate 0.4"));
}

#[test]
fn table_marks_the_best_and_compares_recipes() {
    let run = folder().ok(&format!("{EVALUATE} --recipe shingle2/1 -k 3"));
    let table = run.text();
    assert!(table.contains("words/1, 64 bits; 2 documents have no fingerprint"), "{table}");
    assert!(table.contains("\n0     0.6666  0.5000  0.5714         0.3333"), "{table}");
    assert_eq!(table.matches("best F1").count(), 2, "{table}");
    assert!(table.contains("each recipe at its best k"), "{table}");
    let wide =
        folder().ok("evaluate docs.gz --pairs pairs.tsv --recipe python-simhash/1 --bits 128");
    assert!(wide.text().contains("python-simhash/1, 128 bits"), "{}", wide.text());
}

#[test]
fn chart_shows_the_curves_and_the_point_of_the_paper() {
    let folder = folder();
    folder.ok(&format!("{EVALUATE} --recipe shingle2/1 --svg curve.svg"));
    let svg = folder.read("curve.svg");
    assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
    assert!(svg.contains("Manku et al. 2007"), "{svg}");
    assert!(svg.contains("<desc>Made by fpdb-tool "), "{svg}");
    assert!(svg.contains("--svg curve.svg</desc>"), "{svg}");
    markup::check(&svg);
    for curve in ["s0", "s1", "s2"] {
        assert_eq!(svg.matches(&format!("<path class=\"{curve}\"")).count(), 2, "{curve}");
    }
    assert!(svg.contains("<title>recall 0.500 at 3</title>"), "{svg}");
    folder.exits(2, &format!("{EVALUATE} --svg -"));
}

#[test]
fn errors_in_the_input_are_reported_with_their_place() {
    let folder = folder();
    let header = "id_a\tid_b\tjaccard\n";
    for (pairs, message) in [
        ("id_a\tjaccard\na1\t1\n", "pairs.tsv, line 1: no columns id_a and id_b"),
        ("id_a\tid_b\na1\ta2\n", "pairs.tsv, line 1: no column jaccard or label"),
        (&format!("{header}a1\ta2\t1\na1\tnobody\t1\n"), "line 3: no document \"nobody\""),
        (&format!("{header}a1\ta2\t1.5\n"), "line 2: not a similarity from 0 to 1: \"1.5\""),
        (&format!("{header}a1\ta1\t1\n"), "line 2: the document is paired with itself"),
        (&format!("{header}a1\ta2\t1\na2\ta1\t0\n"), "line 3: the pair has another label"),
        (&format!("{header}a1\ta2\n"), "cannot read pairs.tsv"),
    ] {
        folder.write("pairs.tsv", pairs);
        let run = folder.exits(2, EVALUATE);
        assert!(run.err.contains(message), "{message}: {}", run.err);
    }
    folder.write("again", document("a1", "x") + &document("a1", "x"));
    let run = folder.exits(2, "evaluate again --pairs pairs.tsv");
    assert!(run.err.contains("there is another document \"a1\""), "{}", run.err);
    folder.exits(2, "evaluate docs.gz --pairs pairs.tsv --recipe nonesuch/1");
}

#[test]
fn real_edits_are_scored_as_by_a_simple_loop() {
    let files = [corpus::sample_documents(), corpus::sample("variants_zh.ndjson.gz")];
    scores_are_those_of_a_simple_loop(&files, &corpus::sample("variants_zh_labels.tsv"), 40);
    let Some(data) = corpus::larger_collection() else { return };
    let files = ["corpus_zh.ndjson.gz", "variants_zh.ndjson.gz"].map(|name| data.join(name));
    scores_are_those_of_a_simple_loop(&files, &data.join("variants_zh_labels.tsv"), 400);
}

/// Compares the tool's scores with the results of a loop over the labels, of which more than
/// `at_least` are duplicates.
fn scores_are_those_of_a_simple_loop(files: &[PathBuf], labels: &Path, at_least: usize) {
    let recipe = Recipe::named("words/1").unwrap();
    let listed = std::fs::read_to_string(labels).unwrap();
    let fields: Vec<Vec<&str>> =
        listed.lines().skip(1).map(|line| line.split('\t').collect()).collect();
    let wanted: HashSet<&str> = fields.iter().flat_map(|fields| &fields[..2]).copied().collect();
    let documents: Vec<(String, String)> = files
        .iter()
        .flat_map(|file| corpus::documents(file))
        .map(|document| ["id", "text"].map(|field| document[field].as_str().unwrap().to_owned()))
        .map(|[id, text]| (id, text))
        .filter(|(id, _)| wanted.contains(id.as_str()))
        .collect();
    let fingerprints: HashMap<&str, Option<u64>> = documents
        .iter()
        .map(|(id, text)| (id.as_str(), recipe.fingerprint(text).fingerprint))
        .collect();
    let distance =
        |fields: &[&str]| Some(fingerprints[fields[0]]?.distance(fingerprints[fields[1]]?));
    let duplicates = fields.iter().filter(|fields| fields[3].parse::<f64>().unwrap() >= 0.8);
    let distances: Vec<Option<u32>> = duplicates.map(|fields| distance(fields)).collect();
    assert!(distances.len() > at_least, "{}", distances.len());

    let folder = Folder::new();
    folder.write("docs", documents.iter().map(|(id, text)| document(id, text)).collect::<String>());
    let pairs = ["--pairs", labels.to_str().unwrap(), "--recipe", "words/1", "--json"];
    let run = folder.run(&[&["evaluate", "docs"], &pairs[..]].concat());
    assert_eq!(run.code, 0, "{}", run.err);
    let scores = run.json()["recipes"][0]["scores"].clone();
    for (k, score) in (0u32..).zip(scores.as_array().unwrap()) {
        let found = distances.iter().flatten().filter(|&&distance| distance <= k).count();
        assert_eq!(score["true_positives"], found, "{score}");
        let recall = score["recall"].as_f64().unwrap();
        assert!((recall - found as f64 / distances.len() as f64).abs() < 1e-12, "{score}");
    }
}
