//! Rotated tables in RocksDB, with all blocks in its cache.

use std::path::PathBuf;

use anyhow::Result;

use crate::args::Engines;
use crate::peer::{Each, Entrant, Job, Peer, folder_bytes, timed};
use crate::stores::rocksdb::RocksDb;
use crate::stores::rotated;

/// Enough for all blocks, so that the store is measured in memory.
const CACHE: usize = 8 << 30;

struct Row {
    folder: PathBuf,
    store: RocksDb,
    k: u32,
}

pub(super) fn entrants(_: &Engines, _: usize, _: u32) -> Result<Vec<Entrant<'_>>> {
    Ok(vec![Entrant::new("rocksdb", |job: &Job| {
        let store = RocksDb::create(job.folder, job.fingerprints, job.k, CACHE)?;
        Ok(Row { folder: job.folder.join("db"), store, k: job.k })
    })])
}

impl Peer for Row {
    fn answer(&mut self, queries: &[u64], each: &mut Each) -> Result<()> {
        let mut tables = self.store.read();
        timed(queries, each, |query, found| rotated::query(&mut tables, query, self.k, found))
    }

    fn disk_bytes(&self) -> Result<u64> {
        folder_bytes(&self.folder)
    }

    fn ram_bytes(&self) -> Result<u64> {
        self.store.held_bytes()
    }
}
