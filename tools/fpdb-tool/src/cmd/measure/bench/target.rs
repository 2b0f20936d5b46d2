//! The database that is measured, and how it is copied.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use fpdb::{Db, DocId, Fingerprint, Ids, Key, Snapshot, Stats};

use crate::cmd::measure::generate::Random;

/// The most fingerprints that are sampled for hits.
const SAMPLE: usize = 1 << 16;

/// An open database.
pub(super) enum Target<F: Fingerprint> {
    /// The state of a database at one moment.
    ReadOnly(Snapshot<F>),
    ReadWrite(Db<F>),
}

impl<F: Fingerprint> Target<F> {
    /// Returns the number of entries within the distance.
    pub(super) fn query(&self, fingerprint: F, distance: u32) -> Result<usize> {
        let found = match self {
            Self::ReadOnly(snapshot) => snapshot.query(fingerprint, distance),
            Self::ReadWrite(db) => db.query(fingerprint, distance),
        };
        Ok(found?.len())
    }

    /// Commits one entry under an id or name that is unlikely to be in use.
    pub(super) fn insert(&self, fingerprint: F, seed: u64, number: u64) -> Result<()> {
        let Self::ReadWrite(db) = self else { return Ok(()) };
        match db.id_kind() {
            Ids::Names => {
                let name = format!("fpdb-tool bench {seed}/{number}");
                db.insert(fingerprint, Key::Name(&name))?;
            }
            _ => {
                db.insert(fingerprint, DocId(1 << 63 | number))?;
            }
        }
        Ok(())
    }

    /// Returns random fingerprints of the database, each entry with the same chance, or all of them
    /// if there are few.
    pub(super) fn sample(&self, seed: u64) -> Result<Vec<F>> {
        let snapshot = match self {
            Self::ReadOnly(snapshot) => snapshot.clone(),
            Self::ReadWrite(db) => db.snapshot(),
        };
        let mut random = Random::new(seed);
        let mut sample = Vec::new();
        for (seen, entry) in (1..).zip(snapshot.iter()) {
            let fingerprint = entry?.fingerprint;
            if sample.len() < SAMPLE {
                sample.push(fingerprint);
            } else if let Ok(place) = usize::try_from(random.below(seen))
                && let Some(kept) = sample.get_mut(place)
            {
                *kept = fingerprint;
            }
        }
        Ok(sample)
    }

    /// Closes the database.
    pub(super) fn close(self) -> Result<()> {
        match self {
            Self::ReadOnly(_) => Ok(()),
            Self::ReadWrite(db) => Ok(db.close()?),
        }
    }
}

/// Returns the most disk space that a copy takes after this number of inserts. It is twice the size,
/// because compaction may write everything again.
pub(super) fn room_for_copy(stats: &Stats, inserts: u64) -> u64 {
    let entry = 64 * (stats.tables as u64 + 2);
    stats.bytes_total.saturating_mul(2).saturating_add(inserts.saturating_mul(entry))
}

/// Copies the files of a database, which stays as it is, to a new folder. Files other than the
/// manifest and the logs never change. If a writer removes some of them during the copy, the copy
/// cannot be opened.
pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    let failed = || format!("cannot copy {}", from.display());
    let mut files = Vec::new();
    for file in fs::read_dir(from).with_context(failed)? {
        let file = file.with_context(failed)?;
        if file.file_type().with_context(failed)?.is_file() && file.file_name() != "LOCK" {
            files.push(file.file_name());
        }
    }
    // The manifest comes first: it names the other files, so it must not be newer than they are.
    files.sort_by_key(|name| name != "MANIFEST");
    fs::create_dir(to).with_context(failed)?;
    files.iter().try_for_each(|name| {
        fs::copy(from.join(name), to.join(name)).with_context(failed).map(drop)
    })
}
