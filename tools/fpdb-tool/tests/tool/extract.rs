//! `extract`: the pages of archives.

#[cfg(feature = "zstd")]
use std::io::Write;

use serde_json::Value;

use crate::common::{Folder, Run, gzip, random};

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
    let summary = run.err.lines().find(|line| line.starts_with('{'));
    let summary = serde_json::from_str(summary.expect("a summary")).expect("JSON");
    (run, summary)
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
        "metadata": 1, "other_record": 1, "media_type": 1,
    });
    for archive in [archive.concat(), members(&archive)] {
        let (run, summary) = extract(&folder, &archive, &[]);
        assert_eq!(run.code, 0, "{}", run.err);
        assert_eq!(texts(&run), expected);
        assert_eq!((&summary["skipped"], &summary["records"]), (&skipped, &11.into()));
    }
}

#[test]
fn archives_may_be_divided_into_gzip_members_in_any_way() {
    let folder = Folder::new();
    let records: Vec<Vec<u8>> =
        (0..5).map(|i| html(&format!("http://a/{i}"), &format!("text {i}"))).collect();
    let expected: Vec<_> =
        (0..5).map(|i| page(&format!("http://a/{i}"), &format!("text {i}"))).collect();
    let whole = records.concat();
    let cuts = [
        whole.clone(),
        gzip(&whole),
        members(&records),
        members(whole.chunks(100)),
        members(whole.chunks(1)),
    ];
    for (cut, (archive, shared)) in cuts.iter().zip([false, true, false, true, false]).enumerate() {
        let (run, _) = extract(&folder, archive, &[]);
        assert_eq!((run.code, texts(&run)), (0, expected.clone()), "cut {cut}: {}", run.err);
        // That a member holds several records is a warning.
        assert_eq!(run.err.contains("warning: ") && run.err.contains("record by record"), shared);
    }
    // A file and standard input, several of them: in order.
    folder.write("one.warc.gz", &cuts[2]);
    folder.write("two.html", "<title>no</title><p>a page<br>of its own");
    let run = folder.run_with(&["extract", "two.html", "-", "one.warc.gz"], &cuts[0]);
    let all = [vec![page("two.html", "a page\nof its own")], expected.clone(), expected].concat();
    assert_eq!((run.code, texts(&run)), (0, all), "{}", run.err);
    assert!(run.err.contains("read 11 records: 11 pages, 0 broken"), "{}", run.err);
}

#[test]
fn bodies_are_decoded_even_if_the_headers_no_longer_match() {
    let folder = Folder::new();
    let zipped = gzip(b"<p>zipped");
    let chunk = |bytes: &[u8]| {
        [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n0\r\n\r\n"].concat()
    };
    let folded = "content-type:\r\n text/html;\r\n\tcharset=utf-8\r\nTRANSFER-ENCODING: chunked\
                  \r\nContent-Encoding: gzip";
    let archive = [
        response("u:1", folded, &chunk(&zipped)),
        response("u:2", "Content-Type: text/html\r\nTransfer-Encoding: chunked", b"<p>plain"),
        response("u:3", "Content-Type: text/html\r\nContent-Encoding: gzip", b"<p>plain"),
        response("u:4", "Content-Type: text/html\nContent-Encoding: deflate", b"<p>line feeds"),
    ]
    .concat();
    let (run, _) = extract(&folder, &archive, &[]);
    let expected = ["zipped", "plain", "plain", "line feeds"];
    let expected: Vec<_> = (1..).zip(expected).map(|(i, t)| page(&format!("u:{i}"), t)).collect();
    assert_eq!((run.code, texts(&run)), (0, expected), "{}", run.err);
}

#[test]
fn a_page_is_the_same_text_in_every_encoding() {
    let folder = Folder::new();
    let gbk = b"<meta charset=gbk><p>\xd6\xd0\xce\xc4\xcd\xf8\xd2\xb3 \x80";
    let big5 =
        b"<meta http-equiv=Content-Type content='text/html; charset=big5'><p>\xa4\xa4\xa4\xe5";
    let archive = [
        response("u:gbk", "Content-Type: text/html", gbk),
        response("u:big5", "Content-Type: text/html", big5),
        response("u:latin", "Content-Type: text/html; charset=ISO-8859-1", b"<p>\x93caf\xe9\x94"),
        response("u:bom", "Content-Type: text/html; charset=gbk", "\u{feff}<p>中文".as_bytes()),
        response("u:names", "Content-Type: text/html", b"<p>&ldquo;caf&#xe9;&#148;&nbsp; "),
    ]
    .concat();
    let (run, _) = extract(&folder, &archive, &[]);
    let charsets: Vec<_> = run.records().iter().map(|page| page["charset"].clone()).collect();
    assert_eq!(run.records()[3]["charset_source"], "bom");
    assert_eq!(charsets[..4], ["GBK", "Big5", "windows-1252", "UTF-8"]);
    let texts: Vec<_> = texts(&run).into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["中文网页 €", "中文", "“café”", "中文", "“café”"]);
}

