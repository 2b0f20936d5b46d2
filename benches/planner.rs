//! Compares predicted times of queries with measured ones. The costs behind the predictions are
//! measured first, in the same run (`--costs default` uses the library's costs).
//!
//!     cargo bench --bench planner -- [--n 16,20,23] [--k 2,3,4,6] [--layouts half-2,ring-3]
//!         [--filters 0,8] [--block 128] [--costs default]
//!
//! With `--time true`, it measures how long the first plan for each distance takes instead, which
//! one query per distance and size of segment waits for.

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "prints a table of figures")]

mod common;

use std::time::Instant;

use common::{Data, Random, load, option, options, percentile};
use fpdb::layout::Costs;
use fpdb::{DocId, Entry, Fingerprint, Jaccard, Layout, Options, QueryOptions, Snapshot, Within};

fn main() {
    let test = common::is_test();
    if option("--time", test) {
        let n = if test { 1 << 10 } else { 1 << 20 };
        time(&Options::<u64>::new().max_distance(12), n);
        for layout in ["ring-4", "paper-10", "paper-20"] {
            let layout = Layout::preset(layout, 64).unwrap();
            time(&Options::<u64>::new().max_distance(12).layout(layout), n);
        }
        time(&Options::bits128().max_distance(24), n);
        time(&Options::bits128().similar(Jaccard::at_least(0.8)), n);
        for layout in ["ring:26/26/26/25/25", "ring:22/22/21/21/21/21"] {
            let layout = Layout::preset(layout, 128).unwrap();
            time(&Options::bits128().max_distance(24).layout(layout), n);
        }
        return;
    }
    let sizes = option("--n", if test { "12" } else { "16,20,23" }.to_string());
    let distances = option("--k", "2,3,4,6".to_string());
    let layouts = option("--layouts", "half-2,ring-3,ring-4,paper-10".to_string());
    let filters = option("--filters", "0,8".to_string());
    let costs = match test || option("--costs", String::new()) == "default" {
        true => Costs::default(),
        false => Costs::measure(common::folder().path()).unwrap(),
    };
    println!("costs: {:.2?}\n", costs.values());
    println!("| layout | filter | n | k | predicted us | measured us | ratio |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    let (mut within, mut all) = (0, 0);
    for size in sizes.split(',') {
        let n = 1usize << size.parse::<u32>().expect("log2 of the number of entries");
        let fingerprints = Data::Uniform.fingerprints(n).expect("generated data is always there");
        for layout in layouts.split(',') {
            for filter in filters.split(',') {
                let folder = common::folder();
                let bits = filter.parse().expect("bits of the filter");
                let options = options(layout, option("--block", 128), bits).costs(costs.clone());
                let (db, _) = load(options, folder.path().join("db"), &fingerprints);
                for k in distances.split(',') {
                    let k = k.parse().expect("a distance");
                    let (predicted, measured) = compare(&db.snapshot(), k);
                    let ratio = predicted / measured;
                    within += u32::from((0.7..=1.3).contains(&ratio));
                    all += 1;
                    println!(
                        "| {layout} | {filter} | 2^{size} | {k} | {predicted:.2} | {measured:.2} | {ratio:.2} |"
                    );
                }
            }
        }
    }
    println!("\n{within} of {all} within 30 %");
}

/// Prints how long planning takes among `n` fingerprints, for each distance up to the greatest.
fn time<F: Fingerprint>(options: &Options<F>, n: u64) {
    let db = options.clone().expected_entries(n).in_memory().unwrap();
    let mut random = Random(5);
    let mut fingerprint = || {
        let bits = u128::from(random.next()) << 64 | u128::from(random.next());
        F::from_u128(bits >> (128 - F::BITS))
    };
    let entries = (0..n).map(|id| Ok(Entry { fingerprint: fingerprint(), id: DocId(id) }));
    let _ = db.bulk_load(entries).unwrap();
    let snapshot = db.snapshot();
    let description = db.description();
    let distances = (0..=description.max_distance).map(Within::Distance);
    let times = distances.chain([Within::Rule]).map(|within| {
        let explanation = snapshot.explain(fingerprint(), &within.into()).unwrap();
        format!("{:.1}", explanation.plan.as_secs_f64() * 1e3)
    });
    let times: Vec<String> = times.collect();
    println!("{}, {} bits, ms: {}", description.layout, F::BITS, times.join(" "));
}

/// Returns the predicted and the median time of queries that find nothing, in microseconds. The
/// fastest of some rounds counts.
fn compare(snapshot: &Snapshot, k: u32) -> (f64, f64) {
    let mut random = Random(77);
    let explanation = snapshot.explain(random.next(), &QueryOptions::within(k)).unwrap();
    let predicted: f64 = explanation.segments.iter().map(|s| s.expected.as_secs_f64()).sum();
    // The first round verifies the pages that it reads, and does not count.
    let count = if common::is_test() { 50 } else { 2000 };
    let queries: Vec<u64> = (0..count).map(|_| random.next()).collect();
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let time = |&query: &u64| {
            let start = Instant::now();
            std::hint::black_box(snapshot.query(std::hint::black_box(query), k).unwrap());
            start.elapsed()
        };
        let mut times: Vec<_> = queries.iter().map(time).collect();
        times.sort_unstable();
        best = best.min(percentile(&times, 0.5));
    }
    (predicted * 1e6, best)
}
