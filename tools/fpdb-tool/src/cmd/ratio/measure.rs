//! Writes a database and measures it.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::Result;
use fpdb::reports::TableStats;
use fpdb::{DocId, Entry, Layout, Options, Stats, Word};

use super::bound::{Branches, IdBound};
use super::codec::{OtherCodes, Sizes};
use super::generate::Source;

/// One way to store fingerprints.
#[derive(Debug, Clone)]
pub(super) struct Design {
    pub(super) layout: Layout,
    pub(super) block_size: usize,
    pub(super) filter_bits: u32,
}

/// Loads the first `n` fingerprints of a source into a new database in `folder`, passes it to
/// `inspect` and removes it.
pub(super) fn load<F: Word, T>(
    design: &Design,
    source: &Source<F>,
    n: u64,
    folder: &Path,
    inspect: impl FnOnce(&fpdb::Db<F>) -> Result<T>,
) -> Result<T> {
    let path = folder.join("db");
    let db = Options::<F>::default()
        .layout(design.layout.clone())
        .block_size(design.block_size)
        .filter_bits(design.filter_bits)
        .create(&path)?;
    let entries = (0..).zip(source.fingerprints(n));
    let _ =
        db.bulk_load(entries.map(|(id, fingerprint)| Ok(Entry { fingerprint, id: DocId(id) })))?;
    let result = inspect(&db)?;
    drop(db);
    fs::remove_dir_all(&path)?;
    Ok(result)
}

/// What depends on the fingerprints alone, and not on how a database stores them.
pub(super) struct Content {
    pub(super) branches: Branches,
    /// The fewest bits that all ids can take together.
    pub(super) ids_bits: f64,
    /// The sizes of the set under other codes.
    pub(super) others: Sizes,
}

impl Content {
    /// Reads all fingerprints of a database, which returns them in ascending order.
    pub(super) fn of<F: Word>(db: &fpdb::Db<F>) -> Result<Self> {
        let mut others = OtherCodes::new()?;
        let (mut branches, mut ids) = (Branches::new(F::BITS), IdBound::default());
        for entry in db.snapshot().iter() {
            let fingerprint = entry?.fingerprint;
            others.add(fingerprint)?;
            ids.add(branches.add(fingerprint));
        }
        Ok(Self { branches, ids_bits: ids.bits(), others: others.finish()? })
    }
}

/// Returns the tables of a database with one segment, which is what a bulk load writes.
pub(super) fn tables(stats: &Stats) -> io::Result<&[TableStats]> {
    match stats.segments.as_slice() {
        [segment] => Ok(&segment.tables),
        other => Err(io::Error::other(format!("a bulk load wrote {} segments", other.len()))),
    }
}
