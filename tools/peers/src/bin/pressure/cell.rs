//! One cell of the table: a process of its own, in its control group, that opens a database, asks it
//! while it is cold and when it is warm, and prints what it measured as JSON.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde::{Deserialize, Serialize};

use crate::engines::{self, Engine, K, files, stored};
use crate::group;
use crate::random::Random;

/// What a cell measures.
#[derive(Args, Clone, Debug)]
pub struct Cell {
    #[arg(long)]
    pub engine: String,
    /// The folder of the database
    #[arg(long)]
    pub folder: PathBuf,
    /// Fingerprints in it
    #[arg(long)]
    pub n: usize,
    /// The control group to enter
    #[arg(long)]
    pub group: Option<PathBuf>,
    /// Bytes of memory that the group allows
    #[arg(long)]
    pub memory: u64,
    #[arg(long)]
    pub threads: usize,
    /// Queries of each thread, cold and warm
    #[arg(long)]
    pub queries: usize,
    /// Seconds after which queries end
    #[arg(long)]
    pub seconds: f64,
    /// Share of the memory in which fpdb keeps pages. With 0, each query reads all that it needs,
    /// and there is only the cold phase
    #[arg(long)]
    pub page_memory: Option<f64>,
    /// Ask only queries without a match
    #[arg(long)]
    pub no_matches: bool,
}

/// What it found.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct Report {
    pub open_ms: f64,
    pub cold: Phase,
    pub warm: Option<Phase>,
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
        let db = engines::open(&self.engine, &self.folder, self.memory, self.page_memory)?;
        let open_ms = start.elapsed().as_secs_f64() * 1e3;
        if self.page_memory == Some(0.0) {
            // Reads only what queries need in any case, so that their reads can be counted.
            db.warm()?;
        } else {
            db.wait_for_indexes();
        }
        let cold = self.ask(&*db, 1, self.queries)?;
        let warm = if self.page_memory == Some(0.0) {
            None
        } else {
            if !db.warm()? {
                read_all(&self.folder)?;
            }
            // As many queries again, which are not counted: what they leave in caches stays there.
            self.ask(&*db, 2, self.queries)?;
            Some(self.ask(&*db, 3, self.queries)?)
        };
        let (process, cache) = (memory_of_process()?, self.cache()?);
        Ok(Report { open_ms, cold, warm, process, cache })
    }

    /// Asks queries in all threads at the same time. Every answer is checked.
    fn ask(&self, db: &dyn Engine, seed: u64, queries: usize) -> Result<Phase> {
        let (barrier, reads) = (Barrier::new(self.threads), bytes_read()?);
        let all: Result<Vec<(Instant, Vec<Duration>)>> = std::thread::scope(|scope| {
            let one = |thread: usize| {
                let barrier = &barrier;
                let seed = seed << 32 | (thread as u64) << 16;
                scope.spawn(move || {
                    barrier.wait();
                    let start = Instant::now();
                    Ok((start, self.ask_in_thread(db, seed, queries)?))
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
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        Ok(Phase {
            p50: at(0.5).as_secs_f64() * 1e6,
            p99: at(0.99).as_secs_f64() * 1e6,
            per_second: times.len() as f64 / seconds,
            reads: (bytes_read()? - reads) as f64 / 4096.0 / times.len() as f64,
        })
    }

    fn ask_in_thread(&self, db: &dyn Engine, seed: u64, queries: usize) -> Result<Vec<Duration>> {
        let (mut random, mut times) = (Random(seed), Vec::with_capacity(queries));
        let (begin, mut found) = (Instant::now(), Vec::new());
        let mut search = db.search()?;
        for number in 0..queries {
            let query = if self.no_matches {
                Query::without_match(&mut random)
            } else {
                Query::random(number, self.n, &mut random)
            };
            found.clear();
            let start = Instant::now();
            search(black_box(query.fingerprint), &mut found)?;
            times.push(start.elapsed());
            query.check(&found)?;
            if begin.elapsed().as_secs_f64() > self.seconds {
                break;
            }
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

/// A query whose answer is known: fingerprints are random, so others within [`K`] bits are
/// practically impossible, and if there is one, the run ends with an error.
pub struct Query {
    pub fingerprint: u64,
    id: Option<u64>,
}

impl Query {
    /// Every other query is an entry with 0 to [`K`] bits flipped. The others are random.
    pub fn random(number: usize, n: usize, random: &mut Random) -> Self {
        if number % 2 == 1 {
            return Self::without_match(random);
        }
        let id = random.below(n) as u64;
        let flips = random.below(K as usize + 1) as u32;
        Self { fingerprint: random.flip(stored(id), flips, 0, 64), id: Some(id) }
    }

    /// A query without a match: stored fingerprints come from small seeds.
    pub fn without_match(random: &mut Random) -> Self {
        Self { fingerprint: random.next(), id: None }
    }

    pub fn check(&self, found: &[u64]) -> Result<()> {
        let Self { fingerprint, id } = self;
        ensure!(found == id.as_slice(), "query {fingerprint:016x}: {found:?}, not {id:?}");
        Ok(())
    }
}

/// Reads all files from beginning to end.
fn read_all(folder: &Path) -> Result<()> {
    let mut buffer = vec![0; 1 << 20];
    files(folder, &mut |path| {
        let mut file = File::open(path)?;
        while file.read(&mut buffer)? > 0 {}
        Ok(())
    })
}

/// Returns the bytes that devices have read for this process so far.
fn bytes_read() -> Result<u64> {
    number_in("/proc/self/io", "read_bytes:")
}

/// Returns the bytes of memory of the process that are not of files.
fn memory_of_process() -> Result<u64> {
    Ok(number_in("/proc/self/status", "RssAnon:")? << 10)
}

fn number_in(path: &str, name: &str) -> Result<u64> {
    let text = fs::read_to_string(path)?;
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.with_context(|| format!("{path} has no {name}"))
}
