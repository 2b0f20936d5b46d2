//! An index of passages: every command that does not write entries works on it.

use std::path::Path;

use fpdb::passages::Index;
use fpdb::{Db, DocId};

use crate::common::{Folder, text};

const SEED: u64 = u64::MAX - 5;

/// A folder with an index of three texts.
fn folder() -> Folder {
    let folder = Folder::new();
    let options = Db::options().background(false);
    let index = Index::create_with_seed(folder.file("a"), 50, SEED, options).unwrap();
    for id in [1, 2, 3] {
        index.insert(&[(DocId(id), &text(id, 400))]).unwrap();
        if id > 1 {
            index.database().flush().unwrap();
        }
    }
    index.database().clone().close().unwrap();
    folder
}

/// Checks that an index finds its three texts.
fn assert_finds(path: &Path) {
    let index = Index::open(path, Db::options()).unwrap();
    assert_eq!((index.min_words(), index.seed()), (50, SEED));
    for id in [1, 2, 3] {
        let found = index.find(&text(id, 400), 9).unwrap();
        assert_eq!((found.documents.len(), found.documents[0].id), (1, DocId(id)));
    }
    index.database().clone().close().unwrap();
}

#[test]
fn maintenance_works_on_an_index_of_passages() {
    let folder = folder();
    let report = folder.ok("backup a --out b --json").json();
    assert!(report["files"].as_u64().unwrap() > 5, "{report}");
    assert_finds(&folder.file("b"));
    let report = folder.ok("compact a --json").json();
    assert_eq!(report["segments_after"], 1);
    assert_finds(&folder.file("a"));
    folder.ok("verify a --level deep");
    assert!(
        folder.ok("stats a").text().contains("index of passages of 50 words, windows of 46 bits")
    );
    folder.ok("merge a b --out m");
    assert_finds(&folder.file("m"));
    // Without the ids of a segment's entries, nothing says which texts have its windows.
    let files = std::fs::read_dir(folder.file("b")).unwrap().map(|file| file.unwrap().path());
    let ids = files.filter(|path| path.extension().is_some_and(|ending| ending == "ids")).max();
    let ids = ids.unwrap();
    let mut bytes = std::fs::read(&ids).unwrap();
    bytes[64] ^= 1;
    std::fs::write(ids, bytes).unwrap();
    let report = folder.exits(1, "repair b --out c --json").json();
    assert_eq!(report["losses"][0]["kind"], "entries", "{report}");
    let index = Index::open(folder.file("c"), Db::options()).unwrap();
    let found = [1, 2, 3].map(|id| index.find(&text(id, 400), 9).unwrap().documents.len() == 1);
    assert_eq!(found, [1, 2, 3].map(|id| index.contains(DocId(id)).unwrap()));
    assert!(found.contains(&false));
}

#[test]
fn inspect_says_that_a_database_is_an_index_of_passages_and_keeps_its_seed_to_itself() {
    let folder = folder();
    let report = folder.ok("inspect a --json").json();
    assert_eq!(report["passages"], serde_json::json!({"min_words": 50, "bits": 46}));
    let text = folder.ok("inspect a").text();
    assert!(text.contains("index of passages of 50 words, windows of 46 bits"), "{text}");
    assert!(!text.contains(&SEED.to_string()), "{text}");
    folder.ok("create other");
    assert!(folder.ok("inspect other --json").json()["passages"].is_null());
    assert!(folder.ok("inspect other").text().contains("near-duplicates"));
}

#[test]
fn commands_that_write_entries_refuse_an_index_of_passages() {
    let folder = folder();
    folder.write("list", "00000000000000ff\n");
    for command in ["import a list --fp-format hex", "remove a --fingerprint ff --id 1"] {
        let run = folder.exits(4, command);
        assert!(run.err.contains("passages::Index, or PassageIndex"), "{command}: {}", run.err);
    }
    assert_finds(&folder.file("a"));
}

#[test]
fn complete_export_of_an_index_of_passages_is_imported_as_one() {
    let folder = folder();
    let export = folder.ok("export a --all").text();
    let header: serde_json::Value = serde_json::from_str(export.lines().next().unwrap()).unwrap();
    let passages = serde_json::json!({"min_words": 50, "bits": 46, "seed": SEED});
    assert_eq!(header["passages"], passages);
    folder.write("export", &export);
    folder.ok("import b export --all");
    assert_finds(&folder.file("b"));
    assert!(folder.ok("export b --all").text() == export);
    for (from, to, message) in [
        ("\"min_words\":50", "\"min_words\":13", "min words 13: expected 14 to 1000"),
        ("\"bits\":46", "\"bits\":64", "windows of 64 bits: expected 46 to 63"),
        ("\"max_distance\":0", "\"max_distance\":1", "a max distance of 0 and ids user"),
    ] {
        folder.write("wrong", export.replacen(from, to, 1));
        let run = folder.exits(2, "import c wrong --all");
        assert!(run.err.contains(message), "{message}: {}", run.err);
    }
}
