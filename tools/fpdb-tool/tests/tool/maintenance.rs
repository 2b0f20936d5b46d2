//! `stats`, `inspect`, `verify`, `compact`.

use std::fs;
use std::path::{Path, PathBuf};

use fpdb::{Db, Ids, Key};

use crate::common::{Folder, random};

fn folder() -> Folder {
    let folder = Folder::new();
    let mut state = 1;
    for part in ["one", "two"] {
        let fps: String = (0..5000).map(|_| format!("{:x}\n", random(&mut state))).collect();
        folder.write(part, fps);
    }
    // Compaction saves about a bit per fingerprint. In large blocks, that saves entire blocks.
    folder.ok("create a --layout half-2 --block-size 1024");
    folder.ok("import a one --fp-format hex");
    folder.ok("import a two --fp-format hex --first-id 5000");
    folder
}

fn files_under(path: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(path).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn stats_as_text_has_units() {
    let text = folder().ok("stats a").text();
    assert!(text.contains("layout") && text.contains("half-2 (2 tables)"), "{text}");
    assert!(text.lines().any(|l| l.starts_with("on disk") && l.ends_with("iB")), "{text}");
}

#[test]
fn inspect_shows_layout_segments_and_files() {
    let folder = folder();
    let report = folder.ok("inspect a --json").json();
    assert_eq!(report["schema"], "fpdb.inspect/1");
    let tables = report["tables"].as_array().unwrap();
    assert_eq!(tables[1]["cell_order"], serde_json::json!([1, 0]));
    assert_eq!(tables[1]["bit_order"][0], 31);
    let listed: Vec<_> = report["files"].as_array().unwrap().iter().collect();
    let on_disk = files_under(&folder.file("a"));
    assert_eq!(listed.len(), on_disk.len());
    for (listed, path) in listed.iter().zip(&on_disk) {
        assert_eq!(listed["name"], path.file_name().unwrap().to_str().unwrap());
        assert_eq!(listed["bytes"], fs::metadata(path).unwrap().len());
    }
    let text = folder.ok("inspect a").text();
    assert!(text.contains("31..0 63..32"), "{text}");
}

#[test]
fn compact_reports_the_sizes_and_keeps_every_entry() {
    let folder = folder();
    let before = folder.ok("export a").out;
    let report = folder.ok("compact a --json").json();
    assert_eq!(report["schema"], "fpdb.compact/1");
    assert!(report["space_needed"].is_u64(), "{report}");
    assert_eq!(report["segments_after"], 1);
    assert!(report["bytes_before"].as_u64() >= report["bytes_after"].as_u64(), "{report}");
    assert_eq!(folder.ok("export a").out, before);
    let run = folder.ok("compact a");
    assert!(run.out.is_empty() && run.err.contains("after"), "{run:?}");
    folder.ok("verify a");
}

#[test]
fn verify_of_a_sound_database_writes_nothing_to_standard_output() {
    let folder = folder();
    let run = folder.ok("verify a");
    assert!(run.out.is_empty() && run.err.starts_with("sound: "), "{run:?}");
    let report = folder.ok("verify a --json").json();
    assert_eq!((&report["schema"], &report["clean"]), (&"fpdb.verify/1".into(), &true.into()));
    assert_eq!(report["errors"], serde_json::json!([]));
    for level in ["quick", "full", "deep"] {
        folder.ok(&format!("verify a --level {level}"));
    }
    folder.exits(2, "verify a --level thorough");
    folder.exits(2, "verify nowhere");
}

#[test]
fn verify_names_the_damaged_file() {
    let folder = folder();
    let files = files_under(&folder.file("a"));
    let damaged = files.iter().filter(|file| fs::metadata(file).unwrap().len() > 0);
    for file in damaged {
        let sound = fs::read(file).unwrap();
        let name = file.file_name().unwrap().to_str().unwrap();
        // Damage in the last frame of a log looks like a torn write, and so may the copy of the
        // manifest.
        if name.to_ascii_lowercase().contains("log") || name == "MANIFEST.copy" {
            continue;
        }
        let mut bytes = sound.clone();
        let at = bytes.len() / 2;
        bytes[at] ^= 0x10;
        fs::write(file, &bytes).unwrap();
        let run = folder.exits(1, "verify a");
        let text = run.text();
        assert!(text.starts_with("damaged: a") && text.contains(&format!("{name}\n  ")), "{text}");
        assert!(run.err.contains("fpdb-tool repair"), "{}", run.err);
        let report = folder.exits(1, "verify a --json").json();
        assert_eq!(report["clean"], false);
        let error = &report["errors"][0];
        assert!(error["path"].as_str().unwrap().ends_with(name), "{error}");
        folder.exits(1, "verify a --level quick");
        fs::write(file, &sound).unwrap();
    }
    folder.ok("verify a");
}

#[test]
fn repair_writes_a_database_without_the_damage_and_says_what_was_lost() {
    let folder = folder();
    let before = folder.ok("export a").out;
    let run = folder.ok("repair a --out same");
    assert!(
        run.err.contains("saved 10000 of 10000 entries to same: there was no damage"),
        "{run:?}"
    );
    assert_eq!(folder.ok("export same").out, before);

    let files = files_under(&folder.file("a"));
    let table = files.iter().find(|file| file.extension().is_some_and(|end| end == "t00")).unwrap();
    fs::remove_file(table).unwrap();
    fs::remove_file(folder.file("a").join("MANIFEST")).unwrap();
    let report = folder.exits(1, "verify a --json").json();
    assert_eq!(report["errors"].as_array().unwrap().len(), 2, "{report}");
    let run = folder.ok("repair a --out fixed");
    assert!(run.err.contains("nothing was lost"), "{run:?}");
    assert!(run.text().starts_with("damaged: a"), "{}", run.text());
    assert_eq!(folder.ok("export fixed").out, before);
    folder.ok("verify fixed");
    // A folder that is not empty is not touched.
    folder.exits(2, "repair a --out fixed");

    let ids = files.iter().find(|file| file.extension().is_some_and(|end| end == "ids")).unwrap();
    fs::write(ids, b"nothing").unwrap();
    let report = folder.exits(1, "repair a --out rest --json").json();
    assert_eq!(report["schema"], "fpdb.repair/1");
    assert_eq!(report["damage"].as_array().unwrap().len(), 3, "{report}");
    assert_eq!(report["losses"][0]["kind"], "entries");
    assert_eq!((&report["losses"][0]["count"], &report["written"]), (&5000.into(), &5000.into()));
    assert_eq!(report["read"], 10000);
    let run = folder.exits(1, "repair a --out again");
    assert!(run.err.contains("saved 5000 of 10000 entries to again: 5000 are lost"), "{run:?}");
}

#[test]
fn repair_after_a_lost_commit_does_not_say_that_nothing_is_lost() {
    let folder = Folder::new();
    let options = Db::options().ids(Ids::Names).background(false);
    let db = options.create(folder.file("db")).unwrap();
    let first = 0x0123_4567_89ab_cdef_u64;
    for (fingerprint, name) in [(first, "a"), (2, "b"), (3, "c")] {
        let _ = db.write(&[(fingerprint, Key::from(name))]).run().unwrap();
    }
    drop(db);
    let files = files_under(&folder.file("db"));
    let log = files.iter().find(|file| file.extension().is_some_and(|end| end == "log")).unwrap();
    let mut bytes = fs::read(log).unwrap();
    let at = bytes.windows(8).position(|bytes| bytes == first.to_le_bytes()).unwrap();
    bytes[at] ^= 1;
    fs::write(log, bytes).unwrap();
    let run = folder.exits(1, "repair db --out fixed");
    let end = "saved 2 of 2 documents to fixed: it is not known how many are lost";
    assert!(run.err.contains(end), "{run:?}");
}

#[test]
fn repair_after_an_earlier_manifest_was_put_back_saves_all_or_says_what_it_left_out() {
    let folder = folder();
    let manifest = |name: &str| folder.file(&format!("a/{name}"));
    let earlier = fs::read(manifest("MANIFEST")).unwrap();
    folder.write("more", "1\n");
    folder.ok("import a more --fp-format hex --first-id 10000");
    fs::write(manifest("MANIFEST"), &earlier).unwrap();
    let run = folder.ok("repair a --out all");
    assert!(run.err.contains("saved 10001 of 10001 entries to all: nothing was lost"), "{run:?}");
    assert!(run.text().contains("an earlier manifest was put back"), "{}", run.text());
    fs::write(manifest("MANIFEST.copy"), &earlier).unwrap();
    let run = folder.ok("repair a --out again");
    assert!(run.err.contains("saved 10001 of 10001 entries to again: nothing"), "{run:?}");
    let is_spare = |file: &&PathBuf| file.extension().is_some_and(|ending| ending == "spare");
    files_under(&folder.file("a"))
        .iter()
        .filter(is_spare)
        .for_each(|f| fs::remove_file(f).unwrap());
    let run = folder.exits(1, "repair a --out rest");
    assert!(run.err.contains(" entries to rest: "), "{}", run.err);
    assert!(!run.err.contains("no damage") && !run.err.contains("nothing was lost"), "{}", run.err);
    assert!(run.text().contains("files are left out"), "{}", run.text());
}

/// Changes the format version in the header of a file, and the header's checksum.
fn make_newer(file: &Path) {
    let mut bytes = fs::read(file).unwrap();
    bytes[8..10].copy_from_slice(&99u16.to_le_bytes());
    let mut crc = flate2::Crc::new();
    crc.update(&bytes[..12]);
    bytes[12..16].copy_from_slice(&crc.sum().to_le_bytes());
    fs::write(file, bytes).unwrap();
}

#[test]
fn a_database_of_a_newer_version_has_its_own_exit_code() {
    let folder = folder();
    make_newer(&folder.file("a/MANIFEST"));
    folder.write("docs", "");
    for line in [
        "stats a",
        "inspect a",
        "verify a",
        "export a",
        "query a 1",
        "compact a",
        "import a one",
        "dedup a docs",
    ] {
        let run = folder.exits(4, line);
        assert!(run.err.contains("99") && run.out.is_empty(), "{line}: {run:?}");
    }
}

/// This needs root.
#[cfg(unix)]
#[test]
fn what_root_writes_belongs_to_the_owner_of_the_folder() {
    use std::os::unix::fs::{MetadataExt, chown};

    let folder = folder();
    let (owner, group) = (4321, 8765);
    if chown(folder.file("a"), Some(owner), Some(group)).is_err() {
        return;
    }
    let before = files_under(&folder.file("a"));
    folder.ok("compact a");
    folder.ok("remove a --fingerprint 0x0 --id 0");
    let new = files_under(&folder.file("a")).into_iter().filter(|file| !before.contains(file));
    let owners: Vec<_> = new.map(|file| fs::metadata(file).unwrap()).collect();
    assert!(!owners.is_empty() && owners.iter().all(|m| (m.uid(), m.gid()) == (owner, group)));
    // A file that was there may be a hard link to any file of root.
    assert_eq!(fs::metadata(folder.file("a/LOCK")).unwrap().uid(), 0);
}
