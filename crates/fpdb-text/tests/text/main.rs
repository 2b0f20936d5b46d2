//! Checks the recipes against values of the programs that they are compatible with.

mod examples;
mod frozen;
mod golden;
mod quality;
mod similarity;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use serde_json::Value;

/// The pages for trying fpdb, which are real texts that may be included in the repository.
const DOCUMENTS: &str = "demo/documents.ndjson.gz";

fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The folder of the larger collection of texts and values, which cannot be part of the repository:
/// CONTRIBUTING.md says what it has. Prints if it is left out.
fn larger_collection() -> Option<PathBuf> {
    let folder = std::env::var_os("FPDB_DATA").map(PathBuf::from);
    if folder.is_none() {
        // Not with a macro, whose output the test harness captures.
        let _ = writeln!(std::io::stderr(), "left out: the texts of FPDB_DATA, which is not set");
    }
    folder
}

/// The contents of a text file, unpacked if the name ends in `.gz`.
fn read(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = String::new();
    match path.extension().is_some_and(|extension| extension == "gz") {
        true => MultiGzDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap(),
        false => bytes.as_slice().read_to_string(&mut text).unwrap(),
    };
    text
}

/// The contents of a file of the larger collection.
fn read_larger(name: &str) -> Option<String> {
    larger_collection().map(|folder| read(&folder.join(name)))
}

/// The JSON objects of a file with one per line.
fn lines(ndjson: &str) -> Vec<Value> {
    ndjson.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_else(|| panic!("no text {field:?} in {value}"))
}

fn list<'v>(value: &'v Value, field: &str) -> &'v [Value] {
    value[field].as_array().unwrap_or_else(|| panic!("no list {field:?} in {value}"))
}

fn hex(value: &Value) -> u64 {
    u64::from_str_radix(value.as_str().unwrap(), 16).unwrap()
}
