//! Counts the instructions of the hot paths with valgrind and compares them with
//! `benches/instructions.txt`. Unlike times, counts do not depend on other load on the machine.
//!
//!     cargo bench --bench instructions [-- --update]
//!
//! Fails if a path takes over 5 % more than the file says; `--update` rewrites the file. Counts
//! depend on the compiler, so with a compiler other than the file's they are only printed. They
//! exclude the kernel, other threads and waiting for memory, which the other benches measure.

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "prints a table of figures")]

mod common;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::process::{Command, ExitCode};
use std::time::Instant;

use common::{Data, Random, load, option, options, queries, scan};
use fpdb::{Db, DocId, Durability, Ids, Key, Options, Outcome, Stamped};

/// An increase by more than this share is a failure; a decrease by more calls for an update.
const TOLERANCE: f64 = 0.05;
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/instructions.txt");
/// Bits per fingerprint, per table: the default of databases for which a filter is worthwhile.
const FILTER: u32 = 8;

/// Sets up, compares answers with a scan, passes its work to [`measured`], and returns the number
/// of operations.
type Path = (&'static str, fn() -> usize);

const PATHS: [Path; 21] = [
    ("query, half-2 with filter, k = 3", || query("half-2", FILTER, 3)),
    ("query of a small database without a match, k = 3", || query_small(0..=0)),
    ("query of a small database with one match, k = 3", || query_small(1..=1)),
    ("query with 100 to 500 matches, half-2 with filter, k = 3", || query_long(100..=500)),
    ("query, half-2, k = 3", || query("half-2", 0, 3)),
    ("query, single with filter, k = 3", || query("single", FILTER, 3)),
    ("query, ring-3, k = 6", || query("ring-3", 0, 6)),
    ("a query of a batch, half-2, k = 3", batch),
    ("a fingerprint of a full scan", full_scan),
    ("query, 30 recent entries, k = 3", || query_recent(30)),
    ("query, 3000 recent entries, k = 3", || query_recent(3000)),
    ("query among documents without stamps, k = 3", || query_documents(None)),
    ("query among documents with stamps, k = 3", || query_documents(Some(7))),
    ("insert_if_novel into the memtable", insert_if_novel),
    ("insert_if_novel of a name", || insert_names(None)),
    ("insert_if_novel of a name with a stamp", || insert_names(Some(7))),
    ("a name of a batch, unless near", insert_names_together),
    ("a fingerprint of all pairs, half-2, k = 3", pairs),
    ("an entry of a flush", flush),
    ("an entry of a compaction", compact),
    ("an entry of a bulk load", bulk_load),
];

/// Valgrind counts while this runs. It finds the function by name, so it must not be inlined.
#[inline(never)]
fn measured<R>(work: impl FnOnce() -> R) -> R {
    std::hint::black_box(work())
}

/// Few enough for valgrind, which is 50 times slower, and enough for hundreds of blocks.
fn entries() -> usize {
    if common::is_test() { 1 << 10 } else { 1 << 16 }
}

fn uniform() -> Vec<u64> {
    Data::Uniform.fingerprints(entries())
}

/// Entries that are inserted one by one; the memtable is sized for them and never full.
fn recent() -> usize {
    entries() / 4
}

/// Does all work in the calling thread, the only one that is counted, and at times that it chooses.
/// Tables are not decoded in memory, so that queries do what they do in a large database.
fn alone(layout: &str, filter: u32) -> Options {
    let options = options(layout, filter).durability(Durability::Buffered).index_memory(0);
    options.memtable_entries(recent() + 1).threads(1).background(false)
}

/// Returns a database of these fingerprints, and its folder.
fn loaded(options: Options, fingerprints: &[u64]) -> (tempfile::TempDir, Db) {
    let folder = common::folder();
    let (db, _) = load(options, folder.path().join("db"), fingerprints);
    (folder, db)
}

fn query(layout: &str, filter: u32, k: u32) -> usize {
    let fingerprints = uniform();
    let (_folder, db) = loaded(alone(layout, filter).max_distance(k), &fingerprints);
    let (snapshot, queries) = (db.snapshot(), queries(&fingerprints, 1000));
    let ask = |&query: &u64| snapshot.query(query, k).unwrap().len();
    // Pages are verified when they are first read.
    let found: Vec<usize> = queries.iter().map(ask).collect();
    for (&found, &query) in found.iter().zip(&queries).take(20) {
        assert_eq!(found, scan(&fingerprints, query, k), "{layout}");
    }
    assert_eq!(measured(|| queries.iter().map(ask).sum::<usize>()), found.iter().sum());
    queries.len()
}

/// Queries a database whose tables are so small that they are decoded in memory.
fn query_small(matches: RangeInclusive<usize>) -> usize {
    let options = alone("half-2", FILTER).index_memory(1 << 30);
    query_with_matches(options, &uniform(), matches)
}

/// Families of near neighbours make the long answers.
fn query_long(matches: RangeInclusive<usize>) -> usize {
    let fingerprints = Data::Clustered.fingerprints(1 << 16);
    query_with_matches(alone("half-2", FILTER), &fingerprints, matches)
}

/// Runs the queries that have this number of matches.
fn query_with_matches(
    options: Options,
    fingerprints: &[u64],
    matches: RangeInclusive<usize>,
) -> usize {
    let (_folder, db) = loaded(options, fingerprints);
    let snapshot = db.snapshot();
    let ask = |&query: &u64| snapshot.query(query, 3).unwrap().len();
    let mut queries = queries(fingerprints, 2000);
    queries.retain(|query| matches.contains(&ask(query)));
    for query in queries.iter().take(20) {
        assert_eq!(ask(query), scan(fingerprints, *query, 3));
    }
    measured(|| queries.iter().for_each(|query| assert!(matches.contains(&ask(query)))));
    queries.len()
}

/// Queries a memtable that is sized for many more entries.
fn query_recent(entries: usize) -> usize {
    let fingerprints = Data::Uniform.fingerprints(entries);
    let (_folder, db) = loaded(alone("half-2", FILTER).memtable_entries(1 << 17), &[]);
    insert(&db, 0, &fingerprints);
    let (snapshot, queries) = (db.snapshot(), queries(&fingerprints, 1000));
    let ask = |&query: &u64| snapshot.query(query, 3).unwrap().len();
    let expected: usize = queries.iter().map(|&query| scan(&fingerprints, query, 3)).sum();
    assert_eq!(measured(|| queries.iter().map(ask).sum::<usize>()), expected);
    queries.len()
}

fn batch() -> usize {
    let fingerprints = uniform();
    let (_folder, db) = loaded(alone("half-2", 0), &fingerprints);
    let (snapshot, queries) = (db.snapshot(), queries(&fingerprints, entries() / 4));
    let ask = || snapshot.query_batch(&queries, 3).unwrap();
    let answers = ask();
    for (answer, &query) in answers.iter().zip(&queries).take(20) {
        assert_eq!(answer.len(), scan(&fingerprints, query, 3));
    }
    assert_eq!(measured(ask), answers);
    queries.len()
}

fn full_scan() -> usize {
    /// So far that all of table 0 is read; few random fingerprints are as near.
    const DISTANCE: u32 = 17;
    let fingerprints = uniform();
    let (_folder, db) = loaded(alone("single", 0), &fingerprints);
    let (snapshot, query) = (db.snapshot(), 0x0123_4567_89ab_cdef);
    let ask = || snapshot.query(query, DISTANCE).unwrap().len();
    assert_eq!(ask(), scan(&fingerprints, query, DISTANCE));
    let _ = measured(ask);
    fingerprints.len()
}

/// One document in ten is 2 bits from the previous one.
fn insert_if_novel() -> usize {
    let (_folder, db) = loaded(alone("half-2", FILTER), &[]);
    let mut random = Random(7);
    let mut documents = vec![random.next()];
    for i in 1..recent() {
        let next = random.next();
        documents.push(if i % 10 == 0 { random.flip(documents[i - 1], 2) } else { next });
    }
    let mut novel = Vec::with_capacity(documents.len());
    measured(|| {
        for (id, &document) in (0..).zip(&documents) {
            let novelty = db.insert_if_novel(document, DocId(id)).unwrap();
            novel.push(matches!(novelty, Outcome::Inserted(_)));
        }
    });
    let mut seen = Vec::new();
    for (&document, novel) in documents.iter().zip(novel).take(1000) {
        assert_eq!(novel, scan(&seen, document, 3) == 0, "{document:x}");
        seen.extend(novel.then_some(document));
    }
    documents.len()
}

/// A fingerprint, a name and a stamp.
type Document = (u64, String, Option<u64>);

fn stamped((_, name, stamp): &Document) -> Stamped<'_> {
    Stamped { stamp: *stamp, ..name.as_str().into() }
}

