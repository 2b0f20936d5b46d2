//! The database that is measured: as it is, a copy of it, or a new one.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use fpdb::{Db, DocId, Fingerprint, Ids, Key, Snapshot, Stats};

use crate::cmd::measure::generate::Random;

/// Fingerprints that are drawn from the database for hits, at most.
const SAMPLE: usize = 1 << 16;

/// A database that is open.
pub(super) enum Target<F: Fingerprint> {
    /// Its state at one moment.
    ReadOnly(Snapshot<F>),
    ReadWrite(Db<F>),
}

impl<F: Fingerprint> Target<F> {
    /// How many entries are within the distance.
    pub(super) fn query(&self, fingerprint: F, distance: u32) -> Result<usize> {
        let found = match self {
            Self::ReadOnly(snapshot) => snapshot.query(fingerprint, distance),
            Self::ReadWrite(db) => db.query(fingerprint, distance),
        };
        Ok(found?.len())
    }

    /// Commits one entry under an id or name that few others will have.
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

    /// Fingerprints of the database chosen at random, each entry as likely as any other; all of
    /// them if there are few.
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

    /// Ends the work on it.
    pub(super) fn close(self) -> Result<()> {
        match self {
            Self::ReadOnly(_) => Ok(()),
            Self::ReadWrite(db) => Ok(db.close()?),
        }
    }
}

/// Disk that a copy takes at most, with so many inserts: compaction may write everything anew.
pub(super) fn room_for_copy(stats: &Stats, inserts: u64) -> u64 {
    let entry = 64 * (stats.tables as u64 + 2);
    stats.bytes_total.saturating_mul(2).saturating_add(inserts.saturating_mul(entry))
}

/// Copies the files of a database, which is not changed, into a new folder. Files other than the
/// manifest and logs never change; a writer may remove some meanwhile, and then the copy fails to
/// open.
pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    let failed = || format!("cannot copy {}", from.display());
    let mut files = Vec::new();
    for file in fs::read_dir(from).with_context(failed)? {
        let file = file.with_context(failed)?;
        if file.file_type().with_context(failed)?.is_file() && file.file_name() != "LOCK" {
            files.push(file.file_name());
        }
    }
    // The manifest names the other files, so it must not be newer than they are.
    files.sort_by_key(|name| name != "MANIFEST");
    fs::create_dir(to).with_context(failed)?;
    files.iter().try_for_each(|name| {
        fs::copy(from.join(name), to.join(name)).with_context(failed).map(drop)
    })
}
