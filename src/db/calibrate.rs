//! Measures what queries cost on this machine: builds small databases, runs queries by different
//! kinds of plans, and fits the costs that explain their times best.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::db::api::{Db, Snapshot};
use crate::db::options::Options;
use crate::error::Result;
use crate::fingerprint::{DocId, Entry};
use crate::layout::{Costs, Layout};
use crate::query::QueryOptions;

/// Entries per database: one size that fits in every cache, and one that fits in few.
const SMALL: u64 = 1 << 16;
const LARGE: u64 = 1 << 22;
/// Queries per plan and round.
const QUERIES: usize = 120;
/// Rounds. The fastest one counts.
const ROUNDS: usize = 4;
/// Queries whose steps are counted, per plan.
const COUNTED: usize = 12;
/// The costs that are fitted together, in the order of [`Observation::features`].
const FITTED: [&str; 7] = [
    "query_ns",
    "segment_ns",
    "filter_ns",
    "filter_far_ns",
    "lookup_ns",
    "lookup_far_ns",
    "entry_ns",
];

/// The databases: name, entries, segments, block size, filter bits.
const BUILT: [(&str, u64, u64, usize, u32); 10] = [
    ("small", SMALL, 1, 128, 0),
    ("small-filter", SMALL, 1, 128, 10),
    ("small-segments", SMALL, 8, 128, 10),
    ("small-huffman", SMALL, 1, 128, 0),
    ("small-blocks", SMALL, 1, 1024, 0),
    ("small-blocks-huffman", SMALL, 1, 512, 0),
    ("large", LARGE, 1, 128, 0),
    ("large-blocks", LARGE, 1, 1024, 0),
    ("large-huffman", LARGE, 1, 256, 0),
    ("large-filter", LARGE, 1, 128, 10),
];

impl Costs {
    /// Measures the costs of this machine. Runs queries with many lookups and with few, on tables
    /// in the cache and beyond it, with filters and without, and returns the costs that explain
    /// their times best, by least squares of the relative errors. The costs of sweeps and of columns
    /// are scaled from the defaults by the same factor as the cost of a scan. The costs of reading from the
    /// device are not measured; they keep their defaults.
    ///
    /// Writes databases of about 150 MB into `folder`, which the caller removes. Takes some seconds
    /// on an idle machine; on a busy one the costs come out too high.
    ///
    /// # Errors
    ///
    /// The same as creating a database.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// // Not run as a test, because it takes long on a busy machine.
    /// let folder = tempfile::tempdir()?;
    /// let costs = fpdb::layout::Costs::measure(folder.path())?;
    /// let db = fpdb::Db::options().costs(costs).open("crawl.fpdb")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn measure(folder: impl AsRef<Path>) -> Result<Self> {
        let mut runs = Vec::new();
        for (name, entries, segments, block_size, filter_bits) in BUILT {
            let path = folder.as_ref().join(name);
            let options = Options::new().block_size(block_size).filter_bits(filter_bits);
            build(options.layout(Layout::preset("half-2", 64)?), &path, entries, segments)?;
            runs.extend(Run::of_plans(&path)?);
        }
        for _ in 0..ROUNDS {
            for run in &mut runs {
                run.round()?;
            }
        }
        let observed = runs.iter().map(Run::observe).collect::<Result<Vec<_>>>()?;
        let costs = fit(&observed)?;
        let large = folder.as_ref().join("large-huffman");
        let large = Options::<u64>::new().open_read_only(large)?.snapshot();
        let scan_entry_ns = scan_entry_ns(&large, costs.query_ns)?;
        Ok(costs.with_scan(scan_entry_ns))
    }

    /// Sets the cost of a scan per entry, and the costs of sweeps and of columns in proportion.
    fn with_scan(self, scan_entry_ns: f64) -> Self {
        let by = scan_entry_ns / Self::default().scan_entry_ns;
        Self {
            scan_entry_ns,
            sweep_entry_ns: by * self.sweep_entry_ns,
            sweep_query_ns: by * self.sweep_query_ns,
            sweep_lookup_ns: by * self.sweep_lookup_ns,
            sweep_alone_ns: by * self.sweep_alone_ns,
            sweep_compare_ns: by * self.sweep_compare_ns,
            column_ns: by * self.column_ns,
            column_far_ns: by * self.column_far_ns,
            column_row_ns: by * self.column_row_ns,
            column_row_far_ns: by * self.column_row_far_ns,
            column_block_ns: by * self.column_block_ns,
            ..self
        }
    }
}

