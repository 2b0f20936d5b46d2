//! The documents keep their promises: links lead somewhere, the README stays short, and the design
//! lists all modules.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// Folders without documents of this repository.
const SKIPPED: &[&str] = &["target", ".git", "node_modules"];

/// Most lines of the README.
const README_LINES: usize = 124;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn documents() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap_or_default();
            if path.is_dir() && !SKIPPED.contains(&name) {
                folders.push(path);
            } else if name.ends_with(".md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The lines outside fenced code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// The anchors that a code-hosting site gives to the headings of a document.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut counts = BTreeMap::<String, usize>::new();
    let headings = prose(text).filter_map(|line| {
        let title = line.trim_start_matches('#');
        (title.len() < line.len()).then(|| title.strip_prefix(' ')).flatten()
    });
    let anchors = headings.map(|title| {
        let kept = title.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        let anchor = kept.collect::<String>().to_lowercase().replace(' ', "-");
        let count = counts.entry(anchor.clone()).or_default();
        *count += 1;
        if *count == 1 { anchor } else { format!("{anchor}-{}", *count - 1) }
    });
    anchors.collect()
}

/// The targets of all links in a document.
fn links(text: &str) -> Vec<String> {
    let mut links = Vec::new();
    for line in prose(text) {
        let after = line.split("](").skip(1);
        links.extend(after.filter_map(|rest| Some(rest.split_once(')')?.0.to_owned())));
    }
    links
}

/// `path` without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            Component::CurDir => {}
            other => parts.push(other),
        }
    }
    parts
}

/// Why a link leads nowhere, if it does.
fn fault(document: &Path, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = match file {
        "" => document.to_owned(),
        file => normal(&document.parent().unwrap().join(file)),
    };
    if !target.starts_with(root()) || !target.exists() {
        return Some("no such file".into());
    }
    if anchor.is_empty() {
        return None;
    }
    let known = anchors(&std::fs::read_to_string(&target).ok()?);
    (!known.contains(anchor)).then(|| format!("no such heading in {}", target.display()))
}

#[test]
fn links_between_documents_lead_to_files_and_headings() {
    let mut faults = Vec::new();
    let mut checked = 0;
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        for link in links(&text) {
            checked += 1;
            if let Some(fault) = fault(&document, &link) {
                faults.push(format!("{}: {link}: {fault}", document.display()));
            }
        }
    }
    assert!(checked > 20, "only {checked} links found");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn readme_is_short_and_shows_all_lines_of_its_examples() {
    let text = std::fs::read_to_string(root().join("README.md")).unwrap();
    let lines = text.lines().count();
    assert!(lines <= README_LINES, "README.md has {lines} lines, more than {README_LINES}");
    // rustdoc hides these lines; code-hosting sites show them.
    let is_hidden = |line: &&str| line.trim() == "#" || line.trim_start().starts_with("# ");
    let example = text.split("```rust").skip(1).map(|part| part.split("```").next().unwrap());
    let hidden: Vec<&str> = example.flat_map(str::lines).filter(is_hidden).collect();
    assert!(hidden.is_empty(), "hidden lines: {hidden:?}");
}

#[test]
fn design_lists_every_module_of_the_library() {
    let text = std::fs::read_to_string(root().join("docs/design.md")).unwrap();
    let table = text.split_once("## The code, layer by layer").unwrap().1;
    let table = table.split("\n## ").next().unwrap();
    let modules = std::fs::read_dir(root().join("src")).unwrap().map(|entry| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        name.trim_end_matches(".rs").to_owned()
    });
    let is_listed = |name: &String| table.contains(&format!("`{name}`"));
    let left_out = |name: &String| ["lib", "format_example"].contains(&name.as_str());
    let missing: Vec<String> = modules.filter(|name| !left_out(name) && !is_listed(name)).collect();
    assert!(missing.is_empty(), "not in the table: {missing:?}");
}
