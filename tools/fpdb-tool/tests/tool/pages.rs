//! Web pages as documents of the commands. The readers have their own tests in `fpdb-web`.

use std::path::{Path, PathBuf};

use fpdb_web::{Archive, Extraction, Extractor};
use serde_json::json;

use crate::common::{Folder, fingerprints, gzip, records, text};

fn page(seed: u64) -> String {
    format!("<!doctype html><title>T</title><body><p>{}</p></body>", text(seed, 60))
}

fn record(kind: &str, url: &str, block: &str) -> String {
    format!(
        "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\n\
         WARC-Date: 2026-01-01T00:00:00Z\r\nWARC-Record-ID: <urn:uuid:0>\r\n\
         Content-Type: application/http; msgtype={kind}\r\nContent-Length: {}\r\n\r\n{block}\r\n\r\n",
        block.len()
    )
}

fn response(url: &str, media: &str, body: &str) -> String {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {media}\r\n\r\n");
    record("response", url, &(head + body))
}

/// Four pages, the third equal to the first, and three records without a page.
fn archive() -> Vec<String> {
    vec![
        record("request", "http://x/1", "GET / HTTP/1.1\r\n\r\n"),
        response("http://x/1", "text/html", &page(1)),
        response("http://x/2", "text/html; charset=utf-8", &page(2)),
        response("http://x/image", "image/png", "png"),
        response("http://x/3", "text/html", &page(1)),
        record("request", "http://x/4", "GET / HTTP/1.1\r\n\r\n"),
        response("http://x/4", "text/html", &page(4)),
    ]
}

#[test]
fn pages_of_an_archive_are_documents_by_their_urls() {
    let folder = Folder::new();
    let zipped: Vec<u8> = archive().iter().flat_map(|record| gzip(record.as_bytes())).collect();
    folder.write("a.warc", archive().concat());
    folder.write("a.warc.gz", zipped);
    for i in [1, 2, 4] {
        folder.write(&format!("{i}.html"), page(i));
    }
    let of_files = fingerprints(&folder.ok("fingerprint 1.html 2.html 1.html 4.html --json"));
    let urls = ["http://x/1", "http://x/2", "http://x/3", "http://x/4"];
    let expected: Vec<_> =
        urls.iter().zip(of_files).map(|(url, (_, f))| (url.to_string(), f)).collect();
    assert!(expected.iter().all(|(_, fingerprint)| fingerprint.is_some()));
    for line in ["a.warc", "a.warc.gz", "--from warc a.warc"] {
        let run = folder.ok(&format!("fingerprint {line} --json"));
        assert_eq!(fingerprints(&run), expected, "{line}");
        assert_eq!(run.records()[4]["ignored"], 3);
        assert!(run.err.contains("records without a document: 3 ("), "{}", run.err);
    }
    folder.write("unnamed", archive().concat());
    assert_eq!(fingerprints(&folder.ok("fingerprint unnamed --json")), expected);

    let run = folder.ok("dedup db a.warc.gz --print id --report r");
    assert_eq!(run.text(), "http://x/1\nhttp://x/2\nhttp://x/4\n");
    let report = records(&folder.read("r"));
    assert_eq!((&report[0]["id"], &report[0]["duplicate_of"]), (&json!(urls[2]), &json!(urls[0])));
    assert_eq!((&report[1]["read"], &report[1]["ignored"]), (&json!(4), &json!(3)));
    let printed = folder.ok("dedup other a.warc.gz").records();
    assert_eq!((printed.len(), &printed[0]["id"]), (3, &json!(urls[0])));
    assert!(printed.iter().all(|page| page["extraction"] == "main/1"), "{printed:?}");
    let run = folder.run_with(&["dedup", "db", "--from", "warc", "-"], archive()[1].as_bytes());
    assert_eq!((run.code, run.text().as_str()), (0, ""), "{}", run.err);
    let imported = folder.ok("import all --from warc a.warc --json").json();
    assert_eq!((&imported["inserted"], &imported["ignored"]), (&json!(4), &json!(3)));
}

#[test]
fn damage_is_reported_with_its_offset_and_does_not_stop_the_run() {
    let folder = Folder::new();
    let mut zipped: Vec<Vec<u8>> = archive().iter().map(|r| gzip(r.as_bytes())).collect();
    let at = zipped[..2].concat().len();
    let middle = zipped[2].len() / 2;
    zipped[2][middle..middle + 8].fill(0xff);
    folder.write("a.warc.gz", zipped.concat());
    let run = folder.exits(2, "dedup db a.warc.gz --print id --report r");
    assert_eq!(run.text(), "http://x/1\nhttp://x/4\n");
    assert!(run.err.contains(&format!("broken: a.warc.gz, offset {at}: ")), "{}", run.err);
    assert!(run.err.contains("fpdb-tool: broken records passed over: 1"), "{}", run.err);
    let summary = records(&folder.read("r")).pop().unwrap();
    assert_eq!((&summary["type"], &summary["bad"]), (&json!("summary"), &json!(1)));
    assert_eq!(folder.ok("stats db --json").json()["entries"], 2);

    let run = folder.exits(2, "fingerprint a.warc.gz --json");
    assert_eq!(run.records().len(), 4, "with a summary: the run came to its end");
    folder.ok("fingerprint a.warc.gz --skip-bad");
    folder.exits(2, "import all --from warc a.warc.gz");
}

