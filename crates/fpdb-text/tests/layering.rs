//! A module uses modules of lower layers only, so the crate can be read from the bottom up.
//!
//! The engine's layering test also checks that no two files of any crate use each other in a
//! circle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The layers from the bottom up. A comment in `lib.rs` says what each module contains.
const LAYERS: &[&[&str]] = &[
    &["error", "fingerprinted", "hash", "normalization", "segment", "tokens", "width"],
    &["cut", "dictionary", "feature_hash", "jaccard", "minhash", "simhash"],
    &["explain"],
    &["method"],
    &["pairs", "pipeline", "recipe", "sentences", "weighted"],
    &["jieba", "keywords", "recipes"],
    &["catalogue"],
    &["names"],
    &["builder"],
];

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The code of a file, without comments and without the unit tests at its end.
fn code(file: &Path) -> String {
    let source = std::fs::read_to_string(file).unwrap();
    let end = source.find("#[cfg(test)]\nmod tests").or(source.find("#[cfg(all(test,"));
    let code = source[..end.unwrap_or(source.len())].lines();
    code.map(|line| line.split("//").next().unwrap()).collect::<Vec<_>>().join("\n")
}

/// The modules that the code names in `crate::` paths.
fn used_modules(code: &str) -> BTreeSet<&str> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut used = BTreeSet::new();
    for (start, keyword) in code.match_indices("crate::") {
        let path = &code[start + keyword.len()..];
        match path.strip_prefix('{') {
            // A list, possibly with paths in it: each item starts with a module.
            Some(list) => {
                let items = list.split('}').next().unwrap().split(',').map(str::trim);
                used.extend(items.map(|item| item.split("::").next().unwrap()));
            }
            None => {
                used.insert(path.split(|c| !is_name(c)).next().unwrap());
            }
        }
    }
    used.remove("");
    used
}

#[test]
fn modules_use_lower_layers_only() {
    let layer_of: BTreeMap<&str, usize> = (0..)
        .zip(LAYERS)
        .flat_map(|(layer, modules)| modules.iter().map(move |&module| (module, layer)))
        .collect();
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut files, mut seen, mut wrong) = (Vec::new(), BTreeSet::new(), Vec::new());
    rust_files(&src, &mut files);
    for file in &files {
        let relative = file.strip_prefix(&src).unwrap();
        let first = relative.iter().next().unwrap().to_str().unwrap();
        let module = first.trim_end_matches(".rs");
        if module == "lib" || relative.ends_with("tests.rs") {
            continue;
        }
        seen.insert(module.to_owned());
        for used in used_modules(&code(file)) {
            let is_lower = layer_of.get(used).is_some_and(|used| *used < layer_of[module]);
            if used != module && !is_lower {
                wrong.push(format!("{} uses {used}", relative.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "not from a lower layer:\n{}", wrong.join("\n"));
    let listed: BTreeSet<String> = layer_of.keys().map(|&module| module.to_owned()).collect();
    assert_eq!(seen, listed, "the modules of src/ and those of the table differ");
}

#[test]
fn upward_imports_are_found() {
    let code =
        "use crate::error::Error;\nuse crate::{pairs, names::resolve};\nlet a = crate::hash::x();";
    assert_eq!(used_modules(code), ["error", "hash", "names", "pairs"].into());
}
