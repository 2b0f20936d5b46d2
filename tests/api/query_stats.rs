//! What queries read, as `Stats` and `Snapshot::explain` count it.

use fpdb::query::{Explanation, QueryStats};
use fpdb::reports::SegmentStats;
use fpdb::{Db, DocId, Durability, Entry, Jaccard, Layout, Options, Snapshot, Word};

use crate::common::Rng;

/// Tables are not decoded in memory, so queries decode blocks as in a large database.
fn options(layout: &str, filter_bits: u32) -> Options<u64> {
    Options::default()
        .layout(Layout::preset(layout, 64).unwrap())
        .filter_bits(filter_bits)
        .durability(Durability::Buffered)
        .background(false)
        .index_memory(0)
}

/// Returns a database of random fingerprints in one segment.
fn filled<F: Word>(options: Options<F>, count: u64) -> (Db<F>, Vec<F>) {
    let (db, mut rng) = (options.in_memory().unwrap(), Rng::new(1));
    let fingerprints: Vec<F> = (0..count).map(|_| rng.fingerprint()).collect();
    let entries = (0..).zip(&fingerprints);
    let entries = entries.map(|(id, &fingerprint)| Ok(Entry { fingerprint, id: DocId(id) }));
    assert_eq!(db.bulk_load(entries).unwrap().inserted, count);
    (db, fingerprints)
}

/// The first and the last fingerprint of each block, in the order of the table.
fn ends<F: Word>(snapshot: &Snapshot<F>, segment: &SegmentStats, table: usize) -> Vec<(F, F)> {
    let blocks = 0..segment.tables[table].blocks;
    let ends = blocks.map(|number| {
        let rows = snapshot.block(segment.id, table, number).unwrap().rows;
        (rows[0].permuted, rows[rows.len() - 1].permuted)
    });
    ends.collect()
}

/// How many blocks must be decoded to see all fingerprints from `low` to `high`: up to the first
/// that ends at `high` or after it.
fn blocks_between<F: Word>(ends: &[(F, F)], low: F, high: F) -> u64 {
    let first = ends.partition_point(|&(_, last)| last < low);
    let end = (ends.partition_point(|&(_, last)| last < high) + 1).min(ends.len());
    end.saturating_sub(first) as u64
}

#[test]
fn an_exact_lookup_decodes_one_block_of_thousands() {
    fn check<F: Word>(options: Options<F>) {
        let (db, fingerprints) = filled(options, 50_000);
        let (snapshot, stats) = (db.snapshot(), db.stats());
        let ends = ends(&snapshot, &stats.segments[0], 0);
        assert!(ends.len() > 2000);
        for &fingerprint in fingerprints.iter().step_by(500) {
            let found = snapshot.explain(fingerprint, 0).unwrap();
            let QueryStats { lookups, blocks, candidates, matches, .. } = found.read;
            assert_eq!((lookups, candidates, matches), (1, 1, 1));
            // The directory has 15 bits of the last fingerprint of each block. One that is equal in
            // these may also be in the next block.
            let is_last = ends.binary_search_by_key(&fingerprint, |&(_, last)| last).is_ok();
            assert_eq!(blocks, 1 + u64::from(is_last));
        }
    }
    check(options("single", 0));
    check(Options::bits128().layout(Layout::preset("single", 128).unwrap()).index_memory(0));
}

#[test]
fn a_query_decodes_only_the_blocks_that_its_prefixes_cover() {
    let (db, fingerprints) = filled(options("half-2", 0).max_distance(1), 50_000);
    let (snapshot, stats) = (db.snapshot(), db.stats());
    let tables = [0, 1].map(|table| ends(&snapshot, &stats.segments[0], table));
    let mut rng = Rng::new(2);
    let (mut decoded, mut needed) = (0, 0);
    for &fingerprint in fingerprints.iter().step_by(100) {
        let query = rng.near(fingerprint, 1);
        let Explanation { matches, segments, read, .. } = snapshot.explain(query, 1).unwrap();
        assert_eq!(matches, snapshot.query(query, 1).unwrap());
        // Of one differing bit, one half has none: one exact prefix in each table.
        let [first, second] = &segments[0].tables[..] else { panic!("{segments:?}") };
        assert_eq!((first.flips, first.lookups, second.lookups), (0, 1, 1));
        let covered: u64 = [first, second]
            .iter()
            .map(|table| {
                let permuted = query.rotate_left(if table.table == 0 { 0 } else { 32 });
                let below = u64::MAX.checked_shr(table.longest).unwrap_or(0);
                blocks_between(&tables[table.table], permuted & !below, permuted | below)
            })
            .sum();
        // The directory has 15 bits of a key, so a key that is equal in these costs a block more.
        assert!((covered..=covered + 2).contains(&read.blocks), "{read:?}, {covered} covered");
        (decoded, needed) = (decoded + read.blocks, needed + covered);
    }
    assert!(decoded <= needed + needed / 100, "{decoded} blocks, {needed} covered");
}

