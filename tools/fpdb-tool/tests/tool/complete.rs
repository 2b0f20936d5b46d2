//! `export --all` and `import --all`

use std::fs;
use std::path::Path;

use crate::common::{Folder, gzip};

/// The golden databases of the library: small ones of every kind.
fn golden() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/databases");
    let all = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let named = |path: &Path| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, path.to_str().unwrap().to_owned())
    };
    let mut all: Vec<_> = all.filter(|path| path.is_dir()).map(|path| named(&path)).collect();
    all.sort();
    assert!(all.len() > 10);
    all
}

/// A database with names, duplicates, stamps and a removal whose id was the last.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write(
        "list",
        "fingerprint,name\n0x00000000000000ff,a\n0x0000ff0000000000,b\"\u{202e}\\\n\
         0xff00000000000000,c\n",
    );
    folder.ok("create db --ids names");
    folder.ok("import db list --id-column 2");
    folder.ok("remove db --name c");
    folder
}

fn export(folder: &Folder, database: &str) -> Vec<u8> {
    folder.run(&["export", database, "--all"]).out
}

/// Returns the lines with a last line that fits them.
fn with_end(lines: &[&str]) -> String {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let (count, crc32) = (lines.len() - 1, crc32fast::hash(text.as_bytes()));
    format!("{text}{{\"count\":{count},\"crc32\":\"{crc32:08x}\"}}\n")
}

#[test]
fn an_export_of_an_imported_export_is_the_same_for_every_kind_of_database() {
    let folder = Folder::new();
    for (name, path) in golden() {
        let first = folder.run(&["export", &path, "--all"]);
        assert_eq!(first.code, 0, "{name}: {}", first.err);
        folder.write("file", &first.out);
        let report = folder.ok(&format!("import {name} file --all --json")).json();
        assert_eq!(report["schema"], "fpdb.import/1");
        assert!(export(&folder, &name) == first.out, "{name} is exported as something else");
        folder.ok(&format!("verify {name}"));
        let exported = |path: &str| folder.run(&["export", path]).out;
        assert!(exported(&name) == exported(&path), "{name}");
        // Except for what changes in every database, its description is the same.
        let described = |path: &str| {
            let mut report = folder.run(&["inspect", path, "--json"]).json();
            for field in ["segments", "parts", "files", "generation", "created_by", "written_by"] {
                report[field].take();
            }
            report
        };
        assert_eq!(described(&name), described(&path), "{name}");
    }
}

#[test]
fn names_keep_their_ids_and_removed_ids_do_not_come_back() {
    let folder = folder();
    let run = folder.run_with(&["import", "new", "-", "--all"], &gzip(&export(&folder, "db")));
    assert_eq!((run.code, run.out.len()), (0, 0), "{run:?}");
    assert!(run.err.starts_with("imported 2 documents into new"), "{}", run.err);
    assert_eq!(export(&folder, "new"), export(&folder, "db"));
    folder.write("more", "0x0123456789abcdef,d\n");
    folder.ok("import new more --id-column 2");
    assert_eq!(folder.ok("get new d --json").records()[0]["id"], 3);
}

#[test]
fn an_export_that_is_cut_off_anywhere_is_refused_and_leaves_nothing() {
    let folder = folder();
    let whole = export(&folder, "db");
    // Without the last line feed, it is complete.
    for len in (0..whole.len() - 1).step_by(7) {
        let run = folder.run_with(&["import", "new", "-", "--all"], &whole[..len]);
        assert_eq!(run.code, 2, "{len}: {run:?}");
        assert!(run.err.contains("standard input, line "), "{len}: {}", run.err);
        assert!(!folder.file("new").exists(), "{len}");
    }
}

#[test]
fn a_changed_byte_is_found() {
    let folder = folder();
    let whole = export(&folder, "db");
    for at in (0..whole.len()).step_by(5) {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        let run = folder.run_with(&["import", "new", "-", "--all"], &changed);
        assert_eq!(run.code, 2, "byte {at}: {run:?}");
        assert!(!folder.file("new").exists(), "byte {at}");
    }
}

