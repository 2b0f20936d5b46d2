//! Answers do not depend on how files are read.

use std::path::Path;

use fpdb::{Access, Db, Durability, Fingerprint, Ids, Layout, Options};

use crate::common::{Oracle, Rng, assert_answers, assert_entries, entry};

const ALL: [Access; 4] = [Access::Cached, Access::Cold, Access::Resident, Access::Mapped];

/// Several small blocks per page, several pages per file, and two segments with removals in
/// between.
fn options<F: Fingerprint>(access: Access) -> Options<F> {
    let layout = Layout::preset("half-2", F::BITS).unwrap();
    Options::new()
        .layout(layout)
        .block_size(128)
        .filter_bits(10)
        .durability(Durability::Buffered)
        .background(false)
        .access(access)
}

fn check_every_access_mode<F: Fingerprint>() {
    for access in ALL {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        let mut random = Rng::new(7);
        let mut oracle = Oracle::default();
        let mut centres = Vec::new();
        let db = options::<F>(access).create(&path).unwrap();
        for id in 0..3000 {
            let centre = match centres.is_empty() || random.one_in(3) {
                true => random.fingerprint(),
                false => random.pick::<F>(&centres) ^ random.error(u32::try_from(id % 5).unwrap()),
            };
            centres.push(centre);
            db.insert(centre, id).unwrap();
            oracle.0.insert(entry(centre, id));
            if id == 2000 {
                db.flush().unwrap();
            }
            if id % 11 == 10 {
                let gone = entry(random.pick(&centres), id - 10);
                if oracle.0.remove(&gone) {
                    db.remove_entry(gone.fingerprint, gone.id).unwrap();
                }
            }
        }
        db.close().unwrap();
        let db = options::<F>(access).open(&path).unwrap();
        let queries: Vec<F> = centres.iter().step_by(40).copied().collect();
        check(&db, &oracle, &queries);
        db.compact().unwrap();
        check(&db, &oracle, &queries);
        assert_eq!(db.verify().unwrap().errors.len(), 0, "{access:?}");
        damage_is_found(&path, db, access);
    }
}

fn check<F: Fingerprint>(db: &Db<F>, oracle: &Oracle<F>, queries: &[F]) {
    let snapshot = db.snapshot();
    for &query in queries {
        assert_answers(&snapshot, oracle, query, 4);
    }
    assert_entries(&snapshot, oracle);
}

/// A page that changed on disk causes an error, not a wrong answer.
fn damage_is_found<F: Fingerprint>(path: &Path, db: Db<F>, access: Access) {
    db.close().unwrap();
    let table = std::fs::read_dir(path).unwrap().map(|e| e.unwrap().path());
    let table = table.filter(|p| p.extension().is_some_and(|e| e == "t00")).max().unwrap();
    let mut bytes = std::fs::read(&table).unwrap();
    bytes[4096 + 77] ^= 4;
    std::fs::write(&table, bytes).unwrap();
    let db = options::<F>(access).open(path).unwrap();
    assert!(!db.verify().unwrap().errors.is_empty(), "{access:?}");
    let all = db.snapshot().iter().collect::<Result<Vec<_>, _>>();
    assert_eq!(all.unwrap_err().kind(), fpdb::ErrorKind::Corruption, "{access:?}");
}

#[test]
fn every_access_mode_gives_the_same_answers_and_finds_the_same_damage() {
    check_every_access_mode::<u64>();
    check_every_access_mode::<u128>();
}

#[test]
fn empty_database_can_be_read_in_every_access_mode() {
    for access in ALL {
        let folder = tempfile::tempdir().unwrap();
        let db = Db::options().access(access).ids(Ids::User).create(folder.path()).unwrap();
        assert_eq!(db.query(5, 3).unwrap(), []);
    }
}

/// Damages everything in the files of segments except headers and footers.
fn damage_bodies(path: &Path) {
    for file in std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()) {
        let kind = file.extension().and_then(|kind| kind.to_str()).unwrap_or_default();
        if !["t00", "t01", "ids", "del", "names"].contains(&kind) {
            continue;
        }
        let mut bytes = std::fs::read(&file).unwrap();
        let trailer = bytes.len() - 24;
        let meta_len = u32::from_le_bytes(bytes[trailer + 8..trailer + 12].try_into().unwrap());
        let footer = trailer - usize::try_from(meta_len).unwrap();
        assert!(footer > 64, "{kind} has no body");
        bytes[64..footer].iter_mut().for_each(|byte| *byte ^= 0x55);
        std::fs::write(&file, bytes).unwrap();
    }
}

#[test]
fn opening_reads_no_index_filter_or_block() {
    for ids in [Ids::User, Ids::Names] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        let options = |access| options::<u64>(access).ids(ids).index_memory(0);
        let db = options(Access::Cached).create(&path).unwrap();
        for round in 0..2 {
            for i in 0..2000u64 {
                let fingerprint = (i + round).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                match ids {
                    Ids::Names => db.insert(fingerprint, &*format!("{round}/{i}")).unwrap(),
                    _ => db.insert(fingerprint, i).unwrap(),
                };
            }
            if round == 1 && ids == Ids::User {
                let gone = 7u64.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                assert!(db.remove_entry(gone, 7).unwrap() || db.remove_entry(gone, 6).unwrap());
            }
            db.flush().unwrap();
        }
        let stats = db.stats();
        db.close().unwrap();
        damage_bodies(&path);
        for access in ALL {
            let db = options(access).open(&path).unwrap();
            assert_eq!(db.stats().entries, stats.entries, "{access:?}");
            assert_eq!(db.stats().segments, stats.segments, "{access:?}");
            let error = db.query(7, 3).unwrap_err();
            assert_eq!(error.kind(), fpdb::ErrorKind::Corruption, "{access:?}");
            db.close().unwrap();
        }
    }
}
