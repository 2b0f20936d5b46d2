//! `get`, `expire`, and what other commands say about documents.

use std::path::Path;

use fpdb::{Db, DocId, Ids, OnDuplicate, Stamped};
use serde_json::{Value, json};

use crate::common::Folder;

/// A folder with a database of three names: two originals with the stamps 7 and 8, and one
/// remembered duplicate without a stamp.
fn named() -> Folder {
    let folder = Folder::new();
    let db = Db::options().ids(Ids::Names).create(folder.file("db")).unwrap();
    db.insert(0x00ff, Stamped::new("http://a/", 7)).unwrap();
    db.insert(0xff00, Stamped::new("http://b/", 8)).unwrap();
    let copy = [(0x00fe, "http://copy/")];
    db.write(&copy).unless_near(3).or_update(OnDuplicate::Remember).run().unwrap();
    db.close().unwrap();
    folder
}

/// A folder with a database of unique ids: 7 without a stamp, and its duplicate 9 with the stamp 5.
fn numbered() -> Folder {
    let folder = Folder::new();
    let db = fpdb::Options::bits128().ids(Ids::Unique).create(folder.file("db")).unwrap();
    db.insert(0xff, 7).unwrap();
    let copy = [(0xfe, Stamped::new(9, 5))];
    db.write(&copy).unless_near(3).or_update(OnDuplicate::Remember).run().unwrap();
    db.close().unwrap();
    folder
}

fn has(path: &Path, name: &str) -> bool {
    Db::open(path).unwrap().get(name).unwrap().is_some()
}

#[test]
fn get_shows_documents_in_the_order_given() {
    let folder = named();
    let run = folder.ok("get db http://b/ http://nowhere/ http://copy/");
    let expected = "\
name         http://b/
id           1
fingerprint  0x000000000000ff00
stamp        8

name          http://copy/
id            2
fingerprint   0x00000000000000fe
stamp         none
duplicate of  0 http://a/
";
    assert_eq!(run.text(), expected);
    assert_eq!(run.err, "not found: http://nowhere/\n");
}

#[test]
fn get_as_json_has_one_record_per_name_and_a_summary() {
    let folder = named();
    let run = folder.ok("get db http://a/ http://nowhere/ http://copy/ --json");
    let expected = [
        json!({"type": "document", "name": "http://a/", "id": 0,
            "fingerprint": "0x00000000000000ff", "stamp": 7, "duplicate_of": null}),
        json!({"type": "missing", "name": "http://nowhere/"}),
        json!({"type": "document", "name": "http://copy/", "id": 2,
            "fingerprint": "0x00000000000000fe", "stamp": null,
            "duplicate_of": {"id": 0, "name": "http://a/"}}),
        json!({"type": "summary", "documents": 2, "missing": 1}),
    ];
    assert_eq!(run.records(), expected);
    assert!(run.err.is_empty(), "{}", run.err);
    // The original of a duplicate may be gone.
    folder.ok("remove db --name http://a/");
    let copy = &folder.ok("get db http://copy/ --json").records()[0];
    assert_eq!(copy["duplicate_of"], json!({"id": 0, "name": null}));
    assert!(folder.ok("get db http://copy/").text().ends_with("duplicate of  0\n"));
}

#[test]
fn get_finds_documents_with_unique_ids_by_id() {
    let folder = numbered();
    let records = folder.ok("get db 9 8 --json").records();
    let fingerprint = format!("0x{:032x}", 0xfe);
    let expected = json!({"type": "document", "name": null, "id": 9, "fingerprint": fingerprint,
        "stamp": 5, "duplicate_of": {"id": 7, "name": null}});
    assert_eq!(records[..2], [expected, json!({"type": "missing", "id": 8})]);
    let run = folder.exits(2, "get db nine");
    assert!(run.err.contains("\"nine\" is not a number from 0"), "{}", run.err);
}

#[test]
fn get_fails_for_a_missing_name_only_with_exit_status() {
    let folder = named();
    folder.ok("get db http://nowhere/");
    folder.exits(1, "get db http://a/ http://nowhere/ --exit-status");
    folder.ok("get db http://a/ --exit-status");
}

#[test]
fn get_refuses_what_cannot_be_found() {
    let folder = named();
    folder.exits(2, "get db");
    folder.exits(2, "get nowhere name");
    assert_eq!(folder.run(&["get", "db", ""]).code, 2);
    folder.ok("create user");
    let run = folder.exits(2, "get user 1");
    assert!(run.err.contains("get needs a database created with --ids names or"), "{}", run.err);
}

#[test]
fn get_escapes_control_characters() {
    let folder = Folder::new();
    let db = Db::options().ids(Ids::Names).create(folder.file("db")).unwrap();
    db.insert(1, "\u{1b}[2J").unwrap();
    db.close().unwrap();
    let run = folder.run(&["get", "db", "\u{1b}[2J", "\u{9b}31m"]);
    assert!(run.text().starts_with("name         \\u{1b}[2J\n"), "{}", run.text());
    assert_eq!(run.err, "not found: \\u{9b}31m\n");
}

#[test]
fn expire_removes_documents_with_an_older_stamp() {
    let folder = named();
    let report = |dry_run: bool, examined: u64, removed: u64| {
        json!({"schema": "fpdb.expire/1",
        "examined": examined, "removed": removed, "dry_run": dry_run})
    };
    let run = folder.ok("expire db --before 8 --dry-run");
    assert_eq!(run.err, "examined 3 documents: 1 would be removed\n");
    assert_eq!(folder.ok("expire db --before 8 --dry-run --json").json(), report(true, 3, 1));
    assert!(has(&folder.file("db"), "http://a/"));

    assert_eq!(folder.ok("expire db --before 8 --json").json(), report(false, 3, 1));
    assert!(!has(&folder.file("db"), "http://a/"));
    assert!(has(&folder.file("db"), "http://b/") && has(&folder.file("db"), "http://copy/"));
    let run = folder.ok("expire db --before 18446744073709551615");
    assert_eq!(run.err, "examined 2 documents: 1 removed\n");
    assert_eq!(folder.ok("stats db --json").json()["documents"], 1);
    folder.ok("verify db");
}

