//! Files that no manifest names: what a crash can have left is removed, and nothing else.

use std::sync::Arc;

use fpdb::storage::{Fault, Sim, Storage};
use fpdb::{Db, ErrorKind, Options};

fn on(sim: &Arc<Sim>) -> Options {
    Db::options().storage(sim.clone()).background(false)
}

fn log_of(sim: &Sim) -> String {
    let mut names = sim.list().unwrap().unwrap().into_iter();
    names.find(|name| name.ends_with(".log")).unwrap()
}

/// Makes a database with one commit in a log that its manifest does not name, because the manifest
/// is the one before. Returns the name and the contents of the log.
fn with_orphan_log() -> (Arc<Sim>, String, Vec<u8>) {
    let sim = Sim::new();
    on(&sim).create("sim").unwrap().close().unwrap();
    let manifest = sim.contents("MANIFEST").unwrap();
    let db = on(&sim).open("sim").unwrap();
    db.insert(1, 1).unwrap();
    db.insert(2, 2).unwrap();
    drop(db);
    sim.set_contents("MANIFEST", &manifest);
    let name = log_of(&sim);
    let log = sim.contents(&name).unwrap();
    (sim, name, log)
}

/// Bytes of the file header and of the first frame. No commit begins before.
const BEGINNING: usize = 64 + 44;

#[test]
fn orphan_log_with_commits_is_not_removed_even_if_it_is_damaged_after_its_first_frame() {
    // The bytes of the first commit, for which the next one vouches.
    for damaged in [None, Some(BEGINNING), Some(BEGINNING + 30)] {
        let (sim, name, mut log) = with_orphan_log();
        if let Some(at) = damaged {
            log[at] ^= 1;
        }
        sim.set_contents(&name, &log);
        let before = sim.list().unwrap();
        let error = on(&sim).open("sim").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption, "{damaged:?}: {error}");
        assert!(error.path().unwrap().ends_with(&name), "{damaged:?}: {error}");
        assert_eq!(sim.list().unwrap(), before, "{damaged:?}");
        assert_eq!(sim.contents(&name).unwrap(), log, "{damaged:?}");
    }
}

/// Creating a log can be interrupted at any byte, and nothing was committed to it then.
#[test]
fn orphan_log_without_commits_is_removed_wherever_its_creation_ended() {
    for len in 0..=BEGINNING {
        for fill in [None, Some(0), Some(0xff)] {
            let (sim, name, mut log) = with_orphan_log();
            log.truncate(len);
            log.resize(fill.map_or(len, |_| BEGINNING), fill.unwrap_or(0));
            sim.set_contents(&name, &log);
            let db = on(&sim).open("sim").unwrap();
            assert_eq!((db.recovery().orphans, db.snapshot().len()), (1, 0), "{len} {fill:?}");
            assert!(sim.contents(&name).is_none());
        }
    }
}

/// A version that this build does not know may have its own rules for orphans.
#[test]
fn orphan_of_a_newer_format_is_not_removed() {
    let (sim, name, mut log) = with_orphan_log();
    log[8] = 9;
    let checksum = crc32fast::hash(&log[..12]);
    log[12..16].copy_from_slice(&checksum.to_le_bytes());
    sim.set_contents(&name, &log);
    let error = on(&sim).open("sim").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.path().unwrap().ends_with(&name), "{error}");
    assert_eq!(sim.contents(&name).unwrap(), log);
}

/// Makes an empty database with a file of another database, which must be refused if it can be
/// read. Returns the name of the file.
fn with_foreign_orphan() -> (Arc<Sim>, String) {
    let sim = Sim::new();
    let db = on(&sim).create("other").unwrap();
    db.insert(1, 1).unwrap();
    db.close().unwrap();
    let other = sim.folder("other");
    let mut names = other.list().unwrap().unwrap().into_iter();
    let name = names.find(|name| name.ends_with(".t00")).unwrap();
    on(&sim).create("sim").unwrap().close().unwrap();
    // So that the file is not newer than the manifest.
    let db = on(&sim).open("sim").unwrap();
    db.insert(1, 1).unwrap();
    assert!(db.remove_entry(1, 1).unwrap());
    db.close().unwrap();
    sim.set_contents(&name, &other.contents(&name).unwrap());
    (sim, name)
}

#[test]
fn foreign_orphan_is_not_removed_whichever_call_fails() {
    for call in 0.. {
        let (sim, name) = with_foreign_orphan();
        sim.fail_at(sim.calls() + call, Fault::Error, false);
        let error = on(&sim).open("sim").unwrap_err();
        assert!(sim.contents(&name).is_some(), "call {call}: {error}");
        if sim.first_failed().is_none() {
            assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
            assert!(error.to_string().contains("not from the writers"), "{error}");
            assert!(call > 3);
            break;
        }
        assert_eq!(error.kind(), ErrorKind::Io, "call {call}: {error}");
    }
}

#[test]
fn foreign_orphan_whose_header_cannot_be_read_is_not_removed() {
    let (sim, name) = with_foreign_orphan();
    sim.fail_read_at(sim.reads(), Fault::Error, false);
    let error = on(&sim).open("sim").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    assert!(sim.contents(&name).is_some());
}
