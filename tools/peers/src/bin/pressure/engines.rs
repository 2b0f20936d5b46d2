//! The engines: how each is built in a folder, opened again there, and asked by several threads.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use fpdb::{Db, DocId, Entry};
use peers::lmdb::Lmdb;
use peers::random::Random;
use peers::{Search, files};
use serde::{Deserialize, Serialize};

/// The greatest distance of a match.
pub const K: u32 = 3;

/// The fingerprint with this id. Nobody needs to keep a list of them.
pub fn stored(id: u32) -> u64 {
    Random(id.into()).next()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Engine {
    Fpdb,
    Lmdb,
}

impl Engine {
    pub fn name(self) -> &'static str {
        match self {
            Self::Fpdb => "fpdb",
            Self::Lmdb => "lmdb",
        }
    }

    /// Creates a database with the first `n` fingerprints in an empty folder.
    pub fn create(self, folder: &Path, n: u32) -> Result<()> {
        match self {
            Self::Fpdb => {
                let db = Db::options().max_distance(K).create(folder)?;
                let entry = |id| Ok(Entry { fingerprint: stored(id), id: DocId(id.into()) });
                let report = db.bulk_load((0..n).map(entry))?;
                ensure!(report.inserted == u64::from(n), "not all entries were loaded");
                db.close()?;
            }
            Self::Lmdb => {
                let fingerprints: Vec<u64> = (0..n).map(stored).collect();
                drop(Lmdb::create(folder, &fingerprints, K)?);
            }
        }
        Ok(())
    }

    /// Opens the database that [`Self::create`] has left in this folder.
    pub fn open(self, folder: &Path) -> Result<Open> {
        Ok(match self {
            Self::Fpdb => Open::Fpdb(Db::open(folder)?),
            Self::Lmdb => Open::Lmdb(Lmdb::open(folder, K)?),
        })
    }
}

/// An open database.
pub enum Open {
    Fpdb(Db),
    Lmdb(Lmdb),
}

impl Open {
    /// Returns what answers queries in this thread.
    pub fn search(&self) -> Result<Box<Search<'_>>> {
        match self {
            Self::Fpdb(db) => Ok(Box::new(|query, found| {
                found.extend(db.query(query, K)?.iter().map(|found| found.id.0 as u32));
                Ok(())
            })),
            Self::Lmdb(db) => db.search(),
        }
    }

    /// Waits until fpdb has what it reads in the background before the first query.
    pub fn wait_for_indexes(&self) {
        let Self::Fpdb(db) = self else { return };
        // Without enough memory, they are never loaded. The checksums of pages are no copies.
        let (start, wanted) = (Instant::now(), db.stats().index_memory_bytes / 10 * 9);
        while db.stats().index_loaded_bytes < wanted && start.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Reads as much as the database can keep in memory: with its own call, or all its files.
    pub fn warm(&self, folder: &Path) -> Result<()> {
        if let Self::Fpdb(db) = self {
            return Ok(db.warm()?);
        }
        for path in files(folder)? {
            std::io::copy(&mut File::open(path)?, &mut std::io::sink())?;
        }
        Ok(())
    }
}
