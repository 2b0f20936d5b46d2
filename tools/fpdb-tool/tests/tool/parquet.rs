//! Parquet files, written by pyarrow 26: see `tests/data/README.md`.

use std::path::Path;

use crate::common::{Folder, document, fingerprints};

/// The text of a row in the test files.
fn text(seed: u64) -> String {
    let words: Vec<_> =
        (0..12).map(|i| format!("w{:x}", (seed * 7919 + i * 104_729) % 65_521)).collect();
    words.join(" ") + " ä 去"
}

fn folder() -> Folder {
    let folder = Folder::new();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    for name in ["plain", "dictionary", "nulls"] {
        let name = format!("{name}.parquet");
        std::fs::copy(data.join(&name), folder.file(&name)).unwrap();
    }
    folder
}

fn check(folder: &Folder, line: &str, id: impl Fn(u64) -> String, seed: impl Fn(u64) -> u64) {
    let docs: String = (0..300).map(|i| document(&id(i), &text(seed(i)))).collect();
    folder.write("expected.ndjson", docs);
    let expected = fingerprints(&folder.ok("fingerprint expected.ndjson --json"));
    let found = fingerprints(&folder.ok(&format!("fingerprint {line} --json")));
    assert_eq!(found.len(), 300);
    assert_eq!(found, expected, "{line}");
}

#[test]
fn rows_of_every_page_and_group_are_documents() {
    let folder = folder();
    check(&folder, "plain.parquet", |i| format!("doc {i}"), |i| i);
    check(&folder, "plain.parquet --id-field n", |i| i.to_string(), |i| i);
    check(&folder, "dictionary.parquet", |i| format!("doc {i}"), |i| i % 7);
    let numbers = "dictionary.parquet --id-field n";
    check(&folder, numbers, |i| (u64::MAX - i).to_string(), |i| i % 7);
    let deep = "dictionary.parquet --id-field /meta/url --text-field /meta/body";
    check(&folder, deep, |i| format!("u{i}"), |i| i % 5);
}

#[test]
fn novel_rows_are_printed_as_ndjson() {
    let folder = folder();
    let run = folder.ok("dedup db dictionary.parquet -k 0");
    let expected: String = (0..7).map(|i| document(&format!("doc {i}"), &text(i))).collect();
    assert_eq!(run.text(), expected);
}

#[test]
fn stamps_come_from_a_column_of_whole_numbers() {
    let folder = folder();
    let stamp = |name: &str| {
        let run = folder.run(&["get", "db", name, "--json"]);
        run.records()[0]["stamp"].clone()
    };
    folder.ok("dedup db plain.parquet -k 0 --recrawl --stamp n");
    assert_eq!((stamp("doc 0"), stamp("doc 299")), (0.into(), 299.into()));
    folder.ok("dedup db dictionary.parquet -k 0 --recrawl --on-duplicate remember --stamp n");
    assert_eq!(stamp("doc 1"), u64::MAX - 1, "a number without a sign");
    for (column, message) in [
        ("id", "column \"id\" does not hold whole numbers"),
        ("f", "column \"f\" does not hold whole numbers"),
        ("when", "there is no column \"when\""),
    ] {
        let run = folder.exits(2, &format!("dedup db nulls.parquet --stamp {column}"));
        assert!(run.err.contains(message), "{}", run.err);
    }
}

#[test]
fn errors_name_rows_without_a_value() {
    let folder = folder();
    let run = folder.exits(2, "fingerprint nulls.parquet");
    assert!(run.err.contains("nulls.parquet, row 1: no id"), "{}", run.err);
    let run = folder.ok("fingerprint nulls.parquet --skip-bad");
    assert_eq!(run.text().lines().count(), 1);
    assert!(run.err.contains("row 2: no text"), "{}", run.err);
}

#[test]
fn errors_name_columns_that_are_missing_or_hold_no_strings() {
    let folder = folder();
    for (line, message) in [
        (
            "--text-field body nulls.parquet",
            "there is no column \"body\"; the columns are id, text",
        ),
        ("--text-field f nulls.parquet", "column \"f\" does not hold strings"),
        ("--text-field /tags/list/element nulls.parquet", "does not hold strings"),
        ("--id-field f nulls.parquet", "column \"f\" does not hold strings"),
    ] {
        let run = folder.exits(2, &format!("fingerprint {line}"));
        assert!(run.err.contains(message), "{line}: {}", run.err);
    }
    folder.exits(2, "fingerprint --from parquet -");
}

#[test]
fn a_damaged_file_is_an_error() {
    let folder = folder();
    let whole = std::fs::read(folder.file("plain.parquet")).unwrap();
    for cut in [0, 4, 100, whole.len() / 2, whole.len() - 1] {
        folder.write("cut.parquet", &whole[..cut]);
        let run = folder.exits(2, "fingerprint cut.parquet");
        assert!(run.err.contains("cut.parquet"), "{}", run.err);
    }
    folder.write("text.parquet", "this is not a Parquet file");
    let run = folder.exits(2, "fingerprint text.parquet");
    assert!(run.err.contains("text.parquet"), "{}", run.err);
}
