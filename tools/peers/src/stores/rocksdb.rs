//! Rotated tables in RocksDB, a log-structured store in C++. All tables share one key space, in
//! which keys begin with the table's number. The store is loaded from a sorted file, and compressed
//! with LZ4.

use std::path::Path;

use anyhow::{Context, Result};
use rocksdb::{
    BlockBasedOptions, Cache, DB, DBCompressionType, DBRawIterator, IngestExternalFileOptions,
    Options, SstFileWriter,
};

use super::rotated::{self, Key, Tables};

/// Properties that count what the store holds in memory.
const HELD: [&str; 3] = [
    "rocksdb.block-cache-usage",
    "rocksdb.estimate-table-readers-mem",
    "rocksdb.cur-size-all-mem-tables",
];

pub struct RocksDb {
    db: DB,
}

impl RocksDb {
    /// Creates a store of these fingerprints in a folder, with a cache of this many bytes.
    pub fn create(folder: &Path, fingerprints: &[u64], k: u32, cache: usize) -> Result<Self> {
        let sorted = folder.join("sorted");
        let options = options(cache);
        let mut writer = SstFileWriter::create(&options);
        writer.open(&sorted)?;
        for (table, keys) in rotated::sorted(fingerprints, k).enumerate() {
            for key in &keys {
                writer.put(row(table, key), b"")?;
            }
        }
        writer.finish()?;
        let store = Self::open(folder, cache)?;
        let mut ingest = IngestExternalFileOptions::default();
        ingest.set_move_files(true);
        store.db.ingest_external_file_opts(&ingest, vec![sorted])?;
        Ok(store)
    }

    /// Opens the store in a folder, or creates an empty one.
    pub fn open(folder: &Path, cache: usize) -> Result<Self> {
        Ok(Self { db: DB::open(&options(cache), folder.join("db"))? })
    }

    /// Returns what reads the store in this thread.
    pub fn read(&self) -> DBRawIterator<'_> {
        self.db.raw_iterator()
    }

    /// Returns the bytes of memory that the store says it holds.
    pub fn held_bytes(&self) -> Result<u64> {
        HELD.iter().map(|name| Ok(self.db.property_int_value(*name)?.unwrap_or(0))).sum()
    }
}

fn options(cache: usize) -> Options {
    let mut blocks = BlockBasedOptions::default();
    blocks.set_block_cache(&Cache::new_lru_cache(cache));
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
