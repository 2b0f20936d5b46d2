//! Crawls the same site again and again: in each round, a tenth of the pages change a little, a
//! hundredth completely, and a hundredth vanish and are replaced by new ones.
//!
//!     cargo bench --bench recrawl -- [--rounds 8]
//!
//! Each page is passed to `upsert_if_novel` with the number of the round as its stamp, and `expire`
//! removes those that were not seen. Every outcome is compared with what it must be, and so are the
//! number of documents and a sample of pages, by name and by fingerprint. At the end, all documents
//! are compared, and the size with the size of a database built from scratch. The size is also read
//! within the rounds, without the log, because the log's length depends on the memtable alone.
//! No more than 50,000 pages are passed per second: a crawl is slower than this program, and
//! compaction has the time in between.

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

/// Pages of a batch.
const BATCH: usize = 256;
/// Most pages per second.
const RATE: f64 = 50_000.0;
/// Batches between two reads of the size.
const BATCHES_PER_SAMPLE: usize = 16;

/// Passes all pages to the database. Panics if an outcome is not the expected one. Returns the
/// largest size in between.
fn crawl(db: &Db, pages: &[Page], round: u64) -> u64 {
    let (start, mut largest) = (Instant::now(), 0);
    for (number, pages) in pages.chunks(BATCH).enumerate() {
        let due = Duration::from_secs_f64((number * BATCH) as f64 / RATE);
        std::thread::sleep(due.saturating_sub(start.elapsed()));
        if number % BATCHES_PER_SAMPLE == 0 {
            largest = largest.max(size(db));
        }
        let stamp = Some(round);
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
    let (count, rounds, memtable) =
        if common::is_test() { (2000, 4, 300) } else { (1_000_000, 8, 1 << 17) };
    let rounds: u64 = option("--rounds", rounds);
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
    let mut most_of_all = 0;
    for round in 0..rounds {
        let mut vanished = Vec::new();
        if round > 0 {
            vanished = next_round(&mut pages, &mut urls, &mut random);
        }
        let start = Instant::now();
        let within = crawl(&db, &pages, round);
        assert_eq!(db.expire(round).unwrap().removed, vanished.len() as u64);
        db.flush().unwrap();
        let seconds = start.elapsed().as_secs_f64();
        let stats = db.stats();
        assert_eq!((stats.documents, stats.entries), (count as u64, count as u64));
        for _ in 0..1000.min(count) {
            check(&db, &pages[random.below(count as u64) as usize]);
        }
        vanished.iter().take(1000).for_each(|name| assert!(db.get(name).unwrap().is_none()));
        let (end, most) = (size(&db), within.max(size(&db)));
        most_of_all = most_of_all.max(most);
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
    crawl(&fresh, &pages, rounds);
    fresh.flush().unwrap();
    let scratch = size(&fresh) as f64;
    let last = size(&db) as f64;
    fresh.compact().unwrap();
    let compacted = size(&fresh) as f64;
    println!(
        "\nfrom scratch {:.1} MB, compacted {:.1} MB; after the rounds {:.2} times as large, at most {:.2} \
         times",
        scratch / 1e6,
        compacted / 1e6,
        last / scratch,
        most_of_all as f64 / scratch
    );
}
