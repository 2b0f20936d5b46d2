//! Imports of documents, and of lists of fingerprints with ids.

use serde_json::json;

use crate::common::{Folder, document, text};

fn names(folder: &Folder, db: &str) -> Vec<String> {
    let mut records = folder.ok(&format!("export {db} --json")).records();
    records.pop();
    records.sort_by_key(|record| record["id"].as_u64());
    records.iter().map(|record| record["name"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn all_documents_are_stored_under_their_ids_near_duplicates_too() {
    let folder = Folder::new();
    let docs = [
        document("a", &text(1, 30)),
        document("b", &text(1, 30)),
        document("short", "x"),
        document("a", &text(2, 30)),
    ];
    folder.write("docs.ndjson", docs.concat());
    folder.write("more.csv", format!("id,text\nc,{}\n", text(3, 30)));
    let line = "import db --from auto docs.ndjson more.csv --recipe fives/1 --json";
    let imported = folder.ok(line).json();
    let expected = json!({
        "schema": "fpdb.import-documents/1", "read": 5, "inserted": 3, "updated": 1, "unchanged": 0,
        "skipped": 1, "bad": 0, "ignored": 0,
    });
    assert_eq!(imported, expected);
    assert_eq!(names(&folder, "db"), ["a", "b", "c"], "the second a updates the first");
    assert_eq!(folder.ok("stats db --json").json()["recipe"], "fives/1");
    // And dedup goes on with them.
    folder.write("new", document("d", &text(3, 30)) + &document("e", &text(4, 30)));
    assert_eq!(folder.ok("dedup db new --print id").text(), "e\n");
}

#[test]
fn documents_before_a_bad_one_are_stored() {
    let folder = Folder::new();
    let good = |i: u64| document(&i.to_string(), &text(i, 20));
    folder.write("docs", format!("{}{}{{]\n{}", good(0), good(1), good(2)));
    let run = folder.exits(2, "import a --from ndjson docs");
    assert!(run.err.contains("docs, line 3: "), "{}", run.err);
    assert_eq!(names(&folder, "a"), ["0", "1"]);
    let imported = folder.ok("import b --from ndjson docs --skip-bad --json").json();
    assert_eq!((&imported["inserted"], &imported["bad"]), (&json!(3), &json!(1)));
}

#[test]
fn lists_may_have_their_ids_in_a_column() {
    let folder = Folder::new();
    let expected =
        "fingerprint,id\n0x0000000000000001,7\n0x0000000000000002,18446744073709551615\n";
    let last = u64::MAX;
    for (i, (list, column)) in [
        (format!("0x1,7\n0x2,{last}\n"), 2),
        (format!("7\t0x1\n\n{last}\t0x2"), 1),
        (format!("0x1 7\r\n0x2 {last}\r\n"), 2),
        (format!("\"7\",0x1,\"x\"\"\n,\"\n{last},\"0x2\",\n"), 1),
        (expected.to_owned(), 2),
        (format!("0x1,x,7,\n0x2,y,{last},\n"), 3),
    ]
    .into_iter()
    .enumerate()
    {
        folder.write("list", &list);
        folder.ok(&format!("import db{i} list --id-column {column}"));
        assert_eq!(folder.ok(&format!("export db{i}")).text(), expected, "{list}");
    }
}

#[test]
fn an_export_with_names_can_be_imported() {
    let folder = Folder::new();
    folder.write("docs", document("a, \"b\"", &text(1, 30)) + &document("c", &text(2, 30)));
    folder.ok("dedup a docs");
    folder.write("list.csv", folder.ok("export a").text());
    folder.ok("create b --ids names --recipe pairs/1");
    folder.ok("import b list.csv --id-column 3");
    let sorted = |db: &str| {
        let mut names = names(&folder, db);
        names.sort();
        names
    };
    assert_eq!(sorted("b"), sorted("a"));
    assert_eq!(folder.ok("dedup b docs --print id").text(), "");
}

#[test]
fn errors_name_lists_with_wrong_columns() {
    let folder = Folder::new();
    folder.ok("create db");
    for (list, message) in [
        ("0x1,7\n0x2\n", "list, line 2: no column 2"),
        ("0x1,seven\n", "\"seven\" is not a number"),
        ("title,id\ntitle,id\n", "list, line 2: "),
        ("0x1,\"7\n", "never closed"),
    ] {
        folder.write("list", list);
        let run = folder.exits(2, "import db list --id-column 2");
        assert!(run.err.contains(message), "{list}: {}", run.err);
        assert_eq!(folder.ok("export db --format hex").text(), "");
    }
    folder.exits(2, "import db list --id-column 0");
    folder.exits(2, "import db list --id-column 2 --first-id 5");
    folder.exits(2, "import db list --id-column 2 --fp-format bin-le");
    folder.write("docs", document("a", "x"));
    folder.exits(2, "import names --from ndjson docs --id-column 2");
}
