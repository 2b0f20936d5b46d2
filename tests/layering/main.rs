//! Checks the dependencies between files: no two files use each other, not even through others,
//! and a module of the library uses modules of lower layers only.

mod cycles;
mod files;
mod parse;
mod planted;
mod tokens;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cycles::{cycles, written};
use files::uses;

/// The library's layers from the bottom up. A module may use modules of lower layers only.
const LAYERS: &[&[&str]] = &[
    &["error", "cpu"],
    &["fingerprint", "parallel", "process", "progress", "events"],
    &["codec", "storage", "files", "inspection"],
    &["layout", "scratch"],
    &["block", "paged", "sorter"],
    &["table", "postings", "tombstones"],
    &["settings"],
    &["documents"],
    &["log"],
    &["segment", "memtable"],
    &["manifest", "version"],
    &["merge", "document_merge", "query"],
    &["compaction", "pairs"],
    &["db"],
    &["fuzzing"],
];

/// The longest file, in lines without its unit tests.
const MAX_LINES: usize = 500;

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folders of all crates: the library's, those in `crates/` and those in `tools/`.
fn crates() -> Vec<PathBuf> {
    let folders = ["crates", "tools"].map(|folder| repository().join(folder).read_dir());
    let below = folders.into_iter().flatten().flatten().map(|entry| entry.unwrap().path());
    let mut all: Vec<PathBuf> = below.filter(|path| path.join("Cargo.toml").exists()).collect();
    // It includes files of the library under other paths.
    all.retain(|path| !path.ends_with("tools/models"));
    all.push(repository().to_owned());
    all.sort();
    assert!(all.len() >= 3, "{all:?}");
    all
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn no_files_use_each_other_in_a_circle() {
    let mut found = Vec::new();
    for folder in crates() {
        let name = folder.strip_prefix(repository()).unwrap();
        let roots = ["src/lib.rs", "src/main.rs"].map(|root| folder.join(root));
        for root in roots.iter().filter(|root| root.exists()) {
            for cycle in &cycles(&uses(root)) {
                found.push(format!("{}: {}", name.display(), written(cycle)));
            }
        }
    }
    assert!(found.is_empty(), "{} cycles:\n{}", found.len(), found.join("\n"));
}

#[test]
fn modules_use_lower_layers_only() {
    let layer_of: BTreeMap<&str, usize> = (0..)
        .zip(LAYERS)
        .flat_map(|(layer, modules)| modules.iter().map(move |&module| (module, layer)))
        .collect();
    let uses = uses(&repository().join("src/lib.rs"));
    let (mut seen, mut wrong) = (BTreeSet::new(), Vec::new());
    for (file, used) in &uses {
        let module = top_module(file);
        if module == "lib" {
            continue;
        }
        seen.insert(module);
        for other in used.iter().map(|file| top_module(file)).filter(|other| *other != module) {
            let is_lower = layer_of.get(other) < layer_of.get(module);
            if !is_lower || !layer_of.contains_key(other) {
                wrong.push(format!("{} uses {other}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "upward:\n{}", wrong.join("\n"));
    let listed: BTreeSet<&str> = layer_of.keys().copied().collect();
    assert_eq!(seen, listed, "modules of src/ and those of the table differ");
}

/// The module at the crate's root that a file belongs to.
fn top_module(file: &Path) -> &str {
    let first = file.iter().next().unwrap().to_str().unwrap();
    first.trim_end_matches(".rs")
}

#[test]
fn no_file_is_too_long_to_read() {
    let mut files = Vec::new();
    for folder in crates() {
        rust_files(&folder.join("src"), &mut files);
    }
    for file in files {
        let source = std::fs::read_to_string(&file).unwrap();
        let code = source.split("#[cfg(test)]\nmod ").next().unwrap().lines().count();
        assert!(
            code <= MAX_LINES || file.ends_with("tests.rs"),
            "{} has {code} lines",
            file.display()
        );
    }
}
