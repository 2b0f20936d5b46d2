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
        "remove db --id 1",
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
