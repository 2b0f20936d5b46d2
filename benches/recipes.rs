//! Measures how fast each recipe of this build makes fingerprints: of the sections of a document
//! about databases, which are as long as an article.
//!
//!     cargo bench --bench recipes --features zh

mod common;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fpdb::text::Recipe;

const TEXT: &str = include_str!("../docs/design.md");

fn recipes(criterion: &mut Criterion) {
    let texts: Vec<&str> = TEXT.split("\n## ").collect();
    let bytes: usize = texts.iter().map(|text| text.len()).sum();
    let mut group = criterion.benchmark_group("recipes");
    group.throughput(Throughput::Bytes(bytes as u64)).sample_size(10);
    for name in Recipe::names() {
        let recipe = Recipe::named(name).unwrap();
        let make = |text: &&str| recipe.fingerprint(text).fingerprint;
        assert!(texts.iter().any(|text| make(text).is_some()), "{name}");
        group.bench_function(name, |bencher| {
            bencher.iter(|| texts.iter().filter_map(make).fold(0, |all, made| all ^ made));
        });
    }
}

criterion_group!(benches, recipes);
criterion_main!(benches);
