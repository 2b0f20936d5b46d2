//! Answers do not depend on how much of the files is in memory.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fpdb::{Db, Durability, ErrorKind, Ids, Layout, Options, Word};

use crate::common::{Oracle, Rng, assert_answers, assert_entries, entry};

/// How much memory the pages may take, and whether they are read before they are needed.
#[derive(Debug, Clone, Copy)]
struct Memory {
    limit: u64,
    is_warm: bool,
}

const ALL: [Memory; 4] = [
    Memory { limit: 0, is_warm: false },
    Memory { limit: 40 << 10, is_warm: true },
    Memory { limit: u64::MAX, is_warm: false },
    Memory { limit: u64::MAX, is_warm: true },
];

/// Several small blocks per page, several pages per file, and two segments with removals in
/// between.
fn options<F: Word>(memory: Memory) -> Options<F> {
    let layout = Layout::preset("half-2", F::BITS).unwrap();
    Options::default()
        .layout(layout)
        .block_size(128)
        .filter_bits(10)
        .durability(Durability::Buffered)
        .background(false)
        .page_memory(memory.limit)
}

fn open<F: Word>(path: &Path, memory: Memory) -> Db<F> {
    let db = options(memory).open(path).unwrap();
    if memory.is_warm {
        // Damage is reported when it is used.
        let _ = db.warm();
    }
    db
}

fn check_all_amounts_of_memory<F: Word>() {
    for memory in ALL {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        let mut random = Rng::new(7);
        let mut oracle = Oracle::default();
        let mut centres = Vec::new();
        let db = options::<F>(memory).create(&path).unwrap();
        for id in 0..3000 {
            let centre = match centres.is_empty() || random.one_in(3) {
                true => random.fingerprint(),
                false => {
                    let centre = random.pick::<F>(&centres);
                    random.near(centre, u32::try_from(id % 5).unwrap())
                }
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
        let db = open::<F>(&path, memory);
        let queries: Vec<F> = centres.iter().step_by(40).copied().collect();
        check(&db, &oracle, &queries);
        db.compact().unwrap();
        check(&db, &oracle, &queries);
        assert_eq!(db.verify(fpdb::VerifyLevel::Full).unwrap().errors.len(), 0, "{memory:?}");
        damage_is_found(&path, db, memory);
    }
}

fn check<F: Word>(db: &Db<F>, oracle: &Oracle<F>, queries: &[F]) {
    let snapshot = db.snapshot();
    for &query in queries {
        assert_answers(&snapshot, oracle, query, 4);
    }
    assert_entries(&snapshot, oracle);
}

/// A page that changed on disk causes an error, not a wrong answer.
fn damage_is_found<F: Word>(path: &Path, db: Db<F>, memory: Memory) {
    db.close().unwrap();
    let table = std::fs::read_dir(path).unwrap().map(|e| e.unwrap().path());
    let table = table.filter(|p| p.extension().is_some_and(|e| e == "t00")).max().unwrap();
    let mut bytes = std::fs::read(&table).unwrap();
    bytes[4096 + 77] ^= 4;
    std::fs::write(&table, bytes).unwrap();
    let db = open::<F>(path, memory);
    assert!(!db.verify(fpdb::VerifyLevel::Full).unwrap().errors.is_empty(), "{memory:?}");
    let all = db.snapshot().iter().collect::<Result<Vec<_>, _>>();
    assert_eq!(all.unwrap_err().kind(), fpdb::ErrorKind::Corruption, "{memory:?}");
}

#[test]
fn any_amount_of_memory_gives_the_same_answers_and_finds_the_same_damage() {
    check_all_amounts_of_memory::<u64>();
    check_all_amounts_of_memory::<u128>();
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
        let options = |memory| options::<u64>(memory).ids(ids).index_memory(0);
        let db = options(ALL[2]).create(&path).unwrap();
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
        for memory in ALL {
            let db = options(memory).open(&path).unwrap();
            assert_eq!(db.stats().entries, stats.entries, "{memory:?}");
            assert_eq!(db.stats().segments, stats.segments, "{memory:?}");
            let error = db.query(7, 3).unwrap_err();
            assert_eq!(error.kind(), fpdb::ErrorKind::Corruption, "{memory:?}");
            db.close().unwrap();
        }
    }
}

/// Creates a database with one segment of some size.
fn create_large(path: &Path) {
    let all: Vec<u64> = (1..=300_000u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let db = options(ALL[2]).create(path).unwrap();
    let entries = (0..).zip(&all).map(|(id, &fingerprint)| Ok(entry(fingerprint, id)));
    assert_eq!(db.bulk_load(entries).unwrap().inserted, all.len() as u64);
    db.close().unwrap();
}

#[test]
fn loading_reports_its_progress_and_can_be_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    create_large(&path);
    let db = options::<u64>(ALL[2]).open(&path).unwrap();
    let cancelled = db.on_progress(|progress| match progress.done {
        0 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    });
    assert_eq!(cancelled.warm().unwrap_err().kind(), ErrorKind::Cancelled);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let watched = db.on_progress({
        let seen = seen.clone();
        move |progress| {
            seen.lock().unwrap().push(progress);
            ControlFlow::Continue(())
        }
    });
    watched.warm().unwrap();
    let seen = seen.lock().unwrap();
    let (first, last) = (seen.first().unwrap(), seen.last().unwrap());
    assert_eq!((first.done, Some(last.done)), (0, last.total));
    let bytes = db.stats().bytes_tables;
    assert!(last.done > 0 && last.done < bytes, "{last:?}: some was read before");
}

#[test]
fn without_memory_for_copies_nothing_is_read_in_the_background() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    create_large(&path);
    let db = options::<u64>(ALL[2]).background(true).index_memory(0).open(&path).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    damage_bodies(&path);
    assert!(db.query(7, 3).is_err());
}
