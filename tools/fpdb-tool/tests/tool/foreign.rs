//! Files as other programs write them.

use crate::common::{Folder, document, fingerprints, gzip, text};

fn ids(folder: &Folder, line: &str) -> Vec<String> {
    let run = folder.ok(&format!("fingerprint {line} --json"));
    fingerprints(&run).into_iter().map(|(id, _)| id).collect()
}

#[test]
fn text_is_read_whatever_it_begins_with_if_the_format_is_given() {
    let folder = Folder::new();
    for start in ["PAR1", "WARC/", "%PDF-", "GIF8", "{", "a\0b"] {
        folder.write("a", format!("{start} {}", text(1, 30)));
        for from in ["text", "lines", "html"] {
            assert_eq!(
                folder.ok(&format!("fingerprint --from {from} a")).text().lines().count(),
                1
            );
        }
        folder.write("a.csv", format!("{start},id,text\n0,a,{}\n", text(1, 30)));
        assert_eq!(ids(&folder, "--from csv a.csv"), ["a"], "{start}");
        folder.exits(2, "fingerprint a");
    }
}

#[test]
fn zeros_after_gzip_are_no_content_and_other_bytes_an_error_after_it() {
    let folder = Folder::new();
    let docs: Vec<_> = (0..2).map(|i| document(&i.to_string(), &text(i, 30))).collect();
    let members = [gzip(docs[0].as_bytes()), gzip(docs[1].as_bytes())].concat();
    folder.write("zeros.gz", [&members[..], &[0; 100_000]].concat());
    assert_eq!(ids(&folder, "zeros.gz"), ["0", "1"]);
    for rest in [&b"garbage"[..], b"\0\0garbage", b"\0\x1f\x8b"] {
        folder.write("garbage.gz", [&members[..], rest].concat());
        let run = folder.exits(2, "fingerprint garbage.gz");
        assert_eq!(run.text().lines().count(), 2, "its content is read");
        assert!(run.err.contains("bytes that are not gzip follow its content"), "{}", run.err);
        let run = folder.ok("fingerprint garbage.gz zeros.gz --skip-bad");
        assert_eq!(run.text().lines().count(), 4, "the next file is read");
        assert!(
            run.err.contains("skipped garbage.gz: the rest, from line 3: bytes"),
            "{}",
            run.err
        );
    }
}

#[test]
fn other_compressions_are_refused_with_the_command_that_unpacks_them() {
    let folder = Folder::new();
    for (magic, command) in [
        (&b"BZh91AY&SY\x01\x02"[..], "bzip2 -dk"),
        (b"\xfd7zXZ\0\0\x04", "xz -dk"),
        (b"\x04\x22\x4d\x18\x64", "lz4 -dk"),
    ] {
        folder.write("a", magic);
        for from in ["auto", "text", "ndjson", "warc"] {
            let run = folder.exits(2, &format!("fingerprint --from {from} a"));
            assert!(run.err.contains(&format!("`{command} a`")), "{from}: {}", run.err);
        }
    }
}

#[test]
#[cfg(feature = "zstd")]
fn zstd_may_begin_with_a_frame_without_content() {
    use crate::common::zstd;

    let folder = Folder::new();
    let frame = zstd(document("a", &text(1, 30)).as_bytes());
    // As pzstd writes it: the size of the next frame.
    folder.write("a", [&b"\x50\x2a\x4d\x18\x04\0\0\0\x10\0\0\0"[..], &frame].concat());
    assert_eq!(ids(&folder, "a"), ["a"]);
    let warc = "WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: http://a.example/\r\n\
                Content-Type: text/plain\r\nContent-Length: 20\r\n\r\none two three four f\r\n\r\n";
    let warc = [&b"\x50\x2a\x4d\x18\0\0\0\0"[..], &zstd(warc.as_bytes())].concat();
    folder.write("a.warc.zst", warc);
    assert_eq!(ids(&folder, "a.warc.zst"), ["http://a.example/"]);
}

#[test]
#[cfg(feature = "zstd")]
fn a_frame_with_a_long_window_is_refused_with_the_command_that_unpacks_it() {
    use std::io::Write;

    let folder = Folder::new();
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(28).unwrap();
    encoder.write_all(document("a", &text(1, 30)).as_bytes()).unwrap();
    folder.write("a.ndjson.zst", encoder.finish().unwrap());
    let run = folder.exits(2, "fingerprint a.ndjson.zst");
    assert!(run.err.contains("unpack it first with `zstd -d --long=31`"), "{}", run.err);
}

