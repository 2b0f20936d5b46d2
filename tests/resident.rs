//! How much memory a process takes that searches more pages than its memory for pages holds. It is
//! alone in its process, because it reads the resident size.

#![cfg(target_os = "linux")]

use std::path::Path;

use fpdb::{Db, DocId, Document, Ids, Options, QueryOptions, Sketch, Source, VerifyLevel, Within};

/// The memory for pages: a quarter of what the leaves of the documents take.
const PAGES: u64 = 8 << 20;
const DOCUMENTS: u64 = 330_000;

/// A value of `/proc/self/status` in bytes.
fn status(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

/// Returns what `work` returns, and by how many bytes the resident size grew at most.
fn grown<T>(work: impl FnOnce() -> T) -> (T, u64) {
    // Sets the greatest size to the present one.
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = status("VmRSS:");
    let done = work();
    (done, status("VmHWM:").saturating_sub(before))
}

/// A document of a template: it shares all bands with the others. If not `is_equal`, it differs
/// from them in nearly all other minima.
fn of_template(number: u64, is_equal: bool) -> Sketch {
    let mut rng = fastrand::Rng::with_seed(number);
    // Of each group of eight minima, the bands have at most the first seven.
    let others = if is_equal { 0 } else { u128::MAX / 0xff * 0xe0 };
    Sketch::of_parts(std::array::from_fn(|_| rng.u128(..) & others), 0, [0; 16])
}

fn create(path: &Path, is_equal: bool) {
    let documents =
        (0..DOCUMENTS).map(|id| Ok((None, Document::new(of_template(id, is_equal), DocId(id)))));
    let report = Options::sketches()
        .ids(Ids::Unique)
        .build(path, Source::documents(None, DOCUMENTS, documents))
        .unwrap();
    assert_eq!(report.written, DOCUMENTS);
}

fn options() -> Options<Sketch> {
    Options::sketches().page_memory(PAGES).index_memory(0).background(false).threads(2)
}

#[test]
fn what_reads_four_times_the_memory_for_pages_does_not_take_more() {
    // With what the allocator keeps, and the pages that each thread has in hand.
    let most = PAGES + PAGES / 2 + (6 << 20);
    for is_equal in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        create(&path, is_equal);
        let db: Db<Sketch> = options().open(&path).unwrap();
        let query = if is_equal { of_template(0, true) } else { Sketch::ZERO };
        let read_by = |what: &str, work: &dyn Fn()| {
            let before = db.stats().queries.blocks;
            let ((), grown) = grown(work);
            let read = db.stats().queries.blocks - before;
            assert!(read * 4096 > 3 * PAGES, "{what} read {read} pages");
            assert!(grown <= most, "{what}: {grown} bytes, equal: {is_equal}");
        };
        let limited = QueryOptions::within(Within::Rule).limit(1);
        let expected = usize::from(is_equal);
        read_by("query", &|| assert_eq!(db.query(query, limited).unwrap().len(), expected));
        read_by("nearest", &|| {
            let found = db.nearest(query, Within::Rule).unwrap();
            assert_eq!(found.map(|found| found.id), is_equal.then_some(DocId(0)));
        });
        if !is_equal {
            // All matches of a batch are in memory.
            read_by("batch", &|| {
                let found = db.query_batch(&[query; 80], Within::Rule).unwrap();
                assert!(found.iter().all(<[_]>::is_empty));
            });
        }
        read_by("insert", &|| {
            let batch: Vec<_> = (0..80).map(|n| (query, DocId(DOCUMENTS + n))).collect();
            let outcomes = db.write(&batch).unless_near(Within::Rule).run().unwrap();
            let new = outcomes.iter().filter(|outcome| !outcome.is_duplicate()).count();
            assert_eq!(new, 1 - expected);
        });
        if is_equal {
            // It compares the answers to some queries, each of which has all documents as matches,
            // with a scan.
            let (report, grown) = grown(|| db.verify(VerifyLevel::Deep).unwrap());
            assert!(report.errors.is_empty(), "{report:?}");
            assert!(grown <= most, "verify: {grown} bytes");
        }
    }
}
