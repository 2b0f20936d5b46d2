//! Measures queries by similarity at 128 bits, and by wide distances, among uniform fingerprints.
//!
//!     cargo bench --bench similar -- [--n 20,24] [--jaccard 0.8] [--recall 0.95]
//!         [--distances 12,16,18] [--layout ring:22/22/21/21/21/21]
//!         [--filter 0] [--memory 4294967296] [--explain true] [--pairs true]
//!         [--insert 100000] [--batch 100000] [--queries 10000] [--near 20]
//!
//! `found` is the share found of 2,000 fingerprints whose bits differ from a stored one with the
//! probability that belongs to the similarity. `false` counts the matches of random fingerprints, as
//! many as `--queries` says. Times are of those, which have no match. Before that, some answers are compared
//! with a scan. With `--pairs`, all pairs of the database are counted; with `--batch`, so many
//! queries are answered together; and with `--insert`, so many documents are inserted if they are
//! novel, a third of which are near-duplicates of stored ones, without waiting for the device.

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "prints a table of figures")]
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers")]

mod common;

use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use common::{Random, option, percentile};
use fpdb::{
    Db, DocId, Durability, Entry, Found, Jaccard, Layout, Options, Outcome, Snapshot, Within,
};

fn main() {
    let sizes = option("--n", if common::is_test() { "10" } else { "20,24" }.to_owned());
    let jaccard = Jaccard::at_least(option("--jaccard", 0.8)).recall(option("--recall", 0.95));
    println!("uniform, {jaccard}, in memory");
    for size in sizes.split(',') {
        let n = 1u64 << size.parse::<u32>().expect("log2 of the number of documents");
        println!(
            "\n| n | layout | within | expected us | p50, p99 us | found at .7, .8, .85, .9 | false | \
             bytes per document | load s |"
        );
        println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
        measure(n, jaccard);
    }
}

/// Returns a stored fingerprint: uniform, but with `--near N`, each Nth is two bits from the one
/// before it.
fn stored(id: u64) -> u128 {
    static NEAR: OnceLock<u64> = OnceLock::new();
    let near = *NEAR.get_or_init(|| option("--near", 0));
    let (origin, error) = match near > 0 && id % near == near - 1 && id > 0 {
        true => (id - 1, 1 << (id % 128) ^ 1 << (id / 7 % 128)),
        false => (id, 0),
    };
    let mut random = Random(origin << 1);
    (u128::from(random.next()) << 64 | u128::from(random.next())) ^ error
}

fn options(n: u64, jaccard: Jaccard) -> Options<u128> {
    let mut options = Options::bits128()
        .similar(jaccard)
        .expected_entries(n)
        .bulk_memory(4 << 30)
        .index_memory(option("--memory", 4 << 30))
        .page_memory(16 << 30)
        .durability(Durability::Buffered);
    let layout = option("--layout", String::new());
    if !layout.is_empty() {
        options = options.layout(Layout::preset(&layout, 128).unwrap());
    }
    if let Ok(bits) = option("--filter", String::new()).parse() {
        options = options.filter_bits(bits);
    }
    options
}

fn measure(n: u64, jaccard: Jaccard) {
    let folder = common::folder();
    let db = options(n, jaccard).create(folder.path().join("db")).unwrap();
    let start = Instant::now();
    let entries = (0..n).map(|id| Ok(Entry { fingerprint: stored(id), id: DocId(id) }));
    let _ = db.bulk_load(entries).unwrap();
    let seconds = start.elapsed().as_secs_f64();
    db.warm().unwrap();
    let mut all = vec![Within::Rule];
    let distances = option("--distances", String::new());
    all.extend(distances.split(',').filter_map(|k| k.parse().ok()).map(Within::Distance));
    for within in all {
        row(&db, n, within, seconds);
    }
    if option("--pairs", false) {
        pairs(&db, n);
    }
    batch(&db, option("--batch", 0));
    insert(&db, n, option("--insert", 0));
}

/// Counts all pairs.
fn pairs(db: &Db<u128>, n: u64) {
    let (start, mut count) = (Instant::now(), 0);
    let report = db.snapshot().pairs(Within::Rule).threads(1).visit(|found| {
        if let Found::Pairs(some) = found {
            count += some.len();
        }
        ControlFlow::Continue(())
    });
    let _ = report.unwrap();
    let us = start.elapsed().as_secs_f64() * 1e6 / n as f64;
    println!("\nall pairs of 2^{}: {count}, {us:.2} us per document\n", n.ilog2());
}

