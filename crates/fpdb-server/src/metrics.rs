//! What the server counts.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::command::{self, Command};

#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counts since the server started.
#[derive(Debug)]
pub(crate) struct Metrics {
    pub(crate) started: Instant,
    commands: [Counted; command::COUNT],
    /// Commands with an unknown name.
    pub(crate) unknown: Counter,
    pub(crate) connections: Counter,
    pub(crate) connections_refused: Counter,
    pub(crate) bytes_received: Counter,
    pub(crate) bytes_sent: Counter,
    /// Commands refused because the disk is nearly full.
    pub(crate) refused_for_space: Counter,
    pub(crate) wrong_passwords: Counter,
    /// Passwords that nobody looked at, because too many before them were wrong.
    pub(crate) refused_passwords: Counter,
}

/// The calls of a command.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    pub(crate) calls: Counter,
    pub(crate) errors: Counter,
    pub(crate) took: Histogram,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        Self {
            started: Instant::now(),
            commands: Default::default(),
            unknown: Counter::default(),
            connections: Counter::default(),
            connections_refused: Counter::default(),
            bytes_received: Counter::default(),
            bytes_sent: Counter::default(),
            refused_for_space: Counter::default(),
            wrong_passwords: Counter::default(),
            refused_passwords: Counter::default(),
        }
    }

    pub(crate) fn of(&self, command: Command) -> &Counted {
        &self.commands[command as usize]
    }

    /// Returns all commands with their names.
    pub(crate) fn commands(&self) -> impl Iterator<Item = (&'static str, &Counted)> {
        command::ALL.iter().map(|definition| definition.name).zip(&self.commands)
    }
}

/// How long something took. The bounds are fixed, so that figures of several servers can be added.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    /// One count per bucket, for durations up to its bound; the last is for longer ones.
    counts: [Counter; BOUNDS.len() + 1],
    micros: Counter,
}

/// Bounds in microseconds.
const BOUNDS: [u64; 13] =
    [100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000];

impl Histogram {
    /// Adds several events that took this long each.
    pub(crate) fn add(&self, events: usize, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let slot = BOUNDS.partition_point(|&bound| bound < micros);
        self.counts[slot].add(events as u64);
        self.micros.add(micros.saturating_mul(events as u64));
    }

    /// Returns each bound in seconds with the number of events that took no longer.
    pub(crate) fn buckets(&self) -> impl Iterator<Item = (f64, u64)> {
        let seconds = BOUNDS.iter().map(|&bound| Duration::from_micros(bound).as_secs_f64());
        seconds.zip(self.counts.iter().scan(0, |sum, count| {
            *sum += count.get();
            Some(*sum)
        }))
    }

    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().map(Counter::get).sum()
    }

    /// Returns the sum of all durations in seconds.
    pub(crate) fn seconds(&self) -> f64 {
        Duration::from_micros(self.micros.get()).as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_counts_in_every_bucket_that_it_does_not_exceed() {
        let histogram = Histogram::default();
        histogram.add(2, Duration::from_micros(100));
        histogram.add(1, Duration::from_micros(101));
        histogram.add(1, Duration::from_secs(2));
        let buckets: Vec<_> = histogram.buckets().collect();
        assert_eq!(buckets[..3], [(0.0001, 2), (0.00025, 3), (0.0005, 3)]);
        assert_eq!(buckets.last(), Some(&(1.0, 3)));
        assert_eq!(histogram.count(), 4);
        assert!((histogram.seconds() - 2.000_301).abs() < 1e-9);
    }
}
