//! `inspect` of single files

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{Folder, Run};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/databases").join(name)
}

fn inspect(folder: &Folder, database: &Path, args: &str) -> Run {
    let database = database.to_str().unwrap();
    let args: Vec<&str> = args.split_whitespace().collect();
    folder.run(&[&["inspect", database, "--json"], &args[..]].concat())
}

fn files(database: &Path) -> Vec<String> {
    let names = fs::read_dir(database).unwrap().map(|file| file.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

/// Returns the fingerprints in the blocks of a table, in the order of the bits of the fingerprint.
fn fingerprints(folder: &Folder, database: &Path, file: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for block in 0.. {
        let run = inspect(folder, database, &format!("--file {file} --block {block}"));
        if run.code == 2 {
            assert!(run.err.contains(&format!("there is no block {block}")), "{}", run.err);
            break;
        }
        let report = run.json();
        assert_eq!(report["error"], Value::Null, "{file}: {report}");
        let values = report["fields"].as_array().unwrap().iter().map(|field| &field["value"]);
        let of = |value: &Value| {
            let value = value.as_str().unwrap().to_owned();
            value.starts_with("0x").then(|| value.rsplit(' ').next().unwrap().to_owned())
        };
        found.extend(values.filter_map(of));
    }
    found
}

#[test]
fn every_file_of_every_kind_shows_its_header_and_what_ends_it() {
    let folder = Folder::new();
    let all = ["user-half-2", "names-ring-3", "unique-half-2", "user-similar"];
    for database in all.map(golden) {
        for name in files(&database).iter().filter(|name| *name != "LOCK") {
            let run = inspect(&folder, &database, &format!("--file {name}"));
            let report = run.json();
            assert_eq!((run.code, &report["error"]), (0, &Value::Null), "{name}: {report}");
            let fields = report["fields"].as_array().unwrap();
            assert_eq!(fields[0]["bytes"], "8f 66 70 64 62 0d 0a 1a");
            let is_paged = !name.starts_with("MANIFEST") && !name.ends_with(".log");
            let last = if is_paged { "8f 66 70 65 6e 64 0d 1a" } else { "" };
            assert!(fields.last().unwrap()["bytes"].as_str().unwrap().ends_with(last), "{name}");
        }
    }
}

#[test]
fn the_blocks_of_all_tables_show_the_same_fingerprints() {
    let folder = Folder::new();
    for name in ["user-half-2", "user-128-ring-4", "user-paper-10"] {
        let database = golden(name);
        let mut all = BTreeSet::new();
        let tables = files(&database);
        for first in tables.iter().filter(|name| name.ends_with(".t00")) {
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
fn the_frames_of_a_log_show_its_commits() {
    let folder = Folder::new();
    let database = golden("names-log-only");
    let names = files(&database);
    let log = names.iter().find(|name| name.ends_with(".log")).unwrap();
    let mut found = Vec::new();
    for frame in 0..=30 {
        let run = inspect(&folder, &database, &format!("--file {log} --block {frame}"));
        let report = run.json();
        assert_eq!((run.code, &report["error"]), (0, &Value::Null), "{report}");
        let fields = report["fields"].as_array().unwrap();
        assert!(fields.last().unwrap()["value"].as_str().unwrap().ends_with("correct"));
        found.extend(fields.iter().filter(|f| f["name"] == "name").cloned());
    }
    assert!(found.iter().any(|name| name["value"] == "https://www.example.org/a/page?number=2"));
    let run = inspect(&folder, &database, &format!("--file {log} --block 1000"));
    assert!(run.code == 2 && run.err.contains("there is no frame 1000"), "{run:?}");
}

/// Returns the values of the fields of all blocks of a file whose names begin like this.
fn values(folder: &Folder, database: &Path, file: &str, begin: &str) -> Vec<String> {
    let mut found = Vec::new();
    for block in 0.. {
        let run = inspect(folder, database, &format!("--file {file} --block {block}"));
        if run.code == 2 {
            assert!(run.err.contains("there is no"), "{}", run.err);
            return found;
        }
        let report = run.json();
        assert_eq!((run.code, &report["error"]), (0, &Value::Null), "{file} {block}: {report}");
        let fields = report["fields"].as_array().unwrap().iter();
        let wanted = fields.filter(|field| field["name"].as_str().unwrap().starts_with(begin));
        found.extend(wanted.map(|field| field["value"].as_str().unwrap().to_owned()));
    }
    found
}

/// Returns a column of the lines of the file that says what a golden database holds.
fn listed(database: &Path, kind: &str, column: usize) -> Vec<String> {
    let text = fs::read_to_string(database.with_extension("tsv")).unwrap();
    let lines = text.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    lines.filter(|line| line[0] == kind).map(|line| line[column].to_owned()).collect()
}

fn sorted(mut values: Vec<String>) -> Vec<String> {
    values.sort();
    values
}

fn one(database: &Path, ending: &str) -> String {
    files(database).into_iter().find(|name| name.ends_with(ending)).unwrap()
}

#[test]
fn the_sections_of_postings_show_all_ids() {
    let folder = Folder::new();
    for name in ["user-many-ids", "user-many-blocks", "user-uneven-blocks", "user-single-2048"] {
        let database = golden(name);
        let found = values(&folder, &database, &one(&database, ".ids"), "id of fingerprint ");
        assert!(sorted(found) == sorted(listed(&database, "entry", 2)), "{name}");
    }
}

#[test]
fn the_buckets_of_columns_show_all_rows() {
    let folder = Folder::new();
    let database = golden("user-similar-many-blocks");
    for ending in [".c00", ".c01", ".c04"] {
        let keys = values(&folder, &database, &one(&database, ending), "key of row ");
        assert_eq!(keys.len(), 2600, "{ending}");
    }
}

#[test]
fn the_leaves_and_nodes_of_documents_show_all_names_and_fingerprints() {
    let folder = Folder::new();
    let database = golden("names-ring-3");
    let (mut names, mut fingerprints) = (BTreeSet::new(), BTreeSet::new());
    for file in files(&database).iter().filter(|name| name.ends_with(".docs")) {
        names.extend(values(&folder, &database, file, "suffix of key "));
        fingerprints.extend(values(&folder, &database, file, "fingerprint "));
    }
    let is_there = |all: &BTreeSet<String>, column: usize| {
        let listed = listed(&database, "document", column);
        // The last of them are in the log.
        listed.iter().filter(|value| all.contains(*value)).count() + 20 > listed.len()
    };
    assert!(is_there(&names, 1) && is_there(&fingerprints, 2));

    // Leaves of several pages, below an inner node.
    let database = golden("names-long");
    let file = one(&database, ".docs");
    let shown = |args: &str| {
        let report = inspect(&folder, &database, &format!("--file {file} {args}")).json();
        assert_eq!(report["error"], Value::Null, "{report}");
        let fields = report["fields"].as_array().unwrap().clone();
        fields.into_iter().map(|f| (f["name"].to_string(), f["value"].as_str().unwrap().to_owned()))
    };
    let number = |args: &str, wanted: &str| {
        let found = shown(args).find(|(name, _)| name.trim_matches('"') == wanted);
        found.unwrap().1.parse::<usize>().unwrap()
    };
    let (leaves, nodes) = (number("", "leaf pages"), number("", "inner pages"));
    let (mut page, mut keys, mut children) = (0, BTreeSet::new(), 0);
    while page < leaves + nodes {
        let args = format!("--block {page}");
        let of =
            |part: &str| shown(&args).filter(|(name, _)| name.contains(part)).collect::<Vec<_>>();
        keys.extend(of("suffix of key").into_iter().map(|(_, key)| key));
        children += of("page of child").len();
        page += number(&args, "pages");
    }
    assert!(keys.len() == 44 && keys.iter().any(|key| key.len() == 9001), "{}", keys.len());
    assert!(leaves >= 12 && nodes > 3 && children > 6, "{leaves} {nodes} {children}");
}

#[test]
fn tombstones_and_the_manifest_are_shown() {
    let folder = Folder::new();
    let database = golden("user-half-2");
    let removed = values(&folder, &database, &one(&database, ".del"), "id");
    assert_eq!(removed.len(), 23);
    for name in ["user-half-2", "names-similar", "unique-half-2", "empty"] {
        let report = inspect(&folder, &golden(name), "--file MANIFEST").json();
        let fields = report["fields"].as_array().unwrap();
        assert!(fields.iter().any(|field| field["name"] == "bit order of table 0"), "{report}");
        assert!(fields.last().unwrap()["value"].as_str().unwrap().ends_with("correct"), "{name}");
    }
}

#[test]
fn a_block_is_shown_as_the_format_describes_it() {
    let folder = Folder::new();
    folder.write(
        "list",
        "0x0123456789abcd00\n0x0123456789abcd03\n0x0123456789abcd34\n0x0123456789abcd35\n",
    );
    // Not in bulk: then the code is made from all fingerprints.
    folder.ok("create db --ids unique --layout single");
    folder.ok("import db list");
    let text = folder.ok("inspect db --table 0 --block 0 --hex").text();
    // The example of the Huffman block in storage-format.md.
    let lines: Vec<Vec<&str>> = text.lines().map(|l| l.split_whitespace().collect()).collect();
    let has = |words: &[&str]| lines.iter().any(|line| words.iter().all(|w| line.contains(w)));
    assert!(has(&["128", "count", "4", "04", "00"]), "{text}");
    assert!(has(&["130", "0x0123456789abcd00", "cd", "ab"]), "{text}");
    assert!(has(&["138", "0+2", "11:", "1", "d0", "Huffman"]), "{text}");
    assert!(has(&["138", "2+1", "0:", "5"]), "{text}");
    assert!(has(&["255", "7+1", "0x0123456789abcd03"]), "{text}");
    assert!(has(&["255", "3+4", "0x0123456789abcd34"]), "{text}");
    assert!(has(&["0x0123456789abcd35"]), "{text}");
}

#[test]
fn damage_is_shown_after_the_fields_that_can_be_read() {
    let folder = Folder::new();
    folder.write("list", (0..50u64).map(|i| format!("{:#018x}\n", i << 50)).collect::<String>());
    folder.ok("import db list --layout single");
    let names = files(&folder.file("db"));
    let table = names.iter().find(|name| name.ends_with(".t00")).unwrap();
    let path = folder.file("db").join(table);
    let whole = fs::read(&path).unwrap();
    let damaged = |at: usize, byte: u8, args: &str| {
        let mut bytes = whole.clone();
        bytes[at] = byte;
        fs::write(&path, bytes).unwrap();
        let run =
            folder.run(&[&["inspect", "db"], &args.split(' ').collect::<Vec<_>>()[..]].concat());
        assert_eq!(run.code, 1, "{run:?}");
        let end = run.text().lines().last().unwrap().to_owned();
        assert!(end.starts_with("damaged here: "), "{run:?}");
        assert!(run.text().lines().count() > 2, "{run:?}");
        end
    };
    let end = damaged(24, 9, &format!("--file {table}"));
    assert!(end.contains("header checksum"), "{end}");
    let end = damaged(whole.len() - 30, 9, &format!("--file {table}"));
    assert!(end.contains("footer checksum"), "{end}");
    let end = damaged(129, 9, &format!("--file {table} --block 0"));
    assert!(end.contains("fingerprint"), "{end}");
    fs::write(&path, &whole[..whole.len() - 5]).unwrap();
    let run = folder.run(&["inspect", "db", "--file", table]);
    assert!(run.code == 1 && run.text().contains("damaged here: "), "{run:?}");
}

#[test]
fn what_is_not_there_is_refused_with_what_is() {
    let folder = Folder::new();
    folder.write("one", "0x0000000000000001\n");
    folder.write("two", "0x1000000000000000\n");
    folder.ok("import db one");
    for (args, message) in [
        ("--table 9", "there is no table 9: the layout has 2"),
        ("--table 0 --block 9", "there is no block 9: the table has 1"),
        ("--table 0 --segment 5", "there is no such table"),
        ("--file nothing", "there is no file nothing"),
        ("--file MANIFEST --block 0", "is not divided into blocks"),
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
