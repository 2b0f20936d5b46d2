//! A module uses modules of lower layers only, so that there is one way through the house.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Layers from the ground up. A module may use its own layer's files below it in its own folder,
/// and anything in a lower layer.
const LAYERS: &[&[&str]] = &[
    &["error", "cpu"],
    &["fingerprint", "parallel", "progress"],
    &["codec", "storage", "files"],
    &["layout", "paged"],
    &["block"],
    &["table", "postings", "names", "tombstones"],
    &["settings", "log", "sorter"],
    &["segment", "memtable"],
    &["manifest", "version"],
    &["merge", "query"],
    &["compaction"],
    &["db"],
];

/// Beside the layers: what it may use, and nothing else uses it.
const SIDE: &[(&str, &[&str])] = &[("text", &["error", "fingerprint"])];

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// Module names used by `crate::` paths, without those in `#[cfg(test)]` modules at the end.
fn uses(source: &str) -> BTreeSet<String> {
    let code = source.split("#[cfg(test)]\nmod ").next().unwrap();
    let code: String = code
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .map(|line| format!("{line}\n"))
        .collect();
    code.split("crate::")
        .skip(1)
        .map(|rest| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect())
        .collect()
}

#[test]
fn modules_use_lower_layers_only() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let layer_of: BTreeMap<&str, usize> = (0..)
        .zip(LAYERS)
        .flat_map(|(layer, modules)| modules.iter().map(move |&module| (module, layer)))
        .collect();
    let mut files = Vec::new();
    rust_files(&src, &mut files);
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for file in &files {
        let relative = file.strip_prefix(&src).unwrap();
        let first = relative.iter().next().unwrap().to_str().unwrap();
        let module = first.trim_end_matches(".rs");
        if ["lib", "format_example"].contains(&module) || relative.ends_with("tests.rs") {
            continue;
        }
        seen.insert(module.to_owned());
        for used in uses(&std::fs::read_to_string(file).unwrap()) {
            // Re-exports at the root stand for the ground floor and the layout's public type.
            if used == module || used.chars().next().is_some_and(char::is_uppercase) {
                continue;
            }
            let allowed = match SIDE.iter().find(|(side, _)| *side == module) {
                Some((_, allowed)) => allowed.contains(&used.as_str()),
                None => layer_of.get(used.as_str()).is_some_and(|used| *used < layer_of[module]),
            };
            if !allowed {
                wrong.push(format!("{} uses {used}", relative.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "upward or sideways:\n{}", wrong.join("\n"));
    let named: BTreeSet<String> =
        layer_of.keys().chain(SIDE.iter().map(|(side, _)| side)).map(|&m| m.to_owned()).collect();
    assert_eq!(seen, named, "modules of src/ and those of the table differ");
}

#[test]
fn no_file_is_too_long_to_read() {
    let mut files = Vec::new();
    rust_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    for file in files {
        let source = std::fs::read_to_string(&file).unwrap();
        let code = source.split("#[cfg(test)]\nmod ").next().unwrap().lines().count();
        assert!(code <= 560 || file.ends_with("tests.rs"), "{} has {code} lines", file.display());
    }
}
