//! What the errors about missing and damaged files say.

use std::collections::BTreeMap;

use fpdb::storage::Storage;
use fpdb::{Db, DocId, Entry, Error, ErrorKind, Fingerprint};

use crate::intact::{Intact, options};
use crate::{Counts, check_every_kind};

#[track_caller]
fn assert_corruption(error: &Error, what: &str) {
    assert_eq!(error.kind(), ErrorKind::Corruption, "{what}: {error}");
    assert!(error.path().is_some_and(|path| path.starts_with("sim")), "{what}: {error}");
}

fn check_missing<F: Fingerprint>(intact: &Intact<F>, _: &Counts) {
    let is_needed = |name: &&String| *name != "LOCK" && !name.ends_with(".spare");
    for name in intact.files.keys().filter(is_needed) {
        let sim = intact.with(&BTreeMap::from([(&**name, None)]));
        let before = sim.list().unwrap();
        let results = [
            options::<F>(&sim).open_read_only("sim").map(drop),
            options::<F>(&sim).open("sim").map(drop),
            options::<F>(&sim).open_or_create("sim").map(drop),
        ];
        for result in results {
            let error = result.unwrap_err();
            assert_corruption(&error, name);
            assert!(error.to_string().contains("missing"), "{error}");
            assert_eq!(error.path().unwrap().file_name().unwrap(), name.as_str(), "{error}");
        }
        let create = options::<F>(&sim).create("sim").unwrap_err();
        let kind =
            if name == "MANIFEST" { ErrorKind::Corruption } else { ErrorKind::AlreadyExists };
        assert_eq!(create.kind(), kind);
        assert_eq!(sim.list().unwrap(), before, "files were removed");
    }
}

#[test]
fn missing_file_is_named() {
    check_every_kind!(check_missing);
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
