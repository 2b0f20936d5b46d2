//! Pages of files in memory: what happens to a file after its pages were read does not matter, and
//! the pages take no more memory than they may.

use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use fpdb::{Db, DocId, Durability, Entry, ErrorKind, Layout, Options};

use crate::common::Rng;

const ENTRIES: u64 = 40_000;

/// What the pages may take in addition to their limit: those that one query reads.
const ONE_QUERY: u64 = 400 * 4096;

fn options() -> Options<u64> {
    Options::default()
        .layout(Layout::preset("half-2", 64).unwrap())
        .filter_bits(8)
        .durability(Durability::Buffered)
        .background(false)
        .index_memory(0)
}

fn fingerprint(id: u64) -> u64 {
    id.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Creates a database with one segment of [`ENTRIES`] entries.
fn create(path: &Path) {
    let db = options().create(path).unwrap();
    let entries = (0..ENTRIES).map(|id| Ok(Entry { fingerprint: fingerprint(id), id: DocId(id) }));
    assert_eq!(db.bulk_load(entries).unwrap().inserted, ENTRIES);
    db.close().unwrap();
}

/// Returns whether the answer is right; panics if it is wrong. `None` is an error that says where.
fn is_found(db: &Db, id: u64) -> Option<()> {
    match db.query(fingerprint(id) ^ 1 << (id % 64), 1) {
        Ok(matches) => {
            assert!(matches.iter().any(|m| m.id == DocId(id)), "entry {id} is missing");
            Some(())
        }
        Err(error) => {
            assert!(matches!(error.kind(), ErrorKind::Corruption | ErrorKind::Io), "{error}");
            assert!(error.path().is_some() && error.offset().is_some(), "{error}");
            None
        }
    }
}

fn segment_files(path: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let is_part = |path: &PathBuf| {
        path.extension()
            .and_then(|e| e.to_str())
            .is_some_and(|e| ["t00", "t01", "ids"].contains(&e))
    };
    let files: Vec<PathBuf> = files.filter(is_part).collect();
    assert!(files.len() >= 3);
    files
}

/// Reads a database whose files are truncated in the meantime.
fn truncated_files(is_warm: bool) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    create(&path);
    let db = options().open(&path).unwrap();
    let reader = options().open_read_only(&path).unwrap();
    if is_warm {
        db.warm().unwrap();
        reader.warm().unwrap();
    }
    let used = 0..20;
    assert!(used.clone().all(|id| is_found(&db, id).is_some()));
    for file in segment_files(&path) {
        OpenOptions::new().write(true).truncate(true).open(file).unwrap();
    }
    // These have read all that they need.
    assert!(used.clone().all(|id| is_found(&db, id).is_some()));
    let failed = (0..ENTRIES).step_by(7).filter(|&id| is_found(&db, id).is_none()).count();
    assert_eq!(failed > 0, !is_warm, "{failed} queries failed");
    assert!(!db.verify(fpdb::VerifyLevel::Full).unwrap().errors.is_empty());
    let failed = used.filter(|&id| match reader.snapshot().query(fingerprint(id), 0) {
        Ok(matches) => {
            assert!(matches.iter().any(|m| m.id == DocId(id)), "entry {id} is missing");
            false
        }
        Err(error) => error.offset().is_some(),
    });
    assert_eq!(failed.count() > 0, !is_warm);
    assert_eq!(db.snapshot().iter().any(|entry| entry.is_err()), !is_warm);
}

#[test]
fn file_that_is_truncated_while_it_is_read_causes_errors_and_no_signal() {
    truncated_files(false);
    truncated_files(true);
}

#[test]
fn change_on_disk_does_not_affect_pages_that_were_read() {
    for is_warm in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        create(&path);
        let db = options().open(&path).unwrap();
        if is_warm {
            db.warm().unwrap();
        }
        let all = || (0..ENTRIES).step_by(11);
        assert!(all().all(|id| is_found(&db, id).is_some()));
        for file in segment_files(&path) {
            let len = fs::metadata(&file).unwrap().len();
            let mut file = OpenOptions::new().write(true).open(file).unwrap();
            file.seek(SeekFrom::Start(64)).unwrap();
            file.write_all(&vec![0x5a; usize::try_from(len - 64).unwrap()]).unwrap();
        }
        assert!(all().all(|id| is_found(&db, id).is_some()), "{is_warm}");
        assert!(!db.verify(fpdb::VerifyLevel::Full).unwrap().errors.is_empty());
    }
}

