//! `remove`

use serde_json::json;

use crate::common::{Folder, document, text};

/// A folder with a database of user ids: three fingerprints, one of them with two ids.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("list.csv", "fingerprint,id\n0x1,10\n0x1,11\n0x2,12\n0xffff,13\n");
    folder.ok("import db list.csv --id-column 2");
    folder
}

fn counts(report: &serde_json::Value) -> [u64; 3] {
    ["read", "removed", "not_found"].map(|key| report[key].as_u64().unwrap())
}

#[test]
fn remove_takes_one_entry_and_leaves_the_others() {
    let folder = folder();
    let report = folder.ok("remove db --fingerprint 0x1 --id 11 --json").json();
    assert_eq!(report, json!({"schema": "fpdb.remove/1", "read": 1, "removed": 1, "not_found": 0}));
    let left = folder.ok("export db").text();
    assert!(!left.contains(",11\n") && left.contains(",10\n"), "{left}");
    let run = folder.ok("remove db --fingerprint 0x1 --id 11");
    assert_eq!(run.err, "read 1 entries: 0 removed, 1 not found\n");
    assert!(run.out.is_empty());
}

#[test]
fn remove_reads_what_export_writes() {
    let folder = folder();
    folder.write("some", "fingerprint,id\n0x1,10\n0x2,99\n0x000000000000ffff,13\n");
    let report = folder.ok("remove db --from fp some --json").json();
    assert_eq!(counts(&report), [3, 2, 1]);
    let all = folder.ok("export db").out;
    let run = folder.run_with(&["remove", "db", "--from", "fp", "-", "--json"], &all);
    assert_eq!((run.code, counts(&run.json())), (0, [2, 2, 0]), "{}", run.err);
    assert_eq!(folder.ok("stats db --json").json()["entries"], 0);
    folder.ok("verify db");
}

#[test]
fn remove_works_in_a_database_with_names() {
    let folder = Folder::new();
    folder.write("docs", document("a", &text(1, 30)) + &document("b", &text(2, 30)));
    folder.ok("import db docs --from ndjson");
    let entries = folder.ok("export db --json").records();
    let entry = entries.iter().find(|entry| entry["name"] == "a").unwrap();
    let fingerprint = entry["fingerprint"].as_str().unwrap();
    let report =
        folder.ok(&format!("remove db --fingerprint {fingerprint} --id {} --json", entry["id"]));
    assert_eq!(counts(&report.json()), [1, 1, 0]);
    let left = folder.ok("export db").text();
    assert!(left.ends_with(",b\n") && left.lines().count() == 2, "{left}");
}

#[test]
fn entries_before_a_bad_line_are_removed() {
    let folder = folder();
    folder.write("bad", "0x1,10\n0x2,twelve\n0x1,11\n");
    let run = folder.exits(2, "remove db --from fp bad");
    assert!(run.err.contains("\"twelve\" is not a number"), "{}", run.err);
    assert_eq!(folder.ok("stats db --json").json()["entries"], 3);
}

#[test]
fn remove_needs_entries_and_a_database() {
    let folder = folder();
    for line in [
        "remove db",
        "remove db --fingerprint 1",
        "remove db --name a --id 1",
        "remove db --name a --fingerprint 1 --id 1",
        "remove db --name a --from names list.csv",
        "remove db --id 1 --from names list.csv",
        "remove db --from names",
        "remove db --name a",
        "remove db list.csv",
        "remove db --from fp",
        "remove db --fingerprint 0x1 --id 10 --from fp list.csv",
        "remove db --fingerprint xyz --id 10",
        "remove nowhere --fingerprint 0x1 --id 10",
    ] {
        folder.exits(2, line);
    }
    assert_eq!(folder.ok("stats db --json").json()["entries"], 4);
}

/// A folder with a database of three names.
fn names() -> Folder {
    let folder = Folder::new();
    folder.write("list.csv", "0x1,http://a/\n0x2, b b\n0x3,c\n");
    folder.ok("create db --ids names");
    folder.ok("import db list.csv --id-column 2");
    folder
}

#[test]
fn remove_by_name_takes_the_document_with_this_name() {
    let folder = names();
    let report = folder.ok("remove db --name c --json").json();
    assert_eq!(report, json!({"schema": "fpdb.remove/1", "read": 1, "removed": 1, "not_found": 0}));
    assert_eq!(folder.ok("remove db --name c").err, "read 1 names: 0 removed, 1 not found\n");
    assert_eq!(folder.ok("stats db --json").json()["entries"], 2);
    // Its name is free again.
    folder.ok("remove db --name a");
    folder.ok("verify db");
}

#[test]
fn remove_by_id_takes_the_document_or_all_entries_with_this_id() {
    let folder = names();
    assert_eq!(folder.ok("remove db --id 0").err, "read 1 ids: 1 removed, 0 not found\n");
    assert_eq!(folder.ok("remove db --id 0").err, "read 1 ids: 0 removed, 1 not found\n");
    folder.exits(1, "get db http://a/ --exit-status");
    folder.write("two", "0x1,10\n0x2,10\n0x3,11\n");
    folder.ok("import user two --id-column 2");
    assert_eq!(counts(&folder.ok("remove user --id 10 --json").json()), [1, 1, 0]);
    assert_eq!(folder.ok("stats user --json").json()["entries"], 1);
}

#[test]
fn remove_reads_names_one_per_line() {
    let folder = names();
    folder.write("gone", "http://a/\r\n\n b b\nb b\n");
    let report = folder.ok("remove db --from names gone --json").json();
    assert_eq!(counts(&report), [3, 2, 1]);
    let run = folder.run_with(&["remove", "db", "--from", "names", "-", "--json"], b"c");
    assert_eq!((run.code, counts(&run.json())), (0, [1, 1, 0]), "{}", run.err);

    folder.ok("create unique --ids unique");
    folder.write("list", "0x1\n0x2\n");
    folder.ok("import unique list --first-id 5");
    let args = ["remove", "unique", "--from", "names", "-", "--json"];
    assert_eq!(counts(&folder.run_with(&args, b"6\n7\n").json()), [2, 1, 1]);
    let run = folder.run_with(&args, b"5\nsix\n");
    assert_eq!(run.code, 2);
    let message = "standard input, line 2: \"six\" is not a number from 0";
    assert!(run.err.contains(message), "{}", run.err);
    assert_eq!(folder.ok("stats unique --json").json()["entries"], 0, "line 1 was removed");
}

#[test]
fn lists_of_names_that_are_none_are_refused() {
    let folder = names();
    folder.write("long", format!("c\n{}\n", "x".repeat(65_536)));
    folder.write("bytes", b"http://a/\n\xff\n");
    folder.write("archive", "WARC/1.0\r\n");
    for (file, message) in [
        ("long", "long, line 2: a line of more than 65535 bytes is not a name"),
        ("bytes", "bytes, line 2: not UTF-8"),
        ("archive", "archive: it seems to be"),
        ("nowhere", "cannot open nowhere"),
    ] {
        let run = folder.exits(2, &format!("remove db --from names {file}"));
        assert!(run.err.contains(message), "{}", run.err);
    }
    folder.ok("create user");
    let run = folder.exits(2, "remove user --from names long");
    assert!(run.err.contains("--from names needs a database created with --ids"), "{}", run.err);
    let run = folder.exits(2, "remove user --name x");
    assert!(run.err.contains("remove --name needs a database created with --ids"), "{}", run.err);
}