/// Returns uniform fingerprints with names and this stamp.
fn recent_documents(stamp: Option<u64>) -> Vec<Document> {
    let mut fingerprints = uniform();
    fingerprints.truncate(recent());
    let named = |(number, fingerprint): (u32, u64)| {
        (fingerprint, format!("https://a.example/{number:08}"), stamp)
    };
    (0..).zip(fingerprints).map(named).collect()
}

fn database_with_names() -> (tempfile::TempDir, Db) {
    let folder = common::folder();
    let db = alone("half-2", FILTER).ids(Ids::Names).create(folder.path().join("db")).unwrap();
    (folder, db)
}

/// All of them are novel.
fn insert_names(stamp: Option<u64>) -> usize {
    let (_folder, db) = database_with_names();
    let documents = recent_documents(stamp);
    let novel = measured(|| {
        let is_novel = |document: &&Document| {
            let novelty = db.insert_if_novel(document.0, stamped(document)).unwrap();
            matches!(novelty, Outcome::Inserted(_))
        };
        documents.iter().filter(is_novel).count()
    });
    assert_eq!(novel, documents.len());
    for document in &documents[..20] {
        let found = db.get(&*document.1).unwrap().unwrap();
        assert_eq!((found.fingerprint, found.stamp), (document.0, stamp));
    }
    documents.len()
}

