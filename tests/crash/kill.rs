//! Processes that are killed while they use a database on a real disk.
//!
//! A writer performs numbered operations, so the contents after each number are known. Readers
//! refresh all the time: the contents that they see must be those after some number of operations,
//! which never decreases, whichever process is killed.
//!
//! `FPDB_KILLS` sets how often the writer is killed (500), and `FPDB_READER_SECONDS` how long eight
//! readers read beside one writer (20).

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use fpdb::{Db, Durability, ErrorKind, Ids, Options, Outcome, Snapshot, Stamped};

use super::script::Random;
use super::setting;

/// The variables that make a test process a writer or a reader, with the folder of the database.
const WRITER: &str = "FPDB_CRASH_WRITER";
const READER: &str = "FPDB_CRASH_READER";

/// The variables that make a test process check a database after a crash: its folder, and how many
/// operations were acknowledged. Used by the scripts in `tools/power`.
const CHECKER: &str = "FPDB_CRASH_CHECKER";
const ACKNOWLEDGED: &str = "FPDB_CRASH_ACKNOWLEDGED";

/// A variable that ends the writer, without an error, when the database has had this many
/// operations.
const OPERATIONS: &str = "FPDB_CRASH_OPERATIONS";

/// A variable for negative controls: the writer acknowledges operations that are not durable.
const UNSYNCED: &str = "FPDB_CRASH_UNSYNCED";

/// A file in the folder around the database. Readers end when it exists.
const STOP: &str = "stop";

/// Returns the fingerprint of a document number. They are far from one another.
fn fingerprint(key: u64) -> u64 {
    Random(key << 32).next()
}

/// Returns the document that operation `n` updates.
fn updated_by(n: u64) -> Option<u64> {
    (n % 8 == 6).then(|| n - 1)
}

/// Returns the fingerprint of a document after the first `n` operations.
fn fingerprint_after(key: u64, n: u64) -> u64 {
    let is_updated = updated_by(key + 1).is_some() && n > key + 1;
    if is_updated { fingerprint(!key) } else { fingerprint(key) }
}

/// Returns the document that operation `n` removes. Operations that neither remove nor update one
/// insert document `n`.
fn removed_by(n: u64) -> Option<u64> {
    // The longer the run, the older the document, so that it is in another segment.
    (n % 8 == 3).then(|| n / 8 * 4)
}

/// Whether the document is there after the first `n` operations.
fn is_live(key: u64, n: u64) -> bool {
    let is_inserted = removed_by(key).is_none() && updated_by(key).is_none();
    key < n && is_inserted && (!key.is_multiple_of(4) || n <= key * 2 + 3)
}

/// Returns how many operations gave the contents.
fn operations(snapshot: &Snapshot) -> u64 {
    let documents = snapshot.documents().unwrap().map(|document| {
        let document = document.unwrap().1;
        assert_eq!((document.stamp, document.duplicate_of), (Some(document.id.0), None));
        (document.id.0, document.fingerprint)
    });
    let found: Vec<(u64, u64)> = documents.collect();
    let mut entries: Vec<(u64, u64)> =
        snapshot.iter().map(Result::unwrap).map(|entry| (entry.id.0, entry.fingerprint)).collect();
    entries.sort_unstable();
    assert!(entries == found, "the entries do not belong to the documents");
    let Some((last, _)) = found.last() else { return 0 };
    // The last operation may have been a removal or an update.
    let possible = [last + 1, last + 2];
    let matches = |n: &u64| {
        let live = (0..*n).filter(|&key| is_live(key, *n));
        live.map(|key| (key, fingerprint_after(key, *n))).eq(found.iter().copied())
    };
    let n = possible.into_iter().find(matches);
    n.unwrap_or_else(|| panic!("{} entries up to {last} are no state of the writer", found.len()))
}

#[test]
fn contents_identify_the_number_of_operations() {
    let options = Db::options().ids(Ids::Unique).storage(fpdb::storage::Sim::new());
    let db = options.create("sim").unwrap();
    for n in 0..100 {
        assert_eq!(operations(&db.snapshot()), n);
        apply(&db, n);
    }
}

