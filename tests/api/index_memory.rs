//! Copies of indexes in memory: they change no answer, stay within their budget, and are freed.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fpdb::{Db, DocId, Entry, ErrorKind, Layout, Options, Word};

use crate::common::{Oracle, Rng, assert_answers, entry};

fn options<F: Word>() -> Options<F> {
    let layout = Layout::preset("half-2", F::BITS).unwrap();
    Options::default().layout(layout).filter_bits(10).background(false)
}

/// Creates a database with a segment of 6000 entries and one of 1000.
fn create<F: Word>(path: &Path) -> Oracle<F> {
    let db = options::<F>().create(path).unwrap();
    let (mut random, mut oracle) = (Rng::new(5), Oracle::default());
    for ids in [0..6000, 6000..7000] {
        let entries: Vec<Entry<F>> = ids
            .map(|id| {
                entry(if id % 3 == 0 { random.fingerprint() } else { random.near(F::ZERO, 9) }, id)
            })
            .collect();
        let _ = db.bulk_load(entries.iter().copied().map(Ok)).unwrap();
        oracle.0.extend(entries);
    }
    assert_eq!(db.stats().segments.len(), 2);
    db.close().unwrap();
    oracle
}

/// Loads what fits, and returns how many bytes the copies take.
fn warm<F: Word>(db: &Db<F>) -> u64 {
    db.warm().unwrap();
    db.stats().index_loaded_bytes
}

fn check<F: Word>(db: &Db<F>, oracle: &Oracle<F>) {
    for entry in oracle.0.iter().step_by(300) {
        assert_answers(&db.snapshot(), oracle, entry.fingerprint, 4);
    }
}

fn check_answers<F: Word>() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let oracle = create::<F>(&path);
    let without = options::<F>().index_memory(0).open(&path).unwrap();
    assert_eq!(warm(&without), 0);
    check(&without, &oracle);
    drop(without);
    for page_memory in [0, 100 << 10, u64::MAX] {
        let db = options::<F>().page_memory(page_memory).index_memory(1 << 20).open(&path).unwrap();
        check(&db, &oracle);
        let (stats, copied) = (db.stats(), warm(&db));
        assert!(copied >= stats.index_memory_bytes * 9 / 10, "{copied} of {stats:?}");
        check(&db, &oracle);
        assert!(db.verify(fpdb::VerifyLevel::Full).unwrap().errors.is_empty());
    }
    // The background copies meanwhile.
    for _ in 0..5 {
        let db = options::<F>().background(true).open(&path).unwrap();
        check(&db, &oracle);
        let reader = options::<F>().background(true).open_read_only(&path).unwrap();
        for entry in oracle.0.iter().step_by(500) {
            assert_answers(&reader.snapshot(), &oracle, entry.fingerprint, 3);
        }
    }
}

#[test]
fn answers_are_the_same_with_copies_without_and_while_they_are_made() {
    check_answers::<u64>();
    check_answers::<u128>();
}

fn wait_for(what: &str, is_done: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_done() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn background_copies_after_opening_and_after_a_flush() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let oracle = create::<u64>(&path);
    let reader = options::<u64>().background(true).open_read_only(&path).unwrap();
    wait_for("a reader", || reader.stats().index_loaded_bytes > 0);
    drop(reader);
    let db = options::<u64>().background(true).open(&path).unwrap();
    wait_for("opening", || db.stats().index_loaded_bytes == warm(&db));
    let before = db.stats().index_loaded_bytes;
    db.insert(7, 1 << 40).unwrap();
    db.flush().unwrap();
    wait_for("a flush", || db.stats().index_loaded_bytes != before);
    let reader = Db::options().open_read_only(&path).unwrap();
    assert_eq!(reader.snapshot().len(), oracle.0.len() as u64 + 1);
}

/// Returns the nice values of this thread and of the threads that load databases.
#[cfg(target_os = "linux")]
fn nice_values() -> (i32, Vec<i32>) {
    let nice = |stat: String| -> Option<i32> {
        // The name in parentheses may contain anything.
        stat.rsplit_once(')')?.1.split_whitespace().nth(16)?.parse().ok()
    };
    let own = std::fs::read_to_string("/proc/thread-self/stat").ok().and_then(nice).unwrap();
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().filter_map(Result::ok);
    let stats = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("stat")).ok());
    (own, stats.filter(|stat| stat.contains("(fpdb-index)")).filter_map(nice).collect())
}

#[cfg(target_os = "linux")]
#[test]
fn files_are_read_in_the_background_with_a_low_priority() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let db = options::<u64>().create(&path).unwrap();
    let fingerprint = |id: u64| id.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let _ = db.bulk_load((0..1 << 18).map(|id| Ok(entry(fingerprint(id), id)))).unwrap();
    db.close().unwrap();
    wait_for("no thread has a low priority", || {
        // The thread ends when everything is read.
        let _db = options::<u64>().background(true).open(&path).unwrap();
        let opened = Instant::now();
        let mut values = std::iter::repeat_with(nice_values)
            .take_while(|_| opened.elapsed() < Duration::from_millis(200));
        values.any(|(own, loading)| loading.contains(&(own + 5).min(19)))
    });
}

#[test]
fn without_a_background_nothing_is_copied_until_requested() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    create::<u64>(&path);
    let db = options::<u64>().open(&path).unwrap();
    let stats = db.stats();
    assert_eq!(stats.index_loaded_bytes, 0);
    assert!(stats.index_budget_bytes > 1 << 20, "{stats:?}");
    assert!(warm(&db) > 0);
}

