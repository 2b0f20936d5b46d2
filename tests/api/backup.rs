//! Backups that fail.

use std::ops::ControlFlow;
use std::sync::Arc;

use fpdb::storage::{Fault, Sim, Storage};
use fpdb::{Db, ErrorKind, Options};

fn on(sim: &Arc<Sim>) -> Options {
    Db::options().storage(sim.clone()).background(false)
}

/// Makes each call of a backup fail in turn, among them the rename that publishes the copy and the
/// sync after it.
#[test]
fn failed_backup_is_complete_or_no_database_and_leaves_the_original_as_it_was() {
    let (mut without_database, mut complete, mut with_next_manifest) = (0, 0, 0);
    for call in 0.. {
        let sim = Sim::new();
        let db = on(&sim).create("sim").unwrap();
        db.insert(7, 1).unwrap();
        db.flush().unwrap();
        let copy = sim.folder("copy");
        sim.fail_at(sim.calls() + call, Fault::Error, false);
        let result = db.backup("copy");
        let reached = sim.first_failed().is_some();
        sim.fail_no_more();
        let names = copy.list().unwrap().unwrap_or_default();
        match on(&sim).open("copy") {
            Ok(copy) => {
                assert!(copy.snapshot().contains(7).unwrap(), "call {call}");
                complete += u32::from(result.is_err());
            }
            Err(error) => {
                assert!(result.is_err(), "call {call}: {error}");
                let kinds = [ErrorKind::NotFound, ErrorKind::Corruption];
                assert!(kinds.contains(&error.kind()), "call {call}: {error}");
                let is_complete = names.contains(&"MANIFEST.tmp".to_owned());
                with_next_manifest += u32::from(is_complete);
                without_database += 1;
                // Everything is removed, unless the rename may have happened.
                assert!(is_complete || names.is_empty(), "call {call}: {names:?}");
            }
        }
        // The folder of the copy is not locked any more, and the original takes writes.
        if copy.list().unwrap().is_some() {
            drop(copy.lock().unwrap());
        }
        db.insert(8, 2).unwrap();
        db.backup("another").unwrap();
        assert_eq!(on(&sim).open("another").unwrap().snapshot().len(), 2, "call {call}");
        if !reached {
            assert!(result.is_ok());
            break;
        }
    }
    assert_eq!((complete, with_next_manifest), (1, 1), "the sync and the rename");
    assert!(without_database > 10, "{without_database}");
}

#[test]
fn cancelled_backup_leaves_nothing_that_it_created() {
    let folder = tempfile::tempdir().unwrap();
    let [source, new, empty] = ["source", "new", "empty"].map(|name| folder.path().join(name));
    std::fs::create_dir(&empty).unwrap();
    let db = Db::options().create(&source).unwrap();
    db.insert(7, 1).unwrap();
    for copy in [&new, &empty] {
        let cancelled = db.on_progress(|_| ControlFlow::Break(())).backup(copy);
        assert_eq!(cancelled.map_err(|error| error.kind()), Err(ErrorKind::Cancelled));
    }
    assert!(!new.exists());
    assert_eq!(std::fs::read_dir(&empty).unwrap().count(), 0);
}
