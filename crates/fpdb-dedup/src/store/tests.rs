use super::*;
use fpdb::ErrorKind;

/// Documents of which each has features of its own, and shares some with the next ones.
fn features(number: u64) -> Shingles {
    let len = [3, 40, 70, 300, 5000][usize::try_from(number % 5).unwrap()];
    let hash = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
    Shingles::of_hashes((10 * number..10 * number + len).map(hash).collect())
}

fn name(number: u64) -> String {
    format!("https://{}.example/{number}", number % 3)
}

fn open(folder: &Path) -> Result<FeatureStore> {
    FeatureStore::open(folder, "pairs/1", Db::options())
}

fn insert(store: &mut FeatureStore, numbers: std::ops::Range<u64>) {
    let documents: Vec<_> = numbers.map(|it| (name(it), it, store.mixed(&features(it)))).collect();
    let each = documents.iter().map(|(name, number, features)| (&**name, *number, features));
    store.insert(each).unwrap();
}

/// Returns which of these documents have features, which are the right ones.
fn known(store: &mut FeatureStore, numbers: std::ops::Range<u64>) -> Vec<u64> {
    let is_known = |number: &u64| {
        let Some(found) = store.get(&name(*number), *number).unwrap() else { return false };
        assert_eq!(found, store.mixed(&features(*number)).compact(), "{number}");
        true
    };
    numbers.filter(is_known).collect()
}

#[test]
fn features_are_found_after_a_restart_and_after_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let mut number = 0;
    // Each batch ends before, at or after a checkpoint.
    for batch in [1, 1, 5, 2, 7, 8, 9, 3, 20, 1] {
        let mut store = open(folder.path()).unwrap();
        assert_eq!(known(&mut store, 0..number + 2), (0..number).collect::<Vec<_>>());
        insert(&mut store, number..number + batch);
        number += batch;
        assert_eq!(known(&mut store, 0..number + 2), (0..number).collect::<Vec<_>>());
        if batch % 2 == 0 {
            store.close().unwrap();
        }
    }
}

#[test]
fn a_document_has_the_features_of_its_last_version() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(folder.path()).unwrap();
    for (fingerprint, of) in [(7_u64, 1), (8, 2), (7, 3)] {
        let features = store.mixed(&features(of));
        store.insert([("a", fingerprint, &features)]).unwrap();
    }
    for restarted in [false, true] {
        if restarted {
            store.close().unwrap();
            store = open(folder.path()).unwrap();
        }
        let found = [("a", 7_u64), ("a", 8), ("a", 9), ("b", 7)]
            .map(|(name, it)| store.get(name, it).unwrap());
        let expected = [3, 2].map(|it| Some(store.mixed(&features(it)).compact()));
        assert_eq!(found[..2], expected);
        assert_eq!(found[2..], [None, None]);
    }
}

#[test]
fn a_file_that_ends_early_loses_the_last_documents_only() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(folder.path()).unwrap();
    insert(&mut store, 0..8);
    // The rest is not in the index.
    insert(&mut store, 8..13);
    drop(store);
    let bytes = std::fs::read(folder.path().join("lists")).unwrap();
    let indexed = u64_of(&std::fs::read(folder.path().join(ENDS)).unwrap());
    let from = usize::try_from(indexed).unwrap();
    // The index has only what was synced, so it is never ahead of the file.
    let with_len = |len: usize| {
        let copy = tempfile::tempdir().unwrap();
        copy_folder(folder.path(), copy.path());
        std::fs::write(copy.path().join("lists"), &bytes[..len]).unwrap();
        copy
    };
    let mut most = 8;
    for len in (from..=bytes.len()).step_by(97).chain([bytes.len()]) {
        let copy = with_len(len);
        let mut store = open(copy.path()).unwrap();
        let found = known(&mut store, 0..13);
        assert!(found.len() >= most && found == (0..found.len() as u64).collect::<Vec<_>>());
        most = found.len();
        // What follows is found, too.
        insert(&mut store, 20..22);
        drop(store);
        assert_eq!(known(&mut open(copy.path()).unwrap(), 20..23), [20, 21]);
    }
    assert_eq!(most, 13);
    let copy = with_len(from - 1);
    assert!(matches!(open(copy.path()).unwrap_err(), Error::Damaged { .. }));
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (entry, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if entry.is_dir() { copy_folder(&entry, &to) } else { drop(std::fs::copy(entry, to)) }
    }
}

#[test]
fn a_lost_index_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(folder.path()).unwrap();
    insert(&mut store, 0..21);
    store.close().unwrap();
    // Also if only its folder is left, as after a failure while it was created.
    for is_left in [false, true] {
        std::fs::remove_dir_all(folder.path().join("index")).unwrap();
        if is_left {
            std::fs::create_dir(folder.path().join("index")).unwrap();
        }
        assert_eq!(known(&mut open(folder.path()).unwrap(), 0..25), (0..21).collect::<Vec<_>>());
    }
}

#[test]
fn an_index_that_is_made_again_is_not_trusted_until_it_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(folder.path()).unwrap();
    insert(&mut store, 0..21);
    store.close().unwrap();
    // A failure after the index was created anew, before it has anything.
    std::fs::remove_dir_all(folder.path().join("index")).unwrap();
    let mut ends = Ends::read(&folder.path().join(ENDS)).unwrap();
    ends.indexed = 0;
    ends.write(&folder.path().join(ENDS)).unwrap();
    Db::options().max_distance(0).create(folder.path().join("index")).unwrap().close().unwrap();
    assert_eq!(known(&mut open(folder.path()).unwrap(), 0..25), (0..21).collect::<Vec<_>>());
}

#[test]
fn damage_before_the_last_sync_cuts_nothing_off() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(folder.path()).unwrap();
    insert(&mut store, 0..21);
    store.close().unwrap();
    std::fs::remove_dir_all(folder.path().join("index")).unwrap();
    let path = folder.path().join("lists");
    let mut bytes = std::fs::read(&path).unwrap();
    let place = bytes.len() / 2;
    bytes[place] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let error = open(folder.path()).unwrap_err();
    assert!(matches!(&error, Error::Damaged { .. }) && error.to_string().contains("the checksum"));
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

#[test]
fn flipped_bits_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(folder.path()).unwrap();
    insert(&mut store, 0..3);
    store.close().unwrap();
    let path = folder.path().join("lists");
    let bytes = std::fs::read(&path).unwrap();
    for bit in (0..8 * bytes.len()).step_by(5) {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&path, flipped).unwrap();
        let found = open(folder.path()).and_then(|mut store| {
            (0..3).map(|it| store.get(&name(it), it)).collect::<Result<Vec<_>>>()
        });
        assert!(matches!(found, Err(Error::Damaged { .. } | Error::Mismatch { .. })), "{bit}");
    }
}

#[test]
fn only_one_process_has_the_store_open() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    let Error::Index(error) = open(folder.path()).unwrap_err() else { panic!("not the index") };
    assert_eq!(error.kind(), ErrorKind::Locked);
    store.close().unwrap();
    assert!(open(folder.path()).is_ok());
}
