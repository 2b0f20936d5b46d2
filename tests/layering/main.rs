//! Checks the dependencies between files, in every package of the repository: no two files use each
//! other, not even through others, and no file is too long. In crates with a table of layers, a
//! module uses modules of lower layers only.

mod cycles;
mod files;
mod parse;
mod planted;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cycles::{cycles, written};
use files::uses;

/// Modules from the bottom up. A module may use modules of lower layers only.
type Layers = &'static [&'static [&'static str]];

/// The layers of the crates in these folders, and of folders of modules in them.
const LAYERS: [(&str, &str, Layers); 15] = [
    (
        // docs/design.md, "The code, layer by layer", says what each module knows.
        "src",
        "",
        &[
            &["base"],
            &["fingerprint"],
            &["file"],
            &["documents"],
            &["index"],
            &["settings"],
            &["store"],
            &["query"],
            &["db"],
            &["passages", "fuzzing"],
        ],
    ),
    // Comments in `mod.rs` say what the folders of the engine hold.
    (
        "src",
        "base",
        &[&["error", "cpu"], &["events", "parallel", "process", "progress"], &["inspection"]],
    ),
    ("src", "file", &[&["codec", "names", "storage"], &["scratch"], &["paged", "sorter"]]),
    ("src", "index", &[&["indexed", "prediction"], &["bands"], &["rule"], &["tables"]]),
    ("src", "index/bands", &[&["rule", "table"], &["part"]]),
    (
        "src",
        "index/tables",
        &[&["block", "layout"], &["table", "postings", "tombstones"], &["part"]],
    ),
    (
        "src",
        "store",
        &[
            &["log"],
            &["segment", "memtable"],
            &["manifest", "version"],
            &["merge"],
            &["compaction"],
        ],
    ),
    (
        "src",
        "db",
        &[
            &["options"],
            &["state"],
            &["read"],
            &["commit"],
            &["upkeep"],
            &["write"],
            &["recovery"],
            &["handle"],
            &["build"],
            &["repair"],
            &["api"],
        ],
    ),
    (
        // A comment in `lib.rs` says what each module contains.
        "crates/fpdb-sketch/src",
        "",
        &[&["minima", "parities"], &["sketch"], &["similarity"]],
    ),
    (
        // A comment in `lib.rs` says what each module contains.
        "crates/fpdb-text/src",
        "",
        &[
            &[
                "error",
                "jenkins",
                "normalization",
                "removal",
                "segment",
                "sentences",
                "tokens",
                "units",
                "width",
            ],
            &["dictionary", "hash", "minhash", "simhash"],
            &["cut", "jaccard", "keywords"],
            &["method"],
            &["pairs", "pipeline", "recipe"],
            &["recipes"],
            &["catalogue"],
            &["names"],
            &["builder", "windows"],
        ],
    ),
    (
        // A comment in `lib.rs` says what each module contains.
        "crates/fpdb-dedup/src",
        "",
        &[
            &["error", "by_band", "band_set", "candidates"],
            &["parallel", "rows", "options", "lists", "kept", "crowds", "html"],
            &["store"],
            &["comparer"],
            &["nearest"],
            &["dedup"],
        ],
    ),
    (
        // A comment in `lib.rs` says what each module contains.
        "crates/fpdb-server/src",
        "",
        &[
            &["password", "process", "resp", "stop"],
            &["users"],
            &["command", "error", "options"],
            &["metrics"],
            &["net"],
            &["events"],
            &["accounts", "failure"],
            &["database"],
            &["commands"],
            &["connection", "http"],
            &["accept"],
            &["threads"],
            &["server"],
        ],
    ),
    (
        // The comment at the top of `lib.rs` says what each folder contains.
        "python/src",
        "",
        &[&["base"], &["text"], &["db"], &["dedup", "web"], &["tool"]],
    ),
    (
        // A comment in `lib.rs` says what each module contains.
        "crates/fpdb-c/src",
        "",
        &[
            &["code"],
            &["width"],
            &["recipe"],
            &["structs"],
            &["border", "database", "layout", "options"],
            &["handle"],
            &["documents"],
        ],
    ),
    (
        // A comment in `lib.rs` says what each module contains.
        "tools/fpdb-tool/src",
        "",
        &[&["output"], &["args"], &["input"], &["complete"], &["cmd"]],
    ),
];

/// The longest file, in lines without its unit tests.
const MAX_LINES: usize = 500;

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All files with this ending in the repository, but for what cargo and other tools made.
fn files_ending(ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![repository().to_owned()];
    while let Some(folder) = folders.pop() {
        for path in folder.read_dir().unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.file_name().unwrap().to_string_lossy();
            if path.is_dir() && !name.starts_with('.') && name != "target" {
                folders.push(path);
            } else if name.ends_with(ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The roots of all libraries and programs, but for the models, which include files of the library
/// by macros.
fn crate_roots() -> Vec<PathBuf> {
    let is_root = |file: &PathBuf| {
        let is_program = file.parent().is_some_and(|folder| folder.ends_with("src/bin"));
        file.ends_with("src/lib.rs") || file.ends_with("src/main.rs") || is_program
    };
    let mut roots = files_ending(".rs");
    roots.retain(|file| is_root(file) && !file.ends_with("tools/models/src/main.rs"));
    let packages = files_ending("Cargo.toml").len();
    assert!(roots.len() + 2 >= packages && packages >= 9, "{packages}: {roots:?}");
    roots
}

#[test]
fn no_files_use_each_other_in_a_circle() {
    let mut found = Vec::new();
    for root in crate_roots() {
        let name = root.strip_prefix(repository()).unwrap();
        for cycle in &cycles(&uses(&root)) {
            found.push(format!("{}: {}", name.display(), written(cycle)));
        }
    }
    assert!(found.is_empty(), "{} cycles:\n{}", found.len(), found.join("\n"));
}

#[test]
fn modules_use_lower_layers_only() {
    for (folder, inside, layers) in LAYERS {
        let layer_of: BTreeMap<&str, usize> = (0..)
            .zip(layers)
            .flat_map(|(layer, modules)| modules.iter().map(move |&module| (module, layer)))
            .collect();
        let uses = uses(&repository().join(folder).join("lib.rs"));
        let (mut seen, mut wrong) = (BTreeSet::new(), Vec::new());
        for (file, used) in &uses {
            let Some(module) = module_in(inside, file) else { continue };
            seen.insert(module);
            let others = used.iter().filter_map(|file| module_in(inside, file));
            for other in others.filter(|other| *other != module) {
                let is_lower = layer_of.get(other) < layer_of.get(module);
                if !is_lower || !layer_of.contains_key(other) {
                    wrong.push(format!("{} uses {other}", file.display()));
                }
            }
        }
        assert!(wrong.is_empty(), "upward in {folder}/{inside}:\n{}", wrong.join("\n"));
        let listed: BTreeSet<&str> = layer_of.keys().copied().collect();
        assert_eq!(seen, listed, "modules of {folder}/{inside} and of the table differ");
    }
}

/// The module of the folder `inside` that a file belongs to, if it does not contain all of them.
fn module_in<'f>(inside: &str, file: &'f Path) -> Option<&'f str> {
    let first = file.strip_prefix(inside).ok()?.iter().next()?.to_str()?;
    Some(first.trim_end_matches(".rs")).filter(|module| !["lib", "mod"].contains(module))
}

#[test]
fn documents_show_the_layers_in_their_order() {
    for (folder, inside, layers) in LAYERS.into_iter().filter(|(folder, ..)| *folder == "src") {
        let (document, column) = match inside {
            "" => ("docs/design.md".to_owned(), 2),
            _ => (format!("{folder}/{inside}/mod.rs"), 1),
        };
        let text = std::fs::read_to_string(repository().join(&document)).unwrap();
        let rows = text.lines().map(|line| line.trim_start_matches("//! "));
        let cells =
            rows.filter(|row| row.starts_with("| ")).filter_map(|row| row.split('|').nth(column));
        let modules = |cell: &str| -> Option<Vec<String>> {
            let names = cell.trim().strip_prefix('`')?.strip_suffix('`')?;
            Some(names.split("`, `").map(str::to_owned).collect())
        };
        let shown: Vec<Vec<String>> = cells.filter_map(modules).collect();
        let start = shown.iter().position(|row| row[..] == *layers[0]).expect("the first layer");
        assert_eq!(&shown[start..start + layers.len()], layers, "{document}");
    }
}

#[test]
fn no_file_is_too_long_to_read() {
    for file in files_ending(".rs") {
        let source = std::fs::read_to_string(&file).unwrap();
        let code = source.split("#[cfg(test)]\nmod ").next().unwrap().lines().count();
        assert!(
            code <= MAX_LINES || file.ends_with("tests.rs"),
            "{} has {code} lines",
            file.display()
        );
    }
}
