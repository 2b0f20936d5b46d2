use fpdb::{Fingerprint, Sketch};
use serde_json::{Value, json};

use crate::common::{Folder, document, random, text};

/// A folder with a database of entries at distances 0 to 4 from the queried fingerprint.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("fps", "08b73006b558c876\n08b73006b558c877\n88b73006b558c877\nf8b73006b558c876\n08b73006b558c876\n");
    folder.ok("create crawl.fpdb --max-distance 3");
    folder.ok("import crawl.fpdb --fp-format hex fps");
    folder
}

fn hit(fingerprint: &str, distance: u32, id: u64) -> Value {
    json!({ "fingerprint": fingerprint, "distance": distance, "id": id, "name": null })
}

#[test]
fn the_table_shows_the_nearest_matches_first() {
    let folder = folder();
    let expected = "\
fingerprint         distance            id
0x08b73006b558c876         0             0
0x08b73006b558c876         0             4
0x08b73006b558c877         1             1
0x88b73006b558c877         2             2
";
    assert_eq!(folder.ok("query crawl.fpdb 0x08b73006b558c876 -k 3").text(), expected);
    assert_eq!(folder.ok("query crawl.fpdb 08b73006b558c876").text(), expected);
    let two = folder.ok("query crawl.fpdb 08b73006b558c876 1 -k 0").text();
    assert!(two.starts_with("query ") && two.lines().count() == 3, "{two}");
}

#[test]
fn json_has_one_record_per_query_in_input_order() {
    let folder = folder();
    folder.write("queries.txt", "0x08b73006b558c876\n1\n\n0xf8b73006b558c876\n");
    let run = folder.ok("query crawl.fpdb --from fp --fp-format hex queries.txt -k 3 --json");
    let near = [
        hit("0x08b73006b558c876", 0, 0),
        hit("0x08b73006b558c876", 0, 4),
        hit("0x08b73006b558c877", 1, 1),
        hit("0x88b73006b558c877", 2, 2),
    ];
    let expected = [
        json!({"type": "query", "i": 0, "query": "0x08b73006b558c876", "matches": near}),
        json!({"type": "query", "i": 1, "query": "0x0000000000000001", "matches": []}),
        json!({"type": "query", "i": 2, "query": "0xf8b73006b558c876",
            "matches": [hit("0xf8b73006b558c876", 0, 3)]}),
        json!({"type": "summary", "queries": 3, "matched": 2, "matches": 5}),
    ];
    assert_eq!(run.records(), expected);
    let first = run.text().lines().next().unwrap().to_owned();
    assert!(first.starts_with(
        r#"{"type":"query","i":0,"query":"0x08b73006b558c876","matches":[{"fingerprint":"#
    ));
}

#[test]
fn answers_are_complete_unless_limited() {
    let folder = Folder::new();
    folder.write("fps", "5\n".repeat(3000));
    folder.ok("import a fps");
    let all = folder.ok("query a 5 --json").records();
    assert_eq!(all[0]["matches"].as_array().unwrap().len(), 3000);
    let some = folder.ok("query a 5 --json --limit 10").records();
    assert_eq!(some[0]["matches"], json!(all[0]["matches"].as_array().unwrap()[..10]));
    folder.exits(2, "query a 5 --limit 0");
}

#[test]
fn many_queries_keep_their_order() {
    let folder = folder();
    let queries: String = (0..1000).map(|i| format!("{i:x}\n")).collect();
    let run = folder.run_with(
        &["query", "crawl.fpdb", "--from", "fp", "--fp-format", "hex", "-", "--json"],
        queries.as_bytes(),
    );
    let records = run.records();
    assert_eq!(records.len(), 1001);
    for (i, record) in records[..1000].iter().enumerate() {
        assert_eq!(record["i"], i);
        assert_eq!(record["query"], format!("0x{i:016x}"));
    }
}

#[test]
fn exit_status_is_1_if_no_query_has_a_match() {
    let folder = folder();
    folder.ok("query crawl.fpdb 1");
    folder.exits(1, "query crawl.fpdb 1 --exit-status");
    folder.ok("query crawl.fpdb 1 08b73006b558c876 --exit-status");
}

#[test]
fn names_are_shown() {
    let folder = Folder::new();
    folder.write("docs", document("http://x/\u{1b}1", &text(1, 50)));
    folder.ok("dedup a docs");
    let fingerprint = folder.ok("export a --format hex").text();
    let run = folder.ok(&format!("query a {fingerprint}"));
    assert!(run.text().ends_with("  http://x/\\u{1b}1\n"), "{}", run.text());
    let record = &folder.ok(&format!("query a {fingerprint} --json")).records()[0];
    assert_eq!(record["matches"][0]["name"], "http://x/\u{1b}1");
}

#[test]
fn queries_before_an_unreadable_one_are_answered() {
    let folder = folder();
    folder.exits(2, "query crawl.fpdb xyz");
    folder.write("queries", "08b73006b558c876\nxyz\n");
    let run = folder.exits(2, "query crawl.fpdb --from fp queries --json");
    assert!(run.err.contains("queries, line 2: "), "{}", run.err);
    assert_eq!(run.records().len(), 1, "no summary, because the run is incomplete");
    folder.exits(2, "query nowhere.fpdb 1");
}

