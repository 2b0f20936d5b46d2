//! What a query asks for.

use std::fmt;

use crate::fingerprint::Entry;

/// How near a match must be: by the database's [rule](crate::MatchRule), or within a distance of
/// the caller's.
///
/// A number of bits converts to a distance.
///
/// # Examples
///
/// ```
/// use fpdb::{Db, Within};
///
/// let db = Db::options().max_distance(2).in_memory()?;
/// db.insert(0b0111, 1)?;
/// assert!(db.query(0b0000, Within::Rule)?.is_empty());
/// assert_eq!(db.query(0b0000, Within::Distance(3))?, db.query(0b0000, 3)?);
/// assert_eq!(db.query(0b0000, 3)?.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Within {
    /// By the rule that the database was created with.
    Rule,
    /// Within this number of bits, inclusive.
    Distance(u32),
}

/// `the match rule` or `distance 3`.
impl fmt::Display for Within {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule => f.write_str("the match rule"),
            Self::Distance(distance) => write!(f, "distance {distance}"),
        }
    }
}

impl From<u32> for Within {
    /// A distance.
    fn from(distance: u32) -> Self {
        Self::Distance(distance)
    }
}

/// How near the matches of a query must be, their limit, and their least stamp.
///
/// # Examples
///
/// ```
/// use fpdb::{Db, Ids, QueryOptions, Stamped};
///
/// let db = Db::options().ids(Ids::Unique).in_memory()?;
/// for (id, fingerprint) in (0..).zip([0b0000, 0b0001, 0b0011, 0b0111]) {
///     db.insert(fingerprint, Stamped::new(id, 10 + id))?;
/// }
/// let within = QueryOptions::within(2);
/// let distances = |options| -> fpdb::Result<Vec<u32>> {
///     Ok(db.query(0b0000, options)?.iter().map(|found| found.distance).collect())
/// };
/// assert_eq!(distances(within)?, [0, 1, 2]);
/// assert_eq!(distances(within.limit(2))?, [0, 1]);
/// assert_eq!(distances(within.since(12))?, [2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct QueryOptions {
    pub(crate) within: Within,
    pub(crate) limit: Option<usize>,
    pub(crate) since: Option<u64>,
}

impl<W: Into<Within>> From<W> for QueryOptions {
    /// The same as [`QueryOptions::within`].
    fn from(within: W) -> Self {
        Self::within(within)
    }
}

impl QueryOptions {
    /// Finds all matches: entries whose fingerprint differs from the query's in at most so many
    /// bits, inclusive, or that match it by the database's [rule](Within::Rule).
    ///
    /// Any distance is allowed and answered exactly. Up to the database's maximum distance, queries
    /// are fast. Beyond it they take longer with every bit, until the database is scanned. In a
    /// database for a similarity, queries by its rule are much faster than those for its distance.
    pub fn within(within: impl Into<Within>) -> Self {
        Self { within: within.into(), limit: None, since: None }
    }

    /// Returns at most `limit` matches: the nearest ones, and at equal distances the ones with
    /// lower fingerprints and ids. Without a limit, all matches are returned.
    ///
    /// Very many documents can have the same fingerprint (empty pages, log-in pages). Ids beyond
    /// the limit are not read.
    pub fn limit(self, limit: usize) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// Returns only documents whose [stamp](crate::Stamped) is `stamp` or greater. Those without a
    /// stamp are not returned. Only in databases with names or unique ids.
    ///
    /// The stamp of each match is looked up, which takes about a microsecond.
    pub fn since(self, stamp: u64) -> Self {
        Self { since: Some(stamp), ..self }
    }
}

/// The match that a write looks for among entries that are newer than its lookup.
pub(crate) struct NewMatch<'a, F> {
    pub(crate) fingerprint: F,
    pub(crate) within: Within,
    /// Only later commits count.
    pub(crate) after: u64,
    /// Called for matches only. Only those for which it returns true count.
    pub(crate) accept: &'a dyn Fn(Entry<F>) -> bool,
}
