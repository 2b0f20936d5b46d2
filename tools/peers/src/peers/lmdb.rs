//! Rotated tables in LMDB, a B-tree store in C that maps its file.

#![expect(unsafe_code, reason = "LMDB maps a file that others could change")]

use std::ops::Bound;
use std::path::PathBuf;

use anyhow::{Context, Result};
use heed::types::{Bytes, Unit};
use heed::{Database, Env, EnvOpenOptions, PutFlags, RoTxn, WithTls};

use super::rotated::{self, Key, Tables};
use crate::args::Engines;
use crate::peer::{Each, Entrant, Job, Peer, folder_bytes, timed};

/// Size of the map: address space, not memory, and more than any run here fills.
const MAP: usize = 256 << 30;

type Rows = Database<Bytes, Unit>;

struct Lmdb {
    folder: PathBuf,
    env: Env,
    tables: Vec<Rows>,
    k: u32,
}

pub(super) fn entrants(_: &Engines, _: usize, _: u32) -> Result<Vec<Entrant<'_>>> {
    Ok(vec![Entrant::exact("lmdb", build)])
}

fn build(job: &Job) -> Result<Lmdb> {
    let mut options = EnvOpenOptions::new();
    options.map_size(MAP).max_dbs(job.k + 1);
    // SAFETY: the folder is new and belongs to this program; nobody else writes to it.
    let env = unsafe { options.open(job.folder)? };
    let mut write = env.write_txn()?;
    let mut tables = Vec::new();
    for (table, keys) in rotated::sorted(job.fingerprints, job.k).enumerate() {
        let rows: Rows = env.create_database(&mut write, Some(&table.to_string()))?;
        for key in &keys {
            rows.put_with_flags(&mut write, PutFlags::APPEND, key, &())?;
        }
        tables.push(rows);
    }
    write.commit()?;
    Ok(Lmdb { folder: job.folder.to_owned(), env, tables, k: job.k })
}

impl Peer for Lmdb {
    fn answer(&mut self, queries: &[u64], each: &mut Each) -> Result<()> {
        let mut tables = Read { rows: &self.tables, read: self.env.read_txn()? };
        timed(queries, each, |query, found| rotated::query(&mut tables, query, self.k, found))
    }

    fn disk_bytes(&self) -> Result<u64> {
        folder_bytes(&self.folder)
    }

    /// The pages above the leaves, which every search reads.
    fn ram_bytes(&self) -> Result<u64> {
        let read = self.env.read_txn()?;
        let mut bytes = 0;
        for rows in &self.tables {
            let stat = rows.stat(&read)?;
            bytes += u64::from(stat.page_size) * stat.branch_pages as u64;
        }
        Ok(bytes)
    }
}

/// The tables in a read transaction.
struct Read<'a> {
    rows: &'a [Rows],
    read: RoTxn<'a, WithTls>,
}

impl Tables for Read<'_> {
    fn range(
        &mut self,
        table: usize,
        first: &Key,
        last: &Key,
        visit: &mut dyn FnMut(&Key),
    ) -> Result<()> {
        let range = (Bound::Included(&first[..]), Bound::Included(&last[..]));
        for row in self.rows[table].range(&self.read, &range)? {
            visit(row?.0.try_into().context("a key of the wrong length")?);
        }
        Ok(())
    }
}
