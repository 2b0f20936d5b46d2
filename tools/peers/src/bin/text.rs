//! Measures how fast texts become fingerprints: fpdb's recipes compared with jieba's segmentation
//! alone and the crate txtfp, on the demo's texts, separately for Chinese and English.
//!
//! The rounds of all rows are interleaved, so that a busy machine slows all of them, and a row's
//! figure is its median. Before the clock starts, each row must produce the same values on one
//! thread and on two.

use std::hint::black_box;
use std::path::Path;
use std::thread;
use std::time::Instant;

use anyhow::{Result, ensure};
use fpdb::text::Recipe;
use jieba_rs::Jieba;
use peers::{data, median};
use txtfp::{Canonicalizer, CjkTokenizer, Fingerprinter, SimHashFingerprinter, WordTokenizer};

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../demo/documents.ndjson.gz");
const RECIPES: [&str; 3] = ["default", "default-zh", "default-short"];
const ROUNDS: usize = 7;
/// Least bytes per round, for which the texts are repeated.
const BYTES: usize = 2_000_000;

/// The measured work: processes a text.
type Work<'a> = Box<dyn Fn(&str) -> u64 + Sync + 'a>;

fn main() -> Result<()> {
    let (zh, en): (Vec<_>, Vec<_>) =
        data::texts(Path::new(DEMO))?.into_iter().partition(|text| is_chinese(text));
    let jieba = Jieba::new();
    let txtfp = SimHashFingerprinter::new(Canonicalizer::default(), WordTokenizer);
    let txtfp_zh = SimHashFingerprinter::new(Canonicalizer::default(), CjkTokenizer::default());
    let mut work: Vec<(String, Work)> = Vec::new();
    for requested in RECIPES {
        let recipe: Recipe = Recipe::named(requested)?;
        let name = match recipe.name() {
            name if name == requested => format!("fpdb {name}"),
            name => format!("fpdb {name} ({requested})"),
        };
        let value = move |text: &str| recipe.fingerprint(text).fingerprint.unwrap_or(1);
        work.push((name, Box::new(value)));
    }
    let mut others = |name: &str, value| work.push((name.to_owned(), value));
    others("jieba-rs cut, no HMM", Box::new(|text| black_box(jieba.cut(text, false)).len() as u64));
    others("jieba-rs cut, HMM", Box::new(|text| black_box(jieba.cut(text, true)).len() as u64));
    others(
        "txtfp SimHash, words",
        Box::new(|text| black_box(txtfp.fingerprint(text)).is_ok().into()),
    );
    others(
        "txtfp SimHash, jieba",
        Box::new(|text| black_box(txtfp_zh.fingerprint(text)).is_ok().into()),
    );
    measure("demo, Chinese", &zh, &work)?;
    measure("demo, English", &en, &work)
}

fn is_chinese(text: &str) -> bool {
    let han = text.chars().filter(|c| ('\u{4e00}'..='\u{9fff}').contains(c)).count();
    han * 10 > text.chars().count()
}

fn measure(name: &str, texts: &[String], work: &[(String, Work)]) -> Result<()> {
    let bytes: usize = texts.iter().map(String::len).sum();
    println!("{name}: {} documents, {:.2} MB", texts.len(), bytes as f64 / 1e6);
    println!("{:44} {:>7} {:>9} {:>12}", "", "threads", "MB/s", "documents/s");
    let repeats = BYTES.div_ceil(bytes.max(1));
    let texts: Vec<String> = texts.iter().cycle().take(texts.len() * repeats).cloned().collect();
    for (name, work) in work {
        ensure!(run(work, &texts, 1) == run(work, &texts, 2), "{name} depends on the threads");
    }
    let mut seconds = vec![Vec::new(); 2 * work.len()];
    for _ in 0..ROUNDS {
        for (row, seconds) in seconds.iter_mut().enumerate() {
            let (threads, start) = (1 + row / work.len(), Instant::now());
            black_box(run(&work[row % work.len()].1, &texts, threads));
            seconds.push(start.elapsed().as_secs_f64());
        }
    }
    for (row, seconds) in seconds.iter().enumerate() {
        let (threads, seconds) = (1 + row / work.len(), median(seconds));
        println!(
            "{:44} {threads:7} {:9.1} {:12.0}",
            work[row % work.len()].0,
            (bytes * repeats) as f64 / 1e6 / seconds,
            texts.len() as f64 / seconds
        );
    }
    println!();
    Ok(())
}

/// Runs the work on a number of threads, each with a part of the texts.
fn run(work: &Work, texts: &[String], threads: usize) -> u64 {
    thread::scope(|scope| {
        let one = |texts: &[String]| texts.iter().map(|t| work(t)).fold(0, u64::wrapping_add);
        let share = texts.len().div_ceil(threads).max(1);
        let shares: Vec<_> =
            texts.chunks(share).map(|texts| scope.spawn(move || one(texts))).collect();
        let results = shares.into_iter().map(|share| share.join().expect("no panic"));
        results.fold(0, u64::wrapping_add)
    })
}
