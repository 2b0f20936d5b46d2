//! Real archives, which cannot be part of the repository: CONTRIBUTING.md says what `FPDB_DATA`
//! has.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use fpdb_web::{Archive, Extracted, Extraction, Extractor, Page};
use serde_json::Value;

/// The folder of the data. Prints if it is left out.
fn larger_collection() -> Option<PathBuf> {
    let folder = std::env::var_os("FPDB_DATA").map(PathBuf::from);
    if folder.is_none() {
        // Not with a macro, whose output the test harness captures.
        let _ =
            writeln!(std::io::stderr(), "left out: the archives of FPDB_DATA, which is not set");
    }
    folder
}

#[derive(Debug, Default)]
struct Outcome {
    pages: Vec<Page>,
    skipped: BTreeMap<String, usize>,
    errors: usize,
}

fn extract(archive: &Path, extraction: Extraction) -> Outcome {
    let extractor = Extractor::new(extraction);
    let mut all = Outcome::default();
    for record in Archive::new(std::fs::File::open(archive).unwrap()).unwrap() {
        match record.and_then(|record| extractor.record(&record)) {
            Ok(Extracted::Page(page)) => all.pages.push(page),
            Ok(Extracted::Skipped(reason)) => {
                *all.skipped.entry(reason.to_string()).or_default() += 1;
            }
            // That a member holds several records loses nothing.
            Err(error) if error.kind() == fpdb_web::ErrorKind::SharedMember => {}
            Err(_) => all.errors += 1,
        }
    }
    all
}

#[test]
fn real_archives_contain_the_known_numbers_of_pages() {
    let Some(data) = larger_collection() else { return };
    for (name, pages, errors) in [
        ("debian-docs-zh-en.warc.gz", 56, 0),
        ("jwarc-cc.warc.gz", 1, 0),
        ("pywb-iana.warc.gz", 16, 0),
        ("warcio-example.warc.gz", 1, 0),
        ("warcio-example.arc.gz", 1, 0),
        ("warcio-iana-chunked.warc", 1, 0),
        ("warcio-bad-non-chunked.warc.gz", 1, 0),
        ("warcio-example-trunc.warc", 1, 1),
    ] {
        let all = extract(&data.join("warc").join(name), Extraction::default());
        assert_eq!((all.pages.len(), all.errors), (pages, errors), "{name}");
        assert!(all.pages.iter().all(|page| page.text.len() > 100), "{name}");
    }
}

/// The letters and digits of a text, without its layout.
fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// The documents of a file by their ids.
fn documents(file: &Path) -> HashMap<String, String> {
    let lines = BufReader::new(MultiGzDecoder::new(std::fs::File::open(file).unwrap())).lines();
    let lines = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    lines.map(|line| (text(&line["id"]), text(&line["text"]))).collect()
}

#[test]
fn pages_in_all_encodings_contain_the_texts_of_the_corpus() {
    let Some(data) = larger_collection() else { return };
    let manifest = data.join("warc/debian-docs-zh-en.manifest.tsv");
    let manifest = std::fs::read_to_string(manifest).unwrap();
    let manifest: Vec<Vec<&str>> =
        manifest.lines().skip(1).map(|line| line.split('\t').collect()).collect();
    let of_page: HashMap<&str, &Vec<&str>> =
        manifest.iter().filter(|line| line[8] != "-").map(|line| (line[0], line)).collect();
    let mut corpus = documents(&data.join("corpus_zh.ndjson.gz"));
    corpus.extend(documents(&data.join("corpus_en.ndjson.gz")));
    // What is neither a paragraph nor a heading may be taken for surroundings.
    for (extraction, allowed_percent) in [(Extraction::MAIN_1, 2), (Extraction::STRIP_1, 0)] {
        let all = extract(&data.join("warc/debian-docs-zh-en.warc.gz"), extraction);
        let skipped = [
            ("media_type", 5),
            ("request", 6),
            ("revisit", 5),
            ("status_301", 5),
            ("status_404", 5),
            ("warcinfo", 1),
        ];
        assert!(all.skipped.iter().map(|(reason, n)| (reason.as_str(), *n)).eq(skipped));
        let (mut compared, mut found, mut missing) = (0, 0, 0);
        for page in &all.pages {
            let line = of_page[page.url.as_str()];
            assert!(page.charset.eq_ignore_ascii_case(line[4]), "{line:?}");
            let prefix = format!("{}#", line[8].split('.').next().unwrap());
            let text = letters(&page.text);
            assert!(!text.contains('\u{fffd}'));
            for (_, document) in corpus.iter().filter(|(id, _)| id.starts_with(&prefix)) {
                compared += 1;
                for paragraph in document.lines().map(letters) {
                    *if text.contains(&paragraph) { &mut found } else { &mut missing } += 1;
                }
            }
        }
        assert!(compared > 20, "{compared} documents");
        let most = (found + missing) * allowed_percent / 100;
        assert!(missing <= most, "{extraction}: {missing} of {}", found + missing);
    }
}
