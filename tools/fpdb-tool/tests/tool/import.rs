use std::collections::BTreeSet;

use fpdb::{Fingerprint, Sketch};
use serde_json::json;

use crate::common::{Folder, gzip, random};

fn csv(fingerprints: &[u64], first_id: u64) -> String {
    let ids = first_id..;
    let mut entries: Vec<_> = fingerprints.iter().zip(ids).collect();
    entries.sort_unstable();
    let lines = entries.iter().map(|(fingerprint, id)| format!("0x{fingerprint:016x},{id}\n"));
    format!("fingerprint,id\n{}", lines.collect::<String>())
}

/// Returns random fingerprints, near neighbours of them, repeats, and both ends of the range.
fn fingerprints() -> Vec<u64> {
    let mut state = 7;
    let mut all: Vec<u64> = (0..300).map(|_| random(&mut state)).collect();
    let near: Vec<u64> = all[..100].iter().map(|f| f ^ 1 << (f % 64)).collect();
    all.extend(near);
    all.extend_from_within(..50);
    all.extend([0, u64::MAX, 1 << 63, (1 << 63) - 1]);
    all
}

fn lines(fingerprints: &[u64], line: impl Fn(u64) -> String) -> Vec<u8> {
    fingerprints.iter().map(|&f| line(f) + "\n").collect::<String>().into_bytes()
}

#[test]
fn every_format_gives_the_same_entries() {
    let folder = Folder::new();
    let all = fingerprints();
    let le: Vec<u8> = all.iter().flat_map(|f| f.to_le_bytes()).collect();
    let be: Vec<u8> = all.iter().flat_map(|f| f.to_be_bytes()).collect();
    let inputs: [(&str, &str, Vec<u8>); 10] = [
        ("bin-le", "fps.u64le", le.clone()),
        ("bin-le", "fps.u64le.gz", gzip(&le)),
        ("bin-be", "fps.u64be", be),
        ("hex", "hex", lines(&all, |f| format!("{f:x}"))),
        ("hex", "hex0x", lines(&all, |f| format!("0x{f:016X}"))),
        ("dec", "dec", lines(&all, |f| f.to_string())),
        ("i64", "i64", lines(&all, |f| f.cast_signed().to_string())),
        ("auto", "auto-hex", lines(&all, |f| format!("{f:016x}"))),
        ("auto", "auto-dec.gz", gzip(&lines(&all, |f| f.to_string()))),
        ("auto", "auto-i64", lines(&all, |f| f.cast_signed().to_string())),
    ];
    for (i, (format, file, bytes)) in inputs.iter().enumerate() {
        folder.write(file, bytes);
        let db = format!("{i}.fpdb");
        let line = format!("import {db} --from fp --fp-format {format} {file} --json");
        let imported = folder.ok(&line).json();
        let expected = json!({
            "schema": "fpdb.import/1", "read": all.len(), "inserted": all.len(), "already_there": 0,
        });
        assert_eq!(imported, expected, "{line}");
        assert_eq!(folder.ok(&format!("export {db} --format csv")).text(), csv(&all, 0), "{line}");
    }
}

#[test]
fn repeating_an_import_changes_nothing() {
    let folder = Folder::new();
    let all = fingerprints();
    folder.write("hex", lines(&all, |f| format!("{f:x}")));
    folder.ok("create a --layout single --block-size 128");
    folder.ok("import a hex --fp-format hex --first-id 1000 --memory 1MiB");
    let run = folder.ok("import a hex --fp-format hex --first-id 1000");
    assert!(run.err.contains("0 inserted, 454 already there"), "{}", run.err);
    assert_eq!(folder.ok("export a").text(), csv(&all, 1000));
}

#[test]
fn positions_continue_across_files() {
    let folder = Folder::new();
    folder.write("one", "0x1\n\n0x2\n");
    folder.write("two", "3");
    let run = folder.run_with(&["import", "a", "one", "-", "two", "--first-id", "5"], b"0x7\r\n");
    assert_eq!(run.code, 0, "{}", run.err);
    assert_eq!(folder.ok("export a").text(), csv(&[1, 2, 7, 3], 5));
}

#[test]
fn wide_fingerprints_are_read_in_every_format() {
    let folder = Folder::new();
    let all: Vec<u128> = vec![0, u128::MAX, 1 << 127, 1 << 64, 5];
    let le: Vec<u8> = all.iter().flat_map(|f| f.to_le_bytes()).collect();
    let be: Vec<u8> = all.iter().flat_map(|f| f.to_be_bytes()).collect();
    let text =
        |line: &dyn Fn(u128) -> String| all.iter().map(|&f| line(f) + "\n").collect::<String>();
    let inputs: [(&str, Vec<u8>); 6] = [
        ("bin-le", le),
        ("bin-be", be),
        ("hex", text(&|f| format!("{f:x}")).into()),
        ("dec", text(&|f| f.to_string()).into()),
        ("i64", text(&|f| f.cast_signed().to_string()).into()),
        ("auto", text(&|f| format!("{f:032x}")).into()),
    ];
    for (format, bytes) in inputs {
        folder.write("file", bytes);
        folder.ok(&format!("import {format} file --fp-format {format} --bits 128"));
        let exported = folder.ok(&format!("export {format} --format hex")).text();
        let expected: Vec<_> =
            [0, 5, 1 << 64, 1 << 127, u128::MAX].map(|f| format!("0x{f:032x}\n")).into();
        assert_eq!(exported, expected.concat(), "{format}");
    }
}

