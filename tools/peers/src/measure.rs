//! Measures one set of rows: builds and checks the peers one after another, then lets them
//! take turns to answer.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::args::Args;
use crate::check::Judge;
use crate::memory;
use crate::peer::{Entrant, Job, Peer};
use crate::report::Record;

/// Queries that even the slowest peer answers.
const MIN_QUERIES: usize = 50;

/// What the rows of a set have in common.
pub struct Task<'a> {
    pub args: &'a Args,
    pub data: &'static str,
    pub k: u32,
    pub fingerprints: &'a [u64],
    pub queries: &'a [u64],
}

/// A peer, built and checked.
struct Row<'a> {
    name: &'a str,
    peer: Box<dyn Peer>,
    build: f64,
    disk: u64,
    ram: u64,
    /// Queries per round.
    queries: usize,
    spent: Duration,
    times: Vec<Duration>,
}

pub fn measure(task: &Task, entrants: &[Entrant]) -> Result<Vec<Record>> {
    let folder = match &task.args.folder {
        Some(folder) => tempfile::tempdir_in(folder),
        None => tempfile::tempdir(),
    };
    let folder = folder.context("cannot create a folder for the peers' files")?;
    let mut judge = Judge::new(task.fingerprints, task.queries, task.k);
    let mut rows = Vec::new();
    for (i, entrant) in entrants.iter().enumerate() {
        let subfolder = folder.path().join(i.to_string());
        std::fs::create_dir(&subfolder)?;
        rows.push(
            build(task, entrant, &subfolder, &mut judge).with_context(|| entrant.name.clone())?,
        );
    }
    for _ in 0..task.args.rounds {
        for row in &mut rows {
            row.round(task)?;
        }
    }
    Ok(rows.into_iter().map(|row| row.record(task)).collect())
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
    let mut peer = (entrant.build)(&job)?;
    let build = peer.build_seconds().unwrap_or(start.elapsed().as_secs_f64());
    let mut check = |from: usize, to: usize| -> Result<Duration> {
        let mut spent = Duration::ZERO;
        peer.answer(&task.queries[from..to], &mut |i, time, found| {
            spent += time;
            judge.check(&entrant.name, from + i, found)
        })?;
        Ok(spent)
    };
    let least = MIN_QUERIES.min(task.queries.len());
    let first = check(0, least)?.as_secs_f64() / least as f64;
    let share = task.args.seconds / task.args.rounds as f64 / first.max(1e-9);
    let queries = (share as usize).clamp(least, task.queries.len());
    check(least, queries)?;
    let ram = memory::live().saturating_sub(before) as u64 + peer.ram_bytes()?;
    Ok(Row {
        name: &entrant.name,
        build,
        disk: peer.disk_bytes()?,
        ram,
        queries,
        spent: Duration::ZERO,
        times: Vec::with_capacity(queries * task.args.rounds),
        peer,
    })
}

impl Row<'_> {
    /// Runs all queries of the row. A tenth of them runs before, untimed, to bring back into the
    /// processor's caches what the other peers displaced.
    fn round(&mut self, task: &Task) -> Result<()> {
        if self.spent.as_secs_f64() > task.args.seconds {
            return Ok(());
        }
        self.peer.answer(&task.queries[..self.queries.div_ceil(10)], &mut |_, _, _| Ok(()))?;
        self.peer.answer(&task.queries[..self.queries], &mut |_, time, _| {
            self.spent += time;
            self.times.push(time);
            Ok(())
        })
    }

    fn record(mut self, task: &Task) -> Record {
        self.times.sort_unstable();
        let n = task.fingerprints.len();
        let mean = self.spent.as_secs_f64() * 1e6 / self.times.len() as f64;
        Record {
            peer: self.name.to_owned(),
            n,
            k: task.k,
            data: task.data,
            p50_us: percentile(&self.times, 0.5),
            p99_us: percentile(&self.times, 0.99),
            mean_us: mean,
            disk_bytes_per_fp: self.disk as f64 / n as f64,
            ram_bytes_per_fp: self.ram as f64 / n as f64,
            build_s: self.build,
            pages: task.args.engines.pages.name(),
        }
    }
}

/// Returns a percentile of sorted times, in microseconds.
fn percentile(sorted: &[Duration], share: f64) -> f64 {
    let index = ((sorted.len() - 1) as f64 * share) as usize;
    sorted[index].as_secs_f64() * 1e6
}
