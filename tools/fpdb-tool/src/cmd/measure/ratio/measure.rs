//! Writes a database and asks it what it takes.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::Result;
use fpdb::{BlockCode, DocId, Entry, Fingerprint, Layout, Options, Stats, TableStats};

use super::codec::{Others, Sizes};
use crate::cmd::measure::generate::Source;

/// One way to keep fingerprints.
#[derive(Debug, Clone)]
pub(super) struct Design {
    pub(super) layout: Layout,
    pub(super) block_size: usize,
    pub(super) code: BlockCode,
    pub(super) filter_bits: u32,
}

/// Loads the first `n` fingerprints of a source into a new database in `folder`, looks at it and
/// removes it.
pub(super) fn load<F: Fingerprint, T>(
    design: &Design,
    source: &Source<F>,
    n: u64,
    folder: &Path,
    look: impl FnOnce(&fpdb::Db<F>) -> Result<T>,
) -> Result<T> {
    let path = folder.join("db");
    let db = Options::<F>::new()
        .layout(design.layout.clone())
        .block_size(design.block_size)
        .code(design.code)
        .filter_bits(design.filter_bits)
        .create(&path)?;
    let entries = (0..).zip(source.fingerprints(n));
    let _ =
        db.bulk_load(entries.map(|(id, fingerprint)| Ok(Entry { fingerprint, id: DocId(id) })))?;
    let seen = look(&db)?;
    drop(db);
    fs::remove_dir_all(&path)?;
    Ok(seen)
}

/// What other codes make of the database's fingerprints, which it gives in order.
pub(super) fn others<F: Fingerprint>(db: &fpdb::Db<F>) -> Result<Sizes> {
    let mut others = Others::new()?;
    for entry in db.snapshot().iter() {
        others.add(entry?.fingerprint)?;
    }
    Ok(others.finish()?)
}

/// The tables of a database in one segment, as every bulk load makes.
pub(super) fn tables(stats: &Stats) -> io::Result<&[TableStats]> {
    match stats.segments.as_slice() {
        [segment] => Ok(&segment.tables),
        _ => Err(io::Error::other("a bulk load made another number of segments than one")),
    }
}
