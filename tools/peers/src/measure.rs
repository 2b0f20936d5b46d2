//! Measures one set of rows: builds and checks the peers one after another, then lets them
//! take turns to answer.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use fpdb::Layout;
use peers::percentile;

use crate::check::Judge;
use crate::indexes::{Index, Job, Peer};
use crate::memory;

/// Queries that even the slowest peer answers.
const MIN_QUERIES: usize = 50;
/// Rounds in which the peers take turns.
const ROUNDS: usize = 5;
/// Seconds of queries per peer, after which its turns end.
const SECONDS: f64 = 3.0;

/// What the rows of a set have in common.
pub struct Task<'a> {
    pub k: u32,
    pub fingerprints: &'a [u64],
    pub queries: &'a [u64],
}

/// A row of the table: a peer, and the layout that it has if it is fpdb.
pub struct Entrant {
    pub name: String,
    pub peer: Peer,
    pub layout: Layout,
}

/// A peer, built and checked.
struct Row<'a> {
    name: &'a str,
    index: Box<dyn Index>,
    build: f64,
    disk: u64,
    ram: u64,
    /// Queries per round.
    queries: usize,
    spent: Duration,
    times: Vec<Duration>,
}

/// Called with the number of a query, its time, and the positions found.
type Each<'a> = dyn FnMut(usize, Duration, &[u32]) -> Result<()> + 'a;

/// Measures the rows and prints them as lines of a table.
pub fn measure(task: &Task, entrants: &[Entrant]) -> Result<()> {
    let folder = tempfile::tempdir().context("cannot create a folder for the peers' files")?;
    let mut judge = Judge::new(task.fingerprints, task.queries, task.k);
    let mut rows = Vec::new();
    for (i, entrant) in entrants.iter().enumerate() {
        let folder = folder.path().join(i.to_string());
        std::fs::create_dir(&folder)?;
        rows.push(build(task, entrant, &folder, &mut judge).context(entrant.name.clone())?);
    }
    for _ in 0..ROUNDS {
        for row in &mut rows {
            row.round(task)?;
        }
    }
    rows.into_iter().for_each(|row| row.print(task.fingerprints.len()));
    Ok(())
}

fn build<'a>(
    task: &Task,
    entrant: &'a Entrant,
    folder: &Path,
    judge: &mut Judge,
) -> Result<Row<'a>> {
    let before = memory::live();
    let start = Instant::now();
    let job = Job { fingerprints: task.fingerprints, k: task.k, folder };
    let index = entrant.peer.build(&entrant.layout, &job)?;
    let build = start.elapsed().as_secs_f64();
    let mut check = |from: usize, to: usize| -> Result<Duration> {
        let mut spent = Duration::ZERO;
        answer(&*index, &task.queries[from..to], &mut |i, time, found| {
            spent += time;
            judge.check(&entrant.name, from + i, found)
        })?;
        Ok(spent)
    };
    let least = MIN_QUERIES.min(task.queries.len());
    let first = check(0, least)?.as_secs_f64() / least as f64;
    let share = SECONDS / ROUNDS as f64 / first.max(1e-9);
    let queries = (share as usize).clamp(least, task.queries.len());
    check(least, queries)?;
    let ram = memory::live().saturating_sub(before) as u64 + index.ram_bytes()?;
    Ok(Row {
        name: &entrant.name,
        build,
        disk: index.disk_bytes()?,
        ram,
        queries,
        spent: Duration::ZERO,
        times: Vec::with_capacity(queries * ROUNDS),
        index,
    })
}

/// Answers the queries one after another in one thread.
fn answer(index: &dyn Index, queries: &[u64], each: &mut Each) -> Result<()> {
    let (mut search, mut found) = (index.search()?, Vec::new());
    for (i, &fingerprint) in queries.iter().enumerate() {
        found.clear();
        let start = Instant::now();
        search(black_box(fingerprint), &mut found)?;
        let time = start.elapsed();
        each(i, time, &found)?;
    }
    Ok(())
}

impl Row<'_> {
    /// Runs all queries of the row. A tenth of them runs before, untimed, to bring back into the
    /// processor's caches what the other peers displaced.
    fn round(&mut self, task: &Task) -> Result<()> {
        if self.spent.as_secs_f64() > SECONDS {
            return Ok(());
        }
        let queries = &task.queries[..self.queries];
        answer(&*self.index, &queries[..queries.len().div_ceil(10)], &mut |_, _, _| Ok(()))?;
        answer(&*self.index, queries, &mut |_, time, _| {
            self.spent += time;
            self.times.push(time);
            Ok(())
        })
    }

    fn print(mut self, n: usize) {
        self.times.sort_unstable();
        println!(
            "| {} | {:.2} | {:.2} | {:.2} | {:.1} | {:.1} | {:.2} |",
            self.name,
            percentile(&self.times, 0.5),
            percentile(&self.times, 0.99),
            self.spent.as_secs_f64() * 1e6 / self.times.len() as f64,
            self.disk as f64 / n as f64,
            self.ram as f64 / n as f64,
            self.build
        );
    }
}
