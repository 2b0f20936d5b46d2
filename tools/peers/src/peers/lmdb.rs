//! Rotated tables in LMDB.

use std::path::PathBuf;

use anyhow::Result;

use crate::args::Engines;
use crate::peer::{Each, Entrant, Job, Peer, folder_bytes, timed};
use crate::stores::lmdb::Lmdb;
use crate::stores::rotated;

struct Row {
    folder: PathBuf,
    store: Lmdb,
    k: u32,
}

pub(super) fn entrants(_: &Engines, _: usize, _: u32) -> Result<Vec<Entrant<'_>>> {
    Ok(vec![Entrant::new("lmdb", |job: &Job| {
        let store = Lmdb::create(job.folder, job.fingerprints, job.k)?;
        Ok(Row { folder: job.folder.to_owned(), store, k: job.k })
    })])
}

impl Peer for Row {
    fn answer(&mut self, queries: &[u64], each: &mut Each) -> Result<()> {
        let mut tables = self.store.read()?;
        timed(queries, each, |query, found| rotated::query(&mut tables, query, self.k, found))
    }

    fn disk_bytes(&self) -> Result<u64> {
        folder_bytes(&self.folder)
    }

    fn ram_bytes(&self) -> Result<u64> {
        self.store.inner_bytes()
    }
}
