//! Measures the search for passages, beside sorting all runs of a text.
//!
//!     cargo bench --bench passages -- [--folder FOLDER] [--min-words 50] [--memory MIB] [--baseline false]
//!         [--index false]
//!
//! Each file in the folder that is UTF-8 is a text, and so is each line of a file that ends with
//! `.lines`. Without a folder, texts of random words are made, of which a tenth are quotes of
//! others. Both methods must cover the same bytes. Then the texts are inserted into an index on
//! disk, which is compacted, and asked for copies of texts and for new texts of 1,000 words; and so
//! are texts most of which is one of a hundred licences. Seconds are of processor time, in one
//! thread.

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "prints a table of figures")]

mod common;

use std::path::Path;
use std::time::Instant;

use common::{Random, option, processor_seconds};
use fpdb::passages::{Found, Index, Passages};
use fpdb::text::windows::{Windows, Words};
use fpdb::{Db, DocId, Durability};

fn main() {
    let folder = option("--folder", String::new());
    let count = if common::is_test() { 1 << 10 } else { 1 << 17 };
    let mut texts = Vec::new();
    if folder.is_empty() {
        texts = random_texts(count);
    } else {
        read(Path::new(&folder), &mut texts);
    }
    let bytes: usize = texts.iter().map(String::len).sum();
    let (min_words, memory) = (option("--min-words", 50), option("--memory", 512u64) << 20);
    println!("{} texts, {:.1} MB", texts.len(), bytes as f64 / 1e6);
    println!(
        "| method | s | MB/s | entries | spans | covered |\n| --- | --- | --- | --- | --- | --- |"
    );
    let row = |name: &str, seconds: f64, entries: u64, spans: usize, covered: u64| {
        let rate = bytes as f64 / 1e6 / seconds;
        let share = covered as f64 / bytes as f64;
        println!("| {name} | {seconds:.2} | {rate:.0} | {entries} | {spans} | {share:.4} |");
    };
    let start = processor_seconds();
    let search = Passages::new(min_words).unwrap().memory(memory).threads(1);
    let read =
        |each: &mut fpdb::passages::Texts<'_>| texts.iter().try_for_each(|text| each(&[text]));
    let found: Found = search.find::<fpdb::Error>(read).unwrap();
    let places = found.spans.iter().map(|span| (span.row, span.begin, span.end));
    let covered = covered(places);
    let seconds = processor_seconds() - start;
    row("windows, then runs", seconds, found.windows + found.runs, found.spans.len(), covered);
    if option("--baseline", true) {
        let start = processor_seconds();
        let (entries, expected) = all_runs(&texts, min_words);
        row("all runs", processor_seconds() - start, entries, 0, expected);
        assert_eq!(covered, expected, "the methods cover different bytes");
    }
    if option("--index", true) {
        index("these texts", &texts, min_words);
        drop(texts);
        index("texts of 100 licences", &licences(count), min_words);
    }
}

/// Measures an index of these texts.
fn index(name: &str, texts: &[String], min_words: usize) {
    let bytes: usize = texts.iter().map(String::len).sum();
    let folder = tempfile::tempdir().unwrap();
    let options = Db::options().durability(Durability::Buffered).background(false).threads(1);
    let options = options.expected_entries(bytes as u64 / 100);
    let index = Index::create(folder.path().join("passages.fpdb"), min_words, options).unwrap();
    let start = processor_seconds();
    for (first, texts) in (0..).step_by(256).zip(texts.chunks(256)) {
        let documents: Vec<_> =
            (first..).map(DocId).zip(texts.iter().map(String::as_str)).collect();
        index.insert(&documents).unwrap();
    }
    let seconds = processor_seconds() - start;
    index.database().compact().unwrap();
    let stats = index.database().stats();
    let windows = stats.entries - texts.len() as u64;
    println!("\n| index | insert s | MB/s | windows | bytes per window | share of the text |");
    println!("| --- | --- | --- | --- | --- | --- |");
    let (rate, per_window) =
        (bytes as f64 / 1e6 / seconds, stats.bytes_total as f64 / windows as f64);
    let share = stats.bytes_total as f64 / bytes as f64;
    println!("| {name} | {seconds:.2} | {rate:.0} | {windows} | {per_window:.2} | {share:.4} |\n");

    let mut random = Random(7);
    let mut random_text =
        || (0..1000).map(|_| format!("new{} ", random.below(100_000))).collect::<String>();
    let new: Vec<String> = (0..1000).map(|_| random_text()).collect();
    let step = (texts.len() / 1000).max(1);
    let copies: Vec<String> = texts.iter().step_by(step).take(1000).cloned().collect();
    println!("| find | words | p50 us | p99 us | documents |\n| --- | --- | --- | --- | --- |");
    for (name, asked) in [("new texts", new), ("copies", copies)] {
        let (mut times, mut found, mut words) = (Vec::new(), 0, 0);
        for (text, id) in asked.iter().zip((0..).step_by(step).map(DocId)) {
            let start = Instant::now();
            let origins = index.find(text, 10).unwrap();
            times.push(start.elapsed().as_secs_f64() * 1e6);
            words += Words::of(text, 0).unwrap().len();
            found += origins.documents.len();
            let is_found = origins.documents.iter().any(|origin| origin.id == id);
            let is_copy = name == "copies" && !Words::of(text, 0).unwrap().is_empty();
            assert!(!is_copy || is_found || origins.common > 0.0 || origins.documents.len() == 10);
        }
        times.sort_unstable_by(f64::total_cmp);
        let (at, words) = (|share: usize| times[times.len() * share / 100], words / asked.len());
        println!("| {name} | {words} | {:.0} | {:.0} | {found} |", at(50), at(99));
    }
}

