//! Reports the progress of a long operation, and lets the caller cancel it.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::base::error::{Error, ErrorKind, Result};

/// A step of a long operation. An operation may leave out a step, or return to it.
///
/// Displays as what is being done: `reading`, `sorting`, `writing`, `checking`, `copying`
/// or `searching`.
///
/// # Examples
///
/// ```
/// use fpdb::Phase;
///
/// assert_eq!(Phase::Sort.to_string(), "sorting");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// Takes entries from the caller's iterator.
    Read,
    /// Sorts the entries in memory, or the pairs that clusters consist of.
    Sort,
    /// Writes the tables. Entries that did not fit in memory are sorted in this step.
    Write,
    /// Checks files.
    Check,
    /// Copies files.
    Copy,
    /// Searches tables for pairs, or for the entries of another database.
    Search,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Read => "reading",
            Self::Sort => "sorting",
            Self::Write => "writing",
            Self::Check => "checking",
            Self::Copy => "copying",
            Self::Search => "searching",
        })
    }
}

/// The progress of a long operation.
///
/// Every step reports its beginning and its end. In between there are some 20 reports per second,
/// and one for each 200th part of the step.
///
/// # Examples
///
/// ```
/// # let db = fpdb::Db::options().in_memory()?;
/// use std::ops::ControlFlow;
///
/// db.insert(7, 1)?;
/// let watched = db.on_progress(|progress| {
///     eprintln!("{}: {} of {:?}", progress.phase, progress.done, progress.total);
///     ControlFlow::Continue(())
/// });
/// watched.verify(fpdb::VerifyLevel::Full)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The current step.
    pub phase: Phase,
    /// Entries done in this step. In [`Phase::Write`], and in [`Phase::Search`] for all pairs of
    /// one database, rows of tables; in [`Phase::Sort`] for clusters, pairs; in [`Phase::Check`]
    /// and [`Phase::Copy`], bytes.
    pub done: u64,
    /// How many there are to do in this step, if that is known. It is a little too high where the
    /// same entry occurs more than once.
    pub total: Option<u64>,
}

impl Progress {
    /// Returns how much of this step is done, from 0 to 1, if the total is known.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::ops::ControlFlow;
    ///
    /// let db = fpdb::Db::options().in_memory()?.on_progress(|progress| {
    ///     if let Some(fraction) = progress.fraction() {
    ///         eprintln!("{}: {:.0} %", progress.phase, fraction * 100.0);
    ///     }
    ///     ControlFlow::Continue(())
    /// });
    /// db.insert(7, 1)?;
    /// assert!(db.verify(fpdb::VerifyLevel::Full)?.errors.is_empty());
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a fraction for display")]
    pub fn fraction(&self) -> Option<f64> {
        let total = self.total?;
        Some(if self.done >= total { 1.0 } else { self.done as f64 / total as f64 })
    }
}

/// Time after which progress is reported again.
const INTERVAL: Duration = Duration::from_millis(50);
/// Number of parts of a step of known length. Progress is reported after each part, however fast
/// the step is.
const PARTS: u64 = 200;

/// Most entries, rows or bytes that are done before the clock is read again.
const CLOCK_STEP: u64 = 1024;

/// The function that a caller has given to a handle, a snapshot or options with `on_progress`, if
/// any. Long operations report their progress to it, and end when it breaks.
#[derive(Clone, Default)]
pub(crate) struct Watch(Option<Arc<dyn Fn(Progress) -> ControlFlow<()> + Send + Sync>>);

impl Watch {
    pub(crate) fn new(
        report: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        Self(Some(Arc::new(report)))
    }

    fn report(&self, progress: Progress) -> ControlFlow<()> {
        self.0.as_ref().map_or(ControlFlow::Continue(()), |report| report(progress))
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Watch").field(&self.0.is_some()).finish()
    }
}

/// Counts what threads do, reports it to the caller, and stops the threads when the caller cancels.
pub(crate) struct Meter<'a>(Mutex<State<'a>>);

struct State<'a> {
    watch: &'a Watch,
    progress: Progress,
    /// What was last reported, and when.
    reported: Option<(Progress, Instant)>,
    /// How much of the step is done when a report can be due again.
    next_check: u64,
    cancelled: bool,
}

impl<'a> Meter<'a> {
    /// Begins with a step of length `total`.
    pub(crate) fn new(watch: &'a Watch, phase: Phase, total: Option<u64>) -> Self {
        let progress = Progress { phase, done: 0, total };
        Self(Mutex::new(State { watch, progress, reported: None, next_check: 0, cancelled: false }))
    }

    /// Reports the end of the current step, and begins the next one.
    pub(crate) fn begin(&self, phase: Phase, total: u64) -> Result<()> {
        self.update(|state| {
            state.report_if(State::has_news);
            state.progress = Progress { phase, done: 0, total: Some(total) };
            state.next_check = 0;
            state.report_if(|_| true);
        })
    }

    /// Counts `more` entries as done. Fails with `Cancelled` if the caller wants no more.
    pub(crate) fn advance(&self, more: u64) -> Result<()> {
        self.update(|state| {
            state.report_if(|state| state.reported.is_none());
            state.progress.done += more;
            if state.progress.done >= state.next_check {
                state.report_if(State::is_due);
                state.next_check = state.progress.done + state.until_check();
            }
        })
    }

