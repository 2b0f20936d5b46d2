//! Measures a full scan, which decodes an entire table and compares each fingerprint, by block
//! size.
//!
//!     cargo bench --bench decode

#![allow(clippy::cast_possible_truncation, reason = "sizes of benches are small")]

mod common;

use common::{Data, load, options, scan};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// Beyond every layout's plans, so that all of table 0 is read; few random fingerprints are so
/// near.
const DISTANCE: u32 = 17;

fn decode(criterion: &mut Criterion) {
    let n = if common::is_test() { 1 << 12 } else { 1 << 22 };
    let mut group = criterion.benchmark_group("decode");
    group.throughput(Throughput::Elements(n as u64)).sample_size(10);
    let fingerprints = Data::Uniform.fingerprints(n);
    for block in [128, 256, 1024, 4096] {
        let folder = common::folder();
        let options = options("single", 0).block_size(block);
        let (db, _) = load(options, folder.path().join("db"), &fingerprints);
        let snapshot = db.snapshot();
        let query = 0x0123_4567_89ab_cdef;
        let expected = scan(&fingerprints, query, DISTANCE);
        assert_eq!(snapshot.query(query, DISTANCE).unwrap().len(), expected);
        group.bench_function(format!("block {block}"), |bencher| {
            bencher.iter(|| snapshot.query(query, DISTANCE).unwrap());
        });
    }
}

criterion_group!(benches, decode);
criterion_main!(benches);
