//! The peers: how each builds an index and answers queries.

use std::path::Path;

use anyhow::{Result, ensure};
use clap::ValueEnum;
use fpdb::{Db, DocId, Entry, Layout, Snapshot};
use gaoya::simhash::SimHashIndex;
use peers::lmdb::Lmdb;
use peers::rotated::{self, Key};
use peers::scan::scan;
use peers::{Search, folder_bytes};
use redb::{Database, ReadOnlyTable, ReadableDatabase, TableDefinition};

use crate::memory;

/// Enough for all pages of redb, so that it is measured in memory.
const REDB_CACHE: usize = 8 << 30;

#[derive(Clone, Copy, ValueEnum)]
pub enum Peer {
    Fpdb,
    MihRs,
    Gaoya,
    Redb,
    Lmdb,
    Linear,
}

/// An index over fingerprints, which finds every match. An id is the fingerprint's position in the
/// slice that the index was built from.
pub trait Index {
    /// Returns what answers queries in this thread.
    fn search(&self) -> Result<Box<Search<'_>>>;

    /// Returns the bytes on disk, or of the serialised form; 0 if the index has neither.
    fn disk_bytes(&self) -> Result<u64>;

    /// Returns the bytes that the index holds, or should hold, in memory besides its allocations in
    /// Rust.
    fn ram_bytes(&self) -> Result<u64> {
        Ok(0)
    }
}

/// What an index is built from.
pub struct Job<'a> {
    pub fingerprints: &'a [u64],
    /// The largest distance that queries use.
    pub k: u32,
    /// An empty folder.
    pub folder: &'a Path,
}

impl Peer {
    /// Builds an index; one of fpdb with this layout.
    pub fn build(self, layout: &Layout, job: &Job) -> Result<Box<dyn Index>> {
        let (copy, k) = (|| job.fingerprints.to_vec(), job.k);
        Ok(match self {
            Self::Fpdb => Box::new(Fpdb::build(layout, job)?),
            Self::MihRs => Box::new(MihRs(mih_rs::Index::new(copy())?, k)),
            Self::Gaoya => Box::new(Gaoya::build(copy(), k)),
            Self::Redb => Box::new(Redb::build(job)?),
            Self::Lmdb => Box::new(InLmdb(
                Lmdb::create(job.folder, job.fingerprints, k)?,
                folder_bytes(job.folder)?,
            )),
            Self::Linear => Box::new(Linear(copy(), k)),
        })
    }
}

/// fpdb itself. All of it is on disk, and in the page cache while it answers.
struct Fpdb {
    db: Db,
    snapshot: Snapshot,
    k: u32,
    /// Bytes of the index memory that are allocated, and so counted with all allocations.
    allocated: u64,
}

impl Fpdb {
    fn build(layout: &Layout, job: &Job) -> Result<Self> {
        let options = Db::options()
            .layout(layout.clone())
            .max_distance(job.k)
            .expected_entries(job.fingerprints.len() as u64);
        let db = options.create(job.folder.join("db"))?;
        let entries = (0..).zip(job.fingerprints);
        let entries = entries.map(|(id, &fingerprint)| Ok(Entry { fingerprint, id: DocId(id) }));
        let report = db.bulk_load(entries)?;
        let before = memory::live();
        db.warm()?;
        let allocated = memory::live().saturating_sub(before) as u64;
        ensure!(report.inserted == job.fingerprints.len() as u64, "not all entries were loaded");
        Ok(Self { snapshot: db.snapshot(), db, k: job.k, allocated })
    }
}

impl Index for Fpdb {
    fn search(&self) -> Result<Box<Search<'_>>> {
        Ok(Box::new(|query, found| {
            let matches = self.snapshot.query(query, self.k)?;
            found.extend(matches.iter().map(|m| m.id.0 as u32));
            Ok(())
        }))
    }

    fn disk_bytes(&self) -> Result<u64> {
        Ok(self.db.stats().bytes_total)
    }

    /// The directories and filters, which are copied to memory outside of the heap.
    fn ram_bytes(&self) -> Result<u64> {
        Ok(self.db.stats().index_memory_bytes.saturating_sub(self.allocated))
    }
}

