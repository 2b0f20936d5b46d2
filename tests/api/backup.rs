//! Backups that fail.

use std::ops::ControlFlow;
use std::sync::Arc;

use fpdb::storage::{Fault, Sim, Storage};
use fpdb::{Db, ErrorKind, Ids, OnDuplicate, Options, Stamped};

fn on(sim: &Arc<Sim>) -> Options {
    Db::options().storage(sim.clone()).background(false)
}

/// Makes each call of a backup fail in turn, among them the rename that publishes the copy and the
/// sync after it.
#[test]
fn failed_backup_is_complete_or_no_database_and_leaves_the_original_as_it_was() {
    let (mut without_database, mut complete) = (0, 0);
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
                assert_eq!(error.kind(), ErrorKind::NotFound, "call {call}: {error}");
                without_database += 1;
                assert!(names.is_empty(), "call {call}: {names:?}");
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
    assert_eq!(complete, 1, "the sync after the rename");
    assert!(without_database > 10, "{without_database}");
}

/// From each call on, nothing works any more, so the copy stays as it is.
#[test]
fn backup_that_was_interrupted_can_be_repeated_and_is_no_database_until_then() {
    let mut unfinished = 0;
    for call in 0.. {
        let sim = Sim::new();
        let db = on(&sim).create("sim").unwrap();
        db.insert(7, 1).unwrap();
        db.close().unwrap();
        let reader = on(&sim).open_read_only("sim").unwrap();
        sim.fail_at(sim.calls() + call, Fault::Error, true);
        let result = reader.backup("copy");
        sim.fail_no_more();
        if result.is_ok() {
            break;
        }
        if let Err(error) = on(&sim).open("copy") {
            let kinds = [ErrorKind::NotFound, ErrorKind::Unfinished];
            assert!(kinds.contains(&error.kind()), "call {call}: {error}");
            unfinished += u32::from(error.kind() == ErrorKind::Unfinished);
            reader.backup("copy").unwrap_or_else(|error| panic!("call {call}: {error}"));
        }
        assert_eq!(on(&sim).open("copy").unwrap().snapshot().len(), 1, "call {call}");
        let names = |folder: &str| sim.folder(folder).list().unwrap().unwrap().len();
        assert_eq!(names("copy"), names("sim"), "call {call}");
    }
    assert!(unfinished > 5, "{unfinished}");
}

