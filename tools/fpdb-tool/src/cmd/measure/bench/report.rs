//! The results: as JSON, and in columns.

use std::io::{self, Write};

use serde::Serialize;

use super::latency::Latencies;
use super::mix::{Kind, Mix};
use super::run::Done;
use crate::output::{self, iec};

/// `fpdb.bench/1`. Times are in microseconds unless a name says otherwise.
#[derive(Serialize)]
pub(super) struct Report {
    pub(super) schema: &'static str,
    pub(super) database: Database,
    pub(super) distance: u32,
    pub(super) mix: Mix,
    /// The durability of inserts, if there are any.
    pub(super) durability: Option<&'static str>,
    pub(super) threads: u64,
    pub(super) seed: u64,
    pub(super) warm_up: Phase,
    pub(super) measured: Phase,
    /// The time for which threads were ready to run without a core, added up over the threads, where
    /// the system reports it.
    pub(super) waited_seconds: Option<f64>,
    /// The nanoseconds that reading the clock takes, which are part of every duration.
    pub(super) clock_ns: u64,
    /// The kinds that occurred.
    pub(super) kinds: Vec<KindReport>,
    /// What could not be measured, or not accurately.
    pub(super) notes: Vec<String>,
}

/// The database, as it was before the measurement.
#[derive(Serialize)]
pub(super) struct Database {
    /// Missing for a database that was created for the measurement.
    pub(super) path: Option<String>,
    pub(super) opened: Opened,
    pub(super) data: Option<String>,
    pub(super) bits: u32,
    pub(super) layout: String,
    pub(super) tables: usize,
    pub(super) block_size: usize,
    pub(super) code: &'static str,
    pub(super) filter_bits: u32,
    pub(super) entries: u64,
    pub(super) segments: usize,
    pub(super) bytes_total: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Opened {
    ReadOnly,
    Copy,
    InPlace,
    New,
}

impl Opened {
    fn description(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Copy => "a copy",
            Self::InPlace => "in place",
            Self::New => "new, removed afterwards",
        }
    }
}

#[derive(Serialize)]
pub(super) struct Phase {
    pub(super) operations: u64,
    pub(super) seconds: f64,
}

#[derive(Serialize)]
pub(super) struct KindReport {
    pub(super) kind: &'static str,
    pub(super) count: u64,
    pub(super) per_second: f64,
    /// Queries that found an entry.
    pub(super) found: u64,
    /// The entries that they found.
    pub(super) matches: u64,
    pub(super) mean_us: f64,
    pub(super) p50_us: Option<f64>,
    pub(super) p90_us: Option<f64>,
    pub(super) p99_us: Option<f64>,
    pub(super) p999_us: Option<f64>,
    pub(super) max_us: f64,
    /// The cumulative distribution: the share of the operations that took up to each time.
    pub(super) distribution: Vec<Point>,
    /// The times of [`SHARES`].
    #[serde(skip)]
    pub(super) quantiles: Vec<Option<f64>>,
}

#[derive(Serialize)]
pub(super) struct Point {
    pub(super) up_to_us: f64,
    pub(super) share: f64,
}

/// The shares of the operations in the table of the distribution.
const SHARES: [f64; 10] = [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999];

impl KindReport {
    pub(super) fn new(kind: Kind, latencies: &Latencies, seconds: f64) -> Self {
        let curve = latencies.curve().into_iter();
        Self {
            kind: kind.name(),
            count: latencies.count(),
            per_second: if seconds > 0.0 { latencies.count() as f64 / seconds } else { 0.0 },
            found: latencies.found,
            matches: latencies.matches,
            mean_us: latencies.mean(),
            p50_us: latencies.quantile(0.5),
            p90_us: latencies.quantile(0.9),
            p99_us: latencies.quantile(0.99),
            p999_us: latencies.quantile(0.999),
            max_us: latencies.max(),
            distribution: curve.map(|(up_to_us, share)| Point { up_to_us, share }).collect(),
            quantiles: SHARES.iter().map(|&share| latencies.quantile(share)).collect(),
        }
    }

    /// Returns the hits that did not find the entry that they were made from.
    pub(super) fn missed(&self) -> u64 {
        if self.kind == Kind::Hit.name() { self.count - self.found } else { 0 }
    }

    fn line(&self) -> [String; 10] {
        [
            self.kind.to_owned(),
            self.count.to_string(),
            format!("{:.0}", self.per_second),
            if self.kind == Kind::Insert.name() { "-".to_owned() } else { self.found.to_string() },
            micros(Some(self.mean_us)),
            micros(self.p50_us),
            micros(self.p90_us),
            micros(self.p99_us),
            micros(self.p999_us),
            micros(Some(self.max_us)),
        ]
    }
}

/// Column headings.
pub(super) const COLUMNS: [&str; 10] =
    ["kind", "count", "per second", "found", "mean", "p50", "p90", "p99", "p99.9", "max"];

