//! Databases as large as the memory that the process may use, and larger.
//!
//! Each operation runs in a process of its own, in a control group with a limit of memory, which
//! ends the process if it needs more. The database is five times as large as the limit, and with
//! `FPDB_LITTLE_MEMORY=full` ten times; with default settings it is about as large as the limit,
//! and two handles of a process share that limit.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use fpdb::{Db, Entry, Options, ReadOnlyDb, Result};

use crate::common::entry;

/// The memory that the process of an operation may use, including bytes that it has written and
/// that are not on disk yet. Those may be 32 MiB: files are synced so often while they grow.
const LIMIT: u64 = 48 << 20;

/// Names the operation in the environment of its process.
const OPERATION: &str = "FPDB_TEST_OPERATION";

/// A control group that limits memory.
struct Group(PathBuf);

impl Group {
    /// Makes it. Returns `None`, and says so, if that is not possible here.
    fn new(name: &str, bytes: u64) -> Option<Self> {
        let path = format!("/sys/fs/cgroup/memory/fpdb-test-{name}-{}", std::process::id());
        let limit = Path::new(&path).join("memory.limit_in_bytes");
        let made =
            std::fs::create_dir(&path).and_then(|()| std::fs::write(limit, bytes.to_string()));
        if made.is_ok() {
            return Some(Self(path.into()));
        }
        // Not with a macro, whose output the test harness captures.
        let skipped =
            b"skipped: this process may not make a control group with a limit of memory\n";
        std::io::Write::write_all(&mut std::io::stderr(), skipped).unwrap();
        None
    }

    /// Runs operations within the limit, at once.
    fn run(&self, operations: &[&str], path: &Path) {
        let started = operations.iter().map(|operation| self.start(operation, path));
        for (child, operation) in started.collect::<Vec<_>>().into_iter().zip(operations) {
            let output = child.wait_with_output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{operation}: {}, {text}", output.status);
            assert!(text.contains("done"), "{operation} did not run: {text}");
        }
    }

    fn start(&self, operation: &str, path: &Path) -> Child {
        let this = std::env::current_exe().unwrap();
        let script = format!(
            "echo $$ > {}/cgroup.procs && exec \"$0\" --exact \
             little_memory::operation_in_this_process --ignored --nocapture",
            self.0.display()
        );
        let mut command = Command::new("sh");
        command.args(["-c", &script]).arg(this).env(OPERATION, operation).current_dir(path);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// Returns whether tests that take long are wanted too.
fn is_full() -> bool {
    std::env::var_os("FPDB_LITTLE_MEMORY").is_some_and(|value| value == "full")
}

fn options() -> Options {
    Db::options().index_memory(0).bulk_memory(4 << 20).memtable_entries(1 << 14).threads(1)
}

fn numbers(from: u64, to: u64) -> impl Iterator<Item = Result<Entry>> {
    (from..to).map(|i| Ok(entry(i.wrapping_mul(0x9e37_79b9_7f4a_7c15), i)))
}

#[test]
fn operations_need_far_less_memory_than_the_database_has() {
    let Some(group) = Group::new("operations", LIMIT) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let bytes = LIMIT * if is_full() { 10 } else { 5 };
    let layout = fpdb::Layout::preset("paper-10", 64).unwrap();
    let db = options().layout(layout).max_distance(6).background(false).create(&path).unwrap();
    let (mut end, step) = (0, bytes / 64);
    while db.stats().bytes_total < bytes {
        assert_eq!(db.bulk_load(numbers(end, end + step)).unwrap().inserted, step);
        end += step;
    }
    db.close().unwrap();
    for operation in ["query", "verify", "import", "compact", "backup"] {
        group.run(&[operation], folder.path());
    }
    assert!(options().open_read_only(&path).unwrap().snapshot().len() > end);
}

#[test]
fn default_settings_stay_within_the_limit_of_a_control_group() {
    let Some(group) = Group::new("defaults", LIMIT) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let db = Db::options().background(false).create(&path).unwrap();
    // In several segments, of which some fit.
    for part in 0..4 {
        let _ = db.bulk_load(numbers(part << 40, (part << 40) + (1 << 20))).unwrap();
    }
    assert!(db.stats().bytes_total > LIMIT, "{}", db.stats().bytes_total);
    db.close().unwrap();
    group.run(&["defaults"], folder.path());
    group.run(&["writer and reader"], folder.path());
}

/// The limit of a group in which another program takes half of the memory later.
const SHARED: u64 = 96 << 20;

/// How much the other program takes.
const TAKEN: usize = 44 << 20;

/// The other program takes its memory within a second or so, while the database is in use, and ends
/// after some time.
#[test]
fn memory_that_others_need_later_is_given_back_and_comes_back() {
    let Some(group) = Group::new("later", SHARED) else { return };
    let folder = tempfile::tempdir().unwrap();
    let layout = fpdb::Layout::preset("paper-10", 64).unwrap();
    let options = Db::options().layout(layout).max_distance(6).background(false);
    let db = options.create(folder.path().join("db")).unwrap();
    let mut end = 0;
    while db.stats().bytes_total < SHARED {
        let _ = db.bulk_load(numbers(end, end + (1 << 18))).unwrap();
        end += 1 << 18;
    }
    db.close().unwrap();
    group.run(&["shares"], folder.path());
    // Two processes of one database that start together.
    group.run(&["fills", "fills"], folder.path());
}

/// Asks for some fingerprints of the database, and returns how much memory its pages may take.
fn ask_some(db: &fpdb::ReadOnlyDb, from: u64) -> u64 {
    for entry in numbers(from, from + 100) {
        assert!(!db.snapshot().query(entry.unwrap().fingerprint ^ 1, 3).unwrap().is_empty());
    }
    db.stats().page_budget_bytes
}

/// Asks while another process takes memory, and gives it back.
fn share() {
    let db = Db::options().open_read_only("db").unwrap();
    let mut rounds = 0..;
    let mut next = || ask_some(&db, rounds.next().unwrap() % 2000 * 100);
    let before = (0..1000).map(|_| next()).last().unwrap();
    let mut other = Command::new(std::env::current_exe().unwrap());
    other.args(["--exact", "little_memory::operation_in_this_process", "--ignored", "--nocapture"]);
    other.env(OPERATION, "takes").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut other = other.spawn().unwrap();
    let mut taken = std::io::BufReader::new(other.stdout.take().unwrap());
    std::thread::scope(|scope| {
        let has_taken = scope.spawn(|| {
            let mut line = String::new();
            while !line.contains("taken") {
                line.clear();
                assert!(std::io::BufRead::read_line(&mut taken, &mut line).unwrap() > 0, "ended");
            }
        });
        while !has_taken.is_finished() {
            next();
        }
        has_taken.join().unwrap();
    });
    let least = (0..500).map(|_| next()).min().unwrap();
    assert!(least < before - (TAKEN as u64) / 2, "{least} of {before}");
    drop(other.stdin.take());
    assert!(other.wait().unwrap().success());
    assert!((0..4000).any(|_| next() >= before / 10 * 9), "no nine tenths of {before}");
}

/// Takes memory, and keeps it until the standard input ends.
fn take() {
    let mut taken: Vec<Vec<u8>> = Vec::new();
    while taken.len() << 20 < TAKEN {
        taken.push(vec![1; 1 << 20]);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    std::io::Write::write_all(&mut std::io::stdout(), b"taken\n").unwrap();
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).unwrap();
    assert_eq!(taken.iter().flatten().map(|&byte| usize::from(byte)).sum::<usize>(), TAKEN);
}

/// Asks a database larger than the memory with several threads while it is read into memory.
fn ask_writer(db: &Db) {
    ask(&|query| db.query(query, 3).unwrap().is_empty(), &|| db.warm().unwrap());
    check(&db.stats());
}

/// Does that with a database that is opened for reading.
fn ask_reader(reader: &ReadOnlyDb) {
    ask(&|query| reader.snapshot().query(query, 3).unwrap().is_empty(), &|| reader.warm().unwrap());
    check(&reader.stats());
}

fn check(stats: &fpdb::Stats) {
    let most = LIMIT / 10 * 7;
    assert!(stats.page_budget_bytes <= most, "{stats:?}");
    assert!(stats.page_memory_bytes <= most && stats.index_loaded_bytes <= most, "{stats:?}");
}

/// Asks for fingerprints that are there with four threads, and warms the database meanwhile.
fn ask(finds_nothing: &(dyn Fn(u64) -> bool + Sync), warm: &dyn Fn()) {
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                for id in (0..5_000).map(|i| (i % 4) << 40 | (i * 4 + thread)) {
                    let stored = numbers(id, id + 1).next().unwrap().unwrap().fingerprint;
                    assert!(!finds_nothing(stored ^ 6), "{id}");
                }
            });
        }
        warm();
    });
}

