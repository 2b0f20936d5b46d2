//! What the errors about missing, older and damaged files say.

use std::collections::BTreeMap;

use fpdb::storage::{Sim, Storage};
use fpdb::{Db, DocId, Entry, Error, ErrorKind};

use crate::entries;
use crate::intact::{Intact, options};

#[track_caller]
fn assert_corruption(error: &Error, what: &str) {
    assert_eq!(error.kind(), ErrorKind::Corruption, "{what}: {error}");
    assert!(error.path().is_some_and(|path| path.starts_with("sim")), "{what}: {error}");
}

#[test]
fn missing_file_is_named() {
    let intact = Intact::<u64>::make(entries(), 0);
    for name in intact.files.keys().filter(|&name| name != "LOCK") {
        let sim = intact.with(&BTreeMap::from([(&**name, None)]));
        let before = sim.list().unwrap();
        let results = [
            options::<u64>(&sim).open_read_only("sim").map(drop),
            options::<u64>(&sim).open("sim").map(drop),
            options::<u64>(&sim).open_or_create("sim").map(drop),
        ];
        for result in results {
            let error = result.unwrap_err();
            assert_corruption(&error, name);
            assert!(error.to_string().contains("missing"), "{error}");
            assert_eq!(error.path().unwrap().file_name().unwrap(), name.as_str(), "{error}");
        }
        let create = options::<u64>(&sim).create("sim").unwrap_err();
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
    let db = options::<u64>(&sim).create("sim").unwrap();
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
        assert_corruption(&options::<u64>(&sim).open("sim").unwrap_err(), "from an earlier time");
        assert_eq!(sim.list().unwrap(), before, "files were removed");
    }
    sim.set_contents("MANIFEST", &newest);
    let db = options::<u64>(&sim).open("sim").unwrap();
    assert_eq!(db.snapshot().ids(7 << 20).unwrap(), [DocId(7)]);
    assert_eq!(
        db.snapshot().iter().next().unwrap().unwrap(),
        Entry { fingerprint: 0, id: DocId(0) }
    );
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
    let report = reader.snapshot().verify(fpdb::VerifyLevel::Full).unwrap();
    let found: Vec<_> =
        report.errors.iter().map(|e| (e.path().unwrap().to_owned(), e.offset().unwrap())).collect();
    assert_eq!(found, places);
}