fn apply(db: &Db, n: u64) {
    if let Some(key) = removed_by(n) {
        assert!(db.remove(key).unwrap());
    } else if let Some(key) = updated_by(n) {
        let outcome = db.upsert_if_novel(fingerprint(!key), key).unwrap();
        assert!(matches!(outcome, Outcome::Updated { from, .. } if from == fingerprint(key)));
    } else {
        let outcome = db.upsert_if_novel(fingerprint(n), Stamped::new(n, n)).unwrap();
        assert!(matches!(outcome, Outcome::Inserted(_)), "{outcome:?}");
    }
    if n % 1000 == 999 {
        let _ = db.compact().unwrap();
    }
}

fn open(path: &Path) -> Db {
    let is_unsynced = std::env::var_os(UNSYNCED).is_some();
    let durability = if is_unsynced { Durability::Buffered } else { Durability::Sync };
    // Small, so that some kills interrupt flushes and compactions.
    let options = Db::options().ids(Ids::Unique).memtable_entries(64).durability(durability);
    open_with(options, path)
}

/// Opens the database. A process that another test is starting has a copy of the lock for a moment,
/// between `fork` and `exec`.
fn open_with(options: Options, path: &Path) -> Db {
    let start = Instant::now();
    loop {
        match options.clone().open_or_create(path) {
            Err(e) if e.kind() == ErrorKind::Locked && start.elapsed().as_secs() < 10 => {
                std::thread::sleep(Duration::from_millis(1));
            }
            result => return result.unwrap(),
        }
    }
}

/// Not a test by itself: the process that is killed runs it.
#[test]
fn writer() {
    let Some(path) = std::env::var_os(WRITER) else { return };
    let db = open(Path::new(&path));
    let mut out = std::io::stdout();
    for n in operations(&db.snapshot())..setting(OPERATIONS, usize::MAX) as u64 {
        apply(&db, n);
        writeln!(out, "acknowledged {n}").unwrap();
        out.flush().unwrap();
    }
}

/// Not a test by itself: scripts that crash file systems run it.
#[test]
fn checker() {
    let Some(path) = std::env::var_os(CHECKER) else { return };
    let (path, mut found) = (Path::new(&path), 0);
    for _ in 0..2 {
        // If the database was never created, it is now, in the form of the writer's.
        let db = open_with(Db::options().ids(Ids::Unique).background(false), path);
        let n = operations(&db.snapshot());
        assert!(n >= setting(ACKNOWLEDGED, 0) as u64, "{n} operations are left");
        assert!(db.verify(fpdb::VerifyLevel::Full).unwrap().errors.is_empty());
        assert_no_leaks(path, &db);
        assert!(found == 0 || found == n, "{found} operations, then {n}");
        found = n;
    }
}

/// Not a test by itself: the processes that read run it.
#[test]
fn reader() {
    let Some(path) = std::env::var_os(READER) else { return };
    let path = Path::new(&path);
    let stop = path.with_file_name(STOP);
    let reader = Db::open_read_only(path).unwrap();
    let (mut last, mut reads, mut random) = (0, 0, Random(u64::from(std::process::id())));
    while !stop.exists() {
        let _ = reader.refresh().unwrap();
        let snapshot = reader.snapshot();
        let n = operations(&snapshot);
        assert!(n >= last, "{n} operations after {last}");
        for _ in 0..50 {
            let key = random.next() % (n + 10);
            let found = snapshot.query(fingerprint_after(key, n) ^ 1, 3).unwrap();
            let ids: Vec<u64> = found.iter().map(|found| found.id.0).collect();
            let expected: &[u64] = if is_live(key, n) { &[key] } else { &[] };
            assert_eq!(ids, expected, "document {key} after {n} operations");
            let found = snapshot.get(key).unwrap().map(|document| document.fingerprint);
            assert_eq!(found, is_live(key, n).then(|| fingerprint_after(key, n)), "{key}, {n}");
        }
        (last, reads) = (n, reads + 1);
    }
    println!("read {reads} times, up to operation {last}");
}

/// Starts this program again to run the test `name`.
fn start(name: &str, variable: &str, path: &Path, output: Stdio) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(variable, path)
        .stdout(output)
        .spawn()
        .unwrap()
}

fn start_reader(path: &Path) -> Child {
    start("kill::reader", READER, path, Stdio::piped())
}