/// Most programs write TSV without quotes.
#[test]
fn a_quote_that_would_swallow_rows_is_an_error_unless_the_quoting_is_given() {
    let folder = Folder::new();
    let row = |i: u64, quote: &str| format!("{i}\t{quote}{}\n", text(i, 30));
    let table = ["id\ttext\n", &row(1, "\""), &row(2, ""), &row(3, "\""), &row(4, "")].concat();
    folder.write("a.tsv", &table);
    let run = folder.exits(2, "fingerprint a.tsv");
    assert!(run.err.contains("a.tsv, line 2: a quote makes one row of 3 lines"), "{}", run.err);
    assert!(run.err.contains("give --quote none"), "{}", run.err);
    assert_eq!(ids(&folder, "a.tsv --quote none"), ["1", "2", "3", "4"]);
    assert_eq!(ids(&folder, "a.tsv --quote double"), ["1", "4"]);
    assert_eq!(ids(&folder, "a.tsv --skip-bad"), ["4"]);
    let run = folder.ok("dedup db a.tsv --quote none");
    assert_eq!(run.text(), table, "rows are printed as they are");

    folder.write("open.tsv", ["id\ttext\n", &row(1, ""), &row(2, "\"")].concat());
    let run = folder.exits(2, "fingerprint open.tsv");
    assert!(run.err.contains("never closed: give --quote none"), "{}", run.err);
    let run = folder.ok("fingerprint open.tsv a.tsv --skip-bad");
    assert!(run.err.contains("skipped open.tsv: the rest, from line 5: the quotes"), "{}", run.err);
    assert_eq!(run.text().lines().count(), 2, "the next file is read");

    folder.write("long.csv", format!("id,text\n1,\"{}\"\n", "a line\n".repeat(10_000)));
    let run = folder.exits(2, "fingerprint long.csv");
    assert!(run.err.contains("a quote makes one row of 10001 lines"), "{}", run.err);
    folder.ok("fingerprint long.csv --quote double");
}

#[test]
fn skip_bad_goes_on_with_the_next_file_and_says_what_it_skips() {
    let folder = Folder::new();
    let lines: String = (0..300).map(|i| document(&i.to_string(), &text(i, 20))).collect();
    let bytes = gzip(lines.as_bytes());
    folder.write("a.ndjson.gz", &bytes[..bytes.len() / 2]);
    folder.write("b.csv", "id,body\n1,x\n");
    folder.write("c.warc.gz", gzip(b"not an archive"));
    folder.write("z.ndjson", document("last", &text(1, 30)));
    let run = folder.ok("fingerprint a.ndjson.gz b.csv c.warc.gz z.ndjson --skip-bad --json");
    let found = fingerprints(&run);
    assert!(found.len() > 100 && found.last().is_some_and(|(id, _)| id == "last"));
    for message in [
        "skipped a.ndjson.gz: the rest, from line ",
        ": the compressed data is truncated",
        "skipped b.csv: the rest, from line 1: the header has no column \"text\"",
        "broken: c.warc.gz, offset 0: ",
    ] {
        assert!(run.err.contains(message), "{message}: {}", run.err);
    }
}

#[test]
fn errors_say_what_to_do() {
    let folder = Folder::new();
    let utf16: Vec<u8> = document("a", "b").encode_utf16().flat_map(u16::to_le_bytes).collect();
    let utf32: Vec<u8> =
        "\u{feff}text".chars().flat_map(|char| u32::from(char).to_le_bytes()).collect();
    for (line, bytes, message) in [
        ("a.ndjson", b"{\n\"id\": 1,\n\"text\": \"x\"\n}\n".to_vec(), "`jq -c .` writes them"),
        ("a.ndjson", br#"{"id":1,"text":"\ud83d \ude00"}"#.to_vec(), "U+FFFD can replace it"),
        ("a.ndjson", utf16.clone(), "`iconv -f UTF-16 -t UTF-8`"),
        ("a.csv", [b"\xff\xfe", &utf16[..]].concat(), "`iconv -f UTF-16 -t UTF-8`"),
        ("--from lines a", utf16, "`iconv -f UTF-16 -t UTF-8`"),
        ("--from text a", utf32, "`iconv -f UTF-32 -t UTF-8`"),
        ("--id-field text a.ndjson", b"{}".to_vec(), "give the field with the ids"),
    ] {
        folder.write(line.rsplit(' ').next().unwrap(), bytes);
        let run = folder.exits(2, &format!("fingerprint {line}"));
        assert!(run.err.contains(message), "{line}: {}", run.err);
    }
    let id = "x".repeat(70_000);
    folder.write("long.ndjson", document(&id, &text(1, 30)));
    let run = folder.exits(2, "fingerprint long.ndjson");
    assert!(run.err.contains("--id-field names the field with the ids"), "{}", run.err);
    std::fs::create_dir(folder.file("f")).unwrap();
    let run = folder.exits(2, "import db f");
    assert!(run.err.contains("f is a folder") && run.err.contains("--from auto"), "{}", run.err);
}

#[test]
fn import_counts_an_id_that_occurs_again_as_updated_or_unchanged() {
    let folder = Folder::new();
    let docs =
        [document("a", &text(1, 30)), document("a", &text(2, 30)), document("b", &text(3, 30))];
    folder.write("docs", docs.concat());
    let run = folder.ok("import db docs --from ndjson");
    assert_eq!(run.err, "read 3 documents: 2 inserted, 1 updated, 0 unchanged, 0 skipped\n");
    folder.write("docs", docs[1..].concat());
    let run = folder.ok("import db docs --from ndjson --json").json();
    assert_eq!((&run["inserted"], &run["unchanged"]), (&0.into(), &2.into()));
}
