//! Measures the search for passages, beside sorting all runs of a text.
//!
//!     cargo bench --bench passages -- [--folder FOLDER] [--min-words 50] [--memory MIB] [--baseline false]
//!
//! Each file in the folder that is UTF-8 is a text, and so is each line of a file that ends with `.lines`. Without a
//! folder, texts of random words are made, of which a tenth are quotes of others. Both methods must cover the same
//! bytes. Seconds are of processor time, in one thread.

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "prints a table of figures")]

mod common;

use std::path::Path;

use common::{Random, option};
use fpdb::passages::{Found, Passages};
use fpdb::text::windows::{Windows, Words};

fn main() {
    let folder = option("--folder", String::new());
    let mut texts = Vec::new();
    if folder.is_empty() {
        texts = random_texts(if common::is_test() { 1 << 10 } else { 1 << 17 });
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
    let start = processor_time();
    let search = Passages::new(min_words).unwrap().memory(memory).threads(1);
    let read =
        |each: &mut fpdb::passages::Texts<'_>| texts.iter().try_for_each(|text| each(&[text]));
    let found: Found = search.find::<fpdb::Error>(read).unwrap();
    let places = found.spans.iter().map(|span| (span.row, span.begin, span.end));
    let covered = covered(places);
    let seconds = processor_time() - start;
    row("windows, then runs", seconds, found.windows + found.runs, found.spans.len(), covered);
    if option("--baseline", true) {
        let start = processor_time();
        let (entries, expected) = all_runs(&texts, min_words);
        row("all runs", processor_time() - start, entries, 0, expected);
        assert_eq!(covered, expected, "the methods cover different bytes");
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
        (Windows::new(min_words).unwrap(), Words::default(), Vec::new());
    let mut places = Vec::new();
    for (row, text) in (0u32..).zip(texts) {
        words.read(text).unwrap();
        windows.runs(&words, |run| {
            if run.is_full {
                runs.push((windows.hash(&words, &run), u32::try_from(places.len()).unwrap()));
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

/// Returns the processor time of this process, in seconds.
fn processor_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("the statistics of a process");
    let fields: Vec<&str> =
        stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: f64 = fields[11..13].iter().map(|ticks| ticks.parse::<f64>().unwrap()).sum();
    ticks / 100.0
}