/// Multi-index hashing, the fastest exact peer in memory. Its index is built once and never
/// changed.
struct MihRs(mih_rs::Index<u64>, u32);

impl Index for MihRs {
    fn search(&self) -> Result<Box<Search<'_>>> {
        let mut searcher = self.0.range_searcher();
        Ok(Box::new(move |query, found| {
            found.extend_from_slice(searcher.run(query, self.1 as usize));
            Ok(())
        }))
    }

    fn disk_bytes(&self) -> Result<u64> {
        let mut bytes = Vec::new();
        self.0.serialize_into(&mut bytes)?;
        Ok(bytes.len() as u64)
    }
}

/// Hash tables of ids under blocks of the fingerprint.
///
/// gaoya finds what is *less* than its distance away. To find everything within k bits, it gets the
/// distance k + 1 and, since each differing bit may spoil a block, k + 2 blocks.
struct Gaoya(SimHashIndex<u64, u32>);

impl Gaoya {
    fn build(fingerprints: Vec<u64>, k: u32) -> Self {
        let distance = k as usize + 1;
        let mut index = SimHashIndex::new(distance + 1, distance);
        index.par_bulk_insert((0..fingerprints.len() as u32).collect(), fingerprints);
        Self(index)
    }
}

impl Index for Gaoya {
    fn search(&self) -> Result<Box<Search<'_>>> {
        Ok(Box::new(|query, found| {
            found.extend(self.0.query(&query).into_iter().copied());
            Ok(())
        }))
    }

    fn disk_bytes(&self) -> Result<u64> {
        Ok(0)
    }
}

/// Rotated tables in redb, a B-tree store in Rust with its own cache.
struct Redb {
    bytes: u64,
    tables: Vec<ReadOnlyTable<&'static Key, ()>>,
    /// Keeps the tables open.
    _db: Database,
    k: u32,
}

impl Redb {
    fn build(job: &Job) -> Result<Self> {
        let mut db = Database::builder();
        let mut db = db.set_cache_size(REDB_CACHE).create(job.folder.join("redb"))?;
        let write = db.begin_write()?;
        for (table, keys) in rotated::sorted(job.fingerprints, job.k).enumerate() {
            let mut rows = write.open_table(table_named(&table.to_string()))?;
            for key in &keys {
                rows.insert(key, ())?;
            }
        }
        write.commit()?;
        while db.compact()? {}
        let read = db.begin_read()?;
        let open = |table: u32| Ok(read.open_table(table_named(&table.to_string()))?);
        let tables = (0..=job.k).map(open).collect::<Result<_>>()?;
        Ok(Self { bytes: folder_bytes(job.folder)?, tables, _db: db, k: job.k })
    }
}

fn table_named(name: &str) -> TableDefinition<'_, &'static Key, ()> {
    TableDefinition::new(name)
}

impl Index for Redb {
    fn search(&self) -> Result<Box<Search<'_>>> {
        Ok(Box::new(|query, found| {
            rotated::query(query, self.k, found, |table, first, last, visit| {
                for row in self.tables[table].range::<&Key>(first..=last)? {
                    visit(row?.0.value());
                }
                Ok(())
            })
        }))
    }

    fn disk_bytes(&self) -> Result<u64> {
        Ok(self.bytes)
    }
}

/// Rotated tables in LMDB, and the bytes of its files.
struct InLmdb(Lmdb, u64);

impl Index for InLmdb {
    fn search(&self) -> Result<Box<Search<'_>>> {
        self.0.search()
    }

    fn disk_bytes(&self) -> Result<u64> {
        Ok(self.1)
    }

    fn ram_bytes(&self) -> Result<u64> {
        self.0.inner_bytes()
    }
}

/// A scan, which every index must beat.
struct Linear(Vec<u64>, u32);

impl Index for Linear {
    fn search(&self) -> Result<Box<Search<'_>>> {
        Ok(Box::new(|query, found| {
            scan(&self.0, query, self.1, found);
            Ok(())
        }))
    }

    fn disk_bytes(&self) -> Result<u64> {
        Ok(size_of_val(self.0.as_slice()) as u64)
    }
}
