//! Crawls the same site again and again: in each round, a tenth of the pages change a little, a
//! hundredth completely, and a hundredth vanish and are replaced by new ones.
//!
//!     cargo bench --bench recrawl -- [--pages 1000000] [--rounds 20] [--batch 256]
//!         [--memtable 131072] [--stamps yes|no] [--rate 50000]
//!
//! Each page is passed to `upsert_if_novel` with the number of the round as its stamp, and `expire`
//! removes those that were not seen. Every outcome is compared with what it must be, and so are the
//! number of documents and a sample of pages, by name and by fingerprint. At the end, all documents
//! are compared, and the size with the size of a database built from scratch. The size is also read
//! within the rounds, without the log, because the log's length depends on the memtable alone.
//! `--rate` is the largest number of pages per second: a crawl is slower than this program, and
//! compaction has the time in between. 0 means no limit. Without stamps, the pages that vanish are
//! removed by name.

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "prints tables of figures")]
#![allow(clippy::cast_possible_truncation, reason = "sizes are small")]

mod common;
#[path = "common/urls.rs"]
mod urls;

use std::path::Path;
use std::time::{Duration, Instant};

use common::{Random, option};
use fpdb::{Db, Durability, Ids, OnDuplicate, Outcome, Stamped};
use urls::Urls;

struct Page {
    name: String,
    fingerprint: u64,
    /// What becomes of it in this round.
    expected: Expected,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    New,
    Same,
    Changed,
}

fn create(path: &Path, memtable: usize) -> Db {
    let options = Db::options().ids(Ids::Names).durability(Durability::Buffered);
    options.memtable_entries(memtable).create(path).unwrap()
}

/// How pages are passed to the database.
struct Crawl {
    batch: usize,
    /// Most pages per second.
    rate: f64,
}

/// Batches between two reads of the size.
const BATCHES_PER_SAMPLE: usize = 16;

