//! Readers of a folder whose database is replaced while they have it open.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use fpdb::storage::{Sim, Storage};
use fpdb::{Db, DocId, Entry, ErrorKind, Layout, ReadOnlyDb};

use crate::counting::{Counting, READ_OF_A_LOG};

const DOCUMENTS: u64 = 1000;

fn fingerprint(i: u64) -> u64 {
    i.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn create(path: &Path, layout: &str, documents: u64, flushes: usize) {
    let layout = Layout::preset(layout, 64).unwrap();
    let db = Db::options().background(false).layout(layout).create(path).unwrap();
    let entries = (0..documents).map(|i| Ok(Entry { fingerprint: fingerprint(i), id: DocId(i) }));
    assert_eq!(db.bulk_load(entries).unwrap().inserted, documents);
    for i in 0..flushes as u64 {
        db.insert(i, documents + i).unwrap();
        db.flush().unwrap();
    }
    db.close().unwrap();
}

fn remove_files(path: &Path) {
    for file in fs::read_dir(path).unwrap() {
        fs::remove_file(file.unwrap().path()).unwrap();
    }
}

/// Expects that refreshing says that the folder was replaced, again and again, and that the reader
/// goes on with what it had.
fn expect_replaced(reader: &ReadOnlyDb, what: &str) {
    for _ in 0..2 {
        let error = reader.refresh().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Replaced, "{what}: {error}");
    }
    for i in 0..DOCUMENTS {
        // One bit differs, so that all tables are needed.
        let found = reader.snapshot().query(fingerprint(i) ^ 1 << (i % 64), 3).unwrap();
        assert!(found.iter().any(|m| m.id.0 == i), "{what}: {i}");
    }
}

#[test]
fn reader_of_a_database_that_was_rebuilt_in_place_gets_an_error() {
    let changes = [("half-2", "ring-4"), ("ring-4", "half-2"), ("half-2", "half-2")];
    for (before, after) in changes {
        for flushes in [0, 8] {
            let parent = tempfile::tempdir().unwrap();
            let path = parent.path().join("db");
            create(&path, before, DOCUMENTS, 4);
            let reader = Db::open_read_only(&path).unwrap();
            remove_files(&path);
            create(&path, after, DOCUMENTS, flushes);
            expect_replaced(&reader, &format!("{before} to {after}, {flushes} flushes"));
            let reopened = Db::open_read_only(&path).unwrap();
            assert_eq!(reopened.snapshot().len(), DOCUMENTS + flushes as u64);
        }
    }
}

#[test]
fn reader_of_a_folder_that_was_moved_or_replaced_gets_an_error() {
    let parent = tempfile::tempdir().unwrap();
    let [path, new, old] = ["db", "new", "old"].map(|name| parent.path().join(name));
    create(&path, "half-2", DOCUMENTS, 0);
    create(&new, "half-2", DOCUMENTS, 8);
    let reader = Db::open_read_only(&path).unwrap();
    fs::rename(&path, &old).unwrap();
    expect_replaced(&reader, "moved");
    fs::rename(&new, &path).unwrap();
    expect_replaced(&reader, "replaced");
    assert!(!Db::open_read_only(&path).unwrap().refresh().unwrap());

    let reader = Db::open_read_only(&path).unwrap();
    fs::remove_dir_all(&path).unwrap();
    assert_eq!(reader.refresh().unwrap_err().kind(), ErrorKind::Replaced, "removed");
    create(&path, "half-2", DOCUMENTS, 0);
    expect_replaced(&reader, "rebuilt");
}

#[test]
fn reader_of_a_restored_backup_gets_an_error() {
    let parent = tempfile::tempdir().unwrap();
    let [path, backup] = ["db", "backup"].map(|name| parent.path().join(name));
    create(&path, "half-2", DOCUMENTS, 0);
    let db = Db::open(&path).unwrap();
    db.backup(&backup).unwrap();
    db.insert(7, 7000).unwrap();
    db.close().unwrap();
    let reader = Db::open_read_only(&path).unwrap();
    remove_files(&path);
    for file in fs::read_dir(&backup).unwrap().map(Result::unwrap) {
        fs::copy(file.path(), path.join(file.file_name())).unwrap();
    }
    expect_replaced(&reader, "restored");
}

#[test]
fn reader_of_a_database_that_gets_a_recipe_sees_its_entries() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("db");
    Db::options().create(&path).unwrap().close().unwrap();
    let reader = Db::open_read_only(&path).unwrap();
    let name = fpdb::RecipeName::custom("mine/1");
    let db = Db::options().recipe(name).open(&path).unwrap();
    db.insert(7, 1).unwrap();
    assert!(reader.refresh().unwrap());
    assert!(reader.snapshot().contains(7).unwrap());
}

/// One thread reads the log before the last commit, and installs what it read after another thread
/// has seen that commit.
#[test]
fn refresh_in_two_threads_never_goes_back_to_an_older_state() {
    let sim = Sim::new();
    let writer = Db::options().storage(sim.clone()).background(false).create("sim").unwrap();
    let storage = Counting::new(sim, Duration::ZERO);
    let on_storage = Db::options().storage(storage.clone() as Arc<dyn Storage>);
    let reader = on_storage.open_read_only("sim").unwrap();
    for (round, is_flushed) in (1..).zip([false, true, false]) {
        writer.insert(fingerprint(2 * round), 2 * round).unwrap();
        storage.hold(Some(READ_OF_A_LOG));
        let slow = thread::spawn({
            let reader = reader.clone();
            move || reader.refresh()
        });
        storage.wait_for_held_call();
        writer.insert(fingerprint(2 * round + 1), 2 * round + 1).unwrap();
        if is_flushed {
            writer.flush().unwrap();
        }
        assert!(reader.refresh().unwrap());
        assert_eq!(reader.snapshot().len(), 2 * round);
        storage.hold(None);
        assert!(slow.join().unwrap().unwrap(), "there was something new since it began");
        assert_eq!(reader.snapshot().len(), 2 * round, "round {round}");
        assert!(!reader.refresh().unwrap());
    }
}
