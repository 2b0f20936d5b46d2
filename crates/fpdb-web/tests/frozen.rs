//! The texts that every extraction makes of real pages never change.

use std::collections::HashMap;
use std::io::Read;

use flate2::read::MultiGzDecoder;
use fpdb_web::{Archive, Extracted, Extraction, Extractor, Page};
use serde_json::Value;

const PAGES: &[u8] = include_bytes!("pages/pages.warc.gz");
const LAYOUTS: &[u8] = include_bytes!("pages/layouts.warc");
const TEXTS: &[u8] = include_bytes!("pages/texts.ndjson.gz");

fn pages(archive: &[u8], extraction: Extraction) -> Vec<Page> {
    let extractor = Extractor::new(extraction);
    let page = |record| match extractor.record(&record).unwrap() {
        Extracted::Page(page) => page,
        Extracted::Skipped(reason) => panic!("{}: {reason}", record.url()),
    };
    Archive::new(archive).unwrap().map(Result::unwrap).map(page).collect()
}

/// The lines that must come out, by extraction and URL.
fn expected() -> HashMap<(String, String), Value> {
    let mut lines = String::new();
    MultiGzDecoder::new(TEXTS).read_to_string(&mut lines).unwrap();
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    lines.map(|line| ((text(&line["extraction"]), text(&line["id"])), line)).collect()
}

#[test]
fn every_extraction_makes_its_frozen_texts() {
    let mut expected = expected();
    for extraction in Extraction::all() {
        let (real, made) = (pages(PAGES, extraction), pages(LAYOUTS, extraction));
        assert_eq!((real.len(), made.len()), (14, 8));
        for page in real.into_iter().chain(made) {
            let line = expected
                .remove(&(extraction.name().to_owned(), page.url.clone()))
                .unwrap_or_else(|| panic!("{extraction} has no text for {}", page.url));
            let text = line["text"].as_str().unwrap();
            for (number, (found, frozen)) in (1..).zip(page.text.lines().zip(text.lines())) {
                assert_eq!(found, frozen, "{extraction}, {}, line {number}", page.url);
            }
            assert_eq!(page.text, text, "{extraction}, {}", page.url);
            assert_eq!(line["charset"], page.charset, "{}", page.url);
            assert_eq!(line["charset_source"], page.charset_source.to_string(), "{}", page.url);
        }
    }
    assert!(expected.is_empty(), "extractions are missing: {:?}", expected.keys());
}

#[test]
fn tables_of_contents_keep_their_links() {
    let strip = pages(PAGES, Extraction::STRIP_1);
    for (main, strip) in pages(PAGES, Extraction::MAIN_1).iter().zip(&strip) {
        if main.url.contains("/index.") {
            let share = main.text.len() * 100 / strip.text.len();
            assert!(share > 95, "{}: {share} %", main.url);
        }
    }
}

/// A crawler has the response or the decoded body at hand, where an archive has a record.
#[test]
fn a_page_has_the_same_text_however_it_arrives() {
    let extractor = Extractor::default();
    for record in Archive::new(PAGES).unwrap().map(Result::unwrap) {
        let page = extractor.record(&record).unwrap();
        assert_eq!(extractor.response(record.url(), record.block()).unwrap(), page);
        let response = fpdb_web::Response::parse(record.block()).unwrap();
        let body = response.decode_body(&fpdb_web::Limits::default()).unwrap().unwrap();
        let content_type = response.header("Content-Type").unwrap();
        assert_eq!(extractor.document(record.url(), content_type, &body), page);
    }
}