/// Passes all pages to the database. Panics if an outcome is not the expected one. Returns the
/// largest size in between.
fn crawl(db: &Db, pages: &[Page], stamp: Option<u64>, crawl: &Crawl) -> u64 {
    let (start, mut largest) = (Instant::now(), 0);
    for (number, pages) in pages.chunks(crawl.batch).enumerate() {
        let due = Duration::from_secs_f64((number * crawl.batch) as f64 / crawl.rate);
        std::thread::sleep(due.saturating_sub(start.elapsed()));
        if number % BATCHES_PER_SAMPLE == 0 {
            largest = largest.max(size(db));
        }
        let documents: Vec<(u64, Stamped<'_>)> = pages
            .iter()
            .map(|page| (page.fingerprint, Stamped { stamp, ..page.name.as_str().into() }))
            .collect();
        let outcomes =
            db.write(&documents).unless_near(3).or_update(OnDuplicate::Keep).run().unwrap();
        for (page, outcome) in pages.iter().zip(outcomes) {
            let found = match outcome {
                Outcome::Inserted(_) => Expected::New,
                Outcome::Unchanged(_) | Outcome::UnchangedDuplicate { .. } => Expected::Same,
                Outcome::Updated { .. } => Expected::Changed,
                _ => panic!("{}: {outcome:?}", page.name),
            };
            assert!(found == page.expected, "{}: {outcome:?}", page.name);
        }
    }
    largest
}

/// Returns the bytes of everything but the log.
fn size(db: &Db) -> u64 {
    let stats = db.stats();
    stats.bytes_total - stats.bytes_log
}

/// Compares a page with what the database says about it.
fn check(db: &Db, page: &Page) {
    let found = db.get(&*page.name).unwrap().unwrap_or_else(|| panic!("no {}", page.name));
    assert_eq!(found.fingerprint, page.fingerprint, "{}", page.name);
    let near = db.query(page.fingerprint, 3).unwrap();
    assert!(near.len() == 1 && near[0].id == found.id, "{}: {near:?}", page.name);
}

/// Changes the pages for the next round. Returns the names of those that vanished.
fn next_round(
    pages: &mut [Page],
    urls: &mut impl Iterator<Item = String>,
    random: &mut Random,
) -> Vec<String> {
    let mut vanished = Vec::new();
    for page in pages {
        page.expected = Expected::Same;
        match random.below(100) {
            0..10 => {
                page.fingerprint = random.flip(page.fingerprint, 2);
                page.expected = Expected::Changed;
            }
            10 => {
                page.fingerprint = random.next();
                page.expected = Expected::Changed;
            }
            11 => {
                let name = urls.next().expect("there are more than enough");
                vanished.push(std::mem::replace(&mut page.name, name));
                page.fingerprint = random.next();
                page.expected = Expected::New;
            }
            _ => {}
        }
    }
    vanished
}

fn main() {
    let test = common::is_test();
    let count: usize = option("--pages", if test { 2000 } else { 1_000_000 });
    let rounds: u64 = option("--rounds", if test { 4 } else { 20 });
    let rate: f64 = option("--rate", 50_000.0);
    let how = Crawl {
        batch: option("--batch", 256),
        rate: if rate > 0.0 { rate } else { f64::INFINITY },
    };
    let memtable: usize = option("--memtable", if test { 300 } else { 1 << 17 });
    let has_stamps = option("--stamps", "yes".to_owned()) == "yes";
    let folder = common::folder();
    let db = create(&folder.path().join("db"), memtable);

    let mut random = Random(1);
    // Twice as many new ones as are expected.
    let needed = count + count * rounds as usize / 50 + 100;
    let mut urls = Urls::sorted(needed, 7);
    for at in (1..needed).rev() {
        urls.swap(at, random.below(at as u64 + 1) as usize);
    }
    let mut urls = urls.into_iter();
    let mut pages: Vec<Page> = urls
        .by_ref()
        .take(count)
        .map(|name| Page { name, fingerprint: random.next(), expected: Expected::New })
        .collect();
    println!("| round | seconds | most MB | MB at the end | bytes per page | segments |");
    println!("| ---: | ---: | ---: | ---: | ---: | ---: |");
    let mut sizes = Vec::new();
    for round in 0..rounds {
        let mut vanished = Vec::new();
        if round > 0 {
            vanished = next_round(&mut pages, &mut urls, &mut random);
        }
        let start = Instant::now();
        let within = crawl(&db, &pages, has_stamps.then_some(round), &how);
        if has_stamps && round > 0 {
            assert_eq!(db.expire(round).unwrap().removed, vanished.len() as u64);
        } else {
            vanished.iter().for_each(|name| assert!(db.remove(name).unwrap()));
        }
        db.flush().unwrap();
        let seconds = start.elapsed().as_secs_f64();
        let stats = db.stats();
        assert_eq!((stats.documents, stats.entries), (count as u64, count as u64));
        for _ in 0..1000.min(count) {
            check(&db, &pages[random.below(count as u64) as usize]);
        }
        vanished.iter().take(1000).for_each(|name| assert!(db.get(name).unwrap().is_none()));
        let (end, most) = (size(&db), within.max(size(&db)));
        sizes.push(most);
        println!(
            "| {round} | {seconds:.1} | {:.1} | {:.1} | {:.1} | {} |",
            most as f64 / 1e6,
            end as f64 / 1e6,
            end as f64 / count as f64,
            stats.segments.len(),
        );
    }
    pages.iter().for_each(|page| check(&db, page));
    assert!(db.verify(fpdb::VerifyLevel::Full).unwrap().errors.is_empty());

    let fresh = create(&folder.path().join("fresh"), memtable);
    pages.iter_mut().for_each(|page| page.expected = Expected::New);
    crawl(&fresh, &pages, has_stamps.then_some(rounds), &how);
    fresh.flush().unwrap();
    let scratch = size(&fresh) as f64;
    let most = sizes.iter().copied().max().unwrap_or(0) as f64;
    let last = size(&db) as f64;
    fresh.compact().unwrap();
    let compacted = size(&fresh) as f64;
    println!(
        "\nfrom scratch {:.1} MB, compacted {:.1} MB; after the rounds {:.2} times as large, at most {:.2} \
         times",
        scratch / 1e6,
        compacted / 1e6,
        last / scratch,
        most / scratch
    );
}
