//! Databases of sketches, which `--jaccard` makes.

use serde_json::{Value, json};

use crate::common::{Folder, document, text};

/// Documents of a folder, of which every second one differs from the one before in a few words.
const DOCUMENTS: usize = 12;

/// A text of which a few words are replaced: seven eighths of the pairs of words in either are in
/// both.
fn edited(text: &str) -> String {
    let words = text.split(' ').enumerate();
    words.map(|(i, word)| if i % 30 == 7 { "other" } else { word }).collect::<Vec<_>>().join(" ")
}

fn documents() -> Vec<String> {
    let text = |i: usize| match i % 2 {
        0 => text(i as u64, 120),
        _ => edited(&text(i as u64 - 1, 120)),
    };
    (0..DOCUMENTS).map(|i| document(&i.to_string(), &text(i))).collect()
}

/// A folder with the documents, and a database that has them all.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("docs", documents().concat());
    folder.ok("import db docs --from ndjson --jaccard 0.8");
    folder
}

fn number_of_lines(folder: &Folder, line: &str) -> usize {
    folder.ok(line).text().lines().count()
}

#[test]
fn dedup_keeps_one_of_similar_documents() {
    let folder = Folder::new();
    folder.write("docs", documents().concat());
    let even: String = (0..DOCUMENTS).step_by(2).map(|i| format!("{i}\n")).collect();
    let line = "dedup db docs --jaccard 0.8 --print id";
    assert_eq!(folder.ok(line).text(), even);
    assert_eq!(folder.ok(line).text(), "", "the database keeps its similarity");
    let run = folder.exits(2, "dedup db docs --jaccard 0.9");
    assert!(run.err.contains("0.9") && run.err.contains("0.8"), "{}", run.err);
    let run = folder.exits(2, "dedup db docs -k 3");
    assert!(run.err.contains("--max-distance is for databases of fingerprints"), "{}", run.err);

    folder.write("new", document("0", &text(99, 120)));
    let updated = folder.ok("dedup db new --recrawl --stamp 7 --print id");
    assert_eq!(updated.text(), "0\n");
    assert_eq!(folder.ok("get db 0 --json").records()[0]["stamp"], 7);
    assert!(folder.ok("expire db --before 8").err.contains('1'));
    folder.ok("remove db --name 2");
    assert_eq!(number_of_lines(&folder, "export db --format hex"), DOCUMENTS / 2 - 2);
}

#[test]
fn duplicates_near_the_similarity_of_the_database_are_counted_as_uncertain() {
    let folder = Folder::new();
    let (text, copies) = (text(7, 120), 3);
    let in_twenty = |i: usize| 7 + i % 13;
    let near = |i: usize| {
        let words = text.split(' ').enumerate();
        let other = |(at, word)| if at % 20 == in_twenty(i) { "other" } else { word };
        words.map(other).collect::<Vec<_>>().join(" ")
    };
    let all = (0..=copies).map(|i| document(&i.to_string(), &text));
    let all = all.chain((10..40).map(|i| document(&i.to_string(), &near(i))));
    folder.write("docs", all.collect::<String>());
    let run = folder.ok("dedup db docs --jaccard 0.8 --versions first --report report --print id");
    let records: Vec<Value> = std::fs::read_to_string(folder.file("report"))
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let (summary, duplicates) = records.split_last().unwrap();
    // 1 - 64/63 * 18/128 - 2 * .031 is less than .8.
    let is_uncertain = |record: &&Value| record["distance"].as_u64() >= Some(18);
    let uncertain = duplicates.iter().filter(is_uncertain).count();
    assert!(uncertain > 0 && uncertain + copies <= duplicates.len(), "{records:?}");
    assert_eq!(summary["uncertain"], uncertain);
    let expected = format!("{} duplicates ({uncertain} of them uncertain)", duplicates.len());
    assert!(run.err.contains(&expected), "{}", run.err);
}

/// Any two pages of a template share 299 of 421 pairs of words: J = .71. The luckiest of half a
/// million estimates must not win.
#[test]
fn different_pages_of_a_template_are_no_duplicates() {
    let folder = Folder::new();
    let page = |number: u64| {
        let template = text(1 + number % 3, 300);
        document(&number.to_string(), &format!("{template} {}", text(1000 + number, 60)))
    };
    folder.write("docs", (0..1500).map(page).collect::<String>());
    let run = folder.ok("dedup db docs --jaccard 0.8 --print id");
    assert_eq!(run.text().lines().count(), 1500, "{}", run.err);
    assert!(run.err.contains(" 0 duplicates"), "{}", run.err);
}

