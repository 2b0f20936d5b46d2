//! Real documents: those for trying fpdb.

use std::io::{BufRead, BufReader};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use serde_json::Value;

use crate::common::{Folder, gzip, records};

fn documents(file: &Path) -> Vec<Value> {
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

/// Reads documents, and then the same documents again and again under new ids.
fn documents_read_again_are_all_duplicates(recipe: &str) {
    let folder = Folder::new();
    // The pages for trying fpdb, which are under licences that allow it to be included.
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../demo/documents.ndjson.gz");
    let documents = documents(&file);
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
    let (_, novel, _, skipped) = dedup(file.to_str().unwrap());
    assert!(novel > documents.len() / 2, "{novel} of {}", documents.len());

    // Every round is a process of its own, and so opens the database again.
    for round in 0..3 {
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
    documents_read_again_are_all_duplicates("pairs/1");
    #[cfg(feature = "zh")]
    documents_read_again_are_all_duplicates("pairs-zh/1");
}