/// In batches of the length that the server commits together.
fn insert_names_together() -> usize {
    let (_folder, db) = database_with_names();
    let documents = recent_documents(None);
    let batch: Vec<_> = documents.iter().map(|document| (document.0, stamped(document))).collect();
    let insert = |batch: &[_]| db.write(batch).unless_near(3).run().unwrap();
    let novelties = measured(|| batch.chunks(512).flat_map(insert).collect::<Vec<_>>());
    assert!(novelties.iter().all(|novelty| matches!(novelty, Outcome::Inserted(_))));
    assert_eq!(db.stats().entries, documents.len() as u64);
    documents.len()
}

fn query_documents(stamp: Option<u64>) -> usize {
    let (_folder, db) = database_with_names();
    let documents = recent_documents(stamp);
    let batch: Vec<_> = documents.iter().map(|document| (document.0, stamped(document))).collect();
    let _ = db.write(&batch).run().unwrap();
    db.flush().unwrap();
    let fingerprints: Vec<u64> = documents.iter().map(|document| document.0).collect();
    let (snapshot, queries) = (db.snapshot(), queries(&fingerprints, 1000));
    let ask = |&query: &u64| snapshot.query(query, 3).unwrap().len();
    let expected: usize = queries.iter().map(|&query| scan(&fingerprints, query, 3)).sum();
    assert_eq!(queries.iter().map(ask).sum::<usize>(), expected);
    assert_eq!(measured(|| queries.iter().map(ask).sum::<usize>()), expected);
    queries.len()
}

/// Each tenth fingerprint is near another one.
fn pairs() -> usize {
    let mut random = Random(5);
    let mut fingerprints = uniform();
    for at in (10..fingerprints.len()).step_by(10) {
        fingerprints[at] = random.flip(fingerprints[at - 1], 2);
    }
    let (_folder, db) = loaded(alone("half-2", 0), &fingerprints);
    let snapshot = db.snapshot();
    let count = || snapshot.pairs(3).threads(1).count().unwrap();
    let counts = count();
    assert!(counts.iter().sum::<u64>() >= fingerprints.len() as u64 / 11);
    assert_eq!(measured(count), counts);
    fingerprints.len()
}

/// Inserts in one commit. Ids count up from `first`.
fn insert(db: &Db, first: u64, fingerprints: &[u64]) {
    let documents = (first..).zip(fingerprints).map(|(id, &f)| (f, Key::Id(DocId(id))));
    let _ = db.write(&documents.collect::<Vec<_>>()).run().unwrap();
}

fn assert_holds(db: &Db, fingerprints: &[u64]) {
    assert_eq!(db.stats().entries, fingerprints.len() as u64);
    for query in queries(fingerprints, 20) {
        assert_eq!(db.query(query, 3).unwrap().len(), scan(fingerprints, query, 3));
    }
}

fn flush() -> usize {
    let mut fingerprints = uniform();
    fingerprints.truncate(recent());
    let (_folder, db) = loaded(alone("half-2", FILTER), &[]);
    insert(&db, 0, &fingerprints);
    measured(|| db.flush().unwrap());
    assert_holds(&db, &fingerprints);
    fingerprints.len()
}

/// Merges a segment with one of a third as many entries, which the flush leaves separate.
fn compact() -> usize {
    let fingerprints = uniform();
    let (old, new) = fingerprints.split_at(entries() - recent());
    let (_folder, db) = loaded(alone("half-2", FILTER), old);
    insert(&db, old.len() as u64, new);
    db.flush().unwrap();
    let report = measured(|| db.compact().unwrap());
    assert_eq!((report.segments_before, report.segments_after), (2, 1));
    assert_holds(&db, &fingerprints);
    fingerprints.len()
}

fn bulk_load() -> usize {
    let (fingerprints, options) = (uniform(), alone("half-2", FILTER));
    let (_folder, db) = measured(|| loaded(options, &fingerprints));
    assert_holds(&db, &fingerprints);
    fingerprints.len()
}