#[test]
fn copies_and_pages_share_one_limit_by_default() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let oracle = create::<u64>(&path);
    let all = warm(&options::<u64>().open(&path).unwrap());
    for limit in [all * 7 / 8, all * 8 / 7 + 8, all * 2, all * 3] {
        let db = options::<u64>().page_memory(limit).open(&path).unwrap();
        assert_eq!(db.stats().index_budget_bytes, limit / 8 * 7);
        let copied = warm(&db);
        if limit > all {
            assert_eq!(copied, all);
        } else {
            assert!(copied > 0 && copied < all, "{copied} of {all}");
        }
        check(&db, &oracle);
        let stats = db.stats();
        let used = stats.page_memory_bytes + copied;
        let one_query = 100 * 4096;
        assert!(used <= limit + limit / 16 + one_query, "{used} of {limit}: {stats:?}");
    }
}

#[test]
fn budget_takes_entire_segments_the_largest_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    create::<u64>(&path);
    let copied = |budget| {
        let db = options::<u64>().index_memory(budget).open(&path).unwrap();
        warm(&db)
    };
    let all = copied(u64::MAX);
    let largest = copied(all - 1);
    assert!(largest > all / 2 && largest < all, "{largest} of {all}");
    assert_eq!(copied(all), all);
    assert_eq!(copied(largest), largest);
    let smallest = all - largest;
    assert_eq!(copied(largest - 1), smallest, "the largest does not fit");
    assert_eq!(copied(smallest - 1), 0);
}

#[test]
fn copies_are_freed_with_their_segments() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let oracle = create::<u64>(&path);
    let all = warm(&options::<u64>().open(&path).unwrap());
    // Room for all copies once.
    let db = options::<u64>().index_memory(all + (all / 4)).open(&path).unwrap();
    for round in 0..4 {
        assert!(warm(&db) > all / 2, "round {round}");
        db.insert(round, DocId(1 << 40)).unwrap();
        let _ = db.compact().unwrap();
    }
    assert!(warm(&db) > all / 2);
    assert_eq!(db.stats().segments.len(), 1);
    check_some(&db, &oracle);
}

fn check_some(db: &Db, oracle: &Oracle<u64>) {
    for entry in oracle.0.iter().step_by(100) {
        assert!(db.snapshot().ids(entry.fingerprint).unwrap().contains(&entry.id));
    }
}

fn largest_table(path: &Path) -> PathBuf {
    let files = std::fs::read_dir(path).unwrap().map(|e| e.unwrap().path());
    let tables = files.filter(|p| p.extension().is_some_and(|e| e == "t01"));
    tables.max_by_key(|p| p.metadata().unwrap().len()).unwrap()
}

#[test]
fn damaged_index_is_reported_and_not_copied() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let oracle = create::<u64>(&path);
    let all = warm(&options::<u64>().open(&path).unwrap());
    let table = largest_table(&path);
    let mut bytes = std::fs::read(&table).unwrap();
    // In the filter, at the end of the body.
    let at = bytes.len() - 1000;
    bytes[at] ^= 1;
    std::fs::write(&table, bytes).unwrap();
    let db = options::<u64>().open(&path).unwrap();
    let error = db.warm().unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Corruption, Some(&*table)));
    let copied = warm(&db);
    assert!(copied > 0 && copied < all, "{copied} of {all}");
    let answers: Vec<_> = oracle.0.iter().map(|e| db.query(e.fingerprint, 3)).collect();
    assert!(answers.iter().any(Result::is_err));
    for (entry, answer) in oracle.0.iter().zip(answers).step_by(20) {
        match answer {
            Ok(found) => assert_eq!(found, oracle.query(entry.fingerprint, 3)),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Corruption),
        }
    }
    drop(db);
    let db = options::<u64>().background(true).open(&path).unwrap();
    wait_for("the failure", || db.stats().background_error.is_some());
    db.insert(1, 1 << 40).unwrap();
}

/// After a release, no memory is set aside: pages come back with the queries that need them.
#[test]
fn released_memory_has_no_pages_but_the_copies_stay_and_so_do_the_answers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let oracle = create::<u64>(&path);
    let db = options::<u64>().page_memory(64 << 20).open(&path).unwrap();
    let reader = options::<u64>().page_memory(64 << 20).open_read_only(&path).unwrap();
    let copied = warm(&db);
    reader.warm().unwrap();
    check(&db, &oracle);
    assert!(copied > 0 && db.stats().page_memory_bytes > 0);
    // What a snapshot has read stays with it.
    let snapshot = db.snapshot();
    check(&db, &oracle);
    db.release_memory();
    assert!(db.stats().page_memory_bytes > 0);
    drop(snapshot);
    assert_eq!((db.stats().page_memory_bytes, db.stats().index_loaded_bytes), (0, copied));
    reader.release_memory();
    assert_eq!(reader.stats().index_loaded_bytes, copied);
    check(&db, &oracle);
    let read = db.stats().page_memory_bytes;
    assert!(read > 0 && read < db.stats().bytes_total, "{read}");
    db.fit_memory();
    assert_eq!(db.stats().page_budget_bytes, 64 << 20, "a limit that was set stays");
    check(&db, &oracle);
}
