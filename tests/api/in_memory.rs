//! Databases in memory.

use fpdb::{Db, Ids, Layout};

use crate::common::{Oracle, Rng, assert_answers, assert_entries, entry};

/// A database in memory with several segments, removals, and entries that are in no segment yet.
fn filled(rng: &mut Rng, oracle: &mut Oracle<u64>) -> Db {
    let layout = Layout::preset("half-2", 64).unwrap();
    let db = Db::options().ids(Ids::User).layout(layout).memtable_entries(100).in_memory().unwrap();
    let centre: u64 = rng.fingerprint();
    for id in 0..550 {
        let fingerprint = rng.near(centre, u32::try_from(id % 6).unwrap());
        db.insert(fingerprint, id).unwrap();
        oracle.0.insert(entry(fingerprint, id));
        if id % 7 == 0 {
            assert!(db.remove_entry(fingerprint, id).unwrap());
            oracle.0.remove(&entry(fingerprint, id));
        }
    }
    db
}

#[test]
fn database_in_memory_answers_as_one_on_the_disk_and_so_does_its_backup() {
    let (mut rng, mut oracle) = (Rng::new(1), Oracle::default());
    let db = filled(&mut rng, &mut oracle);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("copy");
    let check = |db: &Db| {
        let snapshot = db.snapshot();
        assert_entries(&snapshot, &oracle);
        oracle.0.iter().step_by(9).for_each(|e| {
            assert_answers(&snapshot, &oracle, e.fingerprint, 4);
        });
        assert!(db.verify(fpdb::VerifyLevel::Full).unwrap().errors.is_empty());
    };
    check(&db);
    db.compact().unwrap();
    check(&db);
    db.backup(&path).unwrap();
    check(&Db::open(&path).unwrap());
}

#[test]
fn databases_in_memory_have_nothing_to_do_with_each_other_or_with_the_disk() {
    let [first, second] = [(); 2].map(|()| Db::options().in_memory().unwrap());
    first.insert(7, 1).unwrap();
    first.flush().unwrap();
    second.flush().unwrap();
    assert_eq!((first.snapshot().len(), second.snapshot().len()), (1, 0));
    let snapshot = first.snapshot();
    assert!(!first.path().exists());
    first.close().unwrap();
    // The files live as long as anybody reads them.
    assert_eq!(snapshot.query(7, 0).unwrap().len(), 1);
}