fn main() -> ExitCode {
    let path = option("--path", String::new());
    if let Some((_, run)) = PATHS.iter().find(|(name, _)| *name == path) {
        // Run by `count`, under valgrind.
        println!("{}", run());
        return ExitCode::SUCCESS;
    }
    let valgrind = Command::new("valgrind").arg("--version").output().is_ok();
    if !valgrind {
        println!("valgrind is not installed, so no instructions are counted");
    }
    if common::is_test() {
        for (_, run) in PATHS {
            assert!(run() > 0);
        }
        return ExitCode::SUCCESS;
    }
    if !valgrind {
        return ExitCode::FAILURE;
    }
    let expected = Record::read();
    let counted = Record::count(&expected);
    if std::env::args().any(|arg| arg == "--update") {
        counted.write();
        return ExitCode::SUCCESS;
    }
    counted.judge(&expected)
}

/// The contents of the file: instructions per operation, and the compiler.
#[derive(Default)]
struct Record {
    compiler: String,
    counts: BTreeMap<String, f64>,
}

impl Record {
    /// Empty if there is no file.
    fn read() -> Self {
        let mut record = Self::default();
        for line in std::fs::read_to_string(FILE).unwrap_or_default().lines() {
            match line.split_once(": ") {
                Some(("compiler", version)) => record.compiler = version.to_string(),
                Some((name, count)) => {
                    let count = count.parse().unwrap_or_else(|_| panic!("no number: {line}"));
                    record.counts.insert(name.to_string(), count);
                }
                None => panic!("{FILE}: expected `name: count`, not {line:?}"),
            }
        }
        record
    }

    /// Returns 0 for a path that is not in the file.
    fn of(&self, path: &str) -> f64 {
        self.counts.get(path).copied().unwrap_or_default()
    }

    fn write(&self) {
        let counts = PATHS.iter().map(|(name, _)| format!("{name}: {:.1}\n", self.of(name)));
        let text = format!("compiler: {}\n{}", self.compiler, counts.collect::<String>());
        std::fs::write(FILE, text).unwrap();
        println!("written: {FILE}");
    }

    /// Counts all paths and prints the counts with the expected ones.
    fn count(expected: &Self) -> Self {
        let version = Command::new("rustc").arg("--version").output().expect("rustc runs");
        let version = String::from_utf8_lossy(&version.stdout);
        let compiler = format!("{} for {}", version.trim(), std::env::consts::ARCH);
        println!("instructions per operation, {compiler}");
        println!("| hot path | expected | counted | difference |");
        println!("| --- | --- | --- | --- |");
        let (start, mut counts) = (Instant::now(), BTreeMap::new());
        for (name, _) in PATHS {
            let count = count(name);
            let before = expected.of(name);
            let percent = (count / before - 1.0) * 100.0;
            println!("| {name} | {before:.1} | {count:.1} | {percent:+.1} % |");
            counts.insert(name.to_string(), count);
        }
        println!("counted in {:.0} s", start.elapsed().as_secs_f64());
        Self { compiler, counts }
    }

    /// Fails if a path takes more than expected or is not in the file.
    fn judge(&self, expected: &Self) -> ExitCode {
        if self.compiler != expected.compiler {
            println!("not checked: the file's counts are of {:?}", expected.compiler);
            return ExitCode::SUCCESS;
        }
        let percent = TOLERANCE * 100.0;
        let mut verdict = ExitCode::SUCCESS;
        for (name, count) in &self.counts {
            let share = count / expected.of(name);
            if share > 1.0 + TOLERANCE {
                println!("FAILED: {name}: over {percent} % more than expected");
                verdict = ExitCode::FAILURE;
            } else if share < 1.0 - TOLERANCE {
                println!("{name}: over {percent} % less: record the gain with `-- --update`");
            }
        }
        if verdict == ExitCode::FAILURE {
            println!("if that is intended, `-- --update` writes it to {FILE}");
        }
        verdict
    }
}

/// Returns the instructions per operation of the path, which runs alone in a new process.
fn count(path: &str) -> f64 {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .args(["--collect-atstart=no", "--toggle-collect=instructions::measured*"])
        .arg(std::env::current_exe().unwrap())
        .args(["--path", path])
        .output()
        .unwrap();
    let (figures, messages) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{path}: {messages}");
    let collected = messages.lines().find_map(|line| line.split_once("Collected : "));
    let instructions: f64 = collected.and_then(|(_, n)| n.trim().parse().ok()).unwrap_or(0.0);
    assert!(instructions > 0.0, "{path}: valgrind did not see `measured`: {messages}");
    let operations: f64 = figures.trim().parse().expect("the path prints its operations");
    instructions / operations
}