#[test]
fn lookups_are_those_of_the_plan_and_each_is_filtered_or_decodes_a_block() {
    for (filter_bits, distance) in [(0, 3), (8, 3), (8, 5)] {
        let (db, fingerprints) = filled(options("half-2", filter_bits), 50_000);
        let snapshot = db.snapshot();
        let mut rng = Rng::new(3);
        for &fingerprint in fingerprints.iter().step_by(1000) {
            let query = rng.near(fingerprint, 3);
            let found = snapshot.explain(query, distance).unwrap();
            let planned: usize = found.segments[0].tables.iter().map(|table| table.lookups).sum();
            let QueryStats { lookups, filtered, blocks, candidates, matches, .. } = found.read;
            assert_eq!(lookups, planned as u64);
            assert!(lookups - filtered <= blocks && matches <= candidates, "{:?}", found.read);
            assert_eq!(filtered > lookups / 2, filter_bits > 0, "{:?}", found.read);
        }
    }
}

#[test]
fn a_scan_decodes_every_block_once() {
    let (db, _) = filled(options("single", 0), 5000);
    let found = db.snapshot().explain(7, 40).unwrap();
    assert!(found.segments[0].tables.is_empty());
    let QueryStats { lookups, blocks, candidates, .. } = found.read;
    assert_eq!((lookups, candidates), (0, 5000));
    assert_eq!(blocks, db.stats().segments[0].tables[0].blocks);
}

#[test]
fn stats_has_the_sum_over_all_threads_and_batches() {
    let (db, fingerprints) = filled(options("half-2", 8).threads(2), 20_000);
    let before = db.stats().queries;
    assert_eq!(before, QueryStats::default());
    std::thread::scope(|scope| {
        for part in fingerprints.chunks(5000) {
            let db = &db;
            scope.spawn(move || {
                part.iter().take(100).for_each(|&f| assert!(!db.query(f, 3).unwrap().is_empty()));
            });
        }
    });
    let single = db.stats().queries;
    assert_eq!(single.queries, 400);
    let of_each = single.lookups / 400;
    assert_eq!(single.lookups, of_each * 400);
    let answers = db.query_batch(&fingerprints, 3).unwrap();
    let QueryStats { queries, lookups, filtered, matches, blocks, .. } = db.stats().queries;
    assert_eq!((queries, lookups), (20_400, of_each * 20_400));
    assert_eq!(matches - single.matches, answers.matches().len() as u64);
    assert!(filtered <= lookups && blocks > single.blocks);
}

#[test]
fn pages_are_counted_when_they_are_read_the_first_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let db = options("half-2", 0).create(&path).unwrap();
    let entries = (0..40_000u64).map(|id| {
        let fingerprint = id.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Ok(Entry { fingerprint, id: DocId(id) })
    });
    let _ = db.bulk_load(entries).unwrap();
    db.close().unwrap();
    let db = options("half-2", 0).open_read_only(&path).unwrap();
    let read = || db.snapshot().explain(0x9e37_79b9_7f4a_7c15, 0).unwrap().read;
    let (first, second) = (read(), read());
    assert!((1..20).contains(&first.pages), "{first:?}");
    assert_eq!((second.pages, second.blocks), (0, first.blocks));
    assert_eq!(db.stats().queries.pages, first.pages);
}

#[test]
fn a_query_of_sketches_counts_keys_rows_leaves_and_sketches() {
    let options = Options::sketches().similar(Jaccard::at_least(0.8));
    let (db, mut rng) = (options.in_memory().unwrap(), Rng::new(4));
    let sketches: Vec<fpdb::Sketch> = (0..2000).map(|_| rng.fingerprint()).collect();
    for (id, &sketch) in (0..).zip(&sketches) {
        db.insert(sketch, DocId(id)).unwrap();
    }
    db.flush().unwrap();
    let found = db.snapshot().explain(sketches[7], fpdb::Within::Rule).unwrap();
    let keys = found.segments[0].tables.len() as u64;
    let QueryStats { lookups, rows, blocks, candidates, matches, .. } = found.read;
    assert_eq!((lookups, keys, matches), (10, 10, 1));
    assert!(rows >= keys && blocks >= 1 && candidates > blocks, "{:?}", found.read);
    // Within a distance of more minima than there are bands, all sketches are compared.
    let scan = db.snapshot().explain(sketches[7], 20).unwrap();
    assert!(scan.segments[0].tables.is_empty());
    assert_eq!((scan.read.lookups, scan.read.candidates), (0, 2000));
}
