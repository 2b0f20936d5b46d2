//! Rotated tables in LMDB, a B-tree store in C that maps its file.

#![expect(unsafe_code, reason = "LMDB maps a file that others could change")]

use std::ops::Bound;
use std::path::Path;

use anyhow::{Context, Result};
use heed::types::{Bytes, Unit};
use heed::{Database, Env, EnvOpenOptions, PutFlags};

use crate::{Search, rotated};

/// Size of the map: address space, not memory, and more than any run here fills.
const MAP: usize = 256 << 30;

type Rows = Database<Bytes, Unit>;

pub struct Lmdb {
    env: Env,
    tables: Vec<Rows>,
    k: u32,
}

impl Lmdb {
    /// Creates a store of these fingerprints in an empty folder, with keys appended in order.
    pub fn create(folder: &Path, fingerprints: &[u64], k: u32) -> Result<Self> {
        let env = environment(folder, k)?;
        let mut write = env.write_txn()?;
        let mut tables = Vec::new();
        for (table, keys) in rotated::sorted(fingerprints, k).enumerate() {
            let rows: Rows = env.create_database(&mut write, Some(&table.to_string()))?;
            for key in &keys {
                rows.put_with_flags(&mut write, PutFlags::APPEND, key, &())?;
            }
            tables.push(rows);
        }
        write.commit()?;
        Ok(Self { env, tables, k })
    }

    /// Returns what answers queries in this thread.
    pub fn search(&self) -> Result<Box<Search<'_>>> {
        let read = self.env.read_txn()?;
        Ok(Box::new(move |query, found| {
            rotated::query(query, self.k, found, |table, first, last, visit| {
                let range = (Bound::Included(&first[..]), Bound::Included(&last[..]));
                for row in self.tables[table].range(&read, &range)? {
                    visit(row?.0.try_into().context("a key of the wrong length")?);
                }
                Ok(())
            })
        }))
    }

    /// Returns the bytes of the pages above the leaves, which every search reads.
    pub fn inner_bytes(&self) -> Result<u64> {
        let read = self.env.read_txn()?;
        let mut bytes = 0;
        for rows in &self.tables {
            let stat = rows.stat(&read)?;
            bytes += u64::from(stat.page_size) * stat.branch_pages as u64;
        }
        Ok(bytes)
    }
}

fn environment(folder: &Path, k: u32) -> Result<Env> {
    let mut options = EnvOpenOptions::new();
    options.map_size(MAP).max_dbs(k + 1);
    // SAFETY: the folder belongs to this program, and nobody writes to it while it is open here.
    Ok(unsafe { options.open(folder)? })
}
