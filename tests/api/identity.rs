//! Which files belong together: a file that has the right name but comes from elsewhere is refused.

use std::fs;
use std::path::Path;

use fpdb::{Db, ErrorKind, Ids};

/// Inserts these documents, and removes one of the first fifty. That leaves a log, or a segment of
/// every kind of file if `flush`.
fn write(path: &Path, documents: std::ops::Range<u64>, salt: u64, flush: bool) {
    let db = Db::options().background(false).open(path).unwrap();
    for i in documents.clone() {
        db.insert(i << 40 | salt, &*format!("document {i}")).unwrap();
    }
    if documents.start >= 50 {
        let old = documents.start % 50;
        assert!(db.remove_entry(old << 40, old).unwrap());
    }
    if flush {
        db.flush().unwrap();
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for file in fs::read_dir(from).unwrap().map(Result::unwrap) {
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

/// Copies that went different ways have files of equal names, kinds, sizes and database ids.
#[test]
fn files_of_diverged_copies_do_not_mix() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
    drop(Db::options().ids(Ids::Names).create(&first).unwrap());
    write(&first, 0..50, 0, true);
    copy_folder(&first, &second);
    for (path, salt) in [(&first, 1), (&second, 2)] {
        write(path, 50..60, salt, true);
        write(path, 60..65, salt, false);
    }
    let mut kinds = std::collections::BTreeSet::new();
    for file in fs::read_dir(&first).unwrap().map(Result::unwrap) {
        let (ours, theirs) = (file.path(), second.join(file.file_name()));
        let name = file.file_name().into_string().unwrap();
        let (good, other) = (fs::read(&ours).unwrap(), fs::read(&theirs).unwrap());
        if name.starts_with("MANIFEST") || good == other {
            continue;
        }
        kinds.insert(name.rsplit('.').next().unwrap().to_owned());
        fs::write(&ours, other).unwrap();
        let read_only = Db::options().open_read_only(&first);
        let errors = match name.ends_with(".spare") {
            // Only a repair reads it.
            true => read_only.unwrap().snapshot().verify(fpdb::VerifyLevel::Quick).unwrap().errors,
            false => vec![Db::options().open(&first).unwrap_err(), read_only.unwrap_err()],
        };
        assert!(!errors.is_empty(), "{name}");
        for error in errors {
            assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
            assert_eq!(error.path(), Some(&*ours), "{error}");
            assert!(error.to_string().contains("comes from a copy or a backup"), "{error}");
        }
        fs::write(&ours, good).unwrap();
        assert!(
            Db::options()
                .open_read_only(&first)
                .unwrap()
                .snapshot()
                .verify(fpdb::VerifyLevel::Full)
                .unwrap()
                .errors
                .is_empty()
        );
    }
    assert_eq!(
        kinds.into_iter().collect::<Vec<_>>(),
        ["del", "docs", "ids", "log", "spare", "t00", "t01"]
    );
}
