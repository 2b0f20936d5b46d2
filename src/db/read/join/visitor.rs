//! Passes the pairs of a join to the caller's function, and reports them.

use std::ops::ControlFlow;

use crate::base::error::Result;
use crate::base::progress::Meter;
use crate::db::read::pairs::Pair;
use crate::fingerprint::{Entry, Fingerprint, Match};

/// What a join found, and how far it got.
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

/// The caller's function.
pub(crate) type Visit<'v, F> = dyn FnMut(&[Pair<F>]) -> ControlFlow<()> + 'v;

/// Pairs that are passed on at a time, at most.
const PAIRS: usize = if cfg!(test) { 1 << 4 } else { 1 << 14 };

/// The caller's function, what it was passed, and what it is passed next.
pub(super) struct Visitor<'a, 'v, F> {
    visit: &'a mut Visit<'v, F>,
    meter: &'a Meter<'a>,
    pairs: Vec<Pair<F>>,
    /// Entries of which all pairs were added.
    added: u64,
    report: JoinReport,
}

impl<'a, 'v, F: Fingerprint> Visitor<'a, 'v, F> {
    pub(super) fn new(visit: &'a mut Visit<'v, F>, distance: u32, meter: &'a Meter<'a>) -> Self {
        let pairs = vec![0; distance.min(F::BITS) as usize + 1];
        let report = JoinReport { pairs, documents: 0, entries: 0, is_stopped: false };
        Self { visit, meter, pairs: Vec::new(), added: 0, report }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.report.is_stopped
    }

    /// Adds the pairs of entries with the same fingerprint, and passes on those that are many
    /// enough.
    pub(super) fn add(&mut self, entries: &[Entry<F>], matches: &[Match<F>]) -> Result<()> {
        for &b in entries {
            for (number, &Match { distance, fingerprint, id }) in matches.iter().enumerate() {
                if self.pairs.len() == PAIRS {
                    self.pass_on()?;
                }
                if self.is_stopped() {
                    return Ok(());
                }
                self.pairs.push(Pair { a: Entry { fingerprint, id }, b, distance });
                self.report.documents += u64::from(number == 0);
            }
            self.added += 1;
        }
        Ok(())
    }

    /// Passes on the pairs that were added.
    pub(super) fn pass_on(&mut self) -> Result<()> {
        if self.is_stopped() {
            return Ok(());
        }
        let Self { visit, pairs, report, .. } = self;
        pairs.iter().for_each(|pair| report.pairs[pair.distance as usize] += 1);
        report.entries = self.added;
        report.is_stopped = !pairs.is_empty() && visit(pairs).is_break();
        pairs.clear();
        self.meter.check()
    }

    pub(super) fn into_report(self) -> JoinReport {
        self.report
    }
}