#[test]
fn expire_needs_a_stamp_that_is_a_number_and_the_right_to_write() {
    let folder = named();
    for line in ["expire db", "expire db --before yesterday", "expire db --before -1"] {
        let run = folder.exits(2, line);
        assert!(!run.err.contains("-- -1"), "no help, because that is no stamp: {}", run.err);
    }
    let db = Db::<u64>::open(folder.file("db")).unwrap();
    folder.exits(3, "expire db --before 8");
    folder.ok("expire db --before 8 --dry-run");
    db.close().unwrap();
    folder.ok("create user");
    for option in ["", "--dry-run"] {
        let run = folder.exits(2, &format!("expire user --before 5 {option}"));
        assert!(run.err.contains("expire needs a database created with --ids"), "{}", run.err);
    }
}

#[test]
fn stats_counts_documents_and_their_bytes() {
    let folder = named();
    folder.ok("compact db");
    let stats = folder.ok("stats db --json").json();
    assert_eq!((&stats["documents"], &stats["duplicates"]), (&json!(3), &json!(1)));
    assert_eq!(stats["entries"], 2);
    let bytes = |key: &str| stats[key].as_u64().unwrap();
    assert!(0 < bytes("bytes_names") && bytes("bytes_names") < bytes("bytes_documents"), "{stats}");
    let text = folder.ok("stats db").text();
    let row = |label: &str| text.lines().find(|line| line.starts_with(label)).unwrap().to_owned();
    assert!(row("documents").ends_with("  3 (1 duplicates)"), "{text}");
    for label in ["  documents", "    names"] {
        assert!(row(label).ends_with(" bytes per document"), "{text}");
    }
    let folder = Folder::new();
    folder.ok("create user");
    assert!(!folder.ok("stats user").text().contains("documents"));
}

#[test]
fn query_since_leaves_out_older_documents_and_those_without_a_stamp() {
    let folder = named();
    let ids = |line: &str| -> Vec<Value> {
        let record = &folder.ok(line).records()[0];
        record["matches"].as_array().unwrap().iter().map(|found| found["id"].clone()).collect()
    };
    assert_eq!(ids("query db 0 --distance 8 --json"), [0, 1]);
    assert_eq!(ids("query db 0 --distance 8 --json --since 8"), [1]);
    assert_eq!(ids("query db 0 --distance 8 --json --since 7 --limit 1"), [0]);
    folder.ok("create user");
    let run = folder.exits(2, "query user 0 --since 1");
    assert!(run.err.contains("--since needs a database created with --ids"), "{}", run.err);
}

#[test]
fn unique_ids_are_created_imported_updated_and_shown() {
    let folder = Folder::new();
    let created = folder.ok("create db --ids unique --json").json();
    assert_eq!(created["ids"], "unique");
    folder.write("list", "0x1,10\n0x2,11\n");
    folder.ok("import db list --id-column 2");
    folder.write("update", "0xff\n");
    let report = folder.ok("import db update --first-id 11 --json").json();
    assert_eq!((&report["read"], &report["inserted"]), (&json!(1), &json!(1)));
    assert_eq!(folder.ok("stats db --json").json()["entries"], 2);
    let expected = "fingerprint,id\n0x0000000000000001,10\n0x00000000000000ff,11\n";
    assert_eq!(folder.ok("export db").text(), expected);
    assert_eq!(folder.ok("inspect db --json").json()["ids"], "unique");
    folder.ok("verify db");
    let run = folder.exits(2, "dedup db docs.ndjson");
    assert!(run.err.contains("docs.ndjson"), "{}", run.err);
    folder.write("docs.ndjson", "");
    let run = folder.exits(2, "dedup db docs.ndjson");
    assert!(run.err.contains("this one has --ids unique"), "{}", run.err);
    let db = Db::<u64>::open(folder.file("db")).unwrap();
    assert_eq!(db.get(DocId(11)).unwrap().unwrap().fingerprint, 0xff);
}

#[test]
fn export_writes_documents_with_stamps_and_remembered_duplicates() {
    let folder = named();
    let csv = "fingerprint,id,name,stamp,duplicate_of\n\
               0x00000000000000ff,0,http://a/,7,\n\
               0x000000000000ff00,1,http://b/,8,\n\
               0x00000000000000fe,2,http://copy/,,0\n";
    assert_eq!(folder.ok("export db --documents").text(), csv);
    let records = folder.ok("export db --documents --json").records();
    let got = folder.ok("get db http://a/ http://b/ http://copy/ --json").records();
    assert_eq!(records[..3], got[..3]);
    assert_eq!(records[3], json!({"type": "summary", "documents": 3}));
    // Entries are originals, as before.
    assert_eq!(folder.ok("export db").text().lines().count(), 3);

    let unique = numbered();
    let text = unique.ok("export db --documents").text();
    let first = format!("fingerprint,id,stamp,duplicate_of\n0x{:032x},7,,\n", 0xff);
    assert_eq!(text, format!("{first}0x{:032x},9,5,7\n", 0xfe));

    folder.exits(2, "export db --documents --format hex");
    folder.ok("create user");
    let run = folder.exits(2, "export user --documents");
    assert!(run.err.contains("--documents needs a database created with --ids"), "{}", run.err);
}
