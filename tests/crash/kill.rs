//! A process that is killed while it writes to a real disk.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use fpdb::{Db, Novelty};

use super::script::Random;

/// The variable that makes a test process the writer, with the folder to write to.
const WRITER: &str = "FPDB_CRASH_WRITER";

const ROUNDS: usize = 20;

/// Returns the fingerprint of a document number. They are far from one another.
fn fingerprint(key: u64) -> u64 {
    Random(key << 32).next()
}

fn open(path: &Path) -> Db {
    // Small, so that some kills interrupt flushes and compactions.
    Db::options().memtable_entries(64).open_or_create(path).unwrap()
}

/// Not a test by itself: the process that is killed runs it.
#[test]
fn writer() {
    let Some(path) = std::env::var_os(WRITER) else { return };
    let db = open(Path::new(&path));
    let mut out = std::io::stdout();
    for key in db.stats().entries.. {
        let verdict = db.insert_if_novel(fingerprint(key), key).unwrap();
        assert!(matches!(verdict, Novelty::Inserted(_)), "{verdict:?}");
        writeln!(out, "acknowledged {key}").unwrap();
        out.flush().unwrap();
    }
}

/// Lets a writer run for a while. Returns the number of acknowledged documents, if any.
fn run_and_kill(path: &Path, pause: Duration) -> Option<u64> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::writer", "--nocapture"])
        .env(WRITER, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let keys = lines.map_while(Result::ok).filter_map(|line| {
        // The test harness prints before the first number.
        line.rsplit_once("acknowledged ").and_then(|(_, key)| key.parse::<u64>().ok())
    });
    let reader = std::thread::spawn(move || keys.last());
    std::thread::sleep(pause);
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap().map(|last| last + 1)
}

#[test]
fn no_acknowledged_document_is_lost_by_a_killed_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let mut random = Random(super::seed());
    let mut acknowledged = 0;
    for round in 0..ROUNDS {
        let pause = Duration::from_millis(20 + random.next() % 150);
        acknowledged = run_and_kill(&path, pause).unwrap_or(acknowledged);
        let db = open(&path);
        let found = db.stats().entries;
        // One more document may have been written and not yet acknowledged.
        assert!((acknowledged..=acknowledged + 1).contains(&found), "{round}: {found}");
        for key in 0..found {
            assert_eq!(db.ids(fingerprint(key)).unwrap(), [fpdb::DocId(key)], "{round}: {key}");
        }
        assert!(db.verify().unwrap().errors.is_empty());
        acknowledged = found;
    }
    assert!(acknowledged > 0, "every writer was killed before it wrote anything");
    println!("{acknowledged} documents survived {ROUNDS} kills");
}
