//! Errors have the right kind, and a message that says what failed, where, and what to do instead.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use fpdb::storage::{Fault, Sim, Storage};
use fpdb::{
    Db, Description, DocId, Entry, Error, ErrorKind, Ids, Key, Layout, Options, RecipeName, Result,
};

use crate::common::entry;

#[track_caller]
fn refused<T>(result: Result<T>, kind: ErrorKind, words: &[&str]) -> Error {
    let error = result.err().expect("was not refused");
    assert_eq!(error.kind(), kind, "{error}");
    let message = error.to_string();
    for word in words {
        assert!(message.contains(word), "{message:?} does not contain {word:?}");
    }
    error
}

fn names_in(folder: &Path) -> Vec<String> {
    let name = |e: std::io::Result<std::fs::DirEntry>| e.unwrap().file_name().into_string();
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|e| name(e).unwrap()).collect();
    names.sort();
    names
}

#[track_caller]
fn refused_to_open(path: &Path, kind: ErrorKind, words: &[&str]) {
    refused(Db::open(path), kind, words);
    refused(Db::options().open_read_only(path), kind, words);
    refused(Description::read(path), kind, words);
}

#[test]
fn debug_output_of_a_database_fits_in_a_message() {
    let folder = tempfile::tempdir().unwrap();
    let db = Db::options().background(false).create(folder.path().join("db")).unwrap();
    for i in 0..100 {
        db.insert(i << 50, i).unwrap();
    }
    db.flush().unwrap();
    let reader = Db::options().open_read_only(folder.path().join("db")).unwrap();
    for shown in [format!("{db:?}"), format!("{reader:?}"), format!("{:?}", db.snapshot())] {
        assert!(shown.len() < 500, "{} bytes", shown.len());
    }
}

#[test]
fn open_without_a_database_fails_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    refused_to_open(&missing, ErrorKind::NotFound, &["no database", "missing", "create"]);
    assert!(!missing.exists());
    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    refused_to_open(&empty, ErrorKind::NotFound, &["no database", "empty", "create"]);
    assert_eq!(names_in(&empty), [""; 0]);
}

#[test]
fn missing_manifest_is_damage_if_other_files_of_a_database_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    Db::options().create(&path).unwrap().insert(1, 1).unwrap();
    std::fs::remove_file(path.join("MANIFEST")).unwrap();
    refused_to_open(&path, ErrorKind::Corruption, &["the manifest is missing", "backup"]);
}

#[test]
fn folder_with_other_files_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::write(path.join("letter.txt"), "memo").unwrap();
    refused_to_open(path, ErrorKind::NotFound, &["no database", path.to_str().unwrap()]);
    let words = ["letter.txt", "choose another one"];
    refused(Db::options().create(path), ErrorKind::AlreadyExists, &words);
    refused(Db::options().open_or_create(path), ErrorKind::AlreadyExists, &words);
    assert_eq!(names_in(path), ["letter.txt"]);
}

#[test]
fn file_in_place_of_the_folder_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("letter.txt");
    std::fs::write(&path, "memo").unwrap();
    for result in [
        Db::open(&path).map(drop),
        Db::options().create(&path).map(drop),
        Db::options().open_or_create(&path).map(drop),
        Db::options().open_read_only(&path).map(drop),
        Description::read(&path).map(drop),
    ] {
        let error = result.unwrap_err();
        let expected = [ErrorKind::Io, ErrorKind::AlreadyExists, ErrorKind::NotFound];
        assert!(expected.contains(&error.kind()), "{error:?}");
        assert!(error.to_string().contains("letter.txt"), "{error}");
    }
    assert_eq!(std::fs::read(&path).unwrap(), b"memo");
}

#[test]
fn existing_database_is_not_created_again() {
    let folder = tempfile::tempdir().unwrap();
    let db = Db::options().create(folder.path()).unwrap();
    db.insert(7, 1).unwrap();
    // The error is the same while the database is open elsewhere.
    refused(Db::options().create(folder.path()), ErrorKind::AlreadyExists, &["open it"]);
    refused(Options::bits128().open(folder.path()), ErrorKind::Unsupported, &["64-bit", "128-bit"]);
    db.close().unwrap();
    refused(Db::options().create(folder.path()), ErrorKind::AlreadyExists, &["open it"]);
    assert!(Db::open(folder.path()).unwrap().snapshot().contains(7).unwrap());
}

#[test]
fn create_with_impossible_options_leaves_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new");
    refused(
        Db::options().block_size(100).create(&path),
        ErrorKind::InvalidArgument,
        &["power of two"],
    );
    assert!(!path.exists());
}

