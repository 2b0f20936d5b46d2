//! A dedup run that is killed and repeated.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::time::Duration;

use serde_json::Value;

use crate::common::{Folder, document, records, text};

const DOCUMENTS: u64 = 2000;

/// Returns documents, of which every third is a copy of the one before.
fn documents() -> Vec<String> {
    (0..DOCUMENTS).map(|i| document(&i.to_string(), &text(i - u64::from(i % 3 == 2), 30))).collect()
}

fn id(line: &str) -> String {
    serde_json::from_str::<Value>(line).unwrap()["id"].as_str().unwrap().to_owned()
}

#[test]
fn no_document_is_lost_when_a_run_is_killed_and_repeated() {
    let folder = Folder::new();
    let documents = documents();
    folder.write("docs", documents.concat());
    let args = ["dedup", "a", "docs", "--report", "r", "--quiet"];
    let mut printed = BTreeSet::new();
    // Killed at several moments, each in the middle of a batch: the process has filled the pipe and
    // waits for the test to read more.
    for lines in [1, 100, 400, 800] {
        let mut child = folder.command(&args).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        for _ in 0..lines {
            line.clear();
            if out.read_line(&mut line).unwrap() == 0 {
                break;
            }
            printed.insert(id(&line));
        }
        std::thread::sleep(Duration::from_millis(100));
        child.kill().unwrap();
        child.wait().unwrap();
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        // The last line may be incomplete. It belongs to a batch that was not committed.
        printed.extend(rest.split_inclusive('\n').filter(|l| l.ends_with('\n')).map(id));

        // Every stored document was printed.
        let stored = folder.ok("export a --json").records();
        for entry in stored.iter().filter(|r| r["type"] == "entry") {
            let name = entry["name"].as_str().unwrap();
            assert!(printed.contains(name), "document {name} is stored but was not printed");
        }
    }

    let run = folder.run(&args);
    assert_eq!(run.code, 0, "{}", run.err);
    printed.extend(run.text().lines().map(id));
    let report = records(&folder.read("r"));
    let summary = &report[report.len() - 1];
    let count = |key: &str| summary[key].as_u64().unwrap();
    assert_eq!(count("read"), DOCUMENTS);
    assert_eq!(count("read"), count("novel") + count("duplicates") + count("skipped"));

    // Of each group of copies, one document was printed.
    let novel: BTreeSet<_> = (0..DOCUMENTS).filter(|i| i % 3 != 2).map(|i| i.to_string()).collect();
    assert_eq!(printed, novel);
    assert_eq!(folder.ok("stats a --json").json()["entries"], novel.len());
    assert!(folder.run(&args).out.is_empty());
    folder.ok("verify a");
}
