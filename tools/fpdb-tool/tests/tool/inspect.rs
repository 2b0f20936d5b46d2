//! `inspect` of single files

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::common::{Folder, document, text as words};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/databases").join(name)
}

fn inspect(folder: &Folder, database: &Path, args: &str) -> Value {
    let database = database.to_str().unwrap();
    let args: Vec<&str> = args.split_whitespace().collect();
    let run = folder.run(&[&["inspect", database, "--json"], &args[..]].concat());
    assert_eq!(run.code, 0, "{args:?}: {}", run.err);
    run.json()
}

fn files(database: &Path) -> Vec<String> {
    let names = fs::read_dir(database).unwrap().map(|file| file.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Returns the fingerprints in all blocks of a table, and checks that their keys ascend.
fn fingerprints(folder: &Folder, database: &Path, file: &str) -> BTreeSet<String> {
    let (mut found, mut last) = (BTreeSet::new(), String::new());
    let blocks = inspect(folder, database, &format!("--file {file}"))["blocks"].as_u64().unwrap();
    for number in 0..blocks {
        let report = inspect(folder, database, &format!("--file {file} --block {number}"));
        let block = &report["block"];
        let rows = block["fingerprints"].as_array().unwrap();
        let keys: Vec<_> = rows.iter().map(|row| text(&row["key"])).collect();
        assert!(last < keys[0] && keys.is_sorted(), "{file}, block {number}: {keys:?}");
        assert_eq!(block["count"], rows.len());
        assert_eq!((text(&block["first"]), &block["last"]), (keys[0].clone(), &json!(keys.last())));
        last = text(&block["last"]);
        found.extend(rows.iter().map(|row| text(&row["fingerprint"])));
    }
    found
}

#[test]
fn the_blocks_of_all_tables_show_the_same_fingerprints() {
    let folder = Folder::new();
    for name in ["user-half-2", "user-128-ring-4", "user-paper-10"] {
        let database = golden(name);
        let mut all = BTreeSet::new();
        for first in files(&database).iter().filter(|name| name.ends_with(".t00")) {
            let found = fingerprints(&folder, &database, first);
            let second = first.replace(".t00", ".t01");
            assert_eq!(fingerprints(&folder, &database, &second), found, "{name}/{second}");
            all.extend(found);
        }
        let run = folder.run(&["export", database.to_str().unwrap(), "--format", "hex"]);
        // Those in the log are in no table.
        let in_tables = run.text().lines().filter(|&line| all.contains(line)).count();
        assert!(in_tables > 200, "{name}: {in_tables}");
    }
}

#[test]
fn every_file_shows_what_it_is_and_how_large() {
    let folder = Folder::new();
    for database in ["user-half-2", "names-ring-3", "unique-half-2", "sketches-names"].map(golden) {
        for name in files(&database).iter().filter(|name| *name != "LOCK") {
            let report = inspect(&folder, &database, &format!("--file {name}"));
            assert_eq!(report["bytes"], fs::metadata(database.join(name)).unwrap().len(), "{name}");
            let kind = match name.rsplit_once('.').map_or("", |(_, ending)| &ending[..1]) {
                "t" => json!("table"),
                "k" => json!("keys"),
                "i" => json!("postings"),
                "d" if name.ends_with(".del") => json!("tombstones"),
                "d" => json!("documents"),
                "l" => json!("log"),
                "s" => json!("spare"),
                _ => json!("manifest"),
            };
            assert_eq!(report["kind"], kind, "{name}");
        }
    }
}

#[test]
fn a_database_of_sketches_has_tables_of_keys() {
    let folder = Folder::new();
    folder
        .write("docs", (0..9).map(|i| document(&i.to_string(), &words(i, 50))).collect::<String>());
    folder.ok("dedup db docs --jaccard 0.8 --quiet");
    let database = folder.file("db");
    let report = inspect(&folder, &database, "");
    assert_eq!((&report["tables"], &report["cells"]), (&json!([]), &json!([])));
    let of_keys: Vec<_> = files(&database).into_iter().filter(|name| name.contains(".k")).collect();
    assert_eq!(of_keys.len(), 8);
    for (number, name) in of_keys.iter().enumerate() {
        let keys = inspect(&folder, &database, &format!("--file {name}"));
        assert_eq!((&keys["kind"], &keys["blocks"]), (&json!("keys"), &json!(0)));
        assert_eq!(keys["bytes"], fs::metadata(database.join(name)).unwrap().len(), "{name}");
        assert_eq!(inspect(&folder, &database, &format!("--table {number}")), keys);
    }
    let run = folder.exits(2, "inspect db --table 0 --block 0");
    assert!(run.err.contains("keys, which are in no blocks"), "{}", run.err);
    let text = folder.ok("inspect db").text();
    assert!(text.contains("keys        8 keys of 5 minima") && !text.contains("layout"), "{text}");
    let text = folder.ok("stats db").text();
    assert!(text.contains("fingerprints  sketches\n") && !text.contains("layout"), "{text}");
    let text = folder.ok("inspect db --table 7").text();
    assert!(text.contains("keys     7\n"), "{text}");
}

#[test]
fn a_block_shows_the_code_of_each_fingerprint() {
    let folder = Folder::new();
    folder.write(
        "list",
        "0x0123456789abcd00\n0x0123456789abcd03\n0x0123456789abcd34\n0x0123456789abcd35\n",
    );
    // Not in bulk: then the code is made from all fingerprints.
    folder.ok("create db --ids unique --layout single");
    folder.ok("import db list");
    let text = folder.ok("inspect db --table 0 --block 0").text();
    // The example of the Huffman block in storage-format.md.
    for line in [
        "code lengths  0:2 1:2 5:1",
        "offset     128",
        "count      4",
        "first key  0x0123456789abcd00",
        "last key   0x0123456789abcd35",
        "fingerprint         key                 bit  code length",
        "0x0123456789abcd00  0x0123456789abcd00  -    -",
        "0x0123456789abcd03  0x0123456789abcd03    1            2",
        "0x0123456789abcd34  0x0123456789abcd34    5            1",
        "0x0123456789abcd35  0x0123456789abcd35    0            2",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
}

#[test]
fn what_is_not_there_is_refused_with_what_is() {
    let folder = Folder::new();
    folder.write("one", "0x0000000000000001\n");
    folder.write("two", "0x1000000000000000\n");
    folder.ok("create db");
    let run = folder.exits(2, "inspect db --table 0");
    assert!(run.err.contains("there are no tables yet"), "{}", run.err);
    folder.ok("import db one");
    for (args, message) in [
        ("--table 9", "there is no table 9: the segment has 2"),
        ("--table 0 --block 9", "there is no block 9: the table has 1"),
        ("--table 0 --segment 5", "there is no segment 5"),
        ("--file nothing", "there is no file nothing"),
        ("--file MANIFEST --block 0", "MANIFEST is no table"),
        ("--block 0", "add --table"),
    ] {
        let run = folder.exits(2, &format!("inspect db {args}"));
        assert!(run.err.contains(message) && run.out.is_empty(), "{args}: {run:?}");
    }
    folder.ok("import db two --first-id 7");
    let segments = folder.ok("inspect db --json").json()["segments"].as_array().unwrap().clone();
    assert_eq!(segments.len(), 2);
    let run = folder.exits(2, "inspect db --table 0");
    assert!(run.err.contains("choose one with --segment"), "{}", run.err);
    folder.ok(&format!("inspect db --table 0 --segment {}", segments[1]["id"]));
}

#[test]
fn a_damaged_block_is_an_error_that_names_the_file() {
    let folder = Folder::new();
    folder.write("list", (0..50u64).map(|i| format!("{:#018x}\n", i << 50)).collect::<String>());
    folder.ok("import db list --layout single");
    let table = files(&folder.file("db")).into_iter().find(|name| name.ends_with(".t00")).unwrap();
    let path = folder.file("db").join(&table);
    let mut bytes = fs::read(&path).unwrap();
    bytes[129] = 9;
    fs::write(&path, bytes).unwrap();
    let run = folder.exits(2, "inspect db --table 0 --block 0");
    assert!(run.err.contains(&table), "{}", run.err);
}