#[test]
fn damage_is_reported_and_the_records_after_it_are_read() {
    let folder = Folder::new();
    let good: Vec<Vec<u8>> =
        (0..4).map(|i| html(&format!("u:{i}"), &format!("text {i}"))).collect();
    let wrong_length = |from: &str, to: &str| {
        let text = String::from_utf8(html("u:bad", "the length is wrong")).unwrap();
        assert!(text.contains(from), "{text}");
        text.replacen(from, to, 1).into_bytes()
    };
    let length = "Content-Length: 70";
    let damaged = [
        b"no record at all\r\nWARC/ nor this\r\n".to_vec(),
        wrong_length(length, "Content-Length: 50"),
        wrong_length(length, "Content-Length: 300"),
        wrong_length(length, "Content-Length: many"),
        wrong_length("Content-Length", "Length"),
        wrong_length("WARC/1.0", "WARC/9.0"),
    ];
    for (i, bad) in damaged.iter().enumerate() {
        let archive = [&good[0], &good[1], bad, &good[2], &good[3]].map(Vec::as_slice);
        for archive in [archive.concat(), members(archive)] {
            let (run, summary) = extract(&folder, &archive, &[]);
            let found: Vec<_> = texts(&run).into_iter().map(|(id, _)| id).collect();
            // A length that is wrong by little loses nothing.
            let expected: &[&str] = match i {
                1 | 2 => &["u:0", "u:1", "u:bad", "u:2", "u:3"],
                _ => &["u:0", "u:1", "u:2", "u:3"],
            };
            assert_eq!(run.code, 2, "{i}: {}", run.err);
            assert_eq!(found, expected, "{i}: {}", run.err);
            assert_eq!(summary["broken"], 1, "{i}: {}", run.err);
            assert!(run.err.contains("standard input, offset "), "{}", run.err);
        }
    }
}

#[test]
fn a_damaged_member_does_not_affect_others() {
    let folder = Folder::new();
    let members: Vec<Vec<u8>> = (0..4)
        .map(|i| {
            let mut state = i;
            let text: String = (0..200).map(|_| format!("{:x} ", random(&mut state))).collect();
            gzip(&html(&format!("u:{i}"), &text))
        })
        .collect();
    for at in (0..members[1].len()).step_by(37).chain([0, 1, 2, 3]) {
        let mut bad = members[1].clone();
        bad[at] ^= 0x55;
        let archive = [&members[0], &bad, &members[2], &members[3]].map(Vec::as_slice).concat();
        let (run, summary) = extract(&folder, &archive, &[]);
        let found: Vec<_> = texts(&run).into_iter().map(|(id, _)| id).collect();
        // Some bytes of a gzip header have no effect.
        if run.code == 0 {
            assert!(at < 10 && found.len() == 4, "byte {at}");
            continue;
        }
        assert_eq!(found, ["u:0", "u:2", "u:3"], "byte {at}: {}", run.err);
        // Damage that can be uncompressed is found twice: in the record and by the checksum.
        assert!((1..=2).contains(&summary["broken"].as_u64().unwrap()), "{}", run.err);
        let place = format!("offset {}: ", members[0].len());
        assert!(run.err.contains(&place), "byte {at}: {}", run.err);
    }
}

