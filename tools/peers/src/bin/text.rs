//! Measures how fast texts become fingerprints: fpdb's recipes compared with jieba's segmentation
//! alone, the crate txtfp and the Python package simhash, on the same texts in one run.
//!
//! The rounds of all rows are interleaved, so that a busy machine slows all of them, and a row's
//! figure is its median. Before the clock starts, each row must produce the same values on one
//! thread and on two.

use std::collections::BTreeMap;
use std::fs::File;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Parser;
use flate2::read::MultiGzDecoder;
use fpdb::text::{Recipe, Sketch, Width};
use jieba_rs::Jieba;
use serde::Serialize;
use txtfp::{Canonicalizer, CjkTokenizer, Fingerprinter, SimHashFingerprinter, WordTokenizer};

/// Compares the speed of recipes with what users would use instead, in bytes of UTF-8 and documents
/// per second
#[derive(Parser)]
struct Args {
    /// Gzipped NDJSON files with a field `text`, with one table per file [default: the demo's
    /// texts, separately for Chinese and English]
    files: Vec<PathBuf>,

    /// Recipes, separated by commas
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "default,default-zh,default-short,words/1,jieba/1"
    )]
    recipes: Vec<String>,

    /// Rounds; the median is reported
    #[arg(long, default_value_t = 7)]
    rounds: usize,

    /// Least bytes per round; a small file is repeated
    #[arg(long, default_value_t = 2_000_000)]
    bytes: usize,

    /// Python interpreter with the package simhash
    #[arg(long, default_value = "python3")]
    python: PathBuf,

    /// Print one JSON object per row
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Row {
    data: String,
    peer: String,
    threads: usize,
    mb_per_s: f64,
    documents_per_s: f64,
}

/// The measured work: processes the texts of one thread.
type Work<'a> = Box<dyn Fn(&[String]) -> u64 + Sync + 'a>;

fn main() -> Result<()> {
    let args = Args::parse();
    for (name, texts) in corpora(&args.files)? {
        let rows = measure(&args, &name, &texts)?;
        if args.json {
            rows.iter().try_for_each(|row| -> Result<()> {
                println!("{}", serde_json::to_string(row)?);
                Ok(())
            })?;
        } else {
            print_table(&name, &texts, &rows);
        }
    }
    Ok(())
}

fn measure(args: &Args, data: &str, texts: &[String]) -> Result<Vec<Row>> {
    let bytes: usize = texts.iter().map(String::len).sum();
    let repeats = args.bytes.div_ceil(bytes.max(1)).max(1);
    let texts: Vec<String> = texts.iter().cycle().take(texts.len() * repeats).cloned().collect();
    let bytes = bytes * repeats;

    let jieba = Jieba::new();
    let txtfp = SimHashFingerprinter::new(Canonicalizer::default(), WordTokenizer);
    let txtfp_zh = SimHashFingerprinter::new(Canonicalizer::default(), CjkTokenizer::default());
    let mut work: Vec<(String, Work)> = Vec::new();
    for name in &args.recipes {
        work.push(fingerprints(name, Recipe::named(name)?, "", |bits| bits));
        // Only recipes that also make sketches have these rows.
        if let Ok(recipe) = Recipe::for_sketches(name) {
            work.push(fingerprints(name, Recipe::bits128(name)?, ", 128 bits", low64));
            work.push(fingerprints(name, recipe, ", sketch", sum_of_planes));
        }
    }
    for (name, hmm) in [("jieba-rs cut, no HMM", false), ("jieba-rs cut, HMM", true)] {
        let jieba = &jieba;
        work.push((
            name.into(),
            Box::new(move |texts| {
                texts.iter().map(|t| black_box(jieba.cut(t, hmm)).len() as u64).sum()
            }),
        ));
    }
    work.push((
        "txtfp SimHash, words".into(),
        Box::new(|texts| {
            texts.iter().map(|t| u64::from(black_box(txtfp.fingerprint(t)).is_ok())).sum()
        }),
    ));
    work.push((
        "txtfp SimHash, jieba".into(),
        Box::new(|texts| {
            texts.iter().map(|t| u64::from(black_box(txtfp_zh.fingerprint(t)).is_ok())).sum()
        }),
    ));

    for (name, work) in &work {
        if run(work, &texts, 1) != run(work, &texts, 2) {
            bail!("{name} produces different values on two threads");
        }
    }
    let mut seconds = BTreeMap::<(usize, usize), Vec<f64>>::new();
    for _ in 0..args.rounds {
        for threads in [1, 2] {
            for (i, (_, work)) in work.iter().enumerate() {
                let start = Instant::now();
                black_box(run(work, &texts, threads));
                seconds.entry((threads, i)).or_default().push(start.elapsed().as_secs_f64());
            }
        }
    }
    let row = |peer: String, threads, seconds: f64| Row {
        data: data.to_owned(),
        peer,
        threads,
        mb_per_s: bytes as f64 / 1e6 / seconds,
        documents_per_s: texts.len() as f64 / seconds,
    };
    let mut rows: Vec<Row> = seconds
        .into_iter()
        .map(|((threads, i), seconds)| row(work[i].0.clone(), threads, median(seconds)))
        .collect();
    match python(&args.python, &texts, args.rounds.min(3)) {
        Ok(seconds) => rows.push(row("Python simhash 2".into(), 1, seconds)),
        Err(error) => eprintln!("left out, Python simhash: {error:#}"),
    }
    Ok(rows)
}

