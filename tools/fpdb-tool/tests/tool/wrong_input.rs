//! No file is fingerprinted by accident: input of another format is refused.

use crate::common::{Folder, document, gzip, text};

#[test]
fn a_format_that_contradicts_the_first_bytes_is_refused() {
    let folder = Folder::new();
    let line = document("a", &text(1, 30));
    folder.write("twice", gzip(&gzip(line.as_bytes())));
    folder.write("warc", "WARC/1.0\r\nWARC-Type: response\r\n\r\n");
    folder.write("binary", b"\x00\x01\x02 and so on");
    folder.write("pdf", "%PDF-1.7\n");
    folder.write("html", "<!doctype html><title>x</title>");
    folder.write("array", "[{\"id\":1,\"text\":\"x\"}]");
    folder.write("plain", "id,text\n1,x\n");
    for (from, file, message) in [
        ("auto", "twice", "neither its name"),
        ("ndjson", "twice", "compressed twice"),
        ("text", "twice", "compressed twice"),
        ("ndjson", "warc", "give --from warc"),
        ("ndjson", "html", "give --from html"),
        ("ndjson", "binary", "binary data"),
        ("ndjson", "pdf", "binary data"),
        ("auto", "array", "one object per line is needed"),
        ("ndjson", "array", "expected an object"),
        ("auto", "plain", "give --from"),
    ] {
        let run = folder.exits(2, &format!("fingerprint --from {from} {file}"));
        assert!(run.err.contains(message) && run.err.contains(file), "{from} {file}: {}", run.err);
        assert!(run.out.is_empty(), "{from} {file}: {}", run.text());
        assert!(!folder.file("db").exists());
    }
    // --skip-bad also leaves out files, and reads the files after them.
    folder.write("good.ndjson", &line);
    let run = folder.ok("fingerprint twice binary plain good.ndjson --skip-bad --json");
    assert_eq!((run.records().len(), &run.records()[1]["bad"]), (2, &3.into()));
}

#[test]
fn a_parquet_file_is_refused_with_the_way_to_read_it_in_python() {
    let folder = Folder::new();
    folder.write("a", "PAR1\x15\x04");
    folder.write("encrypted.parquet", "PARE");
    folder.write("compressed.parquet.gz", gzip(b"PAR1"));
    for line in [
        "fingerprint a",
        "fingerprint --from ndjson a",
        "fingerprint encrypted.parquet",
        "dedup db compressed.parquet.gz",
        "import db a",
    ] {
        let run = folder.exits(2, line);
        assert!(run.err.contains("Parquet: use fpdb_engine.dedup_files("), "{line}: {}", run.err);
        assert_eq!(run.err.lines().count(), 1, "{line}: {}", run.err);
    }
}

#[test]
fn lists_of_fingerprints_and_documents_are_not_confused() {
    let folder = Folder::new();
    folder.write("docs.ndjson", document("a", &text(1, 30)));
    let run = folder.exits(2, "import db docs.ndjson");
    assert!(run.err.contains("give --from ndjson"), "{}", run.err);
    folder.write("fps", "0x0123456789abcdef\n");
    let run = folder.exits(2, "dedup other fps");
    assert!(run.err.contains("give --from"), "{}", run.err);
    folder.exits(2, "dedup db fps --from fp");
    folder.ok("dedup db docs.ndjson");
    folder.exits(2, "query db fps --from ndjson");
    let run = folder.exits(2, "query db docs.ndjson --from fp");
    assert!(run.err.contains("give --from ndjson"), "{}", run.err);
}

#[test]
fn errors_name_files_that_are_not_text() {
    let folder = Folder::new();
    folder.write("zero.txt", format!("{}\0", "text ".repeat(500)));
    let run = folder.exits(2, "fingerprint zero.txt");
    assert!(run.err.contains("zero.txt: a zero byte after 2500 bytes"), "{}", run.err);
    folder.write("latin", b"caf\xe9 ole\n");
    let run = folder.exits(2, "fingerprint --from lines latin");
    assert!(run.err.contains("latin, line 1: invalid UTF-8 after 3 bytes"), "{}", run.err);
    folder.write("latin.csv", b"id,text\n1,caf\xe9\n");
    let run = folder.exits(2, "fingerprint latin.csv");
    assert!(run.err.contains("latin.csv, line 2: invalid UTF-8 in column 2"), "{}", run.err);
}