/// Returns how many bytes are in a place, of places in the order of the texts.
fn covered(places: impl Iterator<Item = (u64, u32, u32)>) -> u64 {
    let (mut last, mut sum) = ((u64::MAX, 0), 0);
    for (row, begin, end) in places {
        let from = if last.0 == row { begin.max(last.1) } else { begin };
        sum += u64::from(end.saturating_sub(from));
        last = (row, end.max(if last.0 == row { last.1 } else { 0 }));
    }
    sum
}

/// Sorts all runs. Returns their number, and how many bytes are in a run that an earlier text has.
fn all_runs(texts: &[String], min_words: usize) -> (u64, u64) {
    let (windows, mut words, mut runs) =
        (Windows::new(min_words, 0).unwrap(), Words::new(0), Vec::new());
    let mut places = Vec::new();
    for (row, text) in (0u32..).zip(texts) {
        words.read(text).unwrap();
        windows.runs(&words, |run| {
            if run.is_full {
                runs.push((run.hash, u32::try_from(places.len()).unwrap()));
                let bytes = words.place(run.begin..run.end);
                places.push((
                    row,
                    u32::try_from(bytes.start).unwrap(),
                    u32::try_from(bytes.end).unwrap(),
                ));
            }
        });
    }
    runs.sort_unstable();
    let mut repeated = Vec::new();
    for same in runs.chunk_by(|a, b| a.0 == b.0) {
        let place = |run: &(u64, u32)| places[run.1 as usize];
        let first = place(&same[0]).0;
        repeated.extend(same.iter().map(place).filter(|place| place.0 != first));
    }
    repeated.sort_unstable();
    (
        runs.len() as u64,
        covered(repeated.into_iter().map(|(row, begin, end)| (row.into(), begin, end))),
    )
}

fn read(folder: &Path, texts: &mut Vec<String>) {
    let mut entries: Vec<_> =
        std::fs::read_dir(folder).unwrap().flatten().map(|it| it.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            read(&path, texts);
        } else if let Ok(text) = std::fs::read_to_string(&path) {
            if path.extension().is_some_and(|it| it == "lines") {
                texts.extend(text.lines().map(str::to_owned));
            } else {
                texts.push(text);
            }
        }
    }
}

fn random_texts(count: usize) -> Vec<String> {
    let (mut random, mut texts) = (Random(1), Vec::<String>::new());
    for _ in 0..count {
        let mut text = String::new();
        for _ in 0..random.below(1000) {
            text += &format!("w{} ", random.below(100_000));
        }
        if random.below(5) == 0 && !texts.is_empty() {
            let other = &texts[usize::try_from(random.below(texts.len() as u64)).unwrap()];
            text += &other[other.len() / 2..];
        }
        texts.push(text);
    }
    texts
}

/// Texts that have one of a hundred others, of up to 2,000 words, and 50 words of their own.
fn licences(count: usize) -> Vec<String> {
    let mut random = Random(3);
    let mut words = |prefix, count| -> String {
        (0..count).map(|_| format!("{prefix}{} ", random.below(100_000))).collect()
    };
    let licences: Vec<String> = (1..=100).map(|i| words('l', 20 * i)).collect();
    licences.iter().cycle().take(count).map(|licence| licence.clone() + &words('o', 50)).collect()
}
