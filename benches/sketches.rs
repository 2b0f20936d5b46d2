//! Measures search by similarity among uniform sketches.
//!
//!     cargo bench --bench sketches -- [--n 20,23] [--near 20] [--pairs true] [--insert 100000]
//!         [--crowd 100000] [--cold true] [--file SKETCHES]
//!
//! The documents have 500 features. With `--near N`, each Nth document is a near-duplicate of the
//! one before it. `found` is the share found of 2,000 sketches that differ from a stored one as
//! those of sets with this similarity do. `false` counts the matches of 10,000 random sketches.
//! Times are of those, which have no match. With `--pairs`, all pairs of the database are counted;
//! with `--insert`, so many documents are inserted if they are novel, a third of which are
//! near-duplicates of stored ones, without waiting for the device. With `--file`, which has the
//! hexadecimal digits of a sketch per line, an eighth, a half and nearly all of its sketches are
//! stored, and others of it are the queries. With `--crowd N`, queries are further pages of a
//! template that N of the documents have, at random places: two of them have a similarity of .65.
//! With `--cold`, it then measures queries without a match whose pages are on disk (Linux only), as
//! the bench `cold` does: how many pages the device reads per query, and the times that it takes
//! for as many random pages of a table of bands, one after another and together.

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "prints a table of figures")]
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers")]

mod common;

use std::path::Path;
use std::sync::OnceLock;
use std::time::Instant;

use common::{
    PAGE, Random, bytes_read, device, evict, files, option, own_and_kernel_seconds, percentile,
    seconds, times,
};
use fpdb::{
    Db, DocId, Document, Durability, Fingerprint, Ids, Jaccard, Options, Outcome, QueryOptions,
    Sketch, Snapshot, Source, Within,
};

const MINIMA: u32 = 128;

