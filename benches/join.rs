//! Measures a join, compared with a batch of queries with the fingerprints of the other database.
//!
//!     cargo bench --bench join -- [--n 10000000] [--queries 100000,1000000] [--k 3]
//!         [--layouts half-2] [--data uniform] [--threads 1] [--memory-mib 512] [--runs 3]
//!
//! All files are read before. Bytes per second are the bytes of all tables, divided by the time of
//! the join. What both find is compared.

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "prints a table of figures")]

mod common;

use std::ops::ControlFlow;
use std::time::Instant;

use common::{Data, load, option, options, queries};
use fpdb::{Db, Snapshot};

fn main() {
    let default = if common::is_test() { ("3000", "500") } else { ("10000000", "100000,1000000") };
    let (sizes, k) = (option("--n", default.0.to_owned()), option("--k", 3u32));
    let counts = option("--queries", default.1.to_owned());
    let data = Data::named(&option("--data", "uniform".to_owned()));
    println!(
        "| layout | n | queries | pairs | join, ns per query | nearest | query_batch | MB of tables per second |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for size in sizes.split(',') {
        let fingerprints = data.fingerprints(size.parse().expect("a number of fingerprints"));
        for layout in option("--layouts", "half-2".to_owned()).split(',') {
            let folder = common::folder();
            let with = || {
                let options = options(layout, option("--block", 128), option("--filter", 0));
                options.max_distance(k).threads(option("--threads", 1))
            };
            let (a, _) = load(with(), folder.path().join("a"), &fingerprints);
            for count in counts.split(',') {
                let count = count.parse().expect("a number of queries");
                let mut queries = queries(&fingerprints, count);
                queries.sort_unstable();
                queries.dedup();
                let (b, _) = load(with(), folder.path().join(format!("b{count}")), &queries);
                measure(&a, &b.snapshot(), &queries, layout, k);
            }
        }
    }
}

fn measure(a: &Db, b: &Snapshot, queries: &[u64], layout: &str, k: u32) {
    let snapshot = a.snapshot();
    let memory = option("--memory-mib", 512u64) << 20;
    let join = snapshot.join(b, k).memory(memory);
    let go_on = ControlFlow::Continue(());
    let (mut pairs, mut nearest, mut batch) = (Vec::new(), Vec::new(), Vec::new());
    let mut found = 0;
    // The first run reads the files, and is not counted.
    for run in 0..=option("--runs", 3) {
        let start = Instant::now();
        let all = join.visit(|_| go_on).unwrap();
        let first = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let documents = join.nearest(|_| go_on).unwrap().documents;
        let second = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let answers = snapshot.query_batch(queries, k).unwrap();
        let third = start.elapsed().as_secs_f64();
        found = answers.matches().len() as u64;
        assert_eq!(all.pairs.iter().sum::<u64>(), found);
        let near = answers.iter().filter(|matches| !matches.is_empty()).count() as u64;
        assert_eq!((all.documents, documents), (near, near));
        if run > 0 || common::is_test() {
            pairs.push(first);
            nearest.push(second);
            batch.push(third);
        }
    }
    let [pairs, nearest, batch] = [pairs, nearest, batch].map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    let each = |seconds: f64| seconds * 1e9 / queries.len() as f64;
    println!(
        "| {layout} | {} | {} | {found} | {:.0} | {:.0} | {:.0} | {:.0} |",
        snapshot.len(),
        queries.len(),
        each(pairs),
        each(nearest),
        each(batch),
        a.stats().bytes_tables as f64 / 1e6 / pairs
    );
}