#[test]
fn lists_of_sketches_are_read_in_hex_and_binary_and_have_unique_ids() {
    let folder = Folder::new();
    let mut state = 3;
    let mut plane = || u128::from(random(&mut state)) << 64 | u128::from(random(&mut state));
    let all: Vec<Sketch> = (0..5)
        .map(|number| Sketch::of_parts(std::array::from_fn(|_| plane()), number, [7; 16]))
        .collect();
    let mut le = Vec::new();
    all.iter().for_each(|sketch| sketch.write_le(&mut le));
    let be: Vec<u8> =
        le.chunks_exact(228).flat_map(|sketch| sketch.iter().rev()).copied().collect();
    let text: String = all.iter().map(|sketch| sketch.to_hex() + "\n").collect();
    let inputs = [
        ("bin-le", le),
        ("bin-be", be),
        ("hex", text.replace("0x", "").into()),
        ("auto", gzip(text.as_bytes())),
    ];
    for (format, bytes) in inputs {
        folder.write("file", bytes);
        folder.ok(&format!("import {format} file --fp-format {format} --jaccard 0.8"));
        let records = folder.ok(&format!("export {format} --documents --json")).records();
        let found = records[..5].iter().map(|r| (r["id"].clone(), r["fingerprint"].clone()));
        let expected = (0..).zip(&all).map(|(id, f)| (json!(id), json!(f.to_hex())));
        assert!(found.eq(expected), "{format}");
    }
    let rows = (0..).zip(&all).map(|(id, sketch)| format!("{},{}\n", sketch.to_hex(), 7 + id));
    folder.write("rows", rows.collect::<String>());
    folder.ok("import rows.db rows --jaccard 0.8 --id-column 2");
    assert_eq!(folder.ok("join auto rows --id-column 2").text().lines().count(), 5);
    let lines = |line: &str| {
        let text = folder.ok(line).text();
        text.lines().map(str::to_owned).collect::<BTreeSet<_>>()
    };
    assert_eq!(lines("join auto rows.db --csv"), lines("join auto rows --id-column 2 --csv"));
    folder.write("hex-list", text);
    let nearest = folder.ok("query rows.db --from fp hex-list --json");
    assert_eq!(nearest.records()[2]["matches"][0]["id"], 9);
    folder.write("file", "1\n");
    let run = folder.exits(2, "import auto file");
    assert!(
        run.err.contains("file, line 1: not a sketch, which is 0x and 456 hex digits"),
        "{run:?}"
    );
}

#[test]
fn an_unreadable_line_is_named_and_nothing_is_loaded() {
    let folder = Folder::new();
    folder.ok("create a");
    for (format, content, line) in [
        ("auto", "0x1\n0x2\n12g\n", 3),
        ("auto", "1\n\nff\n", 3),
        ("auto", "0123456789abcdef\n12345678901234567\n", 2),
        ("hex", "0x11223344556677889\n", 1),
        ("dec", "1\n18446744073709551616\n", 2),
        ("dec", "-1\n", 1),
        ("i64", "9223372036854775808\n", 1),
    ] {
        folder.write("file", content);
        let run = folder.exits(2, &format!("import a file --fp-format {format}"));
        assert!(run.err.contains(&format!("file, line {line}: ")), "{}", run.err);
        assert_eq!(run.err.lines().count(), 1, "{}", run.err);
        assert_eq!(folder.ok("export a").text(), csv(&[], 0));
    }
    folder.write("file", b"0x1\n\xff\n");
    assert!(folder.exits(2, "import a file").err.contains("file, line 2: not UTF-8"));
}

#[test]
fn a_binary_file_with_an_incomplete_fingerprint_is_an_error() {
    let folder = Folder::new();
    folder.write("file", [0; 23]);
    let run = folder.exits(2, "import a file --fp-format bin-le");
    assert!(run.err.contains("file: its length is not a multiple of 8 bytes"), "{}", run.err);
    folder.write("file", [0; 24]);
    folder.exits(2, "import b file --fp-format bin-be --bits 128");
}

#[test]
fn imports_that_contradict_the_database_are_refused() {
    let folder = Folder::new();
    folder.write("file", "1\n");
    folder.ok("create names --ids names");
    let run = folder.exits(2, "import names file");
    assert!(run.err.contains("--ids user"), "{}", run.err);
    folder.ok("create a");
    folder.exits(2, "import a file --bits 128");
    folder.exits(2, "import a file -k 5");
    folder.exits(2, "import a no-such-file");
    let last = u64::MAX.to_string();
    folder.write("file", "1\n2\n");
    let run = folder.exits(2, &format!("import a file --first-id {last}"));
    assert!(run.err.contains("the largest id is"), "{}", run.err);
}

/// The file has a terabyte, of which nothing is stored.
#[test]
fn a_load_that_cannot_fit_is_refused_before_it_begins_with_the_space_that_it_needs() {
    let folder = Folder::new();
    let file = std::fs::File::create(folder.file("list")).unwrap();
    if file.set_len(1 << 40).is_err() {
        println!("skipped: no file can be that long here");
        return;
    }
    let run = folder.exits(2, "import db list --fp-format bin-le");
    let (peak, _) = run.err.split_once(" TiB of free disk space\n").expect("the space");
    assert!(peak.starts_with("the load needs up to "), "{}", run.err);
    assert!(run.err.contains("a bulk load needs up to "), "{}", run.err);
    assert!(run.err.contains("but may use only") && run.err.contains("free some space"));
    // Lines are counted by the first ones.
    let lines = "0x0123456789abcdef\n".repeat(4000);
    folder.write("lines", lines);
    std::fs::File::options()
        .write(true)
        .open(folder.file("lines"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    let run = folder.exits(2, "import db lines");
    assert!(run.err.contains("a bulk load needs up to "), "{}", run.err);
}
