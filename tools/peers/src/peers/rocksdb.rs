//! Rotated tables in RocksDB, a log-structured store in C++. All tables share one key space, in
//! which keys begin with the table's number. The store is loaded from a sorted file, compressed
//! with LZ4, and has all blocks in its cache.

use std::path::PathBuf;

use anyhow::{Context, Result};
use rocksdb::{
    BlockBasedOptions, Cache, DB, DBCompressionType, DBRawIterator, IngestExternalFileOptions,
    Options, SstFileWriter,
};

use super::rotated::{self, Key, Tables};
use crate::args::Engines;
use crate::peer::{Each, Entrant, Job, Peer, folder_bytes, timed};

/// Enough for all blocks, so that the store is measured in memory.
const CACHE: usize = 8 << 30;
/// Properties that count what the store holds in memory.
const HELD: [&str; 3] = [
    "rocksdb.block-cache-usage",
    "rocksdb.estimate-table-readers-mem",
    "rocksdb.cur-size-all-mem-tables",
];

struct RocksDb {
    folder: PathBuf,
    db: DB,
    k: u32,
}

pub(super) fn entrants(_: &Engines, _: usize, _: u32) -> Result<Vec<Entrant<'_>>> {
    Ok(vec![Entrant::exact("rocksdb", build)])
}

fn build(job: &Job) -> Result<RocksDb> {
    let (folder, sorted) = (job.folder.join("db"), job.folder.join("sorted"));
    let options = options();
    let mut writer = SstFileWriter::create(&options);
    writer.open(&sorted)?;
    for (table, keys) in rotated::sorted(job.fingerprints, job.k).enumerate() {
        for key in &keys {
            writer.put(row(table, key), b"")?;
        }
    }
    writer.finish()?;
    let db = DB::open(&options, &folder)?;
    let mut ingest = IngestExternalFileOptions::default();
    ingest.set_move_files(true);
    db.ingest_external_file_opts(&ingest, vec![sorted])?;
    Ok(RocksDb { folder, db, k: job.k })
}

fn options() -> Options {
    let mut blocks = BlockBasedOptions::default();
    blocks.set_block_cache(&Cache::new_lru_cache(CACHE));
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_compression_type(DBCompressionType::Lz4);
    options.set_block_based_table_factory(&blocks);
    options
}

fn row(table: usize, key: &Key) -> [u8; 13] {
    let mut row = [table as u8; 13];
    row[1..].copy_from_slice(key);
    row
}

impl Tables for DBRawIterator<'_> {
    fn range(
        &mut self,
        table: usize,
        first: &Key,
        last: &Key,
        visit: &mut dyn FnMut(&Key),
    ) -> Result<()> {
        let last = row(table, last);
        self.seek(row(table, first));
        while let Some(row) = self.key().filter(|row| *row <= last.as_slice()) {
            visit(row[1..].try_into().context("a key of the wrong length")?);
            self.next();
        }
        Ok(self.status()?)
    }
}

impl Peer for RocksDb {
    fn answer(&mut self, queries: &[u64], each: &mut Each) -> Result<()> {
        let mut iterator = self.db.raw_iterator();
        timed(queries, each, |query, found| rotated::query(&mut iterator, query, self.k, found))
    }

    fn disk_bytes(&self) -> Result<u64> {
        folder_bytes(&self.folder)
    }

    fn ram_bytes(&self) -> Result<u64> {
        let held = HELD.iter().map(|name| Ok(self.db.property_int_value(*name)?.unwrap_or(0)));
        held.sum()
    }
}