/// Lets a writer run for a while. Returns how many operations were acknowledged, if any.
fn run_and_kill(path: &Path, pause: Duration) -> Option<u64> {
    let mut child = start("kill::writer", WRITER, path, Stdio::piped());
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let numbers = lines.map_while(Result::ok).filter_map(|line| {
        // The test harness prints before the first number.
        line.rsplit_once("acknowledged ").and_then(|(_, n)| n.parse::<u64>().ok())
    });
    let reader = std::thread::spawn(move || numbers.last());
    std::thread::sleep(pause);
    child.kill().unwrap();
    assert!(!was_failure(child.wait().unwrap()), "the writer failed");
    reader.join().unwrap().map(|last| last + 1)
}

/// Whether a process ended by itself with an error.
fn was_failure(status: ExitStatus) -> bool {
    status.code().is_some_and(|code| code != 0)
}

/// Lets all readers finish. Returns the sum of their reads.
fn stop_readers(folder: &Path, readers: Vec<Child>) -> u64 {
    std::fs::write(folder.join(STOP), "").unwrap();
    let mut reads = 0;
    for reader in readers {
        let output = reader.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "a reader failed: {text}");
        let (_, count) = text.rsplit_once("read ").unwrap();
        reads += count.split_once(' ').unwrap().0.parse::<u64>().unwrap();
    }
    reads
}

/// Checks that the folder has no files that the open database does not name.
fn assert_no_leaks(path: &Path, db: &Db) {
    let stats = db.stats();
    let mut expected: BTreeSet<String> =
        stats.segments.iter().flat_map(|s| s.files.iter().map(|(name, _)| name.clone())).collect();
    expected.extend(["LOCK".to_owned(), "MANIFEST".to_owned()]);
    let names = std::fs::read_dir(path).unwrap().map(|file| file.unwrap().file_name());
    // A writer that was killed may have left no copy of the manifest.
    let is_expected = |name: &String| !name.ends_with(".log") && name != "MANIFEST.copy";
    let found: BTreeSet<String> =
        names.map(|name| name.into_string().unwrap()).filter(is_expected).collect();
    assert_eq!(found, expected);
}

/// Kills a writer again and again, and sometimes one of the readers beside it. Returns the number
/// of kills of the writer.
pub(crate) fn kill_at_random(kills: usize, readers: usize, random: &mut Random) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    drop(open(&path));
    let mut readers: Vec<Child> = (0..readers).map(|_| start_reader(&path)).collect();
    let (mut acknowledged, mut progress) = (0, 0);
    for round in 0..kills {
        let pause = Duration::from_millis(10 + random.next() % 60);
        acknowledged = run_and_kill(&path, pause).unwrap_or(acknowledged);
        let db = open_with(Db::options().background(false), &path);
        let found = operations(&db.snapshot());
        // One more operation may have been written and not yet acknowledged.
        assert!((acknowledged..=acknowledged + 1).contains(&found), "{round}: {found}");
        assert!(db.verify(fpdb::VerifyLevel::Full).unwrap().errors.is_empty());
        assert_no_leaks(&path, &db);
        progress += usize::from(found > acknowledged);
        acknowledged = found;
        let index = random.below(readers.len());
        let reader = &mut readers[index];
        assert_eq!(reader.try_wait().unwrap(), None, "a reader has ended");
        if random.below(4) == 0 {
            reader.kill().unwrap();
            assert!(!was_failure(reader.wait().unwrap()), "a reader failed");
            *reader = start_reader(&path);
        }
    }
    let reads = stop_readers(folder.path(), readers);
    println!(
        "{acknowledged} operations survived {kills} kills ({progress} with one more operation than \
         acknowledged), {reads} reads beside them"
    );
    kills
}

#[test]
fn nothing_is_lost_when_processes_are_killed_and_readers_never_fail() {
    let kills = setting("FPDB_KILLS", 500);
    assert_eq!(kill_at_random(kills, 4, &mut Random(super::seed())), kills);
}

#[test]
fn eight_reading_processes_see_only_states_of_the_writer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let db = open(&path);
    let readers: Vec<Child> = (0..8).map(|_| start_reader(&path)).collect();
    let end = Instant::now() + Duration::from_secs(setting("FPDB_READER_SECONDS", 20) as u64);
    let mut n = 0;
    while Instant::now() < end {
        apply(&db, n);
        n += 1;
    }
    let reads = stop_readers(folder.path(), readers);
    println!("{reads} reads beside {n} operations");
    assert!(reads > 8 && n > 0);
}