#[test]
fn all_complete_records_of_a_truncated_archive_are_read() {
    let folder = Folder::new();
    let records: Vec<_> = (0..3).map(|i| html(&format!("u:{i}"), "some text")).collect();
    let plain = records.concat();
    let zipped: Vec<u8> = records.iter().flat_map(|record| gzip(record)).collect();
    for (archive, step, reports) in [(plain.clone(), 23, 0), (zipped, 17, 0), (gzip(&plain), 19, 1)]
    {
        for cut in (1..archive.len()).step_by(step) {
            let (run, summary) = extract(&folder, &archive[..cut], &[]);
            let pages = texts(&run).len();
            let broken = summary["broken"].as_u64().unwrap();
            assert!(broken <= 1 + reports && pages < 4, "cut at {cut}: {}", run.err);
            assert_eq!(run.code, if broken == 0 { 0 } else { 2 }, "cut at {cut}: {}", run.err);
        }
    }
    let (run, _) = extract(&folder, &plain[..plain.len() - 30], &[]);
    assert_eq!(texts(&run).len(), 2);
    assert!(run.err.contains("the file ends after "), "{}", run.err);
    let (run, _) = extract(&folder, &plain[..plain.len() - 30], &["--skip-bad", "--threads", "1"]);
    assert_eq!((run.code, texts(&run).len()), (0, 2), "{}", run.err);
    let zipped = gzip(&plain);
    let (run, _) = extract(&folder, &zipped[..zipped.len() - 8], &[]);
    assert_eq!(texts(&run).len(), 3, "{}", run.err);
    assert!(run.err.contains("the file is cut off"), "{}", run.err);
}

#[test]
fn large_records_and_decompression_bombs_are_counted_and_skipped() {
    let folder = Folder::new();
    let bomb = gzip(&vec![b' '; 3 << 20]);
    let archive = [
        response("u:bomb", "Content-Type: text/html\r\nContent-Encoding: gzip", &bomb),
        html("u:large", &"x".repeat(2 << 20)),
        html("u:small", "small"),
    ];
    let (run, summary) = extract(&folder, &members(&archive), &["--max-document", "1MiB"]);
    assert_eq!((run.code, texts(&run)), (0, vec![page("u:small", "small")]), "{}", run.err);
    assert_eq!(summary["skipped"]["too_large"], 2);
}

#[test]
fn arc_files_are_read() {
    let folder = Folder::new();
    let arc = |url: &str, kind: &str, block: &str| {
        format!("{url} 127.0.0.1 20140216050221 {kind} {}\n{block}\n", block.len())
    };
    let answer =
        |text: &str| format!("HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<p>{text}");
    let parts = [
        arc(
            "filedesc://x.arc",
            "text/plain",
            "1 0 x\nURL IP-address Archive-date Content-type Archive-length\n",
        ),
        arc("http://a/1", "text/html", &answer("one")),
        arc("dns:a", "text/dns", "20140216050221\na 1 IN A 127.0.0.1\n"),
        arc("http://a/2 b", "text/html", &answer("two")),
    ];
    let plain = parts.concat();
    let expected = [page("http://a/1", "one"), page("http://a/2 b", "two")];
    for archive in [plain.as_bytes(), &members(&parts)] {
        let (run, summary) = extract(&folder, archive, &[]);
        assert_eq!((run.code, texts(&run)), (0, expected.to_vec()), "{}", run.err);
        assert_eq!(summary["skipped"], serde_json::json!({ "warcinfo": 1, "media_type": 1 }));
    }
    let damaged = plain.replacen("dns:a", "dns a b", 1);
    let (run, _) = extract(&folder, damaged.as_bytes(), &[]);
    assert_eq!((run.code, texts(&run)), (2, expected.to_vec()), "{}", run.err);
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
#[cfg(feature = "zstd")]
fn an_archive_of_one_zstd_frame_per_record_is_read() {
    let folder = Folder::new();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/edge/z_permember.warc.zst");
    let run = folder.run(&["extract", path]);
    let ids: Vec<_> = texts(&run).into_iter().map(|(id, _)| id).collect();
    let expected: Vec<_> = (0..6).map(|i| format!("http://r{i}.example/")).collect();
    assert_eq!((run.code, ids), (0, expected), "{}", run.err);
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
    let strip = folder.ok("extract a.html --extraction strip/1").records();
    assert_eq!(strip[0]["text"], format!("menu\n{}\nend", paragraph.trim()));
    assert_eq!(strip[0]["language"], "eng");
}
