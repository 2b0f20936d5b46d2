//! What a program that embeds the database waits for: inserts, queries, all pairs and a compaction,
//! with the time that each takes.
//!
//! ```sh
//! cargo run --example embed --config profile.dev.package.fpdb.opt-level=3
//! ```
//!
//! `docs/benchmarks.md` compares how long it takes to build, too.

#![expect(clippy::print_stdout, reason = "the output of an example")]

use std::error::Error;
use std::time::Instant;

use fpdb::{Db, DocId, Durability, Entry, Outcome};

const ENTRIES: u64 = 50_000;
const CALLS: u64 = 10_000;

/// Returns the same number for the same argument, as if by chance: the mixer of SplitMix64.
fn random(number: u64) -> u64 {
    let mixed = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// Prints how long `work` takes, per operation.
fn time<T>(what: &str, operations: u64, work: impl FnOnce() -> fpdb::Result<T>) -> fpdb::Result<T> {
    let start = Instant::now();
    let result = work()?;
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    let micros = start.elapsed().as_secs_f64() * 1e6 / operations as f64;
    println!("{what}: {micros:.2} us each");
    Ok(result)
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("embed-{}.fpdb", std::process::id()));
    let db = Db::options().durability(Durability::Buffered).create(&folder)?;
    let entry = |i| Ok(Entry { fingerprint: random(i), id: DocId(i) });
    let _ = time("bulk load", ENTRIES, || db.bulk_load((1..=ENTRIES).map(entry)))?;
    let duplicates = time("insert if novel", CALLS, || {
        let mut duplicates = 0;
        for i in 1..=CALLS {
            let near = random(i) ^ 1 << (i % 64);
            let fingerprint = if i % 2 == 0 { near } else { random(ENTRIES + i) };
            let outcome = db.insert_if_novel(fingerprint, ENTRIES + i)?;
            duplicates += u64::from(matches!(outcome, Outcome::Duplicate(_)));
        }
        Ok(duplicates)
    })?;
    assert_eq!(duplicates, CALLS / 2);
    let matches = time("query", CALLS, || {
        (1..=CALLS).map(|i| Ok(db.query(random(i) ^ 5, 3)?.len() as u64)).sum::<fpdb::Result<u64>>()
    })?;
    assert_eq!(matches, CALLS);
    let pairs = time("all pairs", ENTRIES, || db.snapshot().pairs(3).count())?;
    assert_eq!(pairs, [0; 4]);
    let report = time("compact", ENTRIES, || db.compact())?;
    assert_eq!(report.segments_after, 1);
    db.close()?;
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}