/// Returns a simulated folder "sim" with a closed database of one entry.
fn closed(options: Options<u64>) -> Arc<Sim> {
    let sim = Sim::new();
    let db = options.storage(sim.clone()).create("sim").unwrap();
    match db.description().ids {
        Ids::User => db.insert(7, 1).unwrap(),
        _ => db.insert(7, "seven").unwrap(),
    };
    db.close().unwrap();
    sim
}

fn on(sim: &Arc<Sim>) -> Options<u64> {
    Db::options().storage(sim.clone())
}

#[test]
fn error_about_a_newer_format_says_what_to_do() {
    for ending in ["MANIFEST", ".t00"] {
        let sim = closed(Db::options());
        let names = sim.list().unwrap().unwrap();
        let name = names.iter().find(|name| name.ends_with(ending)).unwrap();
        let mut bytes = sim.contents(name).unwrap();
        bytes[8] = 9;
        let crc = crc32fast::hash(&bytes[..12]);
        bytes[12..16].copy_from_slice(&crc.to_le_bytes());
        sim.set_contents(name, &bytes);
        let words = ["format version 9.", "this build reads", "use a newer fpdb", name];
        refused(on(&sim).open("sim"), ErrorKind::Unsupported, &words);
        refused(on(&sim).open_or_create("sim"), ErrorKind::Unsupported, &words);
        refused(on(&sim).open_read_only("sim"), ErrorKind::Unsupported, &words);
        assert_eq!(sim.contents(name).unwrap(), bytes);
    }
}

#[test]
fn error_about_another_width_says_for_which_to_open_it() {
    let sim = closed(Db::options());
    let wide = || Options::bits128().storage(sim.clone());
    let words = ["128-bit fingerprints were requested", "open it for 64-bit fingerprints"];
    refused(wide().open("sim"), ErrorKind::Unsupported, &words);
    refused(wide().open_or_create("sim"), ErrorKind::Unsupported, &words);
    refused(wide().open_read_only("sim"), ErrorKind::Unsupported, &words);
    let sim = Sim::new();
    Options::bits128().storage(sim.clone()).create("sim").unwrap();
    refused(on(&sim).open("sim"), ErrorKind::Unsupported, &["open it for 128-bit fingerprints"]);
}

#[test]
fn another_recipe_is_refused_with_both_names() {
    let sim = closed(Db::options().recipe(RecipeName::custom("ours/1")));
    let words = ["ours/1", "shingles/2", "cannot be compared"];
    refused(
        on(&sim).recipe(RecipeName::custom("shingles/2")).open("sim"),
        ErrorKind::Unsupported,
        &words,
    );
    refused(
        on(&sim).recipe(RecipeName::custom("shingles/2")).open_read_only("sim"),
        ErrorKind::Unsupported,
        &words,
    );
    assert_eq!(
        on(&sim)
            .recipe(RecipeName::custom("ours/1"))
            .open("sim")
            .unwrap()
            .description()
            .recipe
            .as_deref(),
        Some("ours/1")
    );
    let sim = closed(Db::options());
    refused(
        on(&sim).recipe(RecipeName::custom("ours/1")).open("sim"),
        ErrorKind::Unsupported,
        &["ours/1", "no named recipe"],
    );
}

#[test]
fn another_extraction_is_refused_with_both_names() {
    let sim = closed(Db::options().extraction("main/1"));
    let words = ["main/1", "strip/1", "cannot be compared"];
    refused(on(&sim).extraction("strip/1").open("sim"), ErrorKind::Unsupported, &words);
    refused(on(&sim).extraction("strip/1").open_read_only("sim"), ErrorKind::Unsupported, &words);
    let db = on(&sim).open("sim").unwrap();
    assert_eq!(
        (db.description().extraction.as_deref(), db.description().recipe.as_deref()),
        (Some("main/1"), None)
    );
    let sim = closed(Db::options());
    let words = ["main/1", "no named extraction"];
    refused(on(&sim).extraction("main/1").open("sim"), ErrorKind::Unsupported, &words);
}

#[test]
fn an_empty_database_adopts_an_extraction() {
    let sim = Sim::new();
    on(&sim).create("sim").unwrap().close().unwrap();
    on(&sim).extraction("main/1").open("sim").unwrap().close().unwrap();
    assert_eq!(
        on(&sim).open_read_only("sim").unwrap().description().extraction.as_deref(),
        Some("main/1")
    );
}

type Change<'a> = &'a dyn Fn(Options<u64>) -> Options<u64>;

