//! Golden databases: small ones of every kind, whose files are in the repository.
//!
//! Each folder in `tests/golden/databases` is a database, and the file beside it says what the
//! database holds. They are never changed, so every later version must read them. The code in
//! [`make`] writes the same bytes on every machine; if it no longer does, the format or the
//! writer's choices have changed. `FPDB_WRITE_GOLDEN=1 cargo test --test golden` writes the
//! databases again.

mod make;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fpdb::passages::Index;
use fpdb::storage::{Sim, Storage};
use fpdb::{Description, Fingerprint, Ids, Options, Snapshot};

/// The files of a database by name.
type Files = BTreeMap<String, Vec<u8>>;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/databases")
}

/// Reads a golden database.
fn read(name: &str) -> Option<Files> {
    let files = folder().join(name).read_dir().ok()?.map(|file| file.unwrap().path());
    let named = |path: PathBuf| {
        (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(&path).unwrap())
    };
    Some(files.map(named).collect())
}

/// Returns what a database holds: a line for each entry, and one for each document.
fn contents<F: Fingerprint>(snapshot: &Snapshot<F>, ids: Ids) -> String {
    let mut text = String::new();
    for entry in snapshot.iter().map(Result::unwrap) {
        writeln!(text, "entry\t{}\t{}", entry.fingerprint.to_hex(), entry.id).unwrap();
    }
    if ids == Ids::User {
        return text;
    }
    let number = |number: Option<u64>| number.map_or("-".to_owned(), |number| number.to_string());
    for (name, document) in snapshot.documents().unwrap().map(Result::unwrap) {
        let (fingerprint, id) = (document.fingerprint.to_hex(), document.id);
        let stamp = number(document.stamp);
        let original = number(document.duplicate_of.map(|id| id.0));
        let name = name.unwrap_or_else(|| "-".to_owned());
        writeln!(text, "document\t{name}\t{fingerprint}\t{id}\t{stamp}\t{original}").unwrap();
    }
    text
}

fn sim_of(files: &Files) -> Arc<Sim> {
    let sim = Sim::new();
    sim.create_root().unwrap();
    files.iter().for_each(|(name, bytes)| sim.set_contents(name, bytes));
    sim
}

/// Reads a database in both ways, changes it, and reads it again.
fn check<F: Fingerprint>(options: &Options<F>, files: &Files, expected: &str, name: &str) {
    let options = options.clone().background(false);
    let sim = sim_of(files);
    let db = options.clone().storage(sim.clone()).open_read_only("sim").unwrap();
    let ids = db.description().ids;
    assert!(contents(&db.snapshot(), ids) == expected, "{name} is read as something else");
    let report = db.snapshot().verify(fpdb::VerifyLevel::Deep).unwrap();
    assert!(report.errors.is_empty(), "{name}: {:?}", report.errors);
    drop(db);
    let db = options.storage(sim).open("sim").unwrap();
    assert!(contents(&db.snapshot(), ids) == expected, "{name} is opened as something else");
    for entry in db.snapshot().iter().map(Result::unwrap) {
        let found = db.query(entry.fingerprint, 0).unwrap();
        assert!(found.iter().any(|found| found.id == entry.id), "{name}");
    }
    db.compact().unwrap();
    assert!(contents(&db.snapshot(), ids) == expected, "{name} is compacted to something else");
}

/// Reads an index of passages in both ways, changes it, and reads it again.
fn check_index(files: &Files, expected: &str) {
    let sim = sim_of(files);
    let options = || Options::<u64>::default().background(false).storage(sim.clone());
    let db = options().open_read_only("sim").unwrap();
    assert!(contents(&db.snapshot(), Ids::User) == expected, "the index is read as something else");
    drop(db);
    let index = Index::open("sim", options()).unwrap();
    assert_eq!((index.min_words(), index.seed()), (20, 0x5eed));
    let text: String = (2900..2950).map(|n| format!("w{n} ")).collect();
    let found = index.find(&text, 9).unwrap();
    assert_eq!(found.documents.iter().map(|origin| origin.id.0).collect::<Vec<_>>(), [27, 28, 29]);
    index.database().compact().unwrap();
    assert!(contents(&index.database().snapshot(), Ids::User) == expected);
}

#[test]
fn every_golden_database_is_read() {
    let mut count = 0;
    for file in folder().read_dir().unwrap().map(|file| file.unwrap().path()) {
        if !file.is_dir() {
            continue;
        }
        let name = file.file_name().unwrap().to_str().unwrap();
        let files = read(name).unwrap();
        let expected = std::fs::read_to_string(file.with_extension("tsv")).unwrap();
        match Description::read(&file).unwrap().bits {
            64 if name == "passages" => check_index(&files, &expected),
            64 => check(&Options::<u64>::default(), &files, &expected, name),
            128 => check(&Options::bits128(), &files, &expected, name),
            _ => check(&Options::sketches(), &files, &expected, name),
        }
        count += 1;
    }
    assert!(count >= make::ALL.len());
}

#[test]
fn every_golden_database_is_written_byte_for_byte() {
    for (name, make) in make::ALL {
        let made = make();
        if std::env::var_os("FPDB_WRITE_GOLDEN").is_some() {
            write(name, &made);
        }
        let golden = read(name).unwrap_or_else(|| panic!("{name} is missing"));
        let names = |files: &Files| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&made.files), names(&golden), "{name}");
        for (file, bytes) in &golden {
            assert!(made.files[file] == *bytes, "{name}/{file} is written with other bytes");
        }
        let expected = std::fs::read_to_string(folder().join(name).with_extension("tsv")).unwrap();
        assert!(made.contents == expected, "{name} has other contents");
    }
}

fn write(name: &str, made: &make::Made) {
    let folder = folder().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    for (file, bytes) in &made.files {
        std::fs::write(folder.join(file), bytes).unwrap();
    }
    std::fs::write(folder.with_extension("tsv"), &made.contents).unwrap();
}
