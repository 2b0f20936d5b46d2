//! The durations of all operations, in a histogram of fixed size.

use std::time::Duration;

use hdrhistogram::Histogram;
use hdrhistogram::errors::CreationError;

/// The significant digits of a duration: the error is at most 1 %.
const DIGITS: u8 = 2;

/// The longest duration that the histogram distinguishes from longer ones.
const LONGEST: Duration = Duration::from_secs(600);

/// The least ratio between the times of successive points of a curve.
const MIN_RATIO: f64 = 1.03;

/// The durations of the operations of one kind.
#[derive(Debug, Clone)]
pub(super) struct Latencies {
    nanos: Histogram<u64>,
    sum: Duration,
    max: Duration,
    /// The operations that found an entry.
    pub(super) found: u64,
    /// The entries that they found.
    pub(super) matches: u64,
}

impl Latencies {
    pub(super) fn new() -> Result<Self, CreationError> {
        let nanos = Histogram::new_with_max(nanos(LONGEST), DIGITS)?;
        Ok(Self { nanos, sum: Duration::ZERO, max: Duration::ZERO, found: 0, matches: 0 })
    }

    /// Records an operation that found `matches` entries.
    pub(super) fn record(&mut self, took: Duration, matches: usize) {
        self.nanos.saturating_record(nanos(took));
        self.sum += took;
        self.max = self.max.max(took);
        self.found += u64::from(matches > 0);
        self.matches += matches as u64;
    }

    pub(super) fn add(&mut self, other: &Self) {
        // Both histograms have the same bounds, so no value is outside.
        let added = self.nanos.add(&other.nanos);
        debug_assert!(added.is_ok());
        self.sum += other.sum;
        self.max = self.max.max(other.max);
        self.found += other.found;
        self.matches += other.matches;
    }

    pub(super) fn count(&self) -> u64 {
        self.nanos.len()
    }

    /// Returns the mean in microseconds, which is exact, or 0 without operations.
    pub(super) fn mean(&self) -> f64 {
        if self.count() == 0 { 0.0 } else { micros(self.sum) / self.count() as f64 }
    }

    /// Returns the maximum in microseconds, which is exact.
    pub(super) fn max(&self) -> f64 {
        micros(self.max)
    }

    /// Returns the time in microseconds within which this share of the operations was done, or
    /// `None` if fewer than ten took longer, which is too few for an estimate.
    pub(super) fn quantile(&self, share: f64) -> Option<f64> {
        let beyond = self.count() as f64 * (1.0 - share);
        let within = || Duration::from_nanos(self.nanos.value_at_quantile(share));
        (beyond > 10.0 - 1e-6).then(|| micros(within().min(self.max)))
    }

    /// Returns times in microseconds, in ascending order, each with the share of the operations that
    /// were done within it. The last share is 1.
    pub(super) fn curve(&self) -> Vec<(f64, f64)> {
        let mut points: Vec<(f64, f64)> = Vec::new();
        let (mut done, count) = (0, self.count());
        for value in self.nanos.iter_recorded() {
            done += value.count_since_last_iteration();
            let time = micros(Duration::from_nanos(value.value_iterated_to()).min(self.max));
            let far = points.last().is_none_or(|&(last, _)| time >= last * MIN_RATIO);
            if far || done == count {
                points.push((time, done as f64 / count as f64));
            }
        }
        points
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn micros(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latencies(micros: impl IntoIterator<Item = u64>) -> Latencies {
        let mut latencies = Latencies::new().unwrap();
        micros.into_iter().for_each(|us| latencies.record(Duration::from_micros(us), 1));
        latencies
    }

    #[test]
    fn quantiles_are_known_to_one_percent() {
        let latencies = latencies(1..=100_000);
        for share in [0.01, 0.5, 0.9, 0.99, 0.999] {
            let (found, exact) = (latencies.quantile(share).unwrap(), 1e5 * share);
            assert!((found / exact - 1.0).abs() < 0.011, "{share}: {found}");
        }
        assert_eq!((latencies.mean(), latencies.max()), (50_000.5, 100_000.0));
    }

    #[test]
    fn quantile_needs_ten_slower_operations() {
        let thousand = latencies(0..1000);
        assert!(thousand.quantile(0.99).is_some() && thousand.quantile(0.999).is_none());
        assert_eq!(latencies([]).quantile(0.5), None);
        assert_eq!(
            (latencies([]).mean(), latencies([]).max(), latencies([]).curve().len()),
            (0.0, 0.0, 0)
        );
    }

    #[test]
    fn sum_of_two_histograms_is_that_of_all_durations() {
        let (mut some, all) = (latencies(0..5000), latencies(0..9000));
        some.add(&latencies(5000..9000));
        assert_eq!((some.count(), some.found, some.matches), (9000, 9000, 9000));
        assert_eq!(some.curve(), all.curve());
        assert_eq!((some.mean(), some.max()), (all.mean(), all.max()));
    }

    #[test]
    fn curve_rises_to_one_and_has_few_points() {
        let curve = latencies((0..20_000).chain([3_000_000])).curve();
        assert!(curve.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1), "{curve:?}");
        assert_eq!(curve.last().unwrap(), &(3_000_000.0, 1.0));
        assert!(curve.len() < 500, "{}", curve.len());
        // Longer than the histogram distinguishes.
        assert_eq!(latencies([1 << 40]).curve().len(), 1);
        assert_eq!(latencies([1 << 40]).max(), 2f64.powi(40));
    }
}
