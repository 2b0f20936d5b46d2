//! What a search for pairs finds, and how far it came.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::fingerprint::{DocId, Entry};
use crate::query::Within;

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

/// How far [`Pairs::visit`](crate::Pairs::visit) came before it was stopped. It can be written to a
/// file as text.
///
/// # Examples
///
/// ```
/// use std::ops::ControlFlow;
/// use fpdb::{Db, PairsPosition};
///
/// let db = Db::options().in_memory()?;
/// db.write(&[(0b0000, 1), (0b0011, 2)]).run()?;
/// let snapshot = db.snapshot();
/// let report = snapshot.pairs(3).visit(|_| ControlFlow::Break(()))?;
/// if let Some(position) = report.next {
///     let position: PairsPosition = position.to_string().parse()?;
///     snapshot.pairs(3).resume(position).visit(|_| ControlFlow::Continue(()))?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PairsPosition {
    pub(super) within: Within,
    pub(super) entries: u64,
    /// 0 for the pass over all entries, then the number of the searched table plus 1.
    pub(super) step: usize,
    /// The first fingerprint, in the step's bit order, that was not searched.
    pub(super) low: u128,
}

/// What stands for the rule in the text of a position.
const RULE: &str = "rule";

impl fmt::Display for PairsPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { within, entries, step, low } = self;
        match within {
            Within::Rule => f.write_str(RULE)?,
            Within::Distance(distance) => write!(f, "{distance}")?,
        }
        write!(f, ":{entries}:{step}:{low:x}")
    }
}

/// As its text.
#[cfg(feature = "serde")]
impl serde::Serialize for PairsPosition {
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl FromStr for PairsPosition {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut parts = text.split(':');
        let mut next = || parts.next().unwrap_or_default();
        let within = match next() {
            RULE => Ok(Within::Rule),
            distance => distance.parse().map(Within::Distance),
        };
        let (entries, step) = (next().parse(), next().parse());
        let low = u128::from_str_radix(next(), 16);
        match (within, entries, step, low, parts.next()) {
            (Ok(within), Ok(entries), Ok(step), Ok(low), None) => {
                Ok(Self { within, entries, step, low })
            }
            _ => Err(Error::invalid(format!(
                "position {text:?}: expected what an earlier search for pairs reported"
            ))),
        }
    }
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
    /// Where to [resume](crate::Pairs::resume), if the visitor stopped the search.
    pub next: Option<PairsPosition>,
}