/// Answers queries together.
fn batch(db: &Db<u128>, queries: usize) {
    if queries == 0 {
        return;
    }
    let mut random = Random(11);
    let queries: Vec<u128> =
        (0..queries).map(|_| u128::from(random.next()) << 64 | u128::from(random.next())).collect();
    let start = Instant::now();
    let found = db.snapshot().query_batch(&queries, Within::Rule).unwrap().matches().len();
    let us = start.elapsed().as_secs_f64() * 1e6 / queries.len() as f64;
    println!("\na batch of {} queries: {found} found, {us:.2} us each\n", queries.len());
}

/// Inserts documents if they are novel: a third are not.
fn insert(db: &Db<u128>, n: u64, documents: u64) {
    if documents == 0 {
        return;
    }
    let mut random = Random(13);
    let fingerprint = |random: &mut Random, i: u64| {
        if i.is_multiple_of(3) {
            let near = stored(random.below(n));
            return (0..6).fold(near, |near, _| near ^ 1 << random.below(128));
        }
        u128::from(random.next()) << 64 | u128::from(random.next())
    };
    let (start, mut novel) = (Instant::now(), 0);
    for i in 0..documents {
        let outcome = db.insert_if_novel(fingerprint(&mut random, i), n + i).unwrap();
        novel += u64::from(matches!(outcome, Outcome::Inserted(_)));
    }
    let each = start.elapsed().as_secs_f64() / documents as f64;
    println!("\n{documents} inserted if novel: {novel} were, {:.0} per second\n", 1.0 / each);
}

fn row(db: &Db<u128>, n: u64, within: Within, seconds: f64) {
    let snapshot = db.snapshot();
    let mut random = Random(7);
    let mut query = || u128::from(random.next()) << 64 | u128::from(random.next());
    let rounds = option("--queries", if common::is_test() { 50 } else { 10_000 });
    let (mut times, mut wrong) = (Vec::new(), 0);
    for round in 0..rounds + rounds / 5 {
        let (query, start) = (query(), Instant::now());
        wrong += std::hint::black_box(snapshot.query(query, within).unwrap()).len();
        if round >= rounds / 5 {
            times.push(start.elapsed());
        }
    }
    times.sort_unstable();
    let explain = snapshot.explain(query(), &within.into()).unwrap();
    let expected = explain.segments.iter().map(|s| s.expected).sum::<Duration>();
    let found = [0.7, 0.8, 0.85, 0.9].map(|similarity| found(&snapshot, n, within, similarity));
    println!(
        "| 2^{} | {} | {within} | {:.1} | {:.1}, {:.1} | {} | {wrong} | {:.1} | {seconds:.1} |",
        n.ilog2(),
        db.description().layout,
        expected.as_secs_f64() * 1e6,
        percentile(&times, 0.5),
        percentile(&times, 0.99),
        found.map(|share| format!("{share:.3}")).join(", "),
        db.stats().bytes_total as f64 / n as f64,
    );
    if option("--explain", false) {
        println!("\n{explain:#?}\n");
    }
}

/// Returns the share found of pairs with this similarity, and checks some answers by a scan.
fn found(snapshot: &Snapshot<u128>, n: u64, within: Within, similarity: f64) -> f64 {
    let mut random = Random(similarity.to_bits());
    let wrong = ((1.0 - similarity) / 2.0 * 2f64.powi(32)) as u64;
    let rounds = if common::is_test() { 50 } else { 2000 };
    let mut found = 0;
    for _ in 0..rounds {
        let id = random.below(n);
        let mut error = 0u128;
        for _ in 0..128 {
            error = error << 1 | u128::from(random.next() >> 32 < wrong);
        }
        let matches = snapshot.query(stored(id) ^ error, within).unwrap();
        let is_found = matches.iter().any(|found| found.id.0 == id);
        if let Within::Distance(distance) = within {
            assert_eq!(is_found, error.count_ones() <= distance);
        }
        found += u32::from(is_found);
    }
    f64::from(found) / f64::from(rounds)
}
