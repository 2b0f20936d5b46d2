//! A new database is removed only if it holds nothing.

use std::fs;
use std::path::Path;

use fpdb::{Db, Durability, ErrorKind};

fn names_in(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn closing_removes_a_database_only_if_it_holds_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let names = || names_in(&path);
    assert!(Db::options().create(&path).unwrap().close_and_remove_if_empty().unwrap());
    assert_eq!(names(), [""; 0]);
    // A file that is not the database's stays, and so does what may explain it.
    let db = Db::options().create(&path).unwrap();
    fs::write(path.join("notes"), "").unwrap();
    assert!(!db.close_and_remove_if_empty().unwrap());
    assert_eq!(names(), ["LOCK", "MANIFEST", "MANIFEST.copy", "notes"]);
    // A document that only the log has, and that may not be on the disk yet.
    let db = Db::options().durability(Durability::Buffered).open(&path).unwrap();
    db.insert(7, 1).unwrap();
    fs::remove_file(path.join("notes")).unwrap();
    assert!(!db.close_and_remove_if_empty().unwrap());
    let db = Db::open(&path).unwrap();
    assert!(db.snapshot().contains(7).unwrap());
    // The second handle closes what the first has closed already.
    let clone = db.clone();
    db.close().unwrap();
    assert_eq!(clone.close_and_remove_if_empty().unwrap_err().kind(), ErrorKind::Closed);
}

#[test]
fn a_close_that_fails_removes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("db"), folder.path().join("other"));
    let db = Db::options().background(false).create(&path).unwrap();
    db.insert(7, 1).unwrap();
    Db::options().create(&other).unwrap().close().unwrap();
    fs::copy(other.join("MANIFEST"), path.join("MANIFEST")).unwrap();
    let before = names_in(&path);
    assert_eq!(db.close_and_remove_if_empty().unwrap_err().kind(), ErrorKind::Replaced);
    assert_eq!(names_in(&path), before);
}
