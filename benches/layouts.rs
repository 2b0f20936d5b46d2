//! Measures a query by layout, with and without matches, and with a batch of queries. Answers are
//! compared with a scan first.
//!
//!     cargo bench --bench layouts

mod common;

use common::{Data, load, options, queries, scan};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fpdb::Layout;

const K: u32 = 3;

/// Queries in a row, and in a batch. Half of them have a match.
const QUERIES: usize = 1000;

fn layouts(criterion: &mut Criterion) {
    let n = if common::is_test() { 1 << 12 } else { 1 << 20 };
    let fingerprints = Data::Uniform.fingerprints(n);
    let queries = queries(&fingerprints, QUERIES);
    for filter in [0, 8] {
        let mut group = criterion.benchmark_group(format!("queries, filter of {filter} bits"));
        group.throughput(Throughput::Elements(QUERIES as u64)).sample_size(10);
        for layout in Layout::preset_names() {
            let folder = common::folder();
            let options = options(layout, filter).max_distance(K).threads(1);
            let (db, _) = load(options, folder.path().join("db"), &fingerprints);
            let snapshot = db.snapshot();
            let ask = |&query: &u64| snapshot.query(query, K).unwrap().len();
            for query in queries.iter().take(20) {
                assert_eq!(ask(query), scan(&fingerprints, *query, K), "{layout}");
            }
            group.bench_function(BenchmarkId::new("one by one", layout), |bencher| {
                bencher.iter(|| queries.iter().map(ask).sum::<usize>());
            });
            group.bench_function(BenchmarkId::new("batch", layout), |bencher| {
                bencher.iter(|| snapshot.query_batch(&queries, K).unwrap());
            });
        }
    }
}

criterion_group!(benches, layouts);
criterion_main!(benches);
