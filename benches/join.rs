//! Measures a join, compared with a batch of queries with the fingerprints of the other database.
//!
//!     cargo bench --bench join -- [--n 10000000] [--queries 100000,1000000]
//!
//! All files are read before. Bytes per second are the bytes of all tables, divided by the time of
//! the join. What both find is compared.

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "prints a table of figures")]

mod common;

use std::ops::ControlFlow;

use common::{Data, load, median, option, options, queries, seconds};
use fpdb::{Db, Snapshot};

const K: u32 = 3;
const LAYOUT: &str = "half-2";

fn main() {
    let (n, counts) =
        if common::is_test() { (3000, "500") } else { (10_000_000, "100000,1000000") };
    println!(
        "| layout | n | queries | pairs | join, ns per query | nearest | query_batch | MB of tables per second |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    let fingerprints = Data::Uniform.fingerprints(option("--n", n));
    let folder = common::folder();
    let with = || options(LAYOUT, 0).max_distance(K).threads(1);
    let (a, _) = load(with(), folder.path().join("a"), &fingerprints);
    for count in option("--queries", counts.to_owned()).split(',') {
        let mut queries = queries(&fingerprints, count.parse().expect("a number of queries"));
        queries.sort_unstable();
        queries.dedup();
        let (b, _) = load(with(), folder.path().join(format!("b{count}")), &queries);
        measure(&a, &b.snapshot(), &queries);
    }
}

fn measure(a: &Db, b: &Snapshot, queries: &[u64]) {
    let snapshot = a.snapshot();
    let join = snapshot.join(b, K).memory(512 << 20);
    let (mut times, mut found) = ([const { Vec::new() }; 3], 0);
    // The first run reads the files, and is not counted.
    for run in 0..=3 {
        let (mut all, mut nearest, mut answers) = (None, None, None);
        let go_on = ControlFlow::Continue(());
        let now = [
            seconds(|| all = Some(join.visit(|_| go_on).unwrap())),
            seconds(|| nearest = Some(join.nearest(|_| go_on).unwrap())),
            seconds(|| answers = Some(snapshot.query_batch(queries, K).unwrap())),
        ];
        let ((all, nearest), answers) = all.zip(nearest).zip(answers).unwrap();
        found = answers.matches().len() as u64;
        assert_eq!(all.pairs.iter().sum::<u64>(), found);
        let near = answers.iter().filter(|matches| !matches.is_empty()).count() as u64;
        assert_eq!((all.documents, nearest.documents), (near, near));
        if run > 0 {
            times.iter_mut().zip(now).for_each(|(times, now)| times.push(now));
        }
    }
    let [pairs, nearest, batch] = times.map(|times| median(&times));
    let each = |seconds: f64| seconds * 1e9 / queries.len() as f64;
    println!(
        "| {LAYOUT} | {} | {} | {found} | {:.0} | {:.0} | {:.0} | {:.0} |",
        snapshot.len(),
        queries.len(),
        each(pairs),
        each(nearest),
        each(batch),
        a.stats().bytes_tables as f64 / 1e6 / pairs
    );
}
