//! `extract`: the pages of archives.

use std::io::Write;

use flate2::Compression;
use rawzip::CompressionMethod;
use serde_json::Value;

use crate::common::{Folder, Run, gzip};

/// A WARC record with these lines and its length as the header.
fn record(head: &str, block: &[u8]) -> Vec<u8> {
    let head = format!("WARC/1.0\r\n{head}\r\nContent-Length: {}\r\n\r\n", block.len());
    [head.as_bytes(), block, b"\r\n\r\n"].concat()
}

/// A record of a response with status 200 and these headers.
fn response(url: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "WARC-Type: response\r\nWARC-Target-URI: {url}\r\n\
         Content-Type: application/http; msgtype=response"
    );
    let answer = format!("HTTP/1.1 200 OK\r\n{headers}\r\n\r\n");
    record(&head, &[answer.as_bytes(), body].concat())
}

fn html(url: &str, text: &str) -> Vec<u8> {
    response(url, "Content-Type: text/html", format!("<p>{text}</p>").as_bytes())
}

/// Compresses each record as its own gzip member, as is the convention.
fn members<P: AsRef<[u8]>>(parts: impl IntoIterator<Item = P>) -> Vec<u8> {
    parts.into_iter().flat_map(|part| gzip(part.as_ref())).collect()
}

/// Runs `extract` on an archive, and returns the run and the summary.
fn extract(folder: &Folder, archive: &[u8], args: &[&str]) -> (Run, Value) {
    let args = [&["extract", "--json", "--from", "warc", "-"], args].concat();
    let run = folder.run_with(&args, archive);
    let (pages, summary) = run.summarized();
    (Run { out: pages.into(), ..run }, summary)
}

fn texts(run: &Run) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("a string").to_owned();
    run.records().iter().map(|page| (text(&page["id"]), text(&page["text"]))).collect()
}

fn page(url: &str, text: &str) -> (String, String) {
    (url.to_owned(), text.to_owned())
}

#[test]
fn records_are_pages_or_counted_by_reason() {
    let folder = Folder::new();
    let answer = |status: &str| format!("HTTP/1.1 {status}\r\nContent-Type: text/html\r\n\r\nx");
    let other = |kind: &str, block: &str| {
        let head = format!("WARC-Type: {kind}\r\nwarc-target-uri: http://x/");
        record(&(head + "\r\nContent-Type: application/http"), block.as_bytes())
    };
    let archive = [
        record("WARC-Type: warcinfo", b"software: x\r\n"),
        other("request", "GET / HTTP/1.1\r\n\r\n"),
        html("<http://a/1>", "angle brackets"),
        other("revisit", &answer("200 OK")),
        other("response", &answer("404 Not Found")),
        other("response", &answer("301 Moved")),
        other("metadata", "x"),
        other("continuation", "x"),
        other("resource\r\nWARC-Segment-Number: 1", "the first part"),
        record("WARC-Type: resource\r\nWARC-Target-URI: metadata://gnu.org/wget.log", b"x"),
        response("http://a/png", "Content-Type: image/png", b"\x89PNG"),
        record(
            "WARC-Type: resource\r\nWARC-Target-URI: http://a/2\r\nContent-Type: text/html",
            b"<p>a resource",
        ),
        record(
            "WARC-Type: conversion\r\nWARC-Target-URI: http://a/3\r\nContent-Type: text/plain",
            b"a line  \r\n& another\r\n",
        ),
    ];
    let expected = [
        page("http://a/1", "angle brackets"),
        page("http://a/2", "a resource"),
        page("http://a/3", "a line\n& another"),
    ];
    let skipped = serde_json::json!({
        "warcinfo": 1, "request": 1, "revisit": 1, "status_404": 1, "status_301": 1,
        "metadata": 2, "other_record": 1, "media_type": 1, "segment": 1,
    });
    for archive in [archive.concat(), members(&archive)] {
        let (run, summary) = extract(&folder, &archive, &[]);
        assert_eq!(run.code, 0, "{}", run.err);
        assert_eq!(texts(&run), expected);
        assert_eq!((&summary["skipped"], &summary["records"]), (&skipped, &13.into()));
    }
}