#[test]
fn pages_in_memory_stay_within_their_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    create(&path);
    for limit in [0, 200 << 10] {
        let db = options().page_memory(limit).open(&path).unwrap();
        assert_eq!(db.stats().page_budget_bytes, limit);
        let mut most = 0;
        for id in (0..ENTRIES).step_by(5) {
            assert!(is_found(&db, id).is_some());
            most = most.max(db.stats().page_memory_bytes);
        }
        assert!(most > limit && most <= limit + ONE_QUERY, "{most} of {limit}");

        // What reads everything keeps no pages.
        let before = db.stats().page_memory_bytes;
        assert_eq!(db.snapshot().iter().count() as u64, ENTRIES);
        assert!(db.verify(fpdb::VerifyLevel::Full).unwrap().errors.is_empty());
        db.backup(folder.path().join(format!("backup {limit}"))).unwrap();
        assert_eq!(db.snapshot().query(5, 40).unwrap().len(), scan(5, 40));
        let queries: Vec<u64> = (0..ENTRIES).map(fingerprint).collect();
        let answers = db.query_batch(&queries, 3).unwrap();
        assert!(
            (0..).zip(answers.iter()).all(|(id, found)| found.iter().any(|m| m.id == DocId(id)))
        );
        let after = db.stats().page_memory_bytes;
        assert!(after <= before.max(limit) + ONE_QUERY, "{after} after {before}");
        db.close().unwrap();
    }
}

/// Returns how many entries are within the distance.
fn scan(query: u64, distance: u32) -> usize {
    (0..ENTRIES).filter(|&id| (fingerprint(id) ^ query).count_ones() <= distance).count()
}

#[test]
fn memory_is_set_aside_for_files_that_leave_a_sixteenth_of_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    create(&path);
    let files = segment_files(&path);
    let bytes: u64 = files.iter().map(|file| fs::metadata(file).unwrap().len()).sum();
    let limit = bytes * 16 / 15 + 2;
    let db = options().page_memory(limit).open(&path).unwrap();
    let at_first = db.stats().page_memory_bytes;
    assert!((bytes * 9 / 10..=bytes).contains(&at_first), "{at_first} of {bytes}");
    for id in (0..ENTRIES).step_by(5) {
        assert!(is_found(&db, id).is_some());
    }
    assert_eq!(db.stats().page_memory_bytes, at_first);
    // A reader of the same file has a limit of its own.
    let reader = options().page_memory(limit).open_read_only(&path).unwrap();
    assert_eq!(reader.stats().page_memory_bytes, at_first);
    assert_eq!(db.stats().page_memory_bytes, at_first);
}

#[test]
fn snapshots_and_readers_stay_within_the_limit_too() {
    const LIMIT: u64 = 200 << 10;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    create(&path);
    let db = options().page_memory(LIMIT).open(&path).unwrap();
    let snapshot = db.snapshot();
    for id in (0..ENTRIES).step_by(5) {
        assert!(!snapshot.query(fingerprint(id), 0).unwrap().is_empty());
        let used = db.stats().page_memory_bytes;
        assert!(used <= 2 * LIMIT + ONE_QUERY, "{used}");
    }
    drop(snapshot);
    let reader = options().page_memory(LIMIT).open_read_only(&path).unwrap();
    for id in (0..ENTRIES).step_by(5) {
        assert!(!reader.snapshot().query(fingerprint(id), 0).unwrap().is_empty());
        let used = reader.stats().page_memory_bytes;
        assert!(used <= LIMIT + ONE_QUERY, "{used}");
    }
}

#[test]
fn answers_are_right_while_pages_are_dropped_under_readers_and_writers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    create(&path);
    let options = || options().page_memory(100 << 10).memtable_entries(500);
    let db = options().background(true).index_memory(1 << 20).open(&path).unwrap();
    let reader = options().open_read_only(&path).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let (db, reader, done) = (&db, &reader, &done);
            scope.spawn(move || {
                let (mut random, mut snapshot) = (Rng::new(thread), db.snapshot());
                while !done.load(Ordering::Relaxed) {
                    for _ in 0..50 {
                        let id = random.next() % ENTRIES;
                        let query = fingerprint(id) ^ 1 << (id % 64);
                        let found = match thread {
                            0 => db.query(query, 1),
                            1 => snapshot.query(query, 1),
                            _ => reader.snapshot().query(query, 1),
                        };
                        assert!(found.unwrap().iter().any(|m| m.id == DocId(id)), "{id}");
                    }
                    if thread == 1 {
                        snapshot = db.snapshot();
                    } else {
                        reader.refresh().unwrap();
                    }
                }
            });
        }
        for id in ENTRIES..ENTRIES + 6000 {
            db.insert(fingerprint(id), id).unwrap();
            if id % 2000 == 0 {
                db.compact().unwrap();
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    for id in (0..ENTRIES + 6000).step_by(3) {
        assert!(is_found(&db, id).is_some());
    }
    assert!(db.verify(fpdb::VerifyLevel::Full).unwrap().errors.is_empty());
}
