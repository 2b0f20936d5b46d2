//! File systems that are really full, or that really reach another program, if this process may
//! mount them.

use std::path::Path;
use std::process::Command;

use fpdb::{Db, Durability, Entry, ErrorKind, Options};

use crate::common::entry;

/// A mounted file system.
struct Mounted(tempfile::TempDir);

impl Mounted {
    /// Mounts one of a few megabytes.
    fn small(bytes: u64) -> Option<Self> {
        Self::by(Command::new("mount").args([
            "-t",
            "tmpfs",
            "-o",
            &format!("size={bytes}"),
            "none",
        ]))
    }

    /// Mounts one by a command that needs the folder in addition. Returns `None`, and says so, if
    /// that is not possible here.
    fn by(command: &mut Command) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mount = command.arg(folder.path()).output();
        if mount.is_ok_and(|output| output.status.success()) {
            return Some(Self(folder));
        }
        // Not with a macro, whose output the test harness captures.
        let skipped = b"skipped: this process may not mount a file system\n";
        std::io::Write::write_all(&mut std::io::stderr(), skipped).unwrap();
        None
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(self.path()).status();
        assert!(unmounted.is_ok_and(|status| status.success()) || std::thread::panicking());
    }
}

fn options() -> Options {
    Db::options().memtable_entries(8192).durability(Durability::Buffered)
}

fn number(i: u64) -> Entry {
    entry(i.wrapping_mul(0x9e37_79b9_7f4a_7c15), i)
}

/// Inserts until the disk is full, and returns the number after the last entry acknowledged.
fn fill(db: &Db, from: u64) -> u64 {
    for i in from.. {
        if let Err(error) = db.insert(number(i).fingerprint, i) {
            assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
            assert!(error.is_retryable(), "{error}");
            return i;
        }
    }
    from
}

fn assert_holds(db: &Db, ids: std::ops::Range<u64>) {
    assert_eq!(db.snapshot().len(), ids.end - ids.start);
    for i in ids {
        assert_eq!(
            db.snapshot().ids(number(i).fingerprint).unwrap(),
            [fpdb::DocId(i)],
            "entry {i}"
        );
    }
}

#[test]
fn database_on_a_full_file_system_can_be_emptied_closed_and_opened() {
    for megabytes in [4, 16] {
        let Some(disk) = Mounted::small(megabytes << 20) else { return };
        let path = disk.path().join("db");
        let db = options().create(&path).unwrap();
        let end = fill(&db, 0);
        assert!(end > 10_000 * megabytes, "only {end} entries on {megabytes} MiB");
        for i in 0..1000 {
            assert!(db.remove_entry(number(i).fingerprint, i).unwrap());
        }
        db.close().unwrap();
        let db = options().open(&path).unwrap();
        assert_eq!(db.recovery().commits, 0);
        assert_holds(&db, 1000..end);
        assert!(db.verify(fpdb::VerifyLevel::Full).unwrap().errors.is_empty());
    }
}

#[test]
fn disk_filled_by_another_program_loses_nothing_and_all_continues_when_it_has_space() {
    let Some(disk) = Mounted::small(24 << 20) else { return };
    let path = disk.path().join("db");
    let ballast = disk.path().join("ballast");
    let fill_up = || {
        let mut file = std::fs::File::create(&ballast).unwrap();
        while std::io::Write::write_all(&mut file, &[1; 4096]).is_ok() {}
    };
    fill_up();
    let error = options().create(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
    std::fs::remove_file(&ballast).unwrap();
    let db = options().open_or_create(&path).unwrap();
    for i in 0..20_000 {
        db.insert(number(i).fingerprint, i).unwrap();
    }
    fill_up();
    assert_eq!(db.flush().unwrap_err().kind(), ErrorKind::NoSpace);
    assert_holds(&db, 0..20_000);
    assert!(db.compact().is_err() && db.backup(disk.path().join("copy")).is_err());
    std::fs::remove_file(&ballast).unwrap();
    // The same handle continues, or says that it has to be opened again.
    let db = match db.insert(number(20_000).fingerprint, 20_000) {
        Ok(_) => db,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Poisoned, "{error}");
            drop(db);
            let db = options().open(&path).unwrap();
            assert_holds(&db, 0..20_000);
            db.insert(number(20_000).fingerprint, 20_000).unwrap();
            db
        }
    };
    db.compact().unwrap();
    assert_holds(&db, 0..20_001);
    let live: u64 = db.stats().segments.iter().map(|segment| segment.files.len() as u64).sum();
    // The manifest, its copy, the lock and the log.
    assert_eq!(std::fs::read_dir(&path).unwrap().count() as u64, live + 4);
    db.close().unwrap();
}

fn kind_of_cause(error: &fpdb::Error) -> Option<std::io::ErrorKind> {
    let cause = std::error::Error::source(error)?.downcast_ref::<std::io::Error>()?;
    Some(cause.kind())
}

/// The lock holds within the mounted folder only.
#[test]
fn a_database_is_written_to_through_fuse_only_if_that_is_wanted() {
    let behind = tempfile::tempdir().unwrap();
    let Some(mounted) = Mounted::by(Command::new("bindfs").arg(behind.path())) else { return };
    let path = mounted.path().join("db");
    let error = options().create(&path).unwrap_err();
    assert_eq!(kind_of_cause(&error), Some(std::io::ErrorKind::Unsupported), "{error}");
    assert!(!path.exists() && !error.is_retryable());
    let trusting = options().trust_file_system(true);
    let db = trusting.clone().create(&path).unwrap();
    db.insert(7, 1).unwrap();
    assert_eq!(trusting.clone().open(&path).unwrap_err().kind(), ErrorKind::Locked);
    db.backup(mounted.path().join("copy")).unwrap();
    db.close().unwrap();
    let error = options().open(&path).unwrap_err();
    assert_eq!(kind_of_cause(&error), Some(std::io::ErrorKind::Unsupported), "{error}");
    assert_eq!(options().open_read_only(&path).unwrap().snapshot().len(), 1);
}
