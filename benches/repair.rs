//! Measures how many entries a repair saves, and how long it takes.
//!
//!     cargo bench --bench repair -- [--damage 0.001,0.01,0.05,0.1]
//!
//! A share of the pages of all files but the manifest is damaged, at random. Fingerprints are
//! uniform.

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "prints a table of figures")]

mod common;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use common::{Random, option};
use fpdb::{Db, DocId, Durability, Entry, Ids, Layout, Options, Source};

const PAGE: usize = 4096;

fn main() {
    let n = if common::is_test() { 2000 } else { 1_000_000 };
    let shares = option("--damage", "0.001,0.01,0.05,0.1".to_owned());
    let shares: Vec<f64> = shares.split(',').map(|share| share.parse().unwrap()).collect();
    println!("{n} uniform fingerprints, on disk");
    println!("| layout, ids | damaged pages | entries left | wrong | s |");
    println!("| --- | --- | --- | --- | --- |");
    for (layout, ids) in [
        ("half-2", Ids::User),
        ("ring-4", Ids::User),
        ("single", Ids::User),
        ("half-2", Ids::Unique),
    ] {
        let folder = common::folder();
        let path = folder.path().join("db");
        let options = Db::options().layout(Layout::preset(layout, 64).unwrap());
        let entries = create(&options, ids, n, &path);
        for &share in &shares {
            measure(&options, ids, &entries, &path, share, layout);
        }
    }
}

fn create(options: &Options, ids: Ids, n: u64, path: &Path) -> BTreeSet<Entry> {
    let options = options.clone().ids(ids).durability(Durability::Buffered);
    let db = options.create(path).unwrap();
    let mut random = Random(1);
    let entries: BTreeSet<Entry> =
        (0..n).map(|id| Entry { fingerprint: random.next(), id: DocId(id) }).collect();
    let mut in_order: Vec<Entry> = entries.iter().copied().collect();
    in_order.sort_by_key(|entry| entry.id);
    for some in in_order.chunks(1000) {
        let batch: Vec<_> = some.iter().map(|entry| (entry.fingerprint, entry.id)).collect();
        let _ = db.write(&batch).run().unwrap();
    }
    db.compact().unwrap();
    db.close().unwrap();
    entries
}

fn measure(
    options: &Options,
    ids: Ids,
    entries: &BTreeSet<Entry>,
    path: &Path,
    share: f64,
    layout: &str,
) {
    let folder = common::folder();
    let (broken, fixed) = (folder.path().join("broken"), folder.path().join("fixed"));
    std::fs::create_dir(&broken).unwrap();
    let mut random = Random(2);
    let (mut pages, mut damaged) = (0, 0);
    for file in path.read_dir().unwrap().map(|file| file.unwrap().path()) {
        let name = file.file_name().unwrap();
        let mut bytes = std::fs::read(&file).unwrap();
        if name != "MANIFEST" {
            for page in bytes.chunks_mut(PAGE) {
                pages += 1;
                if (random.next() as f64) < share * u64::MAX as f64 {
                    damaged += 1;
                    page.fill(0x5a);
                }
            }
        }
        std::fs::write(broken.join(name), bytes).unwrap();
    }
    let start = Instant::now();
    let report = options.clone().build(&fixed, Source::damaged(&broken)).unwrap();
    let seconds = start.elapsed().as_secs_f64();
    assert!(report.damage.is_empty() == (damaged == 0));
    let db = options.clone().open_read_only(&fixed).unwrap();
    let found: BTreeSet<Entry> = db.snapshot().iter().map(Result::unwrap).collect();
    let wrong = found.difference(entries).count();
    let left = 100.0 * found.intersection(entries).count() as f64 / entries.len() as f64;
    println!("| {layout}, {ids} | {damaged} of {pages} | {left:.3} % | {wrong} | {seconds:.1} |");
}
