//! Rotated tables in redb, a B-tree store in Rust with its own cache.

use std::path::PathBuf;

use anyhow::Result;
use redb::{Builder, Database, ReadOnlyTable, ReadableDatabase, TableDefinition};

use crate::args::Engines;
use crate::peer::{Each, Entrant, Job, Peer, folder_bytes, timed};
use crate::stores::rotated::{self, Key, Tables};

/// Enough for all pages, so that the store is measured in memory.
const CACHE: usize = 8 << 30;

type Rows = ReadOnlyTable<&'static Key, ()>;

struct Redb {
    folder: PathBuf,
    tables: Vec<Rows>,
    /// Keeps the tables open.
    _db: Database,
    k: u32,
}

pub(super) fn entrants(_: &Engines, _: usize, _: u32) -> Result<Vec<Entrant<'_>>> {
    Ok(vec![Entrant::new("redb", build)])
}

fn build(job: &Job) -> Result<Redb> {
    let mut db = Builder::new().set_cache_size(CACHE).create(job.folder.join("redb"))?;
    let write = db.begin_write()?;
    for (table, keys) in rotated::sorted(job.fingerprints, job.k).enumerate() {
        let mut rows = write.open_table(definition(&table.to_string()))?;
        for key in &keys {
            rows.insert(key, ())?;
        }
    }
    write.commit()?;
    while db.compact()? {}
    let folder = job.folder.to_owned();
    Ok(Redb { folder, tables: open(&db, job.k)?, _db: db, k: job.k })
}

fn definition(name: &str) -> TableDefinition<'_, &'static Key, ()> {
    TableDefinition::new(name)
}

fn open(db: &Database, k: u32) -> Result<Vec<Rows>> {
    let read = db.begin_read()?;
    (0..=k).map(|table| Ok(read.open_table(definition(&table.to_string()))?)).collect()
}

impl Tables for Vec<Rows> {
    fn range(
        &mut self,
        table: usize,
        first: &Key,
        last: &Key,
        visit: &mut dyn FnMut(&Key),
    ) -> Result<()> {
        for row in self[table].range::<&Key>(first..=last)? {
            visit(row?.0.value());
        }
        Ok(())
    }
}

impl Peer for Redb {
    fn answer(&mut self, queries: &[u64], each: &mut Each) -> Result<()> {
        timed(queries, each, |query, found| rotated::query(&mut self.tables, query, self.k, found))
    }

    fn disk_bytes(&self) -> Result<u64> {
        folder_bytes(&self.folder)
    }
}
