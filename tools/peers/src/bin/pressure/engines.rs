//! The engines: how each is built in a folder, opened again there, and asked by several threads.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use fpdb::{Db, DocId, Entry};

use crate::random::Random;
#[cfg(feature = "lmdb")]
use crate::stores::lmdb::Lmdb;
#[cfg(feature = "rocksdb")]
use crate::stores::rocksdb::RocksDb;
#[cfg(any(feature = "lmdb", feature = "rocksdb"))]
use crate::stores::rotated;

/// The greatest distance of a match.
pub const K: u32 = 3;

/// The engines of this build.
pub const ALL: &[&str] = &[
    "fpdb",
    #[cfg(feature = "lmdb")]
    "lmdb",
    #[cfg(feature = "rocksdb")]
    "rocksdb",
];

/// The fingerprint with this id. Nobody needs to keep a list of them.
pub fn stored(id: u64) -> u64 {
    Random(id).next()
}

/// An open database.
pub trait Engine: Sync {
    /// Returns what answers queries in this thread.
    fn search(&self) -> Result<Box<Search<'_>>>;

    /// Waits until the database has what it reads before the first query, if it does so in the
    /// background.
    fn wait_for_indexes(&self) {}

    /// Reads as much as the database can keep in memory, if it has a call for that. Returns whether
    /// it has.
    fn warm(&self) -> Result<bool> {
        Ok(false)
    }
}

/// Pushes the ids of the fingerprints within [`K`] bits, in any order.
pub type Search<'a> = dyn FnMut(u64, &mut Vec<u64>) -> Result<()> + 'a;

/// Creates a database with the first `n` fingerprints in an empty folder.
pub fn create(name: &str, folder: &Path, n: usize) -> Result<()> {
    match name {
        "fpdb" => {
            let db = Db::options().max_distance(K).create(folder.join("db"))?;
            let entries =
                (0..n as u64).map(|id| Ok(Entry { fingerprint: stored(id), id: DocId(id) }));
            let report = db.bulk_load(entries)?;
            ensure!(report.inserted == n as u64, "not all entries were loaded");
            db.close()?;
        }
        #[cfg(feature = "lmdb")]
        "lmdb" => drop(Lmdb::create(folder, &fingerprints(n), K)?),
        #[cfg(feature = "rocksdb")]
        "rocksdb" => drop(RocksDb::create(folder, &fingerprints(n), K, 64 << 20)?),
        _ => bail!("no engine of this build is named {name:?}; they are {}", ALL.join(", ")),
    }
    Ok(())
}

#[cfg(any(feature = "lmdb", feature = "rocksdb"))]
fn fingerprints(n: usize) -> Vec<u64> {
    (0..n as u64).map(stored).collect()
}

/// Opens the database that [`create`] has left in this folder, where `memory` bytes may be used.
/// fpdb keeps pages in `pages` of them, beside copies of its indexes, or as much as it chooses by
/// itself.
pub fn open(name: &str, folder: &Path, memory: u64, pages: Option<f64>) -> Result<Box<dyn Engine>> {
    Ok(match name {
        "fpdb" => {
            let options = match pages {
                Some(share) => {
                    let options = Db::options().page_memory((memory as f64 * share) as u64);
                    options.index_memory(memory)
                }
                None => Db::options(),
            };
            Box::new(options.open(folder.join("db"))?)
        }
        #[cfg(feature = "lmdb")]
        "lmdb" => Box::new(Lmdb::open(folder, K)?),
        // A third for its cache of blocks, and the rest for the system's, as RocksDB recommends.
        #[cfg(feature = "rocksdb")]
        "rocksdb" => Box::new(RocksDb::open(folder, (memory / 3) as usize)?),
        _ => bail!("no engine of this build is named {name:?}; they are {}", ALL.join(", ")),
    })
}

impl Engine for Db {
    fn search(&self) -> Result<Box<Search<'_>>> {
        Ok(Box::new(|query, found| {
            found.extend(self.query(query, K)?.iter().map(|found| found.id.0));
            Ok(())
        }))
    }

    fn wait_for_indexes(&self) {
        // Without enough memory, they are never loaded. The checksums of pages are no copies.
        let (start, wanted) = (Instant::now(), self.stats().index_memory_bytes / 10 * 9);
        while self.stats().index_loaded_bytes < wanted && start.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn warm(&self) -> Result<bool> {
        Self::warm(self)?;
        Ok(true)
    }
}

#[cfg(feature = "lmdb")]
impl Engine for Lmdb {
    fn search(&self) -> Result<Box<Search<'_>>> {
        let mut tables = self.read()?;
        let mut positions = Vec::new();
        Ok(Box::new(move |query, found| {
            positions.clear();
            rotated::query(&mut tables, query, K, &mut positions)?;
            found.extend(positions.iter().map(|&position| u64::from(position)));
            Ok(())
        }))
    }
}

#[cfg(feature = "rocksdb")]
impl Engine for RocksDb {
    fn search(&self) -> Result<Box<Search<'_>>> {
        let mut iterator = self.read();
        let mut positions = Vec::new();
        Ok(Box::new(move |query, found| {
            positions.clear();
            rotated::query(&mut iterator, query, K, &mut positions)?;
            found.extend(positions.iter().map(|&position| u64::from(position)));
            Ok(())
        }))
    }
}

/// Calls `visit` with each file in a folder and in the folders below it.
pub fn files(folder: &Path, visit: &mut dyn FnMut(&Path) -> Result<()>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files(&path, visit)?;
        } else {
            visit(&path)?;
        }
    }
    Ok(())
}
