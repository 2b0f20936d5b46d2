//! A handle of any kind and width.

use fpdb::{Db, ReadOnlyDb, Sketch, Snapshot, Stats};
use pyo3::prelude::*;

use crate::base::errors::{self, OrRaise};
use crate::base::width::Bits;

/// A value for 64-bit fingerprints, one for 128-bit fingerprints, or one for sketches.
#[derive(Debug, Clone)]
pub(crate) enum AnyWidth<N, W, S> {
    Bits64(N),
    Bits128(W),
    Sketches(S),
}

/// Evaluates the same expression for a value of any width.
macro_rules! at_width {
    ($any:expr, $value:pat => $work:expr) => {
        match $any {
            $crate::db::source::AnyWidth::Bits64($value) => $work,
            $crate::db::source::AnyWidth::Bits128($value) => $work,
            $crate::db::source::AnyWidth::Sketches($value) => $work,
        }
    };
}
pub(crate) use at_width;

/// Evaluates the same expression for a value of any width, and keeps the width.
macro_rules! map_width {
    ($any:expr, $value:pat => $work:expr) => {
        match $any {
            $crate::db::source::AnyWidth::Bits64($value) => {
                $crate::db::source::AnyWidth::Bits64($work)
            }
            $crate::db::source::AnyWidth::Bits128($value) => {
                $crate::db::source::AnyWidth::Bits128($work)
            }
            $crate::db::source::AnyWidth::Sketches($value) => {
                $crate::db::source::AnyWidth::Sketches($work)
            }
        }
    };
}
pub(crate) use map_width;

/// What a handle reads from.
#[derive(Debug, Clone)]
pub(crate) enum Source<F: Bits> {
    Db(Db<F>),
    ReadOnly(ReadOnlyDb<F>),
    Snapshot(Snapshot<F>),
}

pub(crate) type AnySource = AnyWidth<Source<u64>, Source<u128>, Source<Sketch>>;
pub(crate) type AnySnapshot = AnyWidth<Snapshot<u64>, Snapshot<u128>, Snapshot<Sketch>>;

impl<F: Bits> Source<F> {
    /// Returns the state that a read sees now.
    pub(crate) fn snapshot(&self) -> Snapshot<F> {
        match self {
            Self::Db(db) => db.snapshot(),
            Self::ReadOnly(db) => db.snapshot(),
            Self::Snapshot(snapshot) => snapshot.clone(),
        }
    }

    /// Returns the database, which only the class `Db` asks for.
    pub(crate) fn db(&self) -> PyResult<&Db<F>> {
        match self {
            Self::Db(db) => Ok(db),
            _ => Err(errors::closed("this is not open for writing")),
        }
    }

    /// Returns the database, which only the class `ReadOnlyDb` asks for.
    pub(crate) fn read_only(&self) -> PyResult<&ReadOnlyDb<F>> {
        match self {
            Self::ReadOnly(db) => Ok(db),
            _ => Err(errors::closed("this is not open for reading only")),
        }
    }

    /// Returns statistics, which snapshots do not have.
    pub(crate) fn stats(&self) -> Option<Stats> {
        match self {
            Self::Db(db) => Some(db.stats()),
            Self::ReadOnly(db) => Some(db.stats()),
            Self::Snapshot(_) => None,
        }
    }

    /// Flushes and closes a database, and lets go of everything else.
    pub(crate) fn close(self) -> PyResult<()> {
        match self {
            Self::Db(db) => db.close().or_raise(),
            Self::ReadOnly(_) | Self::Snapshot(_) => Ok(()),
        }
    }
}