/// Formats a time with three significant digits, or more in front of the decimal point.
fn micros(time: Option<f64>) -> String {
    match time {
        None => "-".to_owned(),
        Some(time) if time < 10.0 => format!("{time:.2}"),
        Some(time) if time < 100.0 => format!("{time:.1}"),
        Some(time) => format!("{time:.0}"),
    }
}

impl Report {
    pub(super) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        output::rows(out, &self.facts())?;
        writeln!(out)?;
        output::table(out, COLUMNS, &self.lines())
    }

    /// Returns what was measured, as labels and values.
    pub(super) fn facts(&self) -> Vec<(&'static str, String)> {
        let db = &self.database;
        let plural = |count: usize, noun: &str| {
            format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
        };
        let (tables, segments) = (plural(db.tables, "table"), plural(db.segments, "segment"));
        let path = db.path.clone().or_else(|| db.data.clone()).unwrap_or_default();
        let phase =
            |phase: &Phase| format!("{} operations in {:.2} s", phase.operations, phase.seconds);
        let mut rows = vec![
            ("database", format!("{path}, {}", db.opened.description())),
            ("entries", format!("{} of {} bits in {segments}", db.entries, db.bits)),
            (
                "layout",
                format!(
                    "{} ({tables}), blocks of {} B in {}, filter of {} bits per fingerprint",
                    db.layout, db.block_size, db.code, db.filter_bits
                ),
            ),
            ("on disk", iec(db.bytes_total)),
            ("distance", self.distance.to_string()),
            ("threads", self.threads.to_string()),
        ];
        rows.extend(self.durability.map(|durability| ("durability", durability.to_owned())));
        rows.extend([
            ("warm-up", phase(&self.warm_up)),
            ("measured", phase(&self.measured)),
            ("times", format!("in microseconds; each includes {} ns for the clock", self.clock_ns)),
        ]);
        rows
    }

    /// Returns a line for each kind, headed by [`COLUMNS`].
    pub(super) fn lines(&self) -> Vec<[String; 10]> {
        self.kinds.iter().map(KindReport::line).collect()
    }

    /// Returns a line for each share of the operations: the time of each kind within which that share
    /// was done.
    pub(super) fn distribution(&self) -> Vec<Vec<String>> {
        let line = |(i, share): (usize, &f64)| {
            let time = |kind: &KindReport| micros(kind.quantiles.get(i).copied().flatten());
            let share = format!("{} %", trimmed(share * 100.0));
            std::iter::once(share).chain(self.kinds.iter().map(time)).collect()
        };
        SHARES.iter().enumerate().map(line).collect()
    }
}

/// Formats a number with up to two decimals.
fn trimmed(value: f64) -> String {
    format!("{value:.2}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns what the reader must know to judge the results.
pub(super) fn notes(
    kinds: &[KindReport],
    threads: u64,
    clock_ns: u64,
    done: &Done,
    stopped: bool,
) -> Vec<String> {
    let mut notes = Vec::new();
    if kinds.iter().any(|kind| kind.kind != Kind::Insert.name()) {
        let cached = "files that have been read before are in the system's cache; the cost of reading \
                    them from disk for the first time is not measured";
        notes.push(cached.to_owned());
    }
    match std::thread::available_parallelism() {
        Ok(cores) if threads > cores.get() as u64 => notes.push(format!(
            "{threads} threads share {cores} cores, so times include waiting for a core"
        )),
        Ok(_) => {}
        Err(error) => notes.push(format!("the number of cores is unknown: {error}")),
    }
    let all = done.elapsed.as_secs_f64() * threads as f64;
    match done.waited.map(|waited| waited.as_secs_f64() / all) {
        Some(share) if share > 0.02 => notes.push(format!(
            "threads waited {:.0} % of the time for a core that others used: mean, rate and the last \
             percentiles include that",
            share * 100.0
        )),
        Some(_) => {}
        None => notes.push("this system does not report whether other processes used the cores".to_owned()),
    }
    for kind in kinds {
        if kind.p999_us.is_none() {
            let (count, kind) = (kind.count, kind.kind);
            notes.push(format!(
                "{count} operations of kind {kind} are too few for all percentiles: p99.9 needs 10000"
            ));
        }
        if kind.p50_us.is_some_and(|p50| p50 * 1e3 < 20.0 * clock_ns as f64) {
            notes.push(format!(
                "{} is so fast that the {clock_ns} ns for the clock matter",
                kind.kind
            ));
        }
    }
    if stopped {
        notes.push("--seconds ended the run before --queries".to_owned());
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_significant_digits() {
        let times = [None, Some(0.0), Some(1.234), Some(12.34), Some(1234.5)].map(micros);
        assert_eq!(times, ["-", "0.00", "1.23", "12.3", "1234"]);
        assert_eq!(
            [1.0, 99.9, 99.99, 50.0, 100.0].map(trimmed),
            ["1", "99.9", "99.99", "50", "100"]
        );
    }
}