fn main() {
    let sizes = option("--n", if common::is_test() { "10" } else { "20,23" }.to_owned());
    let file = option("--file", String::new());
    if !file.is_empty() {
        return measure_file(&file);
    }
    println!("uniform sketches, {}\n", jaccard());
    println!(
        "| n | bands | p50, p99 us | found at .71, .75, .8, .9 | false | bytes per document | \
         memory for directories | load s | processor us per document, and in the kernel |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    let mut notes = Vec::new();
    for size in sizes.split(',') {
        let size: u32 = size.parse().expect("log2 of the number of documents");
        measure(1 << size, &mut |note| notes.push(format!("- 2^{size}: {note}")));
    }
    println!("\n{}", notes.join("\n"));
}

/// Measures queries with some of the sketches of a file among others of it.
fn measure_file(path: &str) {
    let text = std::fs::read_to_string(path).expect("a file of sketches");
    let mut sketches: Vec<Sketch> = text.lines().map(|l| Sketch::parse(l).unwrap()).collect();
    let mut random = Random(1);
    for at in (1..sketches.len()).rev() {
        sketches.swap(at, random.below(at as u64 + 1) as usize);
    }
    let (queries, stored) = sketches.split_at(sketches.len() / 16);
    println!("| documents | p50, p99 us | matches: mean, p99 |");
    println!("| ---: | ---: | ---: |");
    for n in [stored.len() / 8, stored.len() / 2, stored.len()] {
        let folder = common::folder();
        let path = folder.path().join("db");
        let db = build(&path, n as u64, |id| stored[id as usize]);
        db.warm().unwrap();
        let snapshot = db.snapshot();
        let mut matches = Vec::new();
        let times = times(queries, |&query| {
            matches.push(snapshot.query(query, Within::Rule).unwrap().len());
        });
        let [p50, p99] = [0.5, 0.99].map(|share| percentile(&times, share));
        println!("| {n} | {p50:.2}, {p99:.2} | {} |", mean_and_p99(matches));
    }
}

fn mean_and_p99(mut counts: Vec<usize>) -> String {
    counts.sort_unstable();
    let mean = counts.iter().sum::<usize>() as f64 / counts.len() as f64;
    format!("{mean:.2}, {}", counts[(counts.len() - 1) * 99 / 100])
}

/// Features of each document.
const FEATURES: u32 = 500;

/// Returns a sketch of a set with this similarity: each minimum differs with the probability that
/// belongs to it, and the features that only one of the sets has flip random parities.
fn changed(random: &mut Random, sketch: Sketch, similarity: f64) -> Sketch {
    let (mut planes, other) = (*sketch.planes(), uniform(random));
    let probability = ((1.0 - similarity) * 2f64.powi(32)) as u64;
    let mut differ = 0u128;
    for _ in 0..MINIMA {
        differ = differ << 1 | u128::from(random.next() >> 32 < probability);
    }
    planes.iter_mut().zip(other.planes()).for_each(|(a, b)| *a = *a & !differ | *b & differ);
    let mut parities = *sketch.parities();
    let in_one = f64::from(FEATURES) * (1.0 - similarity) / (1.0 + similarity);
    // At least as similar, as no two sets of this size may have exactly this similarity.
    for _ in 0..2 * in_one as u32 {
        let place = random.below(1024) as usize;
        parities[place / 64] ^= 1 << (place % 64);
    }
    Sketch::of_parts(planes, FEATURES, parities)
}

fn uniform(random: &mut Random) -> Sketch {
    let planes =
        std::array::from_fn(|_| u128::from(random.next()) << 64 | u128::from(random.next()));
    Sketch::of_parts(planes, FEATURES, std::array::from_fn(|_| random.next()))
}

/// Returns a page of a template: two of them have a similarity of .65.
fn page(number: u64) -> Sketch {
    let template = uniform(&mut Random(1));
    changed(&mut Random(number << 8 | 2), template, 0.65f64.sqrt())
}

/// Returns a stored sketch: uniform, but with `--near N`, each Nth is near the one before it.
fn stored(id: u64) -> Sketch {
    static NEAR: OnceLock<u64> = OnceLock::new();
    let near = *NEAR.get_or_init(|| option("--near", 0));
    let is_near = near > 0 && id % near == near - 1 && id > 0;
    let sketch = uniform(&mut Random((id - u64::from(is_near)) << 4));
    if is_near { changed(&mut Random(id), sketch, 0.9375) } else { sketch }
}

fn jaccard() -> Jaccard {
    Jaccard::at_least(0.8).recall(0.95)
}

fn options() -> Options<Sketch> {
    Options::sketches().ids(Ids::Unique).similar(jaccard()).durability(Durability::Buffered)
}

fn open(path: &Path) -> Db<Sketch> {
    options().page_memory(20 << 30).open(path).unwrap()
}

/// Returns a database of these sketches.
fn build(path: &Path, n: u64, sketch: impl Fn(u64) -> Sketch + Send) -> Db<Sketch> {
    let documents = (0..n).map(|id| Ok((None, Document::new(sketch(id), DocId(id)))));
    let options = options().expected_entries(n).bulk_memory(4 << 30);
    let _ = options.build(path, Source::documents(None, n, documents)).unwrap();
    open(path)
}

fn measure(n: u64, note: &mut dyn FnMut(String)) {
    let folder = common::folder();
    let path = folder.path().join("db");
    let (start, before) = (Instant::now(), own_and_kernel_seconds());
    let crowd = option("--crowd", 0);
    let mut db =
        build(&path, n, |id| if is_in_crowd(id, crowd, n) { page(id) } else { stored(id) });
    let seconds = start.elapsed().as_secs_f64();
    let [own, kernel] =
        std::array::from_fn(|i| (own_and_kernel_seconds()[i] - before[i]) * 1e6 / n as f64);
    db.warm().unwrap();
    row(&db, n, (seconds, own + kernel, kernel));
    if crowd > 0 {
        measure_crowd(&db, crowd, n, note);
    }
    if option("--pairs", false) {
        pairs(&db, n, note);
    }
    if option("--cold", false) && cfg!(target_os = "linux") {
        let directories = db.stats().index_memory_bytes;
        db.close().unwrap();
        cold(&path, directories, note);
        db = open(&path);
    }
    insert(&db, n, option("--insert", 0), note);
}

fn is_band(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.contains(".b"))
}

/// Asks for what is not stored while the pages are on disk, with the directories in memory.
fn cold(path: &Path, directories: u64, note: &mut dyn FnMut(String)) {
    let queries: Vec<Sketch> = {
        let mut random = Random(19);
        (0..if common::is_test() { 20 } else { 300 }).map(|_| uniform(&mut random)).collect()
    };
    evict(path);
    // The directories come first. A sixteenth is left for pages.
    let db = options().page_memory(directories / 8 * 9).open(path).unwrap();
    db.warm().unwrap();
    let before = bytes_read();
    let times = times(&queries, |&query| drop(db.query(query, Within::Rule).unwrap()));
    let reads = (bytes_read() - before) as f64 / (PAGE as f64 * queries.len() as f64);
    drop(db);
    let depth = (reads.round() as usize).max(1);
    let bands = files(path).into_iter().filter(|path| is_band(path));
    let file = bands.max_by_key(|path| path.metadata().unwrap().len()).expect("tables of bands");
    let [alone, together] = [1, depth].map(|threads| {
        evict(path);
        device(&file, depth, threads)
    });
    let [p50, p99] = [0.5, 0.99].map(|share| percentile(&times, share));
    note(format!(
        "cold: p50 {p50:.0} us, p99 {p99:.0} us, {reads:.1} reads; the device \
         alone {alone:.0} us, together {together:.0} us; p50 / together {:.2}",
        p50 / together,
    ));
}

/// Returns whether a document is one of about `crowd` of `n`, at random places.
fn is_in_crowd(id: u64, crowd: u64, n: u64) -> bool {
    crowd > 0 && Random(id << 4 | 3).below(n) < crowd
}

