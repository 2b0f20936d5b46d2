//! What a search for pairs finds.

use crate::fingerprint::{DocId, Entry};

/// Two entries whose fingerprints are near each other.
///
/// In a search for all [`Pairs`](crate::Pairs) of a database, the first has the lower fingerprint,
/// or the lower id if the fingerprints are equal. In a [`Join`](crate::Join), the first belongs to
/// the database that is searched, and the second to the other.
///
/// # Examples
///
/// ```
/// use fpdb::{Db, Found};
///
/// let db = Db::options().in_memory()?;
/// db.write(&[(0b0000, 1), (0b0011, 2)]).run()?;
/// db.snapshot().pairs(3).visit(|found| {
///     if let Found::Pairs([pair]) = found {
///         assert_eq!((pair.a.id.0, pair.b.id.0, pair.distance), (1, 2, 2));
///     }
///     std::ops::ControlFlow::Continue(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Pair<F = u64> {
    /// The first entry.
    pub a: Entry<F>,
    /// The second entry.
    pub b: Entry<F>,
    /// Number of bits in which their fingerprints differ.
    pub distance: u32,
}

/// Some of what [`Pairs::visit`](crate::Pairs::visit) finds.
///
/// # Examples
///
/// ```
/// use fpdb::{Db, Found};
///
/// let db = Db::options().in_memory()?;
/// db.write(&[(7, 1), (7, 2), (6, 3)]).run()?;
/// db.snapshot().pairs(3).visit(|found| {
///     match found {
///         Found::Group { fingerprint, ids } => assert_eq!((fingerprint, ids.len()), (7, 2)),
///         // The group is one document here: its first.
///         Found::Pairs(pairs) => assert_eq!((pairs[0].a.id.0, pairs[0].b.id.0), (3, 1)),
///     }
///     std::ops::ControlFlow::Continue(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found<'a, F = u64> {
    /// Pairs of entries with different fingerprints, in no particular order. An entry with a
    /// fingerprint that several have stands for all of them, and is the one with the lowest id.
    /// With [`expand`](crate::Pairs::expand), all pairs of entries.
    Pairs(&'a [Pair<F>]),
    /// Entries with the same fingerprint. A group of more than 65,536 comes in several parts.
    Group {
        /// Their fingerprint.
        fingerprint: F,
        /// Their ids, ascending.
        ids: &'a [DocId],
    },
}

/// What a search for pairs found.
///
/// # Examples
///
/// ```
/// use std::ops::ControlFlow;
///
/// let db = fpdb::Db::options().in_memory()?;
/// db.write(&[(0b0000, 1), (0b0011, 2), (0b0011, 3)]).run()?;
/// let report = db.snapshot().pairs(3).visit(|_| ControlFlow::Continue(()))?;
/// assert_eq!((report.pairs, report.groups), (vec![0, 0, 1, 0], 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct PairsReport {
    /// The number of pairs that were passed on, by distance.
    pub pairs: Vec<u64>,
    /// The number of groups that were passed on.
    pub groups: u64,
}
