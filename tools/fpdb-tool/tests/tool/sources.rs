//! The same text has the same fingerprint in every format.

use crate::common::{Folder, document, fingerprints, gzip, records, text};

/// Returns a text that every format must quote or escape somewhere.
fn hard(seed: u64) -> String {
    format!("{} \"quoted, with\" a\ttab, a line's\nend and ä 去 €", text(seed, 40))
}

fn quoted(value: &str) -> String {
    format!("\"{}\"", value.replace('"', "\"\""))
}

fn csv(ids: std::ops::Range<u64>, delimiter: &str, end: &str) -> String {
    let rows = ids.map(|i| {
        let values = [quoted(&hard(i)), "x y".to_owned(), i.to_string()];
        values.join(delimiter) + end
    });
    format!("text{delimiter}\"some, other\"{delimiter}id{end}{}", rows.collect::<String>())
}

/// Returns the ids and fingerprints of the texts of these seeds, read from NDJSON.
fn expected(ids: std::ops::Range<u64>) -> Vec<(String, Option<String>)> {
    let folder = Folder::new();
    folder.write("d", ids.map(|i| document(&i.to_string(), &hard(i))).collect::<String>());
    fingerprints(&folder.ok("fingerprint --from ndjson d --json"))
}

#[test]
fn documents_are_the_same_in_every_format() {
    let expected = expected(0..5);
    assert!(expected.iter().all(|(_, fingerprint)| fingerprint.is_some()));
    let deep = |i: u64| {
        let line = serde_json::json!({ "body": [{"id": 1}], "m": {"id": i, "t": {"/": hard(i)}} });
        format!("{line}\r\n")
    };
    let sources: [(&str, Vec<u8>, &str); 8] = [
        ("a.csv", csv(0..5, ",", "\n").into(), ""),
        ("a.tsv", csv(0..5, "\t", "\r\n").into(), ""),
        ("a.dat", csv(0..5, ",", "\n").into(), "--from csv"),
        ("b.csv", format!("\u{feff}{}", csv(0..5, ",", "\n\n")).trim_end().into(), ""),
        ("c.csv.gz", gzip(csv(0..5, ",", "\n").as_bytes()), ""),
        (
            "a.jsonl",
            (0..5).map(deep).collect::<String>().into(),
            "--id-field /m/id --text-field /m/t/~1",
        ),
        ("a", (0..5).map(|i| document(&i.to_string(), &hard(i))).collect::<String>().into(), ""),
        (
            "b.ndjson",
            ("\u{feff}".to_owned()
                + &(0..5).map(|i| document(&i.to_string(), &hard(i))).collect::<String>())
                .into(),
            "",
        ),
    ];
    for (name, bytes, options) in sources {
        let folder = Folder::new();
        folder.write(name, bytes);
        let run = folder.ok(&format!("fingerprint {options} {name} --json"));
        assert_eq!(fingerprints(&run), expected, "{name} {options}");
    }
}

#[test]
fn the_id_of_a_text_file_is_its_path() {
    let folder = Folder::new();
    let utf16: Vec<u8> =
        std::iter::once(0xfeff).chain(hard(3).encode_utf16()).flat_map(u16::to_le_bytes).collect();
    folder.write("0.txt", hard(0));
    folder.write("1.md", "\u{feff}".to_owned() + &hard(1));
    folder.write("2.txt.gz", gzip(hard(2).as_bytes()));
    folder.write("3", utf16);
    let run = folder.ok("fingerprint --from text 0.txt 1.md 2.txt.gz 3 --json");
    let ids = ["0.txt", "1.md", "2.txt.gz", "3"];
    let expected: Vec<_> =
        ids.iter().zip(expected(0..4)).map(|(id, (_, f))| (id.to_string(), f)).collect();
    assert_eq!(fingerprints(&run), expected);
    let run =
        folder.run_with(&["fingerprint", "--from", "text", "-", "--json"], hard(0).as_bytes());
    assert_eq!(fingerprints(&run), [("-".to_owned(), expected[0].1.clone())]);
}

#[test]
fn the_id_of_a_line_has_its_number() {
    let folder = Folder::new();
    let lines: Vec<_> = (0..3).map(|i| text(i, 40)).collect();
    folder.write("a.log", format!("{}\n\n{}\r\n{}", lines[0], lines[1], lines[2]));
    let run = folder.ok("fingerprint --from lines a.log --json");
    let ids: Vec<_> = fingerprints(&run).into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["a.log:1", "a.log:3", "a.log:4"]);
    let run = folder.ok("dedup db --from lines a.log a.log");
    assert_eq!(run.text(), format!("{}\n{}\r\n{}", lines[0], lines[1], lines[2]));
}

#[test]
#[cfg(feature = "zstd")]
fn zstd_is_recognized_by_content_in_pipes_too_and_all_frames_are_read() {
    use crate::common::zstd;

    let folder = Folder::new();
    let docs: Vec<_> = (0..4).map(|i| document(&i.to_string(), &text(i, 40))).collect();
    let frames = [zstd(docs[0].as_bytes()), zstd(docs[1].as_bytes())].concat();
    folder.write("one", &frames);
    let args = ["dedup", "db", "one", "-"];
    let run = folder.run_with(&args, &zstd(docs[2..].concat().as_bytes()));
    assert_eq!((run.code, run.text()), (0, docs.concat()), "{}", run.err);
    folder.write("fps.zst", zstd(&7u64.to_le_bytes()));
    folder.ok("import fps fps.zst --fp-format bin-le");
    assert_eq!(folder.ok("export fps --format hex").text(), "0x0000000000000007\n");
}