#[test]
fn every_search_finds_the_similar_documents() {
    let folder = folder();
    let pairs: Vec<Value> = folder.ok("pairs db --json").records();
    assert_eq!(pairs.last().unwrap()["pairs"], DOCUMENTS / 2);
    assert_eq!(number_of_lines(&folder, "clusters db"), DOCUMENTS / 2);
    assert_eq!(number_of_lines(&folder, "clusters db --keep first"), DOCUMENTS / 2);
    assert_eq!(number_of_lines(&folder, "join db db --all"), 2 * DOCUMENTS);
    let found = folder.ok("query db docs --from ndjson --json").records();
    for (i, record) in (0..).zip(&found[..DOCUMENTS]) {
        let names: Vec<_> =
            record["matches"].as_array().unwrap().iter().map(|m| &m["name"]).collect();
        assert_eq!(names, [&json!(i.to_string()), &json!((i ^ 1).to_string())]);
        assert!(record["matches"][1]["similarity"].as_f64().unwrap() > 0.7, "{record}");
    }
    // Any distance can be asked for, and what lies beyond the bands is found by a scan.
    let all = folder.ok("query db docs --from ndjson --json -k 128").records();
    assert!(all[..DOCUMENTS].iter().all(|r| r["matches"].as_array().unwrap().len() == 12));
    assert_eq!(folder.ok("pairs db -k 0").text(), "");
    let run = folder.exits(2, "pairs db -k 20");
    assert!(run.err.contains("less than the number of bands"), "{}", run.err);
}

#[test]
fn databases_are_copied_merged_rebuilt_and_repaired() {
    let folder = folder();
    folder.write("more", document("new", &text(77, 120)));
    folder.ok("dedup other more --jaccard 0.8");
    folder.ok("backup db --out copy");
    folder.ok("compact copy");
    folder.ok("merge db other --out both");
    folder.ok("rebuild both --out strict --jaccard 0.95 --expected 1e9");
    for (db, entries) in [("copy", 12), ("both", 13), ("strict", 13)] {
        folder.ok(&format!("verify {db} --level deep"));
        assert_eq!(folder.ok(&format!("stats {db} --json")).json()["entries"], entries);
    }
    assert_eq!(folder.ok("inspect strict --json").json()["rule"]["jaccard"], 0.95);
    for line in ["rebuild db --out x -k 5", "rebuild db --out x --layout ring-4"] {
        let run = folder.exits(2, line);
        assert!(run.err.contains("is for databases of fingerprints"), "{}", run.err);
    }
    let files = std::fs::read_dir(folder.file("db")).unwrap().map(|file| file.unwrap().path());
    let band = files.into_iter().find(|path| path.extension().is_some_and(|end| end == "b03"));
    std::fs::remove_file(band.unwrap()).unwrap();
    folder.exits(1, "verify db");
    let run = folder.ok("repair db --out fixed");
    assert!(run.err.contains("nothing was lost"), "{}", run.err);
    assert_eq!(
        folder.ok("export fixed --documents").text(),
        folder.ok("export copy --documents").text()
    );
}

#[test]
fn a_complete_export_keeps_rule_names_stamps_and_duplicates() {
    let folder = Folder::new();
    folder.write("docs", documents().concat());
    folder.ok("dedup db docs --jaccard 0.85 --recall 0.97 --expected 1e9 --recrawl --on-duplicate remember --stamp 5");
    folder.ok("remove db --name 10");
    let export = |db: &str| folder.run(&["export", db, "--all"]).out;
    folder.write("file", export("db"));
    folder.ok("import new file --all");
    assert_eq!(export("new"), export("db"));

    let text = folder.read("file");
    let header = text.lines().next().unwrap();
    for (from, to, message) in [
        ("\"bands\":", "\"bands\":17", "expected 1 to 16"),
        ("\"bits\":1824", "\"bits\":128", "expected a layout, block size"),
        ("\"ids\":\"names\"", "\"ids\":\"user\"", "must be names or unique"),
    ] {
        let at = header.find(from).expect(from);
        let end = at
            + from.len()
            + if from.ends_with(':') { header[at + from.len()..].find(',').unwrap() } else { 0 };
        folder.write("bad", format!("{}{to}{}\n", &header[..at], &header[end..]));
        let run = folder.exits(2, "import bad.db bad --all");
        assert!(run.err.contains(message) && !folder.file("bad.db").exists(), "{run:?}");
    }
}