#[test]
fn files_and_standard_input_are_read_in_order() {
    let folder = Folder::new();
    let records: Vec<Vec<u8>> =
        (0..3).map(|i| html(&format!("http://a/{i}"), &format!("text {i}"))).collect();
    let expected: Vec<_> =
        (0..3).map(|i| page(&format!("http://a/{i}"), &format!("text {i}"))).collect();
    folder.write("one.warc.gz", gzip(&records.concat()));
    folder.write("two.html", "<title>no</title><p>a page<br>of its own");
    let run = folder.run_with(&["extract", "two.html", "-", "one.warc.gz"], &records.concat());
    let all = [vec![page("two.html", "a page\nof its own")], expected.clone(), expected].concat();
    assert_eq!((run.code, texts(&run)), (0, all), "{}", run.err);
    assert!(run.err.contains("read 7 records: 7 pages, 0 broken"), "{}", run.err);
    // That a gzip member holds several records is a warning.
    assert!(run.err.contains("warning: ") && run.err.contains("record by record"), "{}", run.err);
}

#[test]
fn damage_is_reported_with_its_place_and_ends_with_an_error_unless_it_is_skipped() {
    let folder = Folder::new();
    let archive = [html("u:1", "one"), b"no record\r\n".to_vec(), html("u:2", "two")].concat();
    let expected = [page("u:1", "one"), page("u:2", "two")];
    for (args, code) in [(&[][..], 2), (&["--skip-bad", "--threads", "1"], 0)] {
        let (run, summary) = extract(&folder, &archive, args);
        assert_eq!((run.code, texts(&run)), (code, expected.to_vec()), "{}", run.err);
        assert_eq!(summary["broken"], 1);
        let place = format!("standard input, offset {}: ", html("u:1", "one").len());
        assert!(run.err.contains(&place), "{}", run.err);
    }
}

#[test]
#[cfg(feature = "zstd")]
fn archives_compressed_with_zstd_are_read_with_and_without_a_dictionary() {
    let folder = Folder::new();
    let records: Vec<Vec<u8>> =
        (0..5).map(|i| html(&format!("http://a/{i}"), &format!("text {i}"))).collect();
    let expected: Vec<_> =
        (0..5).map(|i| page(&format!("http://a/{i}"), &format!("text {i}"))).collect();
    let dictionary = records[0].repeat(4);
    let frames = |dictionary: &[u8]| -> Vec<u8> {
        let compress = |record: &Vec<u8>| {
            let mut encoder = zstd::Encoder::with_dictionary(Vec::new(), 3, dictionary).unwrap();
            encoder.write_all(record).unwrap();
            encoder.finish().unwrap()
        };
        records.iter().flat_map(compress).collect()
    };
    let with_dictionary = |stored: &[u8]| {
        let length = u32::try_from(stored.len()).unwrap().to_le_bytes();
        [b"\x5d\x2a\x4d\x18", &length[..], stored, &frames(&dictionary)].concat()
    };
    for (name, archive) in [
        ("without", frames(&[])),
        ("plain", with_dictionary(&dictionary)),
        ("compressed", with_dictionary(&zstd::encode_all(&*dictionary, 3).unwrap())),
    ] {
        let (run, _) = extract(&folder, &archive, &[]);
        assert_eq!((run.code, texts(&run)), (0, expected.clone()), "{name}: {}", run.err);
        folder.write("a.warc.zst", &archive);
        let run = folder.ok("extract a.warc.zst");
        assert_eq!(texts(&run), expected, "{name}");
    }
    let (run, _) = extract(&folder, b"\x5d\x2a\x4d\x18\xff\xff\xff\xff", &[]);
    assert!(run.code == 2 && run.err.contains("dictionary has 4294967295 bytes"), "{}", run.err);
}

#[test]
fn of_very_many_broken_records_a_few_are_printed_and_all_are_counted() {
    let folder = Folder::new();
    let broken = "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a/\r\nContent-Length: 0\
        \r\nContent-Type: application/http\r\n\r\n\r\n\r\n";
    folder.write("a.warc", broken.repeat(500));
    for command in ["extract a.warc", "fingerprint a.warc"] {
        let run = folder.exits(2, command);
        assert!(run.err.lines().count() < 30, "{command}: {}", run.err.lines().count());
        assert!(run.err.contains("500"), "{command}: {}", run.err);
    }
}

#[test]
fn strip_keeps_what_main_omits() {
    let folder = Folder::new();
    let paragraph = "There was nothing left that anybody could have said about it. ".repeat(20);
    folder.write(
        "a.html",
        format!("<nav><a href=x>menu</a></nav><p>{paragraph}</p><footer>end</footer>"),
    );
    let main = folder.ok("extract a.html").records();
    assert_eq!(main[0]["text"], paragraph.trim());
    assert_eq!(
        (&main[0]["charset"], &main[0]["charset_source"]),
        (&"UTF-8".into(), &"detected".into())
    );
    let strip = folder.ok("extract a.html --extraction strip/1").records();
    assert_eq!(strip[0]["text"], format!("menu\n{}\nend", paragraph.trim()));
    assert_eq!(strip[0]["language"], "eng");
}

