//! Handles in a child that was forked from the process that opened them.

#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "nothing safe forks a process")]

use std::mem::ManuallyDrop;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use fpdb::{Db, DocId, Durability, Entry, ErrorKind};

/// The variable that makes a test process fork, with the folder of its database. It has one test to
/// run, and so no threads but the database's.
const FORKING: &str = "FPDB_TEST_FORK";

/// Forks this process. Returns the child's exit code to the parent, and ends the child.
fn in_child(work: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child calls only code that does not need the threads of its parent. If it hangs,
    // the alarm ends it.
    unsafe {
        match libc::fork() {
            0 => {
                libc::alarm(20);
                libc::_exit(work());
            }
            child => {
                let mut status = 0;
                assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
                if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { -1 }
            }
        }
    }
}

/// Not a test by itself: the process that forks runs it.
#[test]
fn forking() {
    let Some(path) = std::env::var_os(FORKING) else { return };
    let durability = if Path::new(&path).ends_with("buffered") {
        Durability::Buffered
    } else {
        Durability::Sync
    };
    let db = Db::options().durability(durability).create(&path).unwrap();
    db.insert(1, 1).unwrap();
    db.flush().unwrap();
    db.insert(2, 2).unwrap();
    let code = in_child(|| {
        let errors = [
            db.insert(3, 3).map(drop),
            db.insert_if_novel(4, 4).map(drop),
            db.remove_entry(1, 1).map(drop),
            db.bulk_load([Ok(Entry { fingerprint: 5, id: DocId(5) })]).map(drop),
            db.query(1, 0).map(drop),
            db.nearest(1, 0).map(drop),
            db.sync(),
            db.flush(),
            db.compact().map(drop),
            db.backup(Path::new(&path).with_extension("copy")),
            db.clone().close(),
        ];
        let refused = errors.iter().all(|result| {
            result.as_ref().is_err_and(|error| {
                error.kind() == ErrorKind::Closed && error.to_string().contains("forked")
            })
        });
        drop(db.clone());
        // The parent still writes, and holds the lock.
        let locked = Db::open(&path).is_err_and(|error| error.kind() == ErrorKind::Locked);
        let readable =
            Db::open_read_only(&path).is_ok_and(|reader| reader.snapshot().contains(2).is_ok());
        i32::from(!refused) + 2 * i32::from(!locked) + 4 * i32::from(!readable)
    });
    assert_eq!(code, 0, "bits: not refused, not locked, not readable");
    // A handle of the child's own makes the parent's no better, and is itself refused in its
    // children.
    let code = in_child(|| {
        let refused =
            |db: &Db| db.nearest(1, 0).is_err_and(|error| error.kind() == ErrorKind::Closed);
        let own = Db::options().create(Path::new(&path).with_extension("own")).unwrap();
        let works = own.insert(1, 1).is_ok() && own.nearest(1, 0).unwrap().is_some();
        let of_grandchild = in_child(|| {
            let other = Db::options().create(Path::new(&path).with_extension("other")).unwrap();
            let works = other.insert(1, 1).is_ok() && other.nearest(1, 0).unwrap().is_some();
            i32::from(!works) + 2 * i32::from(!refused(&own)) + 4 * i32::from(!refused(&db))
        });
        i32::from(!works)
            + 2 * i32::from(!refused(&db))
            + 4 * i32::from(own.nearest(1, 0).unwrap().is_none())
            + 8 * of_grandchild
    });
    assert_eq!(
        code, 0,
        "bits: own does not work, parent's not refused, own lost; then a grandchild's"
    );
    // A child that drops the last handle does not unlock the folder of its parent.
    let last_path = Path::new(&path).with_extension("last");
    let mut last = ManuallyDrop::new(Db::options().create(&last_path).unwrap());
    assert_eq!(
        in_child(|| {
            // SAFETY: the child does not use the handle again.
            unsafe { ManuallyDrop::drop(&mut last) };
            0
        }),
        0
    );
    assert!(Db::open(&last_path).is_err_and(|error| error.kind() == ErrorKind::Locked));
    ManuallyDrop::into_inner(last).close().unwrap();
    // The child ends with the handle, which must not wait for threads that it does not have.
    let moved = db.clone();
    assert_eq!(
        in_child(|| {
            drop(moved);
            0
        }),
        0
    );
    assert!(db.insert_if_novel(u64::MAX, 3).is_ok());
    // Threads of the parent hold locks at the moment of the fork.
    let (stop, writer) = (AtomicBool::new(false), db.clone());
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                writer.insert(1, 1).unwrap();
            }
        });
        for _ in 0..50 {
            let code = in_child(|| {
                let refused = |result: fpdb::Result<()>| {
                    result.is_err_and(|error| error.kind() == ErrorKind::Closed)
                };
                let results = [
                    db.insert(3, 3).map(drop),
                    db.remove_entry(1, 1).map(drop),
                    db.sync(),
                    db.flush(),
                    db.clone().close(),
                ];
                i32::from(!results.into_iter().all(refused))
            });
            assert_eq!(code, 0);
        }
        stop.store(true, Ordering::Relaxed);
    });
    db.close().unwrap();
    let reopened = Db::open(&path).unwrap();
    assert_eq!(reopened.snapshot().len(), 3);
}

#[test]
fn handle_does_not_work_after_a_fork() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["sync", "buffered"] {
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "fork::forking", "--test-threads=1"])
            .env(FORKING, folder.path().join(name))
            .status()
            .unwrap();
        assert!(status.success(), "{name}");
    }
}