#[test]
fn stored_options_that_differ_are_refused_with_both_values() {
    let sim = closed(Db::options());
    let single = || Layout::preset("single", 64).unwrap();
    let cases: [(Change<'_>, [&str; 3]); 5] = [
        (&|o| o.max_distance(5), ["max distance", "5", "3"]),
        (&|o| o.layout(single()), ["layout", "single", "half-2"]),
        (&|o| o.ids(Ids::Names), ["ids", "names", "user"]),
        (&|o| o.block_size(1024), ["block size", "1024", "128"]),
        (&|o| o.filter_bits(0), ["filter bits", "0", "8"]),
    ];
    for (change, words) in cases {
        refused(change(on(&sim)).open("sim"), ErrorKind::InvalidArgument, &words);
        refused(change(on(&sim)).open_or_create("sim"), ErrorKind::InvalidArgument, &words);
        refused(change(on(&sim)).open_read_only("sim"), ErrorKind::InvalidArgument, &words);
    }
    let same = on(&sim).max_distance(3).block_size(128).filter_bits(8).ids(Ids::User);
    assert!(same.open("sim").unwrap().snapshot().contains(7).unwrap());
}

#[test]
fn options_that_no_database_can_have_are_refused_with_the_range() {
    let wide = || Layout::preset("single", 128).unwrap();
    let long = "x".repeat(256);
    let cases: [(Change<'_>, [&str; 2]); 9] = [
        (&|o| o.block_size(100), ["100", "power of two from 128 to 4096"]),
        (&|o| o.block_size(64), ["64", "128 to 4096"]),
        (&|o| o.block_size(8192), ["8192", "128 to 4096"]),
        (&|o| o.max_distance(13), ["13", "0 to 12"]),
        (&|o| o.filter_bits(33), ["33", "0 to 32"]),
        (&|o| o.recipe(RecipeName::custom("")), ["recipe", "1 to 255"]),
        (&|o| o.extraction(fpdb::ExtractionName::custom("")), ["extraction", "1 to 255"]),
        (&|o| o.recipe(RecipeName::custom(long.as_str())), ["256", "1 to 255"]),
        (&|o| o.layout(wide()), ["128 bits", "64-bit"]),
    ];
    for (change, words) in cases {
        let sim = Sim::new();
        refused(change(on(&sim)).create("sim"), ErrorKind::InvalidArgument, &words);
        // The failed attempt must not be in the way.
        on(&sim).create("sim").unwrap();
    }
}

#[test]
fn second_handle_in_the_process_is_refused_and_readers_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let db = Db::options().create(folder.path()).unwrap();
    db.insert(7, 1).unwrap();
    let words = ["another handle", "for reading only"];
    refused(Db::open(folder.path()), ErrorKind::Locked, &words);
    refused(Db::options().open_or_create(folder.path()), ErrorKind::Locked, &words);
    let reader = Db::options().open_read_only(folder.path()).unwrap();
    assert_eq!(reader.snapshot().ids(7).unwrap(), [DocId(1)]);
    drop(db);
    assert!(Db::open(folder.path()).unwrap().snapshot().contains(7).unwrap());
}

/// The folder in which the child process of the test below writes.
const CHILD: &str = "FPDB_TEST_CHILD_WRITES_TO";

/// Writes until it is killed, if this is the child process of the next test; otherwise does
/// nothing.
#[test]
fn child_process() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let db = Db::options().open(path).unwrap();
    for i in 0.. {
        db.insert(i, i).unwrap();
        println!("\nacknowledged {i}");
    }
}