#[test]
fn a_file_that_is_not_an_archive_is_refused() {
    let folder = Folder::new();
    folder.write("docs.ndjson", crate::common::document("a", &text(1, 30)));
    let run = folder.exits(2, "fingerprint --from warc docs.ndjson");
    assert!(run.out.is_empty() && run.err.contains("offset 0: "), "{}", run.err);
}

#[test]
fn a_page_may_be_as_large_as_max_document_says() {
    let folder = Folder::new();
    folder.write("a.warc", archive().concat());
    let run = folder.exits(2, "fingerprint a.warc --max-document 100");
    assert!(run.err.contains("offset ") && run.err.contains("--max-document"), "{}", run.err);
    folder.write("a.html", page(1));
    let run = folder.exits(2, "fingerprint a.html --max-document 100");
    assert!(run.err.contains("a.html: a document of more than 100 bytes"), "{}", run.err);
}

#[test]
fn text_in_an_old_encoding_is_read_as_characters() {
    let folder = Folder::new();
    let german =
        "Die Größe der Häuser über der Straße überraschte die müden Gäste schön. ".repeat(4);
    let latin: Vec<u8> = german.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    folder.write("utf8.txt", &german);
    folder.write("latin.txt", latin);
    let found = fingerprints(&folder.ok("fingerprint utf8.txt latin.txt --json"));
    assert!(found[0].1.is_some());
    assert_eq!(found[0].1, found[1].1);
}

/// The real pages that freeze the extractions.
fn real_pages() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/fpdb-web/tests/pages/pages.warc.gz")
}

#[test]
fn an_embedding_crawler_computes_the_same_fingerprints_as_the_tool() {
    let folder = Folder::new();
    let path = real_pages();
    for (extraction, recipe) in [("main/1", "fives/1"), ("strip/1", "pairs/1")] {
        let extractor = Extractor::new(Extraction::named(extraction).unwrap());
        let recipe_of_crawler = fpdb_text::Recipe::named(recipe).unwrap();
        let archive = Archive::new(std::fs::File::open(&path).unwrap()).unwrap();
        let of_crawler: Vec<_> = archive
            .filter_map(|record| extractor.record(&record.unwrap()).unwrap().page())
            .map(|page| {
                let fingerprint = recipe_of_crawler.fingerprint(&page.text).fingerprint;
                (page.url, fingerprint.map(|fingerprint| format!("0x{fingerprint:016x}")))
            })
            .collect();
        assert_eq!(of_crawler.len(), 14);
        let run = folder.run(&[
            "fingerprint",
            "--json",
            "--recipe",
            recipe,
            "--extraction",
            extraction,
            path.to_str().unwrap(),
        ]);
        assert_eq!(fingerprints(&run), of_crawler, "{}", run.err);
    }
}

#[test]
fn a_database_refuses_texts_of_another_extraction() {
    let folder = Folder::new();
    folder.write("a.warc", archive().concat());
    folder.write("main.ndjson", folder.ok("extract a.warc").out);
    folder.write("strip.ndjson", folder.ok("extract a.warc --extraction strip").out);
    folder.write("plain.ndjson", crate::common::document("plain", &text(9, 60)));
    let extraction =
        |db: &str| folder.ok(&format!("stats {db} --json")).json()["extraction"].clone();

    folder.ok("dedup db a.warc --print id");
    assert_eq!(extraction("db"), json!("main/1"));
    assert!(folder.ok("inspect db").text().contains("main/1"));
    let run = folder.exits(2, "dedup db a.warc --extraction strip/1");
    assert!(run.err.contains("strip/1") && run.err.contains("main/1"), "{}", run.err);
    let run = folder.exits(2, "dedup db strip.ndjson");
    assert!(run.err.contains("line 1: a text of extraction strip/1, not main/1"), "{}", run.err);
    assert_eq!(folder.ok("dedup db main.ndjson --print id").text(), "");
    assert_eq!(folder.ok("dedup db plain.ndjson --print id").text(), "plain\n");

    folder.ok("create strip --ids names --extraction strip");
    folder.ok("import strip --from ndjson strip.ndjson");
    assert_eq!(extraction("strip"), json!("strip/1"));
    folder.exits(2, "import strip --from ndjson main.ndjson");
    let run = folder.exits(2, "import strip --from warc a.warc --extraction main/1");
    assert!(run.err.contains("cannot be compared"), "{}", run.err);
    // Without a database, any extraction will do.
    folder.ok("fingerprint strip.ndjson");
}
