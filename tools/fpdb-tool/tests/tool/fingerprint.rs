//! `fingerprint`: how fingerprints are printed.

use fpdb::text::Recipe;
use fpdb::{Fingerprint, Sketch};
use serde_json::json;

use crate::common::{Folder, document, text};

fn expected(text: &str) -> String {
    Recipe::named("pairs/1").unwrap().fingerprint(text).fingerprint.unwrap().to_hex()
}

#[test]
fn each_document_has_a_line_like_those_of_checksum_tools() {
    let folder = Folder::new();
    folder.write("a b.txt", text(1, 50));
    folder.write("c.txt", text(2, 50) + "\n");
    let run = folder.run(&["fingerprint", "--recipe", "pairs/1", "a b.txt", "c.txt"]);
    let lines = format!("{}  a b.txt\n{}  c.txt\n", expected(&text(1, 50)), expected(&text(2, 50)));
    assert_eq!((run.code, run.text()), (0, lines), "{}", run.err);
    assert!(run.err.is_empty(), "{}", run.err);
}

#[test]
fn a_document_without_a_fingerprint_has_a_dash_and_a_reason() {
    let folder = Folder::new();
    let lines = [document("e", ""), document("s\u{1b}", "too short"), document("l", &text(3, 50))];
    folder.write("docs", lines.concat());
    let run = folder.ok("fingerprint --recipe pairs/1 docs");
    let dash = format!("{:18}", "-");
    let expected_lines = format!("{dash}  e\n{dash}  s\\u{{1b}}\n{}  l\n", expected(&text(3, 50)));
    assert_eq!(run.text(), expected_lines);
    assert!(run.err.contains("2 of 3 documents have no fingerprint"), "{}", run.err);

    let records = folder.ok("fingerprint --recipe pairs/1 docs --json").records();
    assert_eq!(records.len(), 4);
    assert_eq!((&records[1]["fingerprint"], &records[1]["features"]), (&json!(null), &json!(1)));
    assert!(records[1]["reason"].as_str().unwrap().contains("features"), "{}", records[1]);
    let long = json!({
        "type": "fingerprint", "i": 2, "id": "l", "fingerprint": expected(&text(3, 50)),
        "features": 49,
    });
    assert_eq!(records[2], long);
    let summary = json!({
        "type": "summary", "recipe": "pairs/1", "bits": 64, "documents": 3, "too_short": 2,
        "bad": 0, "ignored": 0,
    });
    assert_eq!(records[3], summary);
}

#[test]
fn the_default_recipe_is_shown_by_its_name() {
    let folder = Folder::new();
    folder.write("a.txt", text(1, 50));
    let default = Recipe::named("default").unwrap();
    let records = folder.ok("fingerprint a.txt --json").records();
    assert_eq!(records[1]["recipe"], default.name());
    let fingerprint = default.fingerprint(&text(1, 50)).fingerprint.map(u64::to_hex);
    assert_eq!(records[0]["fingerprint"].as_str(), fingerprint.as_deref());
}

#[test]
fn an_unknown_recipe_is_an_error_that_lists_the_recipes() {
    let folder = Folder::new();
    folder.write("a.txt", text(1, 50));
    for line in ["fingerprint a.txt --recipe pairs/999", "fingerprint no-file --recipe pairs/999"] {
        let run = folder.exits(2, line);
        assert!(run.err.contains("pairs/1") && run.out.is_empty(), "{}", run.err);
    }
    folder.exits(2, "fingerprint a.txt --bits 96");
    folder.exits(2, "fingerprint no-such-file");
}

/// Checks a width, which options choose for `fingerprint` and for a new database.
fn prints_and_stores<F: Fingerprint>(print: &str, new: &str) {
    let folder = Folder::new();
    folder.write("docs", document("a", &text(1, 50)) + &document("b", &text(2, 50)));
    let recipe = Recipe::<F>::find("pairs/1").unwrap();
    let fingerprint = |seed| recipe.fingerprint(&text(seed, 50)).fingerprint.unwrap().to_hex();
    let run = folder.ok(&format!("fingerprint docs {print} --recipe pairs/1"));
    assert_eq!(run.text(), format!("{}  a\n{}  b\n", fingerprint(1), fingerprint(2)));
    let records = folder.ok(&format!("fingerprint docs {print} --recipe pairs/1 --json")).records();
    assert_eq!(
        (&records[0]["fingerprint"], &records[2]["bits"]),
        (&json!(fingerprint(1)), &json!(F::BITS))
    );

    for command in ["dedup", "import --from ndjson"] {
        let db = command.split(' ').next().unwrap();
        folder.ok(&format!("{command} {db} docs {new} --recipe pairs/1"));
        let stats = folder.ok(&format!("stats {db} --json")).json();
        assert_eq!((&stats["bits"], &stats["recipe"]), (&json!(F::BITS), &json!("pairs/1")));
        let exported = folder.ok(&format!("export {db} --format hex")).text();
        assert!(exported.contains(&fingerprint(1)), "{exported}");
        let run = folder.exits(2, &format!("{command} {db} docs --bits 64"));
        let stored = if F::BITS > 128 { "sketches" } else { "128-bit fingerprints" };
        assert!(run.err.contains(&format!("has {stored}, not 64-bit")), "{}", run.err);
    }
}

#[test]
fn wide_fingerprints_and_sketches_are_printed_and_stored() {
    prints_and_stores::<u128>("--bits 128", "--bits 128");
    prints_and_stores::<Sketch>("--sketch", "--jaccard 0.8");
}

#[test]
fn a_recipe_without_sketches_is_refused_with_those_that_have_them() {
    let folder = Folder::new();
    folder.write("docs", document("a", &text(1, 50)));
    for line in
        ["fingerprint docs --sketch", "dedup db docs --jaccard 0.8", "create db --jaccard 0.8"]
    {
        let run = folder.exits(2, &format!("{line} --recipe seomoz/1"));
        assert!(run.err.contains("these have: pairs/1, "), "{}", run.err);
        assert!(!folder.file("db").exists());
    }
    folder.exits(2, "fingerprint docs --sketch --bits 128");
}

#[test]
fn a_reader_that_closes_the_pipe_ends_the_run_silently() {
    let folder = Folder::new();
    for i in 0..40 {
        let lines: String = (0..500).map(|j| document(&format!("{i}-{j}"), &text(j, 30))).collect();
        folder.write(&format!("{i:02}.ndjson"), lines);
    }
    let (first, run) = folder.first_line(&["fingerprint", "."]);
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    assert!(first.ends_with("  0-0\n"), "{first}");
}

/// A thread that waits for standard input must not keep the run from ending.
#[test]
fn an_error_ends_the_run_while_standard_input_is_open() {
    let folder = Folder::new();
    folder.write("bad.ndjson", "{]\n");
    let args = ["fingerprint", "--from", "ndjson", "--threads", "4", "bad.ndjson", "-"];
    let mut child = folder.command(&args).stdin(std::process::Stdio::piped()).spawn().unwrap();
    let open = child.stdin.take();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(2));
    drop(open);
}