/// Makes a zip file of these files.
fn zip(files: &[(&str, &[u8], CompressionMethod)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut zip = rawzip::ZipArchiveWriter::new(&mut bytes);
    for (name, content, method) in files {
        let (mut entry, config) =
            zip.new_file(*name).compression_method(*method).start().expect("an entry");
        let stored: Box<dyn Write> = match *method {
            CompressionMethod::DEFLATE => {
                Box::new(flate2::write::DeflateEncoder::new(&mut entry, Compression::default()))
            }
            _ => Box::new(&mut entry),
        };
        let mut writer = config.wrap(stored);
        writer.write_all(content).expect("memory takes all");
        let (stored, descriptor) = writer.finish().expect("memory takes all");
        drop(stored);
        entry.finish(descriptor).expect("an entry");
    }
    zip.finish().expect("a directory");
    bytes
}

#[test]
fn archives_within_a_zip_file_are_read() {
    let folder = Folder::new();
    let [one, two, three] =
        [1, 2, 3].map(|i| html(&format!("u:{i}"), &format!("the text of page {i}")));
    let (store, deflate) = (CompressionMethod::STORE, CompressionMethod::DEFLATE);
    let damaged = [&b"no record\r\n"[..], &three].concat();
    let wacz = zip(&[
        ("archive/one.warc", &one, store),
        ("archive/two.warc.gz", &gzip(&two), store),
        ("indexes/index.cdx.gz", b"\x1f\x8b", store),
        ("pages/pages.jsonl", b"{}", deflate),
        ("more/three.warc", &damaged, deflate),
    ]);
    let expected = [1, 2, 3].map(|i| page(&format!("u:{i}"), &format!("the text of page {i}")));
    folder.write("a.wacz", &wacz);
    folder.write("unnamed", &wacz);
    for name in ["a.wacz", "unnamed"] {
        let run = folder.exits(2, &format!("extract {name}"));
        assert_eq!(texts(&run), expected, "{}", run.err);
        assert!(run.err.contains(&format!("{name}/more/three.warc, offset 0: ")), "{}", run.err);
        let run = folder.exits(2, &format!("fingerprint {name}"));
        assert_eq!(run.text().lines().count(), 3, "{}", run.err);
        assert!(run.err.contains(&format!("{name}/more/three.warc, offset 0: ")), "{}", run.err);
    }
    folder.write("b.zip", zip(&[("a.txt", b"some text", store)]));
    folder.write("cut.wacz", &wacz[..wacz.len() - 100]);
    for (name, message) in
        [("b.zip", "a zip file without web archives: unzip it"), ("cut.wacz", "damaged zip file: ")]
    {
        for command in ["extract", "dedup db"] {
            let run = folder.exits(2, &format!("{command} {name}"));
            assert!(run.err.contains(&format!("cannot read {name}: ")), "{}", run.err);
            assert!(run.err.contains(message), "{}", run.err);
        }
    }
    let run = folder.run_with(&["extract", "-"], &wacz);
    assert!(run.code == 2 && run.err.contains("from standard input"), "{run:?}");
}

/// Members that share bytes, entirely, in part, or as a later one within an earlier one.
#[test]
fn zip_file_whose_members_overlap_is_refused() {
    let folder = Folder::new();
    let page = html("u:1", "the text of a page");
    let names: Vec<String> = (0..8).map(|n| format!("archive/{n}.warc")).collect();
    let files: Vec<_> =
        names.iter().map(|name| (name.as_str(), &page[..], CompressionMethod::STORE)).collect();
    let wacz = zip(&files);
    folder.write("apart.wacz", &wacz);
    assert_eq!(texts(&folder.exits(0, "extract apart.wacz")).len(), 8);
    // The offset of the local header is 42 bytes after the beginning of each entry of the
    // directory.
    let is_entry = |at: &usize| wacz[*at..].starts_with(b"PK\x01\x02");
    let entries: Vec<usize> = (0..wacz.len()).filter(is_entry).collect();
    assert_eq!(entries.len(), 8);
    let offset = |bytes: &[u8], entry: usize| bytes[entry + 42..entry + 46].to_vec();
    for (changed, original) in [(1, 0), (7, 0), (0, 7), (3, 4)] {
        let mut same = wacz.clone();
        let of_original = offset(&wacz, entries[original]);
        same[entries[changed] + 42..entries[changed] + 46].copy_from_slice(&of_original);
        folder.write("same.wacz", &same);
        let run = folder.exits(2, "extract same.wacz");
        assert!(run.err.contains("overlap") && run.out.is_empty(), "{run:?}");
    }
}
