//! One cell of the table: a process of its own, in its control group, that opens a database, asks it
//! while it is cold and when it is warm, and prints what it measured as JSON.

use std::fs;
use std::hint::black_box;
use std::path::PathBuf;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use peers::percentile;
use peers::random::Random;
use serde::{Deserialize, Serialize};

use crate::engines::{Engine, Open};
use crate::group;

/// Queries of each thread, cold and warm.
const QUERIES: usize = 10_000;

/// What a cell measures.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct Cell {
    pub engine: Engine,
    /// The folder of the database.
    pub folder: PathBuf,
    /// The control group to enter.
    pub group: Option<PathBuf>,
    pub threads: usize,
    /// Seconds after which queries end.
    pub seconds: f64,
}

/// What it found.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct Report {
    pub open_ms: f64,
    pub cold: Phase,
    pub warm: Phase,
    /// Bytes of memory of the process and of its part of the page cache, at the end.
    pub process: u64,
    pub cache: u64,
}

#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct Phase {
    pub p50: f64,
    pub p99: f64,
    pub per_second: f64,
    /// Pages of 4 KiB that the device read, per query. While fpdb reads its files in the
    /// background, these count too.
    pub reads: f64,
}

impl Cell {
    pub fn run(&self) -> Result<Report> {
        if let Some(group) = &self.group {
            group::enter(group)?;
        }
        let start = Instant::now();
        let db = self.engine.open(&self.folder)?;
        let open_ms = start.elapsed().as_secs_f64() * 1e3;
        db.wait_for_indexes();
        let cold = self.ask(&db, 1)?;
        db.warm(&self.folder)?;
        // As many queries again, which are not counted: what they leave in caches stays there.
        self.ask(&db, 2)?;
        let warm = self.ask(&db, 3)?;
        // Memory that is not of files.
        let process = number_in("/proc/self/status", "RssAnon:")? << 10;
        Ok(Report { open_ms, cold, warm, process, cache: self.cache()? })
    }

    /// Asks queries in all threads at the same time. Every answer is checked.
    fn ask(&self, db: &Open, seed: u64) -> Result<Phase> {
        let (barrier, reads) = (Barrier::new(self.threads), bytes_read()?);
        let all: Result<Vec<(Instant, Vec<Duration>)>> = std::thread::scope(|scope| {
            let one = |thread: usize| {
                let barrier = &barrier;
                let seed = seed << 32 | (thread as u64) << 16;
                scope.spawn(move || {
                    barrier.wait();
                    let start = Instant::now();
                    Ok((start, self.ask_in_thread(db, seed)?))
                })
            };
            let threads: Vec<_> = (0..self.threads).map(one).collect();
            threads.into_iter().map(|thread| thread.join().expect("no thread panics")).collect()
        });
        let all = all?;
        let begin = all.iter().map(|(start, _)| *start).min().context("no threads")?;
        let seconds = begin.elapsed().as_secs_f64();
        let mut times: Vec<Duration> = all.into_iter().flat_map(|(_, times)| times).collect();
        times.sort_unstable();
        Ok(Phase {
            p50: percentile(&times, 0.5),
            p99: percentile(&times, 0.99),
            per_second: times.len() as f64 / seconds,
            reads: (bytes_read()? - reads) as f64 / 4096.0 / times.len() as f64,
        })
    }

    /// Stored fingerprints come from small seeds, so random ones practically have no match.
    fn ask_in_thread(&self, db: &Open, seed: u64) -> Result<Vec<Duration>> {
        let (mut random, mut times) = (Random(seed), Vec::with_capacity(QUERIES));
        let (begin, mut found, mut search) = (Instant::now(), Vec::new(), db.search()?);
        while times.len() < QUERIES && begin.elapsed().as_secs_f64() <= self.seconds {
            let (query, start) = (random.next(), Instant::now());
            search(black_box(query), &mut found)?;
            times.push(start.elapsed());
            ensure!(found.is_empty(), "query {query:016x}: {found:?}");
        }
        Ok(times)
    }

    /// Returns the bytes of the files in the page cache: of the group, or of the files without one.
    fn cache(&self) -> Result<u64> {
        let Some(group) = &self.group else { return Ok(0) };
        let stat = fs::read_to_string(group.join("memory.stat"))?;
        let value = |name: &str| {
            let line = stat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.and_then(|value| value.parse().ok())
        };
        value("cache").or(value("file")).context("memory.stat has no line for the page cache")
    }
}

/// Returns the bytes that devices have read for this process so far.
fn bytes_read() -> Result<u64> {
    number_in("/proc/self/io", "read_bytes:")
}

fn number_in(path: &str, name: &str) -> Result<u64> {
    let text = fs::read_to_string(path)?;
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.with_context(|| format!("{path} has no {name}"))
}
