//! Real documents and fingerprints: the sample in the repository, and a larger collection.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use serde_json::Value;

use crate::common::{Folder, gzip, records};

/// The pages for trying fpdb, which are under licences that allow it to be included.
pub(crate) fn sample_documents() -> PathBuf {
    in_repository("demo/documents.ndjson.gz")
}

/// A file of the sample, which `tests/data/README.md` describes.
pub(crate) fn sample(name: &str) -> PathBuf {
    in_repository("tests/data").join(name)
}

fn in_repository(path: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    path.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The folder of the larger collection, which cannot be part of the repository: CONTRIBUTING.md says
/// what it has. Prints if it is left out.
pub(crate) fn larger_collection() -> Option<PathBuf> {
    let folder = std::env::var_os("FPDB_DATA").map(PathBuf::from);
    if folder.is_none() {
        // Not with a macro, whose output the test harness captures.
        let _ = writeln!(std::io::stderr(), "left out: the texts of FPDB_DATA, which is not set");
    }
    folder
}

pub(crate) fn documents(file: &Path) -> Vec<Value> {
    let file = BufReader::new(std::fs::File::open(file).unwrap());
    let lines = BufReader::new(MultiGzDecoder::new(file)).lines();
    lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect()
}

/// The same documents under ids that no other round has.
fn renamed(documents: &[Value], round: usize) -> String {
    let rename = |document: &Value| {
        let id = format!("round {round} {}", document["id"].as_str().unwrap());
        format!("{}\n", serde_json::json!({ "id": id, "text": document["text"] }))
    };
    documents.iter().map(rename).collect()
}

/// Reads a file of documents, and then the same documents again and again under new ids.
fn documents_read_again_are_all_duplicates(file: &Path, recipe: &str, rounds: usize) {
    let folder = Folder::new();
    let name = file.display();
    let documents = documents(file);
    let dedup = |file: &str| {
        let report = ["--recipe", recipe, "--report", "report", "--quiet"];
        let run =
            folder.run(&[&["dedup", "crawl.fpdb", "--from", "ndjson", file], &report[..]].concat());
        assert_eq!(run.code, 0, "{}", run.err);
        let report = records(&folder.read("report"));
        let summary = report[report.len() - 1].clone();
        let count = |key: &str| usize::try_from(summary[key].as_u64().unwrap()).unwrap();
        assert_eq!(count("read"), count("novel") + count("duplicates") + count("skipped"));
        assert_eq!(count("duplicates"), report.len() - 1);
        assert_eq!(count("novel"), run.text().lines().count());
        (run, count("novel"), count("duplicates"), count("skipped"))
    };
    let (_, novel, duplicates, skipped) = dedup(file.to_str().unwrap());
    eprintln!("{name}: {novel} novel, {duplicates} duplicates, {skipped} skipped");
    assert!(novel > documents.len() / 2, "{novel} of {}", documents.len());

    // Every round is a process of its own, and so opens the database again.
    for round in 0..rounds {
        folder.write("again.gz", gzip(renamed(&documents, round).as_bytes()));
        let (run, novel, again, too_short) = dedup("again.gz");
        assert_eq!((novel, too_short), (0, skipped), "{}", run.text());
        assert_eq!(again, documents.len() - skipped);
    }
    assert_eq!(folder.ok("stats crawl.fpdb --json").json()["entries"], novel);
    folder.ok("verify crawl.fpdb");
}

#[test]
fn sample_documents_read_again_are_all_duplicates() {
    documents_read_again_are_all_duplicates(&sample_documents(), "words/1", 3);
    #[cfg(feature = "zh")]
    documents_read_again_are_all_duplicates(&sample_documents(), "jieba/1", 3);
}

#[test]
fn english_documents_read_again_are_all_duplicates() {
    let Some(data) = larger_collection() else { return };
    documents_read_again_are_all_duplicates(&data.join("corpus_en.ndjson.gz"), "words/1", 20);
}

#[test]
#[cfg(feature = "zh")]
fn chinese_documents_read_again_are_all_duplicates() {
    let Some(data) = larger_collection() else { return };
    documents_read_again_are_all_duplicates(&data.join("corpus_zh.ndjson.gz"), "jieba/1", 20);
}