#[test]
fn backup_touches_no_database_that_is_complete_damaged_or_in_use() {
    let sim = Sim::new();
    let db = on(&sim).create("sim").unwrap();
    db.insert(7, 1).unwrap();
    db.backup("copy").unwrap();
    let copy = sim.folder("copy");
    let manifest = copy.contents("MANIFEST").unwrap();
    let damage: [&dyn Fn(); 3] =
        [&|| (), &|| copy.set_contents("MANIFEST", &manifest[1..]), &|| {
            copy.remove("MANIFEST").unwrap()
        }];
    for damage in damage {
        damage();
        let names = copy.list().unwrap();
        let error = db.backup("copy").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
        assert_eq!(copy.list().unwrap(), names);
    }

    // Another process is still filling it.
    sim.fail_at(sim.calls() + 15, Fault::Error, true);
    db.backup("second").unwrap_err();
    sim.fail_no_more();
    let second = sim.folder("second");
    let names = second.list().unwrap();
    assert!(names.as_ref().unwrap().contains(&"MANIFEST".to_owned()), "{names:?}");
    let lock = second.lock().unwrap();
    assert_eq!(db.backup("second").map_err(|error| error.kind()), Err(ErrorKind::Locked));
    assert_eq!(second.list().unwrap(), names);
    drop(lock);
    db.backup("second").unwrap();
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

/// Segments, a log, removals in both, remembered duplicates and stamps.
#[test]
fn backup_of_a_reader_has_what_it_shows_while_the_writer_goes_on() {
    let sim = Sim::new();
    let db = on(&sim).ids(Ids::Names).create("sim").unwrap();
    let reader = on(&sim).open_read_only("sim").unwrap();
    let name = |n: u64| format!("https://a.example/{n}");
    let far = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for step in 0..40 {
        for n in step * 5..step * 5 + 5 {
            let name = name(n);
            let page = (far(n / 2), Stamped::new(&*name, step));
            let write = db.write(std::slice::from_ref(&page)).unless_near(3);
            let _ = write.or_update(OnDuplicate::Remember).run().unwrap();
        }
        db.remove(&*name(step * 3)).unwrap();
        match step % 7 {
            3 => db.flush().unwrap(),
            5 => drop(db.compact().unwrap()),
            _ => {}
        }
        if step % 3 == 0 {
            reader.refresh().unwrap();
        }
        let copy = format!("copy{step}");
        reader.backup(&copy).unwrap();
        let copy = on(&sim).open(&copy).unwrap();
        assert_eq!(copy.recovery().commits, 0, "everything is in segments");
        let (shown, copied) = (reader.snapshot(), copy.snapshot());
        assert!(shown.iter().map(Result::unwrap).eq(copied.iter().map(Result::unwrap)));
        let documents = |snapshot: &fpdb::Snapshot| {
            snapshot.documents().unwrap().collect::<fpdb::Result<Vec<_>>>().unwrap()
        };
        assert_eq!(documents(&shown), documents(&copied));
        assert!(copy.verify(fpdb::VerifyLevel::Full).unwrap().errors.is_empty());
        // It is a database of its own, whose next ids follow those that it has.
        let id = copy.insert(step, "new").unwrap();
        assert_eq!(copy.get("new").unwrap().map(|found| found.id), Some(id));
        assert!(documents(&shown).iter().all(|(_, document)| document.id != id));
        copy.close().unwrap();
    }
    assert!(reader.backup("sim").is_err_and(|error| error.kind() == ErrorKind::AlreadyExists));
}

#[test]
fn backup_of_a_reader_to_a_full_disk_leaves_nothing_or_what_can_be_repeated_or_a_complete_copy() {
    for call in 0.. {
        let sim = Sim::new();
        let db = on(&sim).create("sim").unwrap();
        db.insert(7, 1).unwrap();
        db.flush().unwrap();
        db.insert(8, 2).unwrap();
        db.sync().unwrap();
        let reader = on(&sim).open_read_only("sim").unwrap();
        let copy = sim.folder("copy");
        sim.fail_at(sim.calls() + call, Fault::NoSpace, true);
        let result = reader.backup("copy");
        let reached = sim.first_failed().is_some();
        sim.fail_no_more();
        let names = copy.list().unwrap().unwrap_or_default();
        match on(&sim).open_read_only("copy") {
            Ok(copy) => assert_eq!(copy.snapshot().len(), reader.snapshot().len()),
            Err(error) => {
                assert!(result.is_err(), "call {call}");
                // The manifest stays if the other removals cannot be made durable.
                if !names.is_empty() {
                    assert_eq!(error.kind(), ErrorKind::Unfinished, "call {call}: {names:?}");
                    reader.backup("copy").unwrap();
                }
            }
        }
        if !reached {
            result.unwrap();
            break;
        }
    }
}

/// It is the writer's tables that are damaged, so the copy would be, too.
#[test]
fn damaged_file_is_not_copied_by_a_reader() {
    let sim = Sim::new();
    let db = on(&sim).create("sim").unwrap();
    db.insert(7, 1).unwrap();
    db.close().unwrap();
    let names = sim.list().unwrap().unwrap();
    let name =
        names.iter().find(|name| name.ends_with(".t01")).unwrap_or_else(|| panic!("{names:?}"));
    let mut bytes = sim.contents(name).unwrap();
    bytes[100] ^= 1;
    sim.set_contents(name, &bytes);
    let reader = on(&sim).open_read_only("sim").unwrap();
    let error = reader.backup("copy").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    assert_eq!(sim.folder("copy").list().unwrap(), Some(vec![]));
}