#[test]
fn few_bytes_that_are_not_utf8_are_replaced_in_texts_but_not_in_ids() {
    let folder = Folder::new();
    let text = "图书馆晚上六点闭馆，今天到期的图书可以在午夜之前归还";
    let (before, after) = text.split_at(30);
    let bad = |bytes: &[u8]| [before.as_bytes(), bytes, after.as_bytes()].concat();
    let [wrong, replaced] = [bad(b"\xff"), bad("\u{fffd}".as_bytes())];
    let line = |text: &[u8]| [b"{\"id\":1,\"text\":\"", text, b"\"}\n"].concat();
    let row = |text: &[u8]| [b"id,text\n1,", text, b"\n"].concat();
    let fingerprint = |name: &str, bytes: Vec<u8>| {
        folder.write(name, bytes);
        folder.ok(&format!("fingerprint --json {name}")).records()[0]["fingerprint"].clone()
    };
    let expected = fingerprint("docs.ndjson", line(&replaced));
    assert!(expected.is_string(), "{expected}");
    assert_eq!(fingerprint("docs.ndjson", line(&wrong)), expected);
    assert_eq!(fingerprint("docs.csv", row(&wrong)), expected);
    assert_eq!(fingerprint("docs.txt", wrong.clone()), expected);

    folder.write("ids.ndjson", [b"{\"id\":\"", &wrong[..], b"\",\"text\":\"a b\"}\n"].concat());
    let run = folder.exits(2, "fingerprint ids.ndjson");
    assert!(run.err.contains("ids.ndjson, line 1: invalid UTF-8 in the id"), "{}", run.err);
    folder.write("ids.csv", [b"id,text\n", &wrong[..], b",a b\n"].concat());
    let run = folder.exits(2, "fingerprint ids.csv");
    assert!(run.err.contains("ids.csv, line 2: invalid UTF-8 in column 1"), "{}", run.err);
}

#[test]
fn errors_name_tables_without_the_columns_or_with_ragged_rows() {
    let folder = Folder::new();
    for (header, message) in [
        ("id,body", "the header has no column \"text\"; its columns are id, body"),
        ("id,text,id", "the header has two columns \"id\""),
        ("1,x", "the header has no column \"id\""),
    ] {
        folder.write("a.csv", format!("{header}\n1,x\n"));
        let run = folder.exits(2, "fingerprint a.csv");
        assert!(run.err.contains(&format!("a.csv, line 1: {message}")), "{}", run.err);
    }
    let rows = format!("id,text\n\n1,{0}\n2\n3,{0},x\n\"4\n\",{0}\n,{0}\n", text(1, 30));
    folder.write("a.csv", rows);
    let run = folder.exits(2, "fingerprint a.csv");
    assert!(run.err.contains("a.csv, line 4: 1 values in a table of 2 columns"), "{}", run.err);
    let run = folder.ok("fingerprint a.csv --skip-bad");
    assert!(run.text().lines().map(|l| &l[20..]).eq(["1", "4\\n"]), "{}", run.text());
    for place in ["line 4: 1 values", "line 5: 3 values", "line 8: an id must have 1 to"] {
        assert!(run.err.contains(place), "{place}: {}", run.err);
    }
    folder.write("empty.csv", "");
    assert!(folder.ok("fingerprint empty.csv").out.is_empty());
}

#[test]
fn a_truncated_file_is_an_error_after_its_documents() {
    let folder = Folder::new();
    let lines: String = (0..300).map(|i| document(&i.to_string(), &text(i, 20))).collect();
    let mut files = vec![("a.gz", gzip(lines.as_bytes()))];
    if cfg!(feature = "zstd") {
        files.push(("a.zst", crate::common::zstd(lines.as_bytes())));
    }
    for (name, mut bytes) in files {
        bytes.truncate(bytes.len() * 3 / 4);
        folder.write(name, bytes);
        let run = folder.exits(2, &format!("fingerprint --from ndjson {name} --json"));
        assert!(run.err.contains(&format!("cannot read {name}")), "{}", run.err);
        assert!(run.err.contains("truncated"), "{}", run.err);
        assert!(run.records().iter().all(|r| r["type"] == "fingerprint"), "no summary");
    }
}

#[test]
fn a_missing_file_is_an_error_before_a_database_is_created() {
    let folder = Folder::new();
    for command in ["dedup db", "import db --from ndjson", "fingerprint"] {
        let run = folder.exits(2, &format!("{command} no-such-file"));
        assert!(run.err.contains("cannot open no-such-file: "), "{}", run.err);
    }
    assert!(!folder.file("db").exists());
}

#[cfg(unix)]
#[test]
fn a_command_does_not_read_what_it_prints() {
    let folder = Folder::new();
    let lines: String = (0..3).map(|i| document(&i.to_string(), &text(i, 30))).collect();
    folder.write("docs.ndjson", &lines);
    for line in ["dedup db docs.ndjson", "fingerprint ."] {
        let file = std::fs::File::options().append(true).open(folder.file("docs.ndjson")).unwrap();
        let args: Vec<_> = line.split(' ').collect();
        let output = folder.command(&args).stdout(file).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {err}");
        assert!(err.contains("docs.ndjson is an input, and the standard output as well"), "{err}");
        assert_eq!(folder.read("docs.ndjson"), lines, "{line}");
    }
}