#[test]
#[ignore = "run by the tests above, each in a process of its own"]
fn operation_in_this_process() {
    let Ok(operation) = std::env::var(OPERATION) else { return };
    match operation.as_str() {
        "query" => {
            let reader = options().open_read_only("db").unwrap();
            for entry in numbers(0, 50) {
                assert!(
                    !reader.snapshot().query(entry.unwrap().fingerprint, 6).unwrap().is_empty()
                );
            }
        }
        "verify" => {
            let report = options()
                .open_read_only("db")
                .unwrap()
                .snapshot()
                .verify(fpdb::VerifyLevel::Full)
                .unwrap();
            assert!(report.errors.is_empty());
        }
        "import" => {
            let db = options().background(false).open("db").unwrap();
            let first = 1 << 40;
            assert_eq!(db.bulk_load(numbers(first, first + 100_000)).unwrap().inserted, 100_000);
            db.close().unwrap();
        }
        "compact" => {
            let db = options().background(false).open("db").unwrap();
            assert_eq!(db.compact().unwrap().segments_after, 1);
            db.close().unwrap();
        }
        "defaults" => {
            let db = Db::options().open("db").unwrap();
            ask_writer(&db);
            db.close().unwrap();
            ask_reader(&Db::options().open_read_only("db").unwrap());
        }
        "shares" => share(),
        "takes" => take(),
        "fills" => {
            let db = Db::options().open_read_only("db").unwrap();
            for round in 0..1000 {
                ask_some(&db, round % 2000 * 100);
            }
        }
        "writer and reader" => {
            let db = Db::options().open("db").unwrap();
            let reader = Db::options().open_read_only("db").unwrap();
            std::thread::scope(|scope| {
                scope.spawn(|| ask_writer(&db));
                scope.spawn(|| ask_reader(&reader));
            });
            db.close().unwrap();
        }
        _ => {
            let db = options().background(false).open("db").unwrap();
            db.backup("copy").unwrap();
            db.close().unwrap();
        }
    }
    std::io::Write::write_all(&mut std::io::stdout(), b"done\n").unwrap();
}
