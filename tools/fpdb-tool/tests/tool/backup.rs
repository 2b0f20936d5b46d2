//! `backup`

use std::fs;

use crate::common::Folder;

fn folder() -> Folder {
    let folder = Folder::new();
    let list: String = (0..2000u64).map(|i| format!("{:016x}\n", i * 0x9e37_79b9)).collect();
    folder.write("list", list);
    folder.ok("import db list");
    folder
}

#[test]
fn a_backup_has_every_entry_and_is_a_separate_database() {
    let folder = folder();
    let report = folder.ok("backup db --out copy --json").json();
    assert_eq!((&report["schema"], &report["path"]), (&"fpdb.backup/1".into(), &"copy".into()));
    let files = fs::read_dir(folder.file("copy")).unwrap();
    assert_eq!(report["files"], files.count());
    assert!(report["bytes"].as_u64() > Some(2000 * 8), "{report}");
    assert_eq!(folder.ok("export copy").out, folder.ok("export db").out);
    folder.ok("verify copy");
    folder.ok("remove copy --fingerprint 0x0 --id 0");
    assert_eq!(folder.ok("stats db --json").json()["entries"], 2000);
    // A folder may be there if it is empty.
    fs::create_dir(folder.file("again")).unwrap();
    let run = folder.ok("backup db --out again");
    assert!(run.out.is_empty() && run.err.starts_with("copied db to again: "), "{run:?}");
}

#[cfg(unix)]
#[test]
fn backup_needs_no_right_to_write_to_the_database() {
    use std::os::unix::fs::PermissionsExt;

    let folder = folder();
    let db = folder.file("db");
    let names = fs::read_dir(&db).unwrap().map(|file| file.unwrap().path());
    for (path, mode) in names.map(|file| (file, 0o444)).chain([(db.clone(), 0o555)]) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    // Root may write whatever the mode is, unless it gives up that capability.
    let may_write = fs::File::create(db.join("new")).is_ok();
    let by: &[&str] = if may_write { &["setpriv", "--bounding-set=-dac_override"] } else { &[] };
    let refused = folder.run_by(by, &["compact", "db"]);
    assert!(refused.code == 2 && refused.err.contains("Permission denied"), "{refused:?}");
    assert_eq!(folder.run_by(by, &["backup", "db", "--out", "copy"]).code, 0);
    assert_eq!(folder.ok("export copy").out, folder.ok("export db").out);
}
