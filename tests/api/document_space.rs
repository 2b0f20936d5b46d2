//! What is still possible with documents on a full disk.

use std::sync::Arc;

use fpdb::storage::Sim;
use fpdb::{Db, ErrorKind, Ids, Options, Stamped};

fn options(sim: &Arc<Sim>) -> Options<u64> {
    Db::options().storage(sim.clone()).memtable_entries(32).background(false)
}

/// Returns fingerprints that are far from one another.
fn far(n: u64) -> u64 {
    (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Inserts until the disk is full, with names of this length. Returns the names.
fn fill(db: &Db, len: usize) -> Vec<String> {
    let mut names = Vec::new();
    loop {
        let more = names.len()..names.len() + if len == 20 { 64 } else { 8 };
        let batch: Vec<String> = more.map(|n| format!("{n:0len$}")).collect();
        let numbered = (names.len() as u64..).zip(&batch);
        let documents: Vec<(u64, Stamped<'_>)> =
            numbered.map(|(n, name)| (far(n), Stamped::new(name, n))).collect();
        match db.write(&documents).run() {
            Ok(_) => names.extend(batch),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
                return names;
            }
        }
    }
}

#[test]
fn full_disk_has_room_to_remove_documents_and_to_let_many_expire() {
    for len in [20, 60_000] {
        let sim = Sim::new();
        sim.limit_space(if len == 20 { 4 << 20 } else { 12 << 20 });
        let options = || options(&sim).memtable_entries(4096);
        let db = options().ids(Ids::Names).create("sim").unwrap();
        let names = fill(&db, len);
        assert!(names.len() > 20, "only {} names", names.len());
        assert!(db.remove(&names[1]).unwrap());
        assert!(
            db.remove_entry(far(2), db.get(&names[2]).unwrap().map(|found| found.id).unwrap())
                .unwrap()
        );
        assert!(db.remove(db.get(&names[3]).unwrap().map(|found| found.id).unwrap()).unwrap());
        let old = if len == 20 { 1100 } else { 6 };
        assert_eq!(db.expire(old).unwrap().removed, old - 3);
        let left = names.len() as u64 - old;
        assert_eq!(db.stats().documents, left);
        db.close().unwrap();
        let db = options().open("sim").unwrap();
        assert_eq!((db.stats().documents, db.snapshot().len()), (left, left));
        assert!(db.remove(&names[usize::try_from(old).unwrap()]).unwrap());
    }
}