#[test]
fn a_bad_line_is_refused_with_its_number_and_what_is_wrong() {
    let folder = folder();
    let text = String::from_utf8(export(&folder, "db")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let (first, a, b) = (lines[0], lines[1], lines[2]);
    let replaced = |line: &str, from: &str, to: &str| {
        assert!(line.contains(from), "{line}");
        line.replace(from, to)
    };
    let with_first = |from, to| with_end(&[&replaced(first, from, to), a, b]);
    let with_b = |from, to| with_end(&[first, a, &replaced(b, from, to)]);
    for (text, place, message) in [
        (String::new(), 1, "it is empty"),
        ("0x00000000000000ff\n".to_owned(), 1, "this is not what export --all writes"),
        (with_first("export/1", "export/2"), 1, "use the fpdb-tool that wrote it, or a newer one"),
        (with_first("\"bits\":64", "\"bits\":32"), 1, "expected 64, 128 or 1824"),
        (with_first("\"names\"", "\"nicknames\""), 1, "expected user, unique or names"),
        (with_first("\"extraction\"", "\"extractor\""), 1, "unknown field `extractor`"),
        (with_first("[32,32]", "[32,31]"), 1, "63"),
        (with_first("\"block_size\":128", "\"block_size\":100"), 1, "block size 100"),
        (with_first("\"next_id\":3", "\"next_id\":null"), 1, "needs the id"),
        (with_first("\"count\":2", "\"count\":1"), 3, "expected the last line"),
        (with_first("\"count\":2", "\"count\":3"), 4, "lines are missing"),
        (with_end(&[first, b, a]), 3, "not in order"),
        (with_b("\"id\":1", "\"id\":3"), 3, "the next id is 3"),
        (with_b("\"id\":1", "\"id\":-1"), 3, "invalid value"),
        (with_b("0x0000", "0x000"), 3, "expected 0x and 16 hex digits"),
        (with_b("\"name\"", "\"title\""), 3, "unknown field `title`"),
        (with_b("{", "}"), 3, "at byte 1 of the line"),
        (text.replace("\"count\":2,\"crc32", "\"count\":3,\"crc32"), 4, "for 3 of them"),
        (format!("{text}\n"), 5, "something follows the last line"),
    ] {
        folder.write("file", &text);
        let run = folder.exits(2, "import new file --all");
        let place = format!("file, line {place}: ");
        assert!(run.err.contains(&place) && run.err.contains(message), "{message}: {}", run.err);
        assert!(!folder.file("new").exists(), "{message}");
    }
    folder.write("file", with_b("\"id\":1", "\"id\":0"));
    let run = folder.exits(2, "import new file --all");
    assert_eq!(run.err, "fpdb-tool: file: two documents have the id 0\n");
    assert!(!folder.file("new").exists());
}

#[test]
fn options_that_everything_decides_are_refused() {
    let folder = folder();
    folder.write("file", export(&folder, "db"));
    for options in
        ["--max-distance 3", "--from ndjson", "--id-column 2", "--bits 64", "--recipe pairs/1"]
    {
        let run = folder.exits(2, &format!("import new file --all {options}"));
        assert!(run.err.contains("cannot be used with"), "{options}: {}", run.err);
    }
    folder.exits(2, "import new file file --all");
    for options in ["--documents", "--format csv", "--spreadsheet"] {
        folder.exits(2, &format!("export db --all {options}"));
    }
}

#[test]
fn entries_have_no_names_and_ascend() {
    let folder = Folder::new();
    folder.write("list", "0x01,7\n0x02,7\n");
    folder.ok("import db list --id-column 2");
    let text = String::from_utf8(export(&folder, "db")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    for order in [[lines[0], lines[2], lines[1]], [lines[0], lines[1], lines[1]]] {
        folder.write("file", with_end(&order));
        let run = folder.exits(2, "import new file --all");
        assert!(run.err.contains("file, line 3: the entry is not in order"), "{}", run.err);
        assert!(!folder.file("new").exists());
    }
    folder
        .write("file", with_end(&[lines[0], &lines[1].replace('{', "{\"name\":\"a\","), lines[2]]));
    let run = folder.exits(2, "import new file --all");
    assert!(run.err.contains("file, line 2: an entry of a database with user ids"), "{}", run.err);
}

#[test]
fn import_of_everything_does_not_touch_what_is_there() {
    let folder = folder();
    folder.write("file", export(&folder, "db"));
    fs::create_dir(folder.file("full")).unwrap();
    folder.write("full/note", "mine");
    for there in ["db", "full"] {
        let run = folder.exits(2, &format!("import {there} file --all"));
        assert!(run.err.contains(there), "{}", run.err);
    }
    assert_eq!(folder.read("full/note"), "mine");
    assert_eq!(export(&folder, "db"), fs::read(folder.file("file")).unwrap());
    folder.exits(2, "import new nowhere --all");
    folder.exits(2, "export nowhere --all");
}