/// Measures queries with further pages of a template, for all matches and for the nearest ten, and
/// in a batch.
fn measure_crowd(db: &Db<Sketch>, crowd: u64, n: u64, note: &mut dyn FnMut(String)) {
    let snapshot = db.snapshot();
    let rounds = if common::is_test() { 5 } else { 200 };
    for limit in [usize::MAX, 10] {
        let options = QueryOptions::within(Within::Rule).limit(limit);
        let mut matches = 0;
        let times = times((n..).take(rounds).map(page), |query| {
            matches += snapshot.query(query, options).unwrap().len();
        });
        let [p50, p99] = [0.5, 0.99].map(|share| percentile(&times, share) / 1000.0);
        let mean = matches as f64 / rounds as f64;
        note(format!("a crowd of {crowd}: {mean:.0} matches, p50 {p50:.2} ms, p99 {p99:.2} ms"));
    }
    let queries: Vec<Sketch> = (n..).take(5 * rounds).map(page).collect();
    let mut matches = 0;
    let batch = || matches = snapshot.query_batch(&queries, Within::Rule).unwrap().matches().len();
    let each = seconds(batch) * 1000.0 / queries.len() as f64;
    note(format!(
        "a crowd of {crowd}, {} queries in a batch: {matches} matches, {each:.2} ms each",
        queries.len()
    ));
}

/// Counts all pairs.
fn pairs(db: &Db<Sketch>, n: u64, note: &mut dyn FnMut(String)) {
    let mut count = 0u64;
    let pairs =
        || count = db.snapshot().pairs(Within::Rule).threads(1).count().unwrap().iter().sum();
    let us = seconds(pairs) * 1e6 / n as f64;
    note(format!("all pairs: {count}, {us:.2} us per document"));
}

/// Inserts documents if they are novel: a third are not.
fn insert(db: &Db<Sketch>, n: u64, documents: u64, note: &mut dyn FnMut(String)) {
    if documents == 0 {
        return;
    }
    let mut random = Random(13);
    let sketches: Vec<Sketch> = (0..documents)
        .map(|i| match i.is_multiple_of(3) {
            true => {
                let near = stored(random.below(n));
                changed(&mut random, near, 0.9375)
            }
            false => uniform(&mut random),
        })
        .collect();
    let (start, mut novel) = (Instant::now(), 0);
    for (i, &sketch) in (0..).zip(&sketches) {
        let outcome = db.upsert_if_novel(sketch, n + i).unwrap();
        novel += u64::from(matches!(outcome, Outcome::Inserted(_)));
    }
    let each = start.elapsed().as_secs_f64() / documents as f64;
    let stats = db.stats();
    let bytes = stats.memtable_bytes as f64 / stats.memtable_entries.max(1) as f64;
    note(format!(
        "{documents} inserted if novel: {novel} were, {:.0} per second, {bytes:.0} bytes of memory per \
         recent document",
        1.0 / each,
    ));
}

/// Prints a row, with the seconds of the load, and its processor time per document.
fn row(db: &Db<Sketch>, n: u64, (seconds, processor, kernel): (f64, f64, f64)) {
    let (snapshot, mut random) = (db.snapshot(), Random(7));
    let rounds = if common::is_test() { 50 } else { 10_000 };
    let mut wrong = 0;
    let mut ask = |query: Sketch| wrong += snapshot.query(query, Within::Rule).unwrap().len();
    (0..rounds / 5).for_each(|_| ask(uniform(&mut random)));
    let times = times((0..rounds).map(|_| uniform(&mut random)), ask);
    let found = [0.71, 0.75, 0.8, 0.9].map(|similarity| match option("--crowd", 0u64) {
        0 => format!("{:.3}", found(&snapshot, n, similarity)),
        _ => "-".to_owned(),
    });
    let stats = db.stats();
    println!(
        "| 2^{} | {} | {:.2}, {:.2} | {} | {wrong} | {:.1} | {} | {seconds:.1} | {processor:.2}, {kernel:.2} |",
        n.ilog2(),
        db.description().rule.bands().map_or(0, |(bands, _)| bands),
        percentile(&times, 0.5),
        percentile(&times, 0.99),
        found.join(", "),
        stats.bytes_total as f64 / n as f64,
        stats.index_memory_bytes,
    );
}

/// Returns the share found of pairs with this similarity.
fn found(snapshot: &Snapshot<Sketch>, n: u64, similarity: f64) -> f64 {
    let mut random = Random(similarity.to_bits());
    let rounds = if common::is_test() { 50 } else { 2000 };
    let mut found = 0;
    for _ in 0..rounds {
        let id = random.below(n);
        let query = changed(&mut random, stored(id), similarity);
        let matches = snapshot.query(query, Within::Rule).unwrap();
        found += u32::from(matches.iter().any(|found| found.id.0 == id));
    }
    f64::from(found) / f64::from(rounds)
}
