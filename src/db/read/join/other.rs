//! The entries that are looked up in the database that is searched.

use std::fmt;

use crate::base::error::Result;
use crate::db::read::reader::Reader;
use crate::fingerprint::{Entry, Fingerprint};

/// What a snapshot is joined with.
pub(crate) enum Other<'a, F: Fingerprint> {
    Snapshot(&'a Reader<F>),
    /// Sorted.
    List(Vec<Entry<F>>),
}

impl<'a, F: Fingerprint> Other<'a, F> {
    pub(crate) fn list(mut entries: Vec<Entry<F>>) -> Self {
        entries.sort_unstable();
        Self::List(entries)
    }

    /// Returns the number of entries.
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Snapshot(reader) => reader.len(),
            Self::List(entries) => entries.len() as u64,
        }
    }

    /// Returns the entries by fingerprint, and then by id.
    pub(super) fn iter(&self) -> Box<dyn Iterator<Item = Result<Entry<F>>> + '_> {
        match self {
            Self::Snapshot(reader) => reader.iter(),
            Self::List(entries) => Box::new(entries.iter().map(|&entry| Ok(entry))),
        }
    }
}

impl<F: Fingerprint> fmt::Debug for Other<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Snapshot(_) => f.write_str("Snapshot"),
            Self::List(entries) => write!(f, "List of {} entries", entries.len()),
        }
    }
}