/// splitmix64: maps 0, 1, 2, ... to different numbers that look random.
fn mixed(i: u64) -> u64 {
    let z = i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Returns a fingerprint that is in none of the databases.
fn absent_fingerprint(i: usize) -> u64 {
    mixed(LARGE + i as u64)
}

fn build(options: Options, path: &Path, entries: u64, segments: u64) -> Result<()> {
    let db: Db = options.background(false).create(path)?;
    let each = entries / segments;
    for segment in 0..segments {
        let ids = segment * each..(segment + 1) * each;
        let _ = db.bulk_load(ids.map(|i| Ok(Entry { fingerprint: mixed(i), id: DocId(i) })))?;
    }
    db.close()
}

/// A database that is queried at one distance by one kind of plans.
struct Run {
    snapshot: Snapshot,
    distance: u32,
    best: Duration,
    filter_bytes: f64,
    table_bytes: f64,
}

impl Run {
    /// Returns runs with plans of many, some and few lookups, for several distances.
    fn of_plans(path: &Path) -> Result<Vec<Self>> {
        let mut runs = Vec::new();
        for lookup_ns in [10.0, 60.0, 300.0] {
            let costs = Costs { lookup_ns, ..Costs::default() };
            let reader = Options::<u64>::new().costs(costs).open_read_only(path)?;
            let stats = reader.stats();
            let tables = || stats.segments.iter().flat_map(|segment| &segment.tables);
            let filter_bytes = tables().map(|table| table.bytes_filter).sum::<u64>() as f64;
            for distance in [0, 2, 3, 4] {
                runs.push(Self {
                    snapshot: reader.snapshot(),
                    distance,
                    best: Duration::MAX,
                    filter_bytes,
                    table_bytes: stats.bytes_tables as f64,
                });
            }
        }
        Ok(runs)
    }

    /// Runs the same queries in each round, because pages are checked when they are first read.
    fn round(&mut self) -> Result<()> {
        self.best = self.best.min(median(&self.snapshot, self.distance)?);
        Ok(())
    }

    fn observe(&self) -> Result<Observation> {
        let mut seen = Observation {
            ns: self.best.as_secs_f64() * 1e9,
            segments: self.snapshot.reader().version.segments.len() as f64,
            questions: 0.0,
            lookups: 0.0,
            entries: 0.0,
            filter_bytes: self.filter_bytes,
            table_bytes: self.table_bytes,
        };
        for i in 0..COUNTED {
            let options = QueryOptions::within(self.distance);
            for segment in self.snapshot.explain(absent_fingerprint(i), &options)?.segments {
                let share = 1.0 / COUNTED as f64;
                seen.questions += share * segment.filter_checks as f64;
                seen.lookups += share * (segment.probes - segment.filtered_out) as f64;
                seen.entries += share * segment.candidates as f64;
            }
        }
        Ok(seen)
    }
}

/// Returns the median time of the queries.
fn median(snapshot: &Snapshot, distance: u32) -> Result<Duration> {
    let mut times = Vec::with_capacity(QUERIES);
    for i in 0..QUERIES {
        let start = Instant::now();
        std::hint::black_box(
            snapshot.query(std::hint::black_box(absent_fingerprint(i)), distance)?,
        );
        times.push(start.elapsed());
    }
    times.sort_unstable();
    Ok(times[QUERIES / 2])
}

/// What the queries of one plan did on average, and how long they took.
struct Observation {
    ns: f64,
    segments: f64,
    questions: f64,
    lookups: f64,
    entries: f64,
    filter_bytes: f64,
    table_bytes: f64,
}

impl Observation {
    /// Returns how often each of the fitted costs was paid, if data of more than the given number
    /// of bytes is outside the cache.
    fn features(&self, costs: &Costs) -> [f64; 7] {
        let filters = costs.doublings(self.filter_bytes);
        let tables = costs.doublings(self.table_bytes);
        [
            1.0,
            self.segments - 1.0,
            self.questions,
            self.questions * filters,
            self.lookups,
            self.lookups * tables,
            self.entries,
        ]
    }
}

/// Returns the costs that explain the observations best: the best of the least-squares fits for
/// several sizes of the cache.
fn fit(observed: &[Observation]) -> Result<Costs> {
    let mut best = (f64::INFINITY, Costs::default());
    for mib in [1, 2, 4, 8, 16, 32, 64] {
        let costs = Costs { cache_bytes: f64::from(mib << 20), ..Costs::default() };
        // Relative errors: rows are divided by their times, which makes every target 1.
        let rows: Vec<[f64; 7]> =
            observed.iter().map(|o| o.features(&costs).map(|f| f / o.ns)).collect();
        let (solution, error) = least_squares(&rows);
        if error < best.0 {
            let fitted = FITTED.into_iter().zip(solution);
            let costs =
                fitted.into_iter().try_fold(costs, |costs, (name, ns)| costs.with(name, ns));
            best = (error, costs?);
        }
    }
    Ok(best.1)
}

/// Returns the non-negative x for which the rows' products with x are nearest to 1, and the sum of
/// the squared differences. Descends along one coordinate after another.
fn least_squares<const N: usize>(rows: &[[f64; N]]) -> ([f64; N], f64) {
    const SWEEPS: usize = 20_000;
    let mut x = [0.0; N];
    let mut missing = vec![1.0; rows.len()];
    let squares: [f64; N] =
        std::array::from_fn(|i| rows.iter().map(|row| row[i] * row[i]).sum::<f64>());
    for _ in 0..SWEEPS {
        for i in (0..N).filter(|&i| squares[i] > 0.0) {
            let slope: f64 = rows.iter().zip(&missing).map(|(row, m)| row[i] * m).sum();
            let new = (x[i] + slope / squares[i]).max(0.0);
            for (row, m) in rows.iter().zip(&mut missing) {
                *m -= row[i] * (new - x[i]);
            }
            x[i] = new;
        }
    }
    (x, missing.iter().map(|m| m * m).sum())
}

/// Measures the cost of a scan per entry, with queries at a distance for which there is no plan.
fn scan_entry_ns(snapshot: &Snapshot, query_ns: f64) -> Result<f64> {
    let mut best = f64::INFINITY;
    for i in 0..ROUNDS {
        let start = Instant::now();
        std::hint::black_box(snapshot.query(absent_fingerprint(i), 17)?);
        best = best.min(start.elapsed().as_secs_f64() * 1e9);
    }
    Ok((best - query_ns).max(0.0) / snapshot.len().max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_squares_finds_what_explains_all() {
        let truth = [3.0, 0.0, 0.25];
        let rows: Vec<[f64; 3]> = (0..12u32)
            .map(|i| {
                let row = [1.0, f64::from(i * i % 7), f64::from(i % 5 * 10)];
                let time = row.iter().zip(truth).map(|(a, b)| a * b).sum::<f64>();
                row.map(|feature| feature / time)
            })
            .collect();
        let (x, error) = least_squares(&rows);
        assert!(error < 1e-6, "{error}");
        for (x, truth) in x.into_iter().zip(truth) {
            assert!((x - truth).abs() < 0.01, "{x} {truth}");
        }
    }
}