#[test]
fn second_process_is_refused_until_the_first_is_gone_and_readers_are_not() {
    let folder = tempfile::tempdir().unwrap();
    Db::options().create(folder.path()).unwrap().close().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "errors::child_process", "--nocapture"])
        .env(CHILD, folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut acknowledged = || loop {
        let line = lines.next()?.unwrap();
        if let Some(number) = line.strip_prefix("acknowledged ") {
            return number.parse::<u64>().ok();
        }
    };
    let first = acknowledged().expect("the child to write");
    refused(Db::open(folder.path()), ErrorKind::Locked, &["another process", "for reading only"]);
    let reader = Db::options().open_read_only(folder.path()).unwrap();
    let mut seen = 0;
    while seen < 50 {
        acknowledged().expect("the child to continue");
        reader.refresh().unwrap();
        let entries: Vec<_> = reader.snapshot().iter().map(Result::unwrap).collect();
        let expected: Vec<Entry> = (0..entries.len() as u64).map(|i| entry(i, i)).collect();
        assert_eq!(entries, expected, "not a prefix of the commits");
        assert!(entries.len() >= seen, "a refresh went back");
        seen = entries.len();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let last = std::iter::from_fn(acknowledged).last().unwrap_or(first);
    let db = Db::open(folder.path()).unwrap();
    let entries = db.snapshot().iter().collect::<Result<Vec<_>>>().unwrap();
    assert!(entries.len() as u64 > last, "{} entries, {last} acknowledged", entries.len());
    assert!(entries.iter().zip(0..).all(|(&e, i)| e == entry(i, i)));
}

#[test]
fn keys_of_the_wrong_kind_are_refused_and_nothing_of_their_batch_is_inserted() {
    let sim = closed(Db::options());
    let db = on(&sim).open("sim").unwrap();
    let words = ["user ids", "give an id instead of a name", "sim"];
    refused(db.insert(1, "one"), ErrorKind::InvalidArgument, &words);
    let batch = [(1, Key::from(1)), (2, Key::from("two"))];
    refused(db.write(&batch).run(), ErrorKind::InvalidArgument, &words);
    refused(db.write(&batch).unless_near(3).run(), ErrorKind::InvalidArgument, &words);
    assert_eq!(db.stats().entries, 1);

    let sim = closed(Db::options().ids(Ids::Names));
    let db = on(&sim).open("sim").unwrap();
    let words = ["assigns ids itself", "name", "sim"];
    refused(db.write(&batch).run(), ErrorKind::InvalidArgument, &words);
    let given = [Ok(entry(1, 1))];
    refused(db.bulk_load(given), ErrorKind::InvalidArgument, &["bulk load", "a name", "sim"]);
    assert_eq!(db.stats().entries, 1);
}

#[test]
fn errors_of_the_caller_are_passed_on_and_end_the_batch() {
    let sim = closed(Db::options());
    let db = on(&sim).open("sim").unwrap();
    let broken = || Db::open("no/such/folder").unwrap_err();
    let given = [Ok(entry(1, 1)), Err(broken()), Ok(entry(2, 2))];
    refused(db.bulk_load(given), ErrorKind::NotFound, &["no/such/folder"]);
    let ended = db
        .write(&[(1 << 40, Key::from(5))])
        .unless_near(3)
        .before_commit(|verdicts| {
            assert_eq!(verdicts.len(), 1);
            Err(std::io::Error::other("the printer is out of paper"))
        })
        .run();
    refused(ended, ErrorKind::Io, &["out of paper"]);
    assert_eq!(db.stats().entries, 1);
    db.insert(1 << 40, 5).unwrap();
}

#[test]
fn poisoned_handle_refuses_writes_says_why_and_still_reads() {
    // The append fails, and then the sync.
    for call in [0, 1] {
        let sim = closed(Db::options());
        let db = on(&sim).background(false).open("sim").unwrap();
        db.insert(8, 2).unwrap();
        sim.fail_at(sim.calls() + call, Fault::Error, false);
        refused(db.insert(9, 3), ErrorKind::Io, &["injected fault"]);
        let words = ["open the database again", "injected fault"];
        refused(db.insert(9, 3), ErrorKind::Poisoned, &words);
        refused(db.insert_if_novel(1 << 50, 3), ErrorKind::Poisoned, &words);
        refused(db.remove_entry(7, 1), ErrorKind::Poisoned, &words);
        refused(db.flush(), ErrorKind::Poisoned, &words);
        refused(db.compact(), ErrorKind::Poisoned, &words);
        refused(db.sync(), ErrorKind::Poisoned, &words);
        refused(db.bulk_load([Ok(entry(1, 1))]), ErrorKind::Poisoned, &words);
        assert!(db.stats().write_error.is_some_and(|error| error.contains("injected fault")));
        assert_eq!(db.snapshot().ids(8).unwrap(), [DocId(2)]);
        assert_eq!(db.query(7, 0).unwrap().len(), 1);
        assert!(db.snapshot().ids(9).unwrap().is_empty(), "it was not acknowledged");
        refused(db.close(), ErrorKind::Poisoned, &words);
        assert_eq!(on(&sim).open("sim").unwrap().snapshot().ids(8).unwrap(), [DocId(2)]);
    }
}

#[test]
fn backup_goes_to_an_empty_folder_only() {
    let sim = closed(Db::options());
    let db = on(&sim).open("sim").unwrap();
    db.backup("copy").unwrap();
    let words = ["not empty", "choose another one", "copy"];
    refused(db.backup("copy"), ErrorKind::AlreadyExists, &words);
    refused(db.backup("sim"), ErrorKind::AlreadyExists, &["not empty", "sim"]);
    assert!(on(&sim).open("copy").unwrap().snapshot().contains(7).unwrap());
}
