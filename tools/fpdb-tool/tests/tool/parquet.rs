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
    for from in [data.join("edge"), data] {
        for file in std::fs::read_dir(from).unwrap() {
            let file = file.unwrap();
            if file.path().extension().is_some_and(|extension| extension == "parquet") {
                std::fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
            }
        }
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
        ("id", "column \"id\" is of type STRING; stamps must be whole numbers"),
        ("f", "column \"f\" is of type DOUBLE; stamps must be whole numbers"),
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
        ("--text-field f nulls.parquet", "column \"f\" is of type DOUBLE; texts must be strings"),
        ("--text-field /tags/list/element nulls.parquet", "is of type LIST; texts must be strings"),
        ("--id-field f nulls.parquet", "column \"f\" is of type DOUBLE; ids must be strings"),
        ("--id-field text nulls.parquet", "--id-field and --text-field are both \"text\""),
        ("twice.parquet", "there are 2 columns \"id\""),
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

/// Ids of a type whose numbers mean something else would be wrong, such as 150 for 1.50.
#[test]
fn ids_are_strings_whole_numbers_and_uuids_and_no_other_type() {
    let folder = folder();
    for (column, ids) in [
        ("uuid", ["01234567-89ab-cdef-0000-00000000000"; 3].each_ref().map(|id| (*id).to_owned())),
        ("i8", ["1", "2", "-3"].map(String::from)),
        ("u8", ["255", "2", "3"].map(String::from)),
        ("a/b", ["x", "y", "z"].map(String::from)),
        ("/id", ["k", "l", "m"].map(String::from)),
    ] {
        let run = folder.ok(&format!("fingerprint types.parquet --id-field {column} --json"));
        for (at, ((found, _), id)) in fingerprints(&run).iter().zip(ids).enumerate() {
            let id = if column == "uuid" { format!("{id}{at}") } else { id };
            assert_eq!(*found, id);
        }
    }
    for (column, kind) in [
        ("decimal", "DECIMAL(9, 2)"),
        ("date", "DATE"),
        ("time", "TIME"),
        ("us", "TIMESTAMP"),
        ("bool", "BOOLEAN"),
        ("double", "DOUBLE"),
    ] {
        let run = folder.exits(2, &format!("fingerprint types.parquet --id-field {column}"));
        let message = format!("column \"{column}\" is of type {kind}; ids must be strings, whole");
        assert!(run.err.contains(&message), "{}", run.err);
    }
}

#[test]
fn dates_and_times_are_stamps_in_seconds() {
    let folder = folder();
    let noon = 1_767_268_800; // 2026-01-01T12:00:00Z
    for (file, column, stamp) in [
        ("types", "date", noon - 43_200),
        ("types", "ms", noon),
        ("types", "us", noon),
        ("types", "ns", noon),
        ("int96", "ns", noon),
    ] {
        let db = format!("{file}-{column}");
        let line = format!("dedup {db} {file}.parquet --recrawl --stamp {column} -k 0 --skip-bad");
        let run = folder.ok(&line);
        let message = format!("row 2: a time before 1970 in column \"{column}\"");
        assert!(run.err.contains(&message), "{}", run.err);
        let found = folder.ok(&format!("get {db} a --json")).records()[0]["stamp"].clone();
        assert_eq!(found, stamp, "{db}");
    }
    folder.ok("dedup edge stamp.parquet --recrawl --stamp seen");
    assert_eq!(folder.ok("get edge d1 --json").records()[0]["stamp"], 1_767_225_600);
    for column in ["time", "decimal", "double"] {
        let run = folder.exits(2, &format!("dedup db types.parquet --stamp {column}"));
        assert!(run.err.contains("stamps must be whole numbers, dates or times"), "{}", run.err);
    }
}

#[test]
fn a_column_without_a_type_has_no_values_and_an_empty_table_no_documents() {
    let folder = folder();
    for line in ["fingerprint pde.parquet", "fingerprint fpe.parquet"] {
        let run = folder.ok(line);
        assert_eq!((run.text(), run.err), (String::new(), String::new()), "{line}");
    }
    let run = folder.exits(2, "fingerprint types.parquet --text-field null");
    assert!(run.err.contains("row 0: no text"), "{}", run.err);
}

#[test]
fn every_compression_is_read() {
    let folder = folder();
    let expected = folder.ok("fingerprint types.parquet").text();
    for file in ["brotli", "checksums", "int96"] {
        assert_eq!(folder.ok(&format!("fingerprint {file}.parquet")).text(), expected, "{file}");
    }
}

#[test]
fn a_file_that_is_compressed_or_encrypted_as_a_whole_is_refused_with_a_remedy() {
    let folder = folder();
    let whole = std::fs::read(folder.file("plain.parquet")).unwrap();
    folder.write("a.parquet.gz", crate::common::gzip(&whole));
    let run = folder.exits(2, "fingerprint a.parquet.gz");
    assert!(run.err.contains("unpack it first with `gunzip a.parquet.gz`"), "{}", run.err);
    let at = whole.len() - 4;
    folder.write("b.parquet", [b"PARE", &whole[4..at], b"PARE"].concat());
    let run = folder.exits(2, "fingerprint b.parquet");
    assert!(run.err.contains("write it again without encryption"), "{}", run.err);
    let run = folder.exits(2, "fingerprint encrypted.parquet");
    assert!(run.err.contains("columns of it are encrypted: write it again"), "{}", run.err);
    let run = folder.exits(2, "fingerprint - --from parquet");
    assert!(run.err.contains("write it to a file first"), "{}", run.err);
}

#[test]
fn damage_that_the_reader_does_not_survive_is_an_error_that_names_the_file() {
    let folder = folder();
    for (file, message) in [
        ("abort", "row 0: it is damaged: a dictionary of 1000000000 values in"),
        ("panic", "row 0: it is damaged"),
        ("bitflip", "row 1: it is damaged"),
    ] {
        let run = folder.exits(2, &format!("fingerprint {file}.parquet"));
        let message = format!("cannot read {file}.parquet, {message}");
        assert!(run.err.contains(&message), "{}", run.err);
        assert_eq!(run.err.lines().count(), 1, "a panic prints nothing");
    }
}

#[test]
fn with_skip_bad_the_files_after_a_damaged_one_are_read() {
    let folder = folder();
    for (file, before) in [("abort", 0), ("panic", 0), ("bitflip", 1)] {
        let line = format!("fingerprint {file}.parquet good.parquet --skip-bad --json");
        let run = folder.ok(&line);
        assert!(run.err.contains(&format!("{file}.parquet")), "{}", run.err);
        assert_eq!(fingerprints(&run).len(), before + 80, "{file}: {}", run.err);
    }
}

#[test]
fn a_checksum_that_does_not_match_is_an_error() {
    let folder = folder();
    let mut bytes = std::fs::read(folder.file("checksums.parquet")).unwrap();
    // Twice it is in statistics, which are not read.
    let mut letters = bytes.windows(2).enumerate().filter(|(_, two)| *two == "ä".as_bytes());
    let (at, _) = letters.nth(2).expect("a letter of a text");
    bytes[at + 1] ^= 1;
    folder.write("flipped.parquet", bytes);
    let run = folder.exits(2, "fingerprint flipped.parquet");
    assert!(run.err.contains("checksum"), "{}", run.err);
}

/// The file has 8 KB, and its only text takes 60 MiB.
#[test]
fn limits_count_before_memory_is_taken() {
    let folder = folder();
    let run = folder.exits(2, "fingerprint dictbomb.parquet --max-document 1MiB");
    assert!(run.err.contains("row 0: a text of 62914560 bytes, more than 1048576"), "{}", run.err);
    let run = folder.ok("fingerprint dictbomb.parquet --max-document 1MiB --skip-bad --json");
    assert_eq!(run.records()[0]["bad"], 1000);
}