/// Returns the name of a row and its work: the fingerprints of a recipe, each reduced to a number.
fn fingerprints<'a, F: Width>(
    requested: &str,
    recipe: Recipe<F>,
    width: &str,
    number: fn(F) -> u64,
) -> (String, Work<'a>) {
    let name = match recipe.name() {
        name if name == requested => format!("fpdb {name}{width}"),
        name => format!("fpdb {name} ({requested}){width}"),
    };
    let value = move |text: &String| recipe.fingerprint(text).fingerprint.map_or(1, number);
    (name, Box::new(move |texts| texts.iter().map(&value).fold(0, u64::wrapping_add)))
}

fn low64(bits: u128) -> u64 {
    bits as u64
}

fn sum_of_planes(sketch: Sketch) -> u64 {
    sketch.into_iter().map(low64).fold(0, u64::wrapping_add)
}

/// Runs the work on a number of threads, each with a part of the texts.
fn run(work: &Work, texts: &[String], threads: usize) -> u64 {
    thread::scope(|scope| {
        let share = texts.len().div_ceil(threads).max(1);
        let shares: Vec<_> =
            texts.chunks(share).map(|texts| scope.spawn(move || work(texts))).collect();
        let results = shares.into_iter().map(|share| share.join().expect("no panic"));
        results.fold(0, u64::wrapping_add)
    })
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

/// Times a loop over the texts in Python, without the time to start Python and to read them.
fn python(python: &Path, texts: &[String], rounds: usize) -> Result<f64> {
    const PROGRAM: &str = "\
import json, sys, time
from simhash import Simhash
texts = [json.loads(line) for line in sys.stdin]
seconds = []
for _ in range(int(sys.argv[1])):
    start = time.perf_counter()
    for text in texts: Simhash(text).value
    seconds.append(time.perf_counter() - start)
print(sorted(seconds)[len(seconds) // 2])
";
    // A tenth of the texts is enough.
    let tenth: Vec<&String> = texts.iter().step_by(10).collect();
    let share: usize = tenth.iter().map(|t| t.len()).sum();
    let all: usize = texts.iter().map(String::len).sum();
    let mut child = Command::new(python)
        .args(["-c", PROGRAM, &rounds.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot run {}", python.display()))?;
    let mut stdin = child.stdin.take().context("no standard input")?;
    for text in tenth {
        // A Python without the package exits; its message says more than the broken pipe does.
        if serde_json::to_writer(&mut stdin, text).is_err() || stdin.write_all(b"\n").is_err() {
            break;
        }
    }
    drop(stdin);
    let output = child.wait_with_output()?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        bail!("{}", message.trim().lines().last().unwrap_or("it failed"));
    }
    let seconds: f64 = String::from_utf8(output.stdout)?.trim().parse()?;
    Ok(seconds * all as f64 / share as f64)
}

fn print_table(name: &str, texts: &[String], rows: &[Row]) {
    let bytes: usize = texts.iter().map(String::len).sum();
    println!("{name}: {} documents, {:.2} MB", texts.len(), bytes as f64 / 1e6);
    println!("{:44} {:>7} {:>9} {:>12}", "", "threads", "MB/s", "documents/s");
    for row in rows {
        let Row { peer, threads, mb_per_s, documents_per_s, .. } = row;
        println!("{peer:44} {threads:7} {mb_per_s:9.1} {documents_per_s:12.0}");
    }
    println!();
}

/// Returns the texts of each corpus, with its name.
fn corpora(files: &[PathBuf]) -> Result<Vec<(String, Vec<String>)>> {
    if files.is_empty() {
        let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../demo/documents.ndjson.gz");
        let (zh, other): (Vec<_>, Vec<_>) = read(&demo)?.into_iter().partition(|t| is_chinese(t));
        return Ok(vec![("demo, Chinese".into(), zh), ("demo, English".into(), other)]);
    }
    files.iter().map(|file| Ok((file.display().to_string(), read(file)?))).collect()
}

fn is_chinese(text: &str) -> bool {
    let han = text.chars().filter(|c| ('\u{4e00}'..='\u{9fff}').contains(c)).count();
    han * 10 > text.chars().count()
}

fn read(file: &Path) -> Result<Vec<String>> {
    let open = || File::open(file).with_context(|| format!("cannot open {}", file.display()));
    let lines = BufReader::new(MultiGzDecoder::new(open()?)).lines();
    lines
        .map(|line| {
            let document: serde_json::Value = serde_json::from_str(&line?)?;
            let text = document["text"].as_str().context("a line has no field \"text\"")?;
            Ok(text.to_owned())
        })
        .collect()
}
