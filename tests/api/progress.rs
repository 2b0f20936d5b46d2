//! Long operations report how far they are, and can be cancelled.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fpdb::{Db, DocId, Entry, ErrorKind, Found, Phase, Progress};

/// Two segments of 20,000 entries each.
fn database(path: &Path) -> Db {
    let db = Db::options().background(false).create(path).unwrap();
    for segment in 0..2u64 {
        let ids = segment * 20_000..(segment + 1) * 20_000;
        let entries = ids.map(|i| {
            let fingerprint = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            Ok(Entry { fingerprint, id: DocId(i) })
        });
        // A load would merge the segments at once, so the second one is smaller.
        let taken = if segment == 0 { 20_000 } else { 5_000 };
        let _ = db.bulk_load(entries.take(taken)).unwrap();
    }
    assert_eq!(db.stats().segments.len(), 2);
    db
}

/// Returns a list of reports, and a function that adds to it.
fn record() -> (Arc<Mutex<Vec<Progress>>>, impl Fn(Progress) -> ControlFlow<()> + Send + Sync) {
    let reports = Arc::new(Mutex::new(Vec::new()));
    let all = reports.clone();
    let report = move |progress| {
        all.lock().unwrap().push(progress);
        ControlFlow::Continue(())
    };
    (reports, report)
}

fn take(reports: &Mutex<Vec<Progress>>) -> Vec<Progress> {
    std::mem::take(&mut *reports.lock().unwrap())
}

/// The reports must begin at 0 or above, never go back, and end at the total.
#[track_caller]
fn check(reports: &[Progress], phase: Phase, slack: f64) {
    assert!(reports.iter().all(|p| p.phase == phase), "{reports:?}");
    assert!(reports.is_sorted_by_key(|p| p.done), "{reports:?}");
    let last = reports.last().expect("at least one report");
    let total = last.total.expect("a total");
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let share = last.done as f64 / total as f64;
    assert!((1.0 - slack..=1.0 + slack).contains(&share), "{} of {total}", last.done);
}

#[test]
fn verify_compact_and_backup_report_their_progress_up_to_the_total() {
    let folder = tempfile::tempdir().unwrap();
    let db = database(&folder.path().join("db"));
    let (reports, report) = record();
    let db = db.on_progress(report);
    assert!(db.verify(fpdb::VerifyLevel::Full).unwrap().errors.is_empty());
    check(&take(&reports), Phase::Check, 0.0);
    db.backup(folder.path().join("copy")).unwrap();
    check(&take(&reports), Phase::Copy, 0.0);
    assert_eq!(db.compact().unwrap().segments_after, 1);
    check(&take(&reports), Phase::Write, 0.0);
}

#[test]
fn cancelled_operations_change_nothing_and_can_be_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let db = database(&folder.path().join("db"));
    let copy = folder.path().join("copy");
    let cancelled = db.on_progress(|_| ControlFlow::Break(()));
    assert_eq!(cancelled.verify(fpdb::VerifyLevel::Full).unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!(cancelled.backup(&copy).unwrap_err().kind(), ErrorKind::Cancelled);
    assert!(!copy.exists());
    assert_eq!(cancelled.compact().unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!((db.stats().segments.len(), db.snapshot().len()), (2, 25_000));
    db.backup(&copy).unwrap();
    assert_eq!(db.compact().unwrap().segments_after, 1);
    assert_eq!(Db::open_read_only(&copy).unwrap().snapshot().len(), 25_000);
    assert!(db.verify(fpdb::VerifyLevel::Full).unwrap().errors.is_empty());
}

#[test]
fn batch_of_queries_reports_its_progress_and_can_be_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let db = database(&folder.path().join("db"));
    let (snapshot, queries) = (db.snapshot(), (0..3000).collect::<Vec<u64>>());
    let (reports, report) = record();
    let answers = snapshot.clone().on_progress(report).query_batch(&queries, 3).unwrap();
    assert_eq!(answers, snapshot.query_batch(&queries, 3).unwrap());
    check(&take(&reports), Phase::Search, 0.0);
    let snapshot = snapshot.on_progress(|_| ControlFlow::Break(()));
    for queries in [&queries[..1], &queries] {
        let cancelled = snapshot.query_batch(queries, 3);
        assert_eq!(cancelled.unwrap_err().kind(), ErrorKind::Cancelled);
    }
}

#[test]
fn a_search_for_pairs_is_cancelled_in_the_middle_of_a_region() {
    let folder = tempfile::tempdir().unwrap();
    let db = Db::options().create(folder.path().join("db")).unwrap();
    let entries = (0..1 << 10).map(|i| Ok(Entry { fingerprint: i, id: DocId(i) }));
    let _ = db.bulk_load(entries).unwrap();
    let snapshot = db.snapshot();
    let all: u64 = snapshot.pairs(10).count().unwrap().iter().sum();
    let found = Arc::new(AtomicU64::new(0));
    let so_far = found.clone();
    let snapshot = snapshot.on_progress(move |_| match so_far.load(Relaxed) {
        0 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    });
    let cancelled = snapshot.pairs(10).threads(1).visit(|some| {
        if let Found::Pairs(pairs) = some {
            found.fetch_add(pairs.len() as u64, Relaxed);
        }
        // Until progress is reported again.
        std::thread::sleep(Duration::from_millis(60));
        ControlFlow::Continue(())
    });
    assert_eq!(cancelled.unwrap_err().kind(), ErrorKind::Cancelled);
    let found = found.load(Relaxed);
    assert!(0 < found && found < all / 2, "{found} of {all}");
}
