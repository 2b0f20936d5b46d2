//! The peers: what all of them can do, and the list of them.

mod fpdb;
mod gaoya;
pub mod linear;
#[cfg(feature = "lmdb")]
mod lmdb;
mod mih_rs;
mod python;
mod redb;
#[cfg(feature = "rocksdb")]
mod rocksdb;
mod rotated;
mod web_simhash;

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::args::Engines;

/// An index over fingerprints, whose ids are their positions in the slice that it was built of.
pub trait Peer {
    /// Asks the queries one after another in one thread, and hands over of each its number, its
    /// time, and the positions within k of it, in any order, each once.
    fn ask(&mut self, queries: &[u64], each: &mut Each) -> Result<()>;

    /// Bytes on disk, or of its serialised form; 0 if it has none.
    fn disk_bytes(&self) -> Result<u64>;

    /// Bytes that it holds, or should hold, in memory beside its allocations in this program.
    fn ram_bytes(&self) -> Result<u64> {
        Ok(0)
    }

    /// How long building took, if that is not the time of the call that built it.
    fn build_seconds(&self) -> Option<f64> {
        None
    }
}

/// What is done with each answer.
pub type Each<'a> = dyn FnMut(usize, Duration, &[u32]) -> Result<()> + 'a;

/// Times `query`, which pushes the positions that it finds, for each of the queries.
fn timed(
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

/// What an index is built of.
pub struct Job<'a> {
    pub fingerprints: &'a [u64],
    /// Bits up to which is found.
    pub k: u32,
    /// An empty folder.
    pub folder: &'a Path,
}

/// A row: how to build one index.
pub struct Entrant<'a> {
    pub name: String,
    /// Whether it promises every match.
    pub exact: bool,
    pub build: Box<Build<'a>>,
}

/// Builds an index, within the time that is reported.
type Build<'a> = dyn Fn(&Job) -> Result<Box<dyn Peer>> + 'a;

impl<'a> Entrant<'a> {
    fn exact<P: Peer + 'static>(
        name: impl Into<String>,
        build: impl Fn(&Job) -> Result<P> + 'a,
    ) -> Self {
        let build = move |job: &Job| Ok(Box::new(build(job)?) as Box<dyn Peer>);
        Self { name: name.into(), exact: true, build: Box::new(build) }
    }

    fn lossy(self) -> Self {
        Self { exact: false, ..self }
    }
}

/// Its rows among n fingerprints at distance k, or why it has none there.
type Entrants = fn(&Engines, n: usize, k: u32) -> Result<Vec<Entrant<'_>>>;

/// A peer by name.
pub struct Kind {
    pub name: &'static str,
    /// Whether it is taken when none is named.
    pub default: bool,
    pub entrants: Entrants,
}

pub const ALL: &[Kind] = &[
    Kind { name: "fpdb", default: true, entrants: fpdb::entrants },
    Kind { name: "mih-rs", default: true, entrants: mih_rs::entrants },
    Kind { name: "gaoya", default: true, entrants: gaoya::entrants },
    Kind { name: "gaoya-plain", default: false, entrants: gaoya::plain },
    Kind { name: "web-simhash", default: true, entrants: web_simhash::entrants },
    Kind { name: "redb", default: true, entrants: redb::entrants },
    Kind { name: "lmdb", default: true, entrants: LMDB },
    Kind { name: "rocksdb", default: true, entrants: ROCKSDB },
    Kind { name: "faiss", default: true, entrants: python::faiss },
    Kind { name: "hammingbird", default: true, entrants: python::hammingbird },
    Kind { name: "linear", default: true, entrants: linear::entrants },
];

#[cfg(feature = "lmdb")]
const LMDB: Entrants = lmdb::entrants;
#[cfg(not(feature = "lmdb"))]
const LMDB: Entrants = |_, _, _| bail!("not in this build: it is with --features lmdb");
#[cfg(feature = "rocksdb")]
const ROCKSDB: Entrants = rocksdb::entrants;
#[cfg(not(feature = "rocksdb"))]
const ROCKSDB: Entrants = |_, _, _| bail!("not in this build: it is with --features rocksdb");

/// The kinds of these names, or the default ones.
pub fn named(names: &[String]) -> Result<Vec<&'static Kind>> {
    if names.is_empty() {
        return Ok(ALL.iter().filter(|kind| kind.default).collect());
    }
    let find = |name: &String| match ALL.iter().find(|kind| kind.name == name) {
        Some(kind) => Ok(kind),
        None => {
            let names: Vec<&str> = ALL.iter().map(|kind| kind.name).collect();
            bail!("no peer is named {name:?}; there are {}", names.join(", "))
        }
    };
    names.iter().map(find).collect()
}

/// Bytes of all files in a folder.
fn folder_bytes(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for file in std::fs::read_dir(folder)? {
        bytes += file?.metadata()?.len();
    }
    Ok(bytes)
}
