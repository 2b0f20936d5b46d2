//! Damaged files: what an error says. `tests/damage` tries every damage.

use std::collections::BTreeMap;
use std::sync::Arc;

use fpdb::storage::{Sim, Storage};
use fpdb::{Db, DocId, Entry, Error, ErrorKind, Ids, Key, Layout, Options, Result};

use crate::common::{Oracle, Rng, entry};

/// The files of a database, and its contents after each of its commits, oldest first.
struct Intact {
    files: BTreeMap<String, Vec<u8>>,
    states: Vec<Oracle<u64>>,
    names: Vec<String>,
}

fn options(sim: &Arc<Sim>) -> Options<u64> {
    Db::options().storage(sim.clone()).memtable_entries(64).background(false)
}

impl Intact {
    /// Creates two segments with every kind of file, and a log with commits.
    fn make() -> Self {
        let sim = Sim::new();
        let layout = Layout::preset("half-2", 64).unwrap();
        let stored = options(&sim).ids(Ids::Names).layout(layout).block_size(128).filter_bits(10);
        let db = stored.create("sim").unwrap();
        let (mut rng, mut names) = (Rng::new(3), Vec::new());
        let mut states = vec![Oracle::<u64>::default()];
        for commit in 0..9u64 {
            let mut state = states.last().unwrap().clone();
            if commit % 3 == 2 {
                // An entry of the first segment: the second segment has a tombstone for it.
                let mut early = state.0.iter().filter(|e| e.id.0 < 40);
                let gone = *early.nth(usize::try_from(commit).unwrap()).unwrap();
                assert!(db.remove(gone.fingerprint, gone.id).unwrap());
                state.0.remove(&gone);
            } else {
                let centre: u64 = rng.fingerprint();
                // The policy leaves the first segment alone: it is more than twice the second.
                let count = if commit < 3 { 24 } else { 8u32 };
                let batch: Vec<(u64, String)> = (0..count)
                    .map(|i| (centre ^ rng.error::<u64>(i % 8 / 2), format!("{commit}/{i}")))
                    .collect();
                let keys: Vec<(u64, Key<'_>)> =
                    batch.iter().map(|(f, name)| (*f, Key::from(name))).collect();
                for (id, (fingerprint, name)) in db.insert_batch(&keys).unwrap().iter().zip(batch) {
                    state.0.insert(Entry { fingerprint, id: *id });
                    names.push(name);
                }
            }
            states.push(state);
            if commit == 2 || commit == 5 {
                db.flush().unwrap();
            }
        }
        drop(db);
        let list = sim.list().unwrap().unwrap();
        let files: BTreeMap<String, Vec<u8>> =
            list.iter().map(|name| (name.clone(), sim.contents(name).unwrap())).collect();
        for kind in [".t00", ".t01", ".ids", ".del", ".names", ".log", "MANIFEST"] {
            assert!(list.iter().any(|name| name.ends_with(kind)), "no {kind} in {list:?}");
        }
        Self { files, states, names }
    }

    /// Returns the database with one file replaced or removed.
    fn with(&self, name: &str, bytes: Option<&[u8]>) -> Arc<Sim> {
        let sim = Sim::new();
        sim.create_root().unwrap();
        for (other, bytes) in self.files.iter().filter(|(other, _)| *other != name) {
            sim.set_contents(other, bytes);
        }
        if let Some(bytes) = bytes {
            sim.set_contents(name, bytes);
        }
        sim
    }

    fn last(&self) -> &Oracle<u64> {
        self.states.last().unwrap()
    }

    /// Runs every kind of query. Each answer must be that of `state`, or an error.
    fn check(&self, db: &fpdb::Snapshot, state: &Oracle<u64>) -> Result<()> {
        let found = db.iter().collect::<Result<Vec<Entry>>>()?;
        assert!(found.iter().eq(&state.0), "wrong entries");
        let mut results = Vec::new();
        for e in state.0.iter().step_by(5) {
            for distance in [0, 3] {
                results.push(db.query(e.fingerprint ^ 1, distance).map(|found| {
                    assert_eq!(found, state.query(e.fingerprint ^ 1, distance));
                }));
            }
            results.push(db.ids(e.fingerprint).map(|found| {
                assert_eq!(found, state.ids(e.fingerprint));
            }));
            results.push(db.name(e.id).map(|found| {
                let index = usize::try_from(e.id.0).unwrap();
                assert_eq!(found.as_ref(), Some(&self.names[index]));
            }));
        }
        results.into_iter().collect()
    }
}

#[track_caller]
fn assert_corruption(error: &Error, what: &str) {
    assert_eq!(error.kind(), ErrorKind::Corruption, "{what}: {error}");
    assert!(error.path().is_some_and(|path| path.starts_with("sim")), "{what}: {error}");
}

#[test]
fn undamaged_database_has_no_errors() {
    let intact = Intact::make();
    let sim = intact.with("", None);
    let reader = options(&sim).open_read_only("sim").unwrap();
    assert!(reader.verify().errors.is_empty());
    let db = options(&sim).open("sim").unwrap();
    assert_eq!(db.recovery().commits, 3);
    intact.check(&db.snapshot(), intact.last()).unwrap();
}

#[test]
fn missing_file_is_named() {
    let intact = Intact::make();
    for name in intact.files.keys().filter(|&name| name != "LOCK") {
        let sim = intact.with(name, None);
        let before = sim.list().unwrap();
        let results = [
            options(&sim).open_read_only("sim").map(drop),
            options(&sim).open("sim").map(drop),
            options(&sim).open_or_create("sim").map(drop),
        ];
        for result in results {
            let error = result.unwrap_err();
            assert_corruption(&error, name);
            assert!(error.to_string().contains("missing"), "{error}");
            assert_eq!(error.path().unwrap().file_name().unwrap(), name.as_str(), "{error}");
        }
        let create = options(&sim).create("sim").unwrap_err();
        let kind =
            if name == "MANIFEST" { ErrorKind::Corruption } else { ErrorKind::AlreadyExists };
        assert_eq!(create.kind(), kind);
        assert_eq!(sim.list().unwrap(), before, "files were removed");
    }
}

/// Otherwise the log of the newer manifest would be removed as an orphan.
#[test]
fn older_manifest_put_back_is_found() {
    let sim = Sim::new();
    let db = options(&sim).create("sim").unwrap();
    let mut older = Vec::new();
    for i in 0..6u64 {
        db.insert(i << 20, i).unwrap();
        older.push(sim.contents("MANIFEST").unwrap());
        if i % 2 == 1 {
            db.flush().unwrap();
        }
    }
    db.insert(7 << 20, 7).unwrap();
    drop(db);
    let newest = sim.contents("MANIFEST").unwrap();
    older.retain(|manifest| *manifest != newest);
    assert!(older.len() > 3);
    let before = sim.list().unwrap();
    for manifest in older {
        sim.set_contents("MANIFEST", &manifest);
        assert_corruption(&options(&sim).open("sim").unwrap_err(), "an older manifest");
        assert_eq!(sim.list().unwrap(), before, "files were removed");
    }
    sim.set_contents("MANIFEST", &newest);
    let db = options(&sim).open("sim").unwrap();
    assert_eq!(db.ids(7 << 20).unwrap(), [DocId(7)]);
    assert_eq!(db.snapshot().iter().next().unwrap().unwrap(), entry(0, 0));
}

#[test]
fn verify_reports_each_damaged_place_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let db = Db::options().create(&path).unwrap();
    let fingerprint = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let entries = (0..20_000).map(|i| Ok(Entry { fingerprint: fingerprint(i), id: DocId(i) }));
    let _ = db.bulk_load(entries).unwrap();
    db.close().unwrap();
    // Two pages of one table, one page of the other, and one of the ids.
    let mut places = Vec::new();
    let mut flip = |ending: &str, offset: usize, reported: u64| {
        let file = std::fs::read_dir(&path).unwrap().map(|e| e.unwrap().path());
        let file = file.into_iter().find(|p| p.to_str().unwrap().ends_with(ending)).unwrap();
        let mut bytes = std::fs::read(&file).unwrap();
        bytes[offset] ^= 4;
        std::fs::write(&file, bytes).unwrap();
        places.push((file, reported));
    };
    flip(".t00", 5000, 4096);
    flip(".t00", 20_000, 16_384);
    flip(".t01", 9000, 8192);
    flip(".ids", 4100, 4096);
    let reader = Db::open_read_only(&path).unwrap();
    let report = reader.verify();
    let found: Vec<_> =
        report.errors.iter().map(|e| (e.path().unwrap().to_owned(), e.offset().unwrap())).collect();
    assert_eq!(found, places);
}
