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
    let all = ["user-half-2-huffman", "names-ring-3", "unique-half-2", "user-similar"];
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
    for name in ["user-half-2-huffman", "user-128-ring-4-huffman", "user-paper-10-elias-fano"] {
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
        let run = inspect(&folder, &database, &format!("--file {log} --frame {frame}"));
        let report = run.json();
        assert_eq!((run.code, &report["error"]), (0, &Value::Null), "{report}");
        let fields = report["fields"].as_array().unwrap();
        assert!(fields.last().unwrap()["value"].as_str().unwrap().ends_with("correct"));
        found.extend(fields.iter().filter(|f| f["name"] == "name").cloned());
    }
    assert!(found.iter().any(|name| name["value"] == "https://www.example.org/a/page?number=2"));
    let run = inspect(&folder, &database, &format!("--file {log} --frame 1000"));
    assert!(run.code == 2 && run.err.contains("there is no frame 1000"), "{run:?}");
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
        ("--file MANIFEST --block 0", "only a table has blocks"),
        ("--file MANIFEST --frame 0", "only a log has frames"),
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