    /// Reports again if enough time has passed, though no more is done. Fails with `Cancelled` if
    /// the caller wants no more.
    pub(crate) fn check(&self) -> Result<()> {
        self.update(|state| state.report_if(State::is_late))
    }

    /// Reports the end of the last step, when it is too late to cancel.
    pub(crate) fn finish(&self) {
        let _too_late = self.update(|state| state.report_if(State::has_news));
    }

    fn update(&self, change: impl FnOnce(&mut State<'_>)) -> Result<()> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        if state.cancelled {
            return Err(Error::new(ErrorKind::Cancelled, "cancelled by the caller"));
        }
        Ok(())
    }
}

impl State<'_> {
    fn has_news(&self) -> bool {
        self.reported.is_none_or(|(reported, _)| reported != self.progress)
    }

    /// Whether enough work was done, or enough time has passed, since the last report.
    fn is_due(&self) -> bool {
        let Some((reported, at)) = self.reported else { return true };
        let Progress { done, total, .. } = self.progress;
        let part = |total: u64| (total / PARTS).max(1);
        total.is_some_and(|total| done >= total || done - reported.done >= part(total))
            || at.elapsed() >= INTERVAL
    }

    /// Whether enough time has passed since the last report.
    fn is_late(&self) -> bool {
        self.reported.is_none_or(|(_, at)| at.elapsed() >= INTERVAL)
    }

    /// Returns how much is done before a report can be due again. Reading the clock takes longer
    /// than the work on a few entries.
    fn until_check(&self) -> u64 {
        let Progress { done, total, .. } = self.progress;
        let Some((reported, _)) = self.reported else { return 0 };
        let part = total.map_or(u64::MAX, |total| (total / PARTS).max(1));
        let until_part = part.saturating_sub(done.saturating_sub(reported.done));
        let until_end = total.map_or(u64::MAX, |total| total.saturating_sub(done));
        until_part.min(until_end).min(CLOCK_STEP)
    }

    fn report_if(&mut self, condition: impl FnOnce(&Self) -> bool) {
        if !self.cancelled && condition(self) {
            self.cancelled = self.watch.report(self.progress).is_break();
            self.reported = Some((self.progress, Instant::now()));
        }
    }
}

impl fmt::Debug for Meter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Meter")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Everything reported while `run` counts.
    fn reports(total: Option<u64>, run: impl FnOnce(&Meter<'_>)) -> Vec<Progress> {
        let all = Arc::new(Mutex::new(Vec::new()));
        let reported = all.clone();
        let watch = Watch::new(move |progress| {
            reported.lock().unwrap().push(progress);
            ControlFlow::Continue(())
        });
        run(&Meter::new(&watch, Phase::Read, total));
        std::mem::take(&mut *all.lock().unwrap())
    }

    #[test]
    fn a_step_reports_its_beginning_its_end_and_some_parts_between() {
        let all = reports(None, |meter| {
            meter.begin(Phase::Sort, 1_000_000).unwrap();
            (0..1_000_000).for_each(|_| meter.advance(1).unwrap());
            meter.begin(Phase::Write, 3).unwrap();
        });
        let sort: Vec<Progress> = all.into_iter().filter(|p| p.phase == Phase::Sort).collect();
        assert_eq!((sort[0].done, sort[sort.len() - 1].done), (0, 1_000_000));
        assert!((200..2000).contains(&sort.len()), "{} reports", sort.len());
        assert!(sort.is_sorted_by(|a, b| a.done < b.done));
        assert_eq!(sort[sort.len() - 1].fraction(), Some(1.0));
    }

    #[test]
    fn a_step_of_unknown_length_reports_its_end_when_the_next_begins() {
        let all = reports(None, |meter| {
            meter.advance(1).unwrap();
            meter.advance(1).unwrap();
            meter.begin(Phase::Write, 0).unwrap();
        });
        let done = |p: &Progress| (p.phase, p.done, p.fraction());
        let [first, .., end, next] = &all[..] else { panic!("{all:?}") };
        assert_eq!(done(first), (Phase::Read, 0, None));
        assert_eq!(done(end), (Phase::Read, 2, None));
        assert_eq!(done(next), (Phase::Write, 0, Some(1.0)));
    }

    #[test]
    fn after_a_cancellation_nothing_is_reported() {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = calls.clone();
        let watch = Watch::new(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            ControlFlow::Break(())
        });
        let meter = Meter::new(&watch, Phase::Read, Some(10));
        for _ in 0..3 {
            assert_eq!(meter.advance(1).unwrap_err().kind(), ErrorKind::Cancelled);
        }
        assert_eq!(meter.begin(Phase::Sort, 1).unwrap_err().kind(), ErrorKind::Cancelled);
        assert_eq!(calls.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_step_that_is_complete_is_not_reported_again_by_each_check() {
        let all = reports(Some(10), |meter| {
            meter.advance(10).unwrap();
            (0..100_000).for_each(|_| meter.check().unwrap());
        });
        // More only for each 50 ms that it takes.
        assert!(all.len() < 1000, "{} reports", all.len());
    }

    #[test]
    fn phases_display_as_what_is_being_done() {
        assert_eq!(format!("{:>8}|", Phase::Read), " reading|");
        assert_eq!(Phase::Write.to_string(), "writing");
    }
}