#[test]
fn novel_rows_are_printed_unchanged_below_one_header() {
    let folder = Folder::new();
    folder.write("a.csv", csv(0..3, ",", "\n"));
    folder.write("b.csv", csv(1..6, ",", "\n").trim_end());
    folder.write("c.csv", csv(4..7, ",", "\n"));
    let run = folder.ok("dedup db a.csv b.csv c.csv --report r");
    assert_eq!(run.text(), csv(0..7, ",", "\n"));
    assert_eq!(records(&folder.read("r")).len(), 5);
    let run = folder.ok("dedup db a.csv");
    assert_eq!(run.text(), csv(0..0, ",", "\n"), "the output is a table, even if it is empty");
}

#[test]
fn tables_with_different_headers_are_not_printed_as_one() {
    let folder = Folder::new();
    folder.write("a.csv", csv(0..2, ",", "\n"));
    folder.write("b.csv", format!("id,text\n9,{}\n", quoted(&hard(9))));
    folder.write("c.ndjson", document("8", &hard(8)));
    let run = folder.exits(2, "dedup one a.csv b.csv");
    assert!(run.err.contains("b.csv, line 1: this header differs"), "{}", run.err);
    assert_eq!(run.text(), csv(0..2, ",", "\n"));
    for files in ["a.csv c.ndjson", "c.ndjson a.csv"] {
        let run = folder.exits(2, &format!("dedup {} {files}", &files[..1]));
        assert!(run.err.contains("cannot be printed together"), "{}", run.err);
    }
    let run = folder.ok("dedup ids a.csv b.csv c.ndjson --print id");
    assert_eq!(run.text(), "0\n1\n9\n8\n");
}

#[test]
fn documents_without_lines_are_printed_as_ndjson() {
    let folder = Folder::new();
    folder.write("a.txt", hard(1));
    folder.write("b.txt", hard(1));
    folder.write("c.txt", hard(2));
    let run = folder.ok("dedup db a.txt b.txt c.txt --report r");
    assert_eq!(run.text(), document("a.txt", &hard(1)) + &document("c.txt", &hard(2)));
    assert_eq!(records(&folder.read("r"))[0]["duplicate_of"], "a.txt");
    let run = folder.ok("dedup other a.txt b.txt c.txt --print id");
    assert_eq!(run.text(), "a.txt\nc.txt\n");
    // The output can be read again.
    folder.write("again", folder.ok("dedup third a.txt c.txt").text());
    assert!(folder.ok("dedup third again").out.is_empty());
}

/// Each command with --from accepts `auto`, and recognizes what it reads.
#[test]
fn every_command_recognizes_its_input() {
    let folder = Folder::new();
    let list = "0x0123456789abcdef\n0xfedcba9876543210\n";
    folder.write("fps.txt", list);
    folder.write("docs.ndjson", document("a", &text(1, 30)) + &document("b", &text(2, 30)));
    folder.write("page.html", format!("<p>{}</p>", text(3, 30)));
    let run = folder.ok("import list.fpdb fps.txt --from auto");
    assert_eq!(run.err, "read 2 fingerprints: 2 inserted, 0 already there\n");
    let run = folder.ok("query list.fpdb fps.txt --from auto --json").records();
    assert_eq!(run[2]["matched"], 2, "{run:?}");
    let run = folder.ok("import docs.fpdb docs.ndjson --from auto");
    assert_eq!(run.err, "read 2 documents: 2 inserted, 0 updated, 0 unchanged, 0 skipped\n");
    assert_eq!(folder.ok("extract page.html --from auto").records().len(), 1);
}

#[test]
fn a_list_of_fingerprints_is_never_taken_for_a_text() {
    let folder = Folder::new();
    folder.write("fps.txt", "0x0123456789abcdef\n");
    folder.write("other.txt", text(1, 30));
    for line in ["dedup db fps.txt", "fingerprint fps.txt", "dedup db other.txt fps.txt"] {
        let run = folder.exits(2, line);
        assert!(run.err.contains("a list of fingerprints"), "{line}: {}", run.err);
    }
    let run = folder.exits(2, "import new other.txt fps.txt --from auto");
    assert!(run.err.contains("fps.txt seems to be a list of fingerprints, and other.txt"));
    assert!(!folder.file("new").exists());
    folder.ok("fingerprint fps.txt --from text");
}

#[test]
fn remove_recognizes_entries_and_names() {
    let folder = Folder::new();
    folder
        .write("docs", document("a", &text(1, 30)) + &document("0x0123456789abcdef", &text(2, 30)));
    folder.ok("dedup db docs");
    folder.ok("dedup copy docs");
    folder.write("names", "0x0123456789abcdef\n");
    let run = folder.ok("remove db --from auto names");
    assert_eq!(run.err, "read 1 names: 1 removed, 0 not found\n");
    folder.write("entries", folder.ok("export db").out);
    let run = folder.ok("remove copy --from auto entries");
    assert_eq!(run.err, "read 1 entries: 1 removed, 0 not found\n");
    let run = folder.exits(2, "remove db --from auto -");
    assert!(run.err.contains("give --from names or --from fp"), "{}", run.err);
    folder.write("list", "0x0123456789abcdef,7\n");
    folder.ok("import user list --id-column 2");
    let run =
        folder.run_with(&["remove", "user", "--from", "auto", "-"], b"0x0123456789abcdef,7\n");
    assert_eq!(run.err, "read 1 entries: 1 removed, 0 not found\n");
}
