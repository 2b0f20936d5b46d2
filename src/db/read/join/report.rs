//! What a join reports.

/// What a join found, and how far it came.
///
/// # Examples
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let a = fpdb::Db::options().create(folder.path().join("a"))?;
/// # let b = fpdb::Db::options().create(folder.path().join("b"))?;
/// use std::ops::ControlFlow;
/// a.write(&[(0b0000, 1), (0b0011, 2)]).run()?;
/// b.write(&[(0b0111, 3), (u64::MAX, 4)]).run()?;
/// let report = a.snapshot().join(&b.snapshot(), 3).nearest(|_| ControlFlow::Continue(()))?;
/// assert_eq!((report.pairs, report.documents), (vec![0, 1, 0, 0], 1));
/// assert_eq!((report.entries, report.is_stopped), (2, false));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct JoinReport {
    /// The number of pairs that were passed on, by distance.
    pub pairs: Vec<u64>,
    /// The number of the other's entries that were passed on in a pair.
    pub documents: u64,
    /// The number of the other's entries that were done: the first ones by fingerprint, and then by
    /// id. All their pairs were passed on.
    pub entries: u64,
    /// Whether the visitor stopped the join.
    pub is_stopped: bool,
}
