//! What every peer can do, and how one is built.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::args::Engines;

/// An index over fingerprints, which finds every match. An id is the fingerprint's position in the slice that the index was
/// built from.
pub trait Peer {
    /// Answers the queries one after another in one thread. Calls `each` with each query's number,
    /// its time, and the positions within k of it, in any order, each once.
    fn answer(&mut self, queries: &[u64], each: &mut Each) -> Result<()>;

    /// Returns the bytes on disk, or of the serialised form; 0 if the index has neither.
    fn disk_bytes(&self) -> Result<u64>;

    /// Returns the bytes that the index holds, or should hold, in memory besides its allocations in
    /// this program.
    fn ram_bytes(&self) -> Result<u64> {
        Ok(0)
    }

    /// Returns how long the build took, if that is not the time of the call that built the index.
    fn build_seconds(&self) -> Option<f64> {
        None
    }
}

/// Called with each answer.
pub type Each<'a> = dyn FnMut(usize, Duration, &[u32]) -> Result<()> + 'a;

/// Times each call of `query`, which pushes the positions that it finds.
pub fn timed(
    queries: &[u64],
    each: &mut Each,
    mut query: impl FnMut(u64, &mut Vec<u32>) -> Result<()>,
) -> Result<()> {
    let mut found = Vec::new();
    for (i, &fingerprint) in queries.iter().enumerate() {
        found.clear();
        let start = Instant::now();
        query(black_box(fingerprint), &mut found)?;
        let time = start.elapsed();
        each(i, time, &found)?;
    }
    Ok(())
}

/// What an index is built from.
pub struct Job<'a> {
    pub fingerprints: &'a [u64],
    /// The largest distance that queries use.
    pub k: u32,
    /// An empty folder.
    pub folder: &'a Path,
}

/// A row of the table: how to build one index.
pub struct Entrant<'a> {
    pub name: String,
    pub build: Box<Build<'a>>,
}

/// Builds an index, within the time that is reported.
type Build<'a> = dyn Fn(&Job) -> Result<Box<dyn Peer>> + 'a;

impl<'a> Entrant<'a> {
    pub fn new<P: Peer + 'static>(
        name: impl Into<String>,
        build: impl Fn(&Job) -> Result<P> + 'a,
    ) -> Self {
        let build = move |job: &Job| Ok(Box::new(build(job)?) as Box<dyn Peer>);
        Self { name: name.into(), build: Box::new(build) }
    }
}

/// Returns a peer's rows for n fingerprints at distance k, or the reason why it has none.
pub type Entrants = fn(&Engines, n: usize, k: u32) -> Result<Vec<Entrant<'_>>>;

/// Returns the bytes of all files in a folder.
pub fn folder_bytes(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for file in std::fs::read_dir(folder)? {
        bytes += file?.metadata()?.len();
    }
    Ok(bytes)
}
