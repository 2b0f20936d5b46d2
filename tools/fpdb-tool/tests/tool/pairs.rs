//! `pairs`

use std::collections::BTreeSet;

use serde_json::json;

use crate::common::Folder;

/// Five entries: two are equal, one is a bit from them, and one two bits from that.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("list", "0x07,1\n0x07,2\n0x06,3\n0x00,4\n0xff00000000,5\n");
    folder.ok("import db list --id-column 2");
    folder
}

fn lines(text: &str) -> BTreeSet<&str> {
    text.lines().collect()
}

#[test]
fn json_has_a_record_per_pair_and_group_and_a_summary() {
    let folder = folder();
    let run = folder.ok("pairs db -k 2 --json");
    let (text, mut records) = (run.text(), run.records());
    let summary = records.pop().unwrap();
    assert_eq!(
        summary,
        json!({"type": "summary", "pairs": 2, "groups": 1, "by_distance": [0, 1, 1]})
    );
    let group = json!({"type": "group", "fingerprint": "0x0000000000000007", "ids": [1, 2]});
    assert!(records.contains(&group), "{text}");
    assert!(records.contains(&json!({"type": "pair", "a": 3, "b": 1, "distance": 1})), "{text}");
    assert!(records.contains(&json!({"type": "pair", "a": 4, "b": 3, "distance": 2})), "{text}");
    assert_eq!(records.len(), 3);
}

#[test]
fn csv_and_text_have_a_line_per_pair() {
    let folder = folder();
    let text = folder.ok("pairs db -k 2 --csv").text();
    assert_eq!(lines(&text), ["a,b,distance", "1,2,0", "3,1,1", "4,3,2"].into());
    let text = folder.ok("pairs db -k 2 --csv --expand").text();
    assert_eq!(lines(&text), ["a,b,distance", "1,2,0", "3,1,1", "3,2,1", "4,3,2"].into());
    let text = folder.ok("pairs db -k 2").text();
    assert_eq!(lines(&text), ["0  1  2", "1  3  1", "2  4  3"].into());
}

#[test]
fn count_prints_the_number_of_pairs_of_entries_at_each_distance() {
    let folder = folder();
    // Two entries have the fingerprint that is one bit from another.
    let text = folder.ok("pairs db -k 3 --count").text();
    assert_eq!(
        text,
        "distance  pairs\n       0      1\n       1      2\n       2      1\n       3      2\n"
    );
    let report = folder.ok("pairs db --count --json").json();
    assert_eq!(report["by_distance"], json!([1, 2, 1, 2]));
}

#[test]
fn names_are_printed_and_escaped() {
    let folder = Folder::new();
    folder.write("list", "0x7,one\n0x7,t\u{1b}[2Jwo\n0x7,\"th,ree\"\n");
    folder.ok("create db --ids names");
    folder.ok("import db list --id-column 2");
    let text = folder.ok("pairs db").text();
    assert_eq!(lines(&text), ["0  one  t\\u{1b}[2Jwo", "0  one  th,ree"].into());
    let text = folder.ok("pairs db --csv").text();
    assert!(text.contains("0,2,0,one,\"th,ree\""), "{text}");
    let text = folder.ok("pairs db --json").text();
    assert!(text.contains(r#""names":["one","t\u001b[2Jwo","th,ree"]"#), "{text}");
    let text = folder.ok("pairs db --json --expand").text();
    assert!(
        text.contains(r#""a":0,"b":2,"a_name":"one","b_name":"th,ree","distance":0"#),
        "{text}"
    );
}

#[test]
fn wrong_arguments_are_refused() {
    let folder = folder();
    folder.exits(2, "pairs nowhere");
    folder.exits(2, "pairs db --csv --json");
    folder.exits(2, "pairs db --count --expand");
    folder.exits(2, "pairs db -k three");
}
