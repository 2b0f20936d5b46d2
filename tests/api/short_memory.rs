//! Memory is given back while it is short, and taken again when there is plenty.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fpdb::storage::{Memory, Sim};
use fpdb::{DocId, Entry, Layout, Options};

/// What the pages may take in addition to their limit: those that one query reads.
const ONE_QUERY: u64 = 100 * 4096;
const ENTRIES: u64 = 40_000;
const TOTAL: u64 = 16 << 20;

fn options(sim: &Arc<Sim>) -> Options<u64> {
    let layout = Layout::preset("half-2", 64).unwrap();
    Options::default().storage(sim.clone()).layout(layout).filter_bits(8)
}

fn fingerprint(id: u64) -> u64 {
    id.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Creates a database of two segments. The second is a tenth as large as the first.
fn create() -> Arc<Sim> {
    let sim = Sim::new();
    let db = options(&sim).background(false).create("db").unwrap();
    for ids in [0..ENTRIES, ENTRIES..ENTRIES / 10 * 11] {
        let entries = ids.map(|id| Ok(Entry { fingerprint: fingerprint(id), id: DocId(id) }));
        let _ = db.bulk_load(entries).unwrap();
    }
    db.close().unwrap();
    sim
}

fn wait_for(what: &str, is_done: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_done() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Checks some answers.
fn check(query: impl Fn(u64) -> Vec<DocId>) {
    for id in (0..ENTRIES / 10 * 11).step_by(997) {
        assert!(query(fingerprint(id) ^ 5).contains(&DocId(id)), "{id}");
    }
}

fn ids(found: fpdb::Result<Vec<fpdb::Match>>) -> Vec<DocId> {
    found.unwrap().into_iter().map(|found| found.id).collect()
}

#[test]
fn files_are_dropped_while_memory_is_short_and_read_again_when_there_is_plenty() {
    let sim = create();
    sim.set_memory(Memory { total: TOTAL, left: TOTAL / 2 });
    let db = options(&sim).open("db").unwrap();
    let reader = options(&sim).open_read_only("db").unwrap();
    db.warm().unwrap();
    reader.warm().unwrap();
    let used = || db.stats().page_memory_bytes;
    let all = used();
    assert!(all > 700_000, "{all}");
    assert_eq!(reader.stats().page_memory_bytes, all);
    check(|query| ids(db.query(query, 3)));

    sim.set_memory(Memory { total: TOTAL, left: TOTAL / 20 - 1 });
    // Some is always left.
    let limit = TOTAL / 64;
    wait_for("memory was not given up", || used() <= limit);
    wait_for("a reader has not given up memory", || reader.stats().page_memory_bytes <= limit);
    assert_eq!(db.stats().page_budget_bytes, limit);
    check(|query| ids(db.query(query, 3)));
    check(|query| ids(reader.snapshot().query(query, 3)));
    assert!(used() <= limit + ONE_QUERY, "{} of {limit}", used());

    // Enough, but not plenty: nothing is read again.
    sim.set_memory(Memory { total: TOTAL, left: TOTAL / 6 });
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(db.stats().page_budget_bytes, limit);

    sim.set_memory(Memory { total: TOTAL, left: TOTAL / 2 });
    let now = Instant::now();
    wait_for("memory was not taken again", || used() == all);
    assert!(now.elapsed() > Duration::from_secs(5), "{:?}", now.elapsed());
    check(|query| ids(db.query(query, 3)));
    db.warm().unwrap();
    let reads = sim.reads();
    check(|query| ids(db.query(query, 3)));
    assert_eq!(sim.reads(), reads, "everything is in memory");
    assert!(db.verify(fpdb::VerifyLevel::Full).unwrap().errors.is_empty());
}

#[test]
fn smallest_file_that_frees_enough_is_dropped() {
    let sim = create();
    sim.set_memory(Memory { total: TOTAL, left: TOTAL / 2 });
    let db = options(&sim).open("db").unwrap();
    db.warm().unwrap();
    let all = db.stats().page_memory_bytes;
    // A fifth of all is missing.
    let short = Memory { total: all * 2, left: all / 5 - 1 };
    sim.set_memory(short);
    wait_for("the limit was not lowered", || db.stats().page_budget_bytes < all);
    sim.set_memory(Memory { left: all * 2 / 3, ..short });
    wait_for("memory was not given up", || db.stats().page_memory_bytes < all);
    let used = db.stats().page_memory_bytes;
    assert!(used > all / 2 && used < all / 5 * 4, "{used} of {all}");
    check(|query| ids(db.query(query, 3)));
}

#[test]
fn nothing_is_read_in_advance_while_memory_is_short() {
    let sim = create();
    sim.set_memory(Memory { total: TOTAL, left: TOTAL / 20 - 1 });
    let db = options(&sim).background(false).index_memory(0).open("db").unwrap();
    db.warm().unwrap();
    let reads = sim.reads();
    check(|query| ids(db.query(query, 3)));
    assert!(sim.reads() > reads + 10, "{} after {reads}", sim.reads());
}