#[test]
fn matches_have_the_similarity_that_the_recipe_tells() {
    let folder = Folder::new();
    folder.write("docs", document("a", &text(1, 50)) + &document("b", &text(2, 50)));
    folder.write("queries", document("x", &text(2, 50)));
    for (db, options, similarity) in [
        ("sketches", "--jaccard 0.8", json!(1.0)),
        ("wide", "--bits 128", json!(1.0)),
        ("seomoz", "--recipe seomoz/1", json!(null)),
    ] {
        folder.ok(&format!("dedup {db} docs {options}"));
        let records = folder.ok(&format!("query {db} --from ndjson queries --json")).records();
        let found = &records[0]["matches"][0];
        assert_eq!((&found["name"], &found["similarity"]), (&json!("b"), &similarity));
        let table = folder.ok(&format!("query {db} --from ndjson queries")).text();
        assert_eq!(table.contains("similarity"), !similarity.is_null(), "{table}");
    }
    // Four parities differ, so four of 2 · 49 features are in one text only: J is about 47/51. In
    // 10 of 128 minima, a bit of the second plane differs: J is about .92.
    let records = folder.ok("query sketches --from ndjson queries --json").records();
    let mut sketch = Sketch::parse(records[0]["query"].as_str().unwrap()).unwrap();
    let (mut planes, mut parities) = (*sketch.planes(), *sketch.parities());
    planes[1] ^= 0x3ff << 100;
    parities[3] ^= 0b1111;
    sketch = Sketch::of_parts(planes, sketch.features(), parities);
    let query = format!("query sketches {} --json", sketch.to_hex());
    let found = folder.ok(&query).records()[0]["matches"][0].clone();
    assert_eq!((&found["distance"], &found["similarity"]), (&json!(10), &json!(0.921)));
    assert_eq!(found["standard_error"], json!(0.003));
}

#[test]
fn a_table_of_matches_has_no_sketches() {
    let folder = Folder::new();
    folder.write("docs", document("a", &text(1, 50)) + &document("b", &text(2, 50)));
    folder.ok("dedup db docs --jaccard 0.8");
    let header = "query               distance  similarity            id  name\n";
    let table = folder.ok("query db docs --from ndjson").text();
    assert!(table.starts_with(header) && !table.contains("0x"), "{table}");
}

#[test]
fn the_database_recipe_turns_documents_into_queries() {
    let folder = Folder::new();
    folder.write("docs", document("a", &text(1, 50)) + &document("b", &text(2, 50)));
    folder.ok("dedup db docs --recipe fives/1");
    let queries =
        [document("x", &text(2, 50)), document("short", "x"), document("y", &text(3, 50))].concat();
    folder.write("queries", &queries);
    let line = "query db --from ndjson queries";
    let records = folder.ok(&format!("{line} --json")).records();
    let documents: Vec<_> = records[..3].iter().map(|r| r["document"].as_str().unwrap()).collect();
    assert_eq!(documents, ["x", "short", "y"]);
    assert_eq!(
        (&records[0]["matches"][0]["name"], &records[0]["matches"][0]["distance"]),
        (&"b".into(), &0.into())
    );
    assert!(records[1]["query"].is_null() && records[1]["matches"] == json!([]), "{}", records[1]);
    assert!(records[2]["query"].is_string() && records[2]["matches"] == json!([]));
    assert_eq!((&records[3]["queries"], &records[3]["matched"]), (&3.into(), &1.into()));
    let table = folder.ok(line).text();
    assert!(table.lines().nth(1).unwrap().starts_with("x  "), "{table}");
    assert!(folder.exits(2, &format!("{line} --recipe nonsense/1")).err.contains("nonsense/1"));
    folder.write("bad", queries + "{]");
    let run = folder.exits(2, "query db --from ndjson bad --json");
    assert_eq!(run.records().len(), 3, "the queries before the bad line are answered");
}

#[test]
fn memory_can_be_limited_and_changes_no_answer() {
    let folder = Folder::new();
    let mut state = 1;
    let list: String = (0..3000).map(|_| format!("{:x}\n", random(&mut state))).collect();
    let first = list.lines().next().unwrap().to_owned();
    folder.write("list", &list);
    folder.ok("import db list --fp-format hex");
    let expected = folder.ok(&format!("query db {first} -k 3")).text().to_owned();
    for limits in ["--page-memory 0", "--page-memory 1MiB --index-memory 1MiB"] {
        let answer = folder.ok(&format!("query db {first} -k 3 {limits}"));
        assert_eq!(answer.text(), expected, "{limits}");
        folder.ok(&format!("verify db {limits}"));
    }
    for command in ["query", "verify", "export", "stats", "dedup", "import", "remove", "compact"] {
        let help = folder.ok(&format!("{command} --help")).text().to_owned();
        assert!(help.contains("--page-memory") && help.contains("--index-memory"), "{command}");
    }
}

#[test]
fn an_explanation_has_the_plan_and_what_was_read() {
    let folder = folder();
    let text = folder.ok("query crawl.fpdb 0x08b73006b558c876 --explain").text();
    for part in
        ["plan of 0x08b73006b558c876", "  segment ", "lookups ", "blocks decoded ", "matches "]
    {
        assert!(text.contains(part), "{text}");
    }
    assert!(text.lines().count() < 20, "{text}");
    let run = folder.ok("query crawl.fpdb 0x08b73006b558c876 1 -k 3 --explain --json");
    let plain = folder.ok("query crawl.fpdb 0x08b73006b558c876 1 -k 3 --json");
    let (records, plain) = (run.records(), plain.records());
    for (record, plain) in records.iter().zip(&plain).take(2) {
        assert_eq!(record["matches"], plain["matches"]);
        let matches = record["matches"].as_array().unwrap().len();
        assert_eq!(
            (&record["read"]["queries"], &record["read"]["matches"]),
            (&1.into(), &matches.into())
        );
        let tables = record["plan"][0]["tables"].as_array().unwrap();
        let lookups: u64 = tables.iter().map(|table| table["lookups"].as_u64().unwrap()).sum();
        assert_eq!(record["read"]["lookups"], lookups);
        assert!(plain.get("read").is_none());
    }
}
