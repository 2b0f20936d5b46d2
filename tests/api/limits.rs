//! Databases at their limits: each works, or is refused with an error that says why.

use fpdb::storage::Sim;
use fpdb::{Db, DocId, Entry, ErrorKind, Ids, Key};

/// Opens the same database for writing and read-only, and runs `check` on both.
fn check_both(path: &std::path::Path, check: impl Fn(&fpdb::Snapshot)) {
    check(&Db::open(path).unwrap().snapshot());
    check(&Db::open_read_only(path).unwrap().snapshot());
}

#[test]
fn empty_database_answers_and_can_be_flushed_compacted_copied_and_closed() {
    let folder = tempfile::tempdir().unwrap();
    let [path, copy] = ["db", "copy"].map(|name| folder.path().join(name));
    let db = Db::options().create(&path).unwrap();
    db.flush().unwrap();
    db.sync().unwrap();
    db.warm().unwrap();
    let _ = db.compact().unwrap();
    db.backup(&copy).unwrap();
    assert!(!db.remove_entry(1, DocId(1)).unwrap());
    assert_eq!(db.write(&[] as &[(u64, u64)]).run().unwrap(), []);
    assert_eq!(db.write(&[] as &[(u64, u64)]).unless_near(3).run().unwrap(), []);
    assert_eq!(db.bulk_load(std::iter::empty()).unwrap().read, 0);
    db.close().unwrap();
    for path in [path, copy] {
        check_both(&path, |snapshot| {
            assert!(snapshot.is_empty() && snapshot.iter().next().is_none());
            assert_eq!(snapshot.query(0, 3).unwrap(), []);
            assert_eq!(snapshot.nearest(u64::MAX, 3).unwrap(), None);
            assert!(snapshot.verify(fpdb::VerifyLevel::Full).unwrap().errors.is_empty());
        });
    }
}

#[test]
fn one_entry_is_found_from_log_and_from_segment() {
    for (fingerprint, id) in [(0, 0), (u64::MAX, u64::MAX), (0, u64::MAX), (u64::MAX, 0)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        let db = Db::options().create(&path).unwrap();
        assert_eq!(db.insert(fingerprint, id).unwrap(), DocId(id));
        let check = |snapshot: &fpdb::Snapshot| {
            assert_eq!(snapshot.ids(fingerprint).unwrap(), [DocId(id)]);
            assert_eq!(snapshot.query(fingerprint ^ 0b111, 3).unwrap().len(), 1);
            assert_eq!(snapshot.query(fingerprint ^ 0b1111, 3).unwrap(), []);
            assert_eq!(snapshot.len(), 1);
        };
        check(&db.snapshot());
        db.flush().unwrap();
        check(&db.snapshot());
        let _ = db.compact().unwrap();
        db.close().unwrap();
        check_both(&path, check);
        let db = Db::open(&path).unwrap();
        assert!(db.remove_entry(fingerprint, DocId(id)).unwrap());
        let _ = db.compact().unwrap();
        assert!(db.snapshot().is_empty() && db.stats().segments.is_empty());
    }
}

/// More ids per fingerprint than in one group of a posting list, one chunk or one page.
#[test]
fn one_fingerprint_may_have_100_000_ids() {
    let db = Db::options().storage(Sim::new()).create("sim").unwrap();
    let ids: Vec<u64> = (0..100_000).map(|i| i * 184_467_440_737_095).collect();
    let entries = ids.iter().map(|&id| Ok(Entry { fingerprint: 7, id: DocId(id) }));
    assert_eq!(db.bulk_load(entries).unwrap().inserted, 100_000);
    db.insert(7, ids[5]).unwrap(); // is there already
    db.insert(7, u64::MAX).unwrap();
    for _ in 0..2 {
        let found = db.snapshot().ids(7).unwrap();
        assert!(found.iter().map(|id| id.0).eq(ids.iter().copied().chain([u64::MAX])));
        assert_eq!(db.query(5, 1).unwrap().len(), 100_001);
        assert_eq!(db.query(4, 1).unwrap().len(), 0);
        let _ = db.compact().unwrap();
    }
    assert!(db.verify(fpdb::VerifyLevel::Full).unwrap().errors.is_empty());
}

/// A frame of the log holds 65,535 operations and 16 MiB.
#[test]
fn batch_of_more_than_one_frame_is_atomic() {
    let sim = Sim::new();
    let options = || Db::options().storage(sim.clone()).memtable_entries(1 << 18);
    let db = options().ids(Ids::Names).create("sim").unwrap();
    let long: Vec<String> = (0..400).map(|i| format!("{i}{}", "x".repeat(65_000))).collect();
    let names: Vec<String> = (0..70_000).map(|i| format!("{i}")).collect();
    let mut batch: Vec<(u64, Key<'_>)> = (0..).zip(names.iter().map(Key::from)).collect();
    batch.extend((0..).zip(&long).map(|(i, name)| (1 << 40 | i, Key::from(name))));
    assert_eq!(db.write(&batch).run().unwrap().len(), 70_400);
    drop(db);
    let db = options().open("sim").unwrap();
    assert_eq!((db.recovery().commits, db.stats().entries), (1, 70_400));
    assert_eq!(db.snapshot().name(DocId(69_999)).unwrap().as_deref(), Some("69999"));
    assert_eq!(db.snapshot().name(DocId(70_399)).unwrap().as_ref(), long.last());
}

/// The file of names gets longer than 4 GiB. Takes 10 GB of disk and memory, so `FPDB_FULL=1` runs
/// it.
#[test]
fn names_beyond_4_gib_are_found() {
    const NAMES: u64 = 66_500;
    if std::env::var_os("FPDB_FULL").is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let name = |i: u64| format!("{i:065535}");
    let options = || {
        let options = Db::options().memtable_entries(1 << 20).background(false);
        options.durability(fpdb::Durability::Buffered)
    };
    let db = options().ids(Ids::Names).create(&path).unwrap();
    for i in 0..NAMES {
        db.insert(i << 20, name(i).as_str()).unwrap();
        // The log ends at 1 GiB, with the commit that it reached this in.
        assert!(db.stats().bytes_log < (1 << 30) + (1 << 17), "{}", db.stats().bytes_log);
    }
    // A batch that no log can hold is refused, and nothing of it is inserted.
    let long = name(0);
    let batch: Vec<(u64, &str)> = (0..32_800).map(|i| (i << 20 | 1, &*long)).collect();
    assert_eq!(db.write(&batch).run().unwrap_err().kind(), ErrorKind::InvalidArgument);
    db.close().unwrap();
    let db = options().open(&path).unwrap();
    let longest = db.stats().segments.iter().flat_map(|s| s.files.clone()).map(|f| f.1).max();
    assert!(longest > Some(1 << 32), "{longest:?}");
    for i in (0..NAMES).step_by(999).chain([NAMES - 1]) {
        assert_eq!(db.snapshot().ids(i << 20).unwrap(), [DocId(i)]);
        assert_eq!(db.snapshot().name(DocId(i)).unwrap(), Some(name(i)));
    }
    assert!(db.verify(fpdb::VerifyLevel::Full).unwrap().errors.is_empty());
}
