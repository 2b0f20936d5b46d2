//! Shared by the benches: data with a name and a seed, a folder, and percentiles.

#![allow(dead_code, unreachable_pub, reason = "each bench uses its part")]
#![allow(clippy::cast_possible_truncation, reason = "sizes of benches are small")]
#![allow(clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "figures for people")]

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::time::{Duration, Instant};

use fpdb::{Db, DocId, Entry, Layout, Options};

/// A seeded random number generator (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// Returns `value` with `count` of its bits flipped.
    pub fn flip(&mut self, value: u64, count: u32) -> u64 {
        let mut flips = 0u64;
        while flips.count_ones() < count {
            flips |= 1 << self.below(64);
        }
        value ^ flips
    }
}

/// The data sets. `Uniform` has neighbours only by chance; `Clustered` consists of families of near
/// neighbours (1 to 8 bits apart) of very different sizes around uniform centres; `Real` is the
/// fingerprints of lines of real documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Data {
    Uniform,
    Clustered,
    Real,
}

impl Data {
    pub const ALL: [Self; 3] = [Self::Uniform, Self::Clustered, Self::Real];

    pub fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Clustered => "clustered",
            Self::Real => "real",
        }
    }

    /// Returns the data set that an option names.
    pub fn named(name: &str) -> Self {
        let data = Self::ALL.into_iter().find(|data| data.name() == name);
        data.expect("uniform, clustered or real")
    }

    /// Returns `n` fingerprints; of real data, all there are.
    pub fn fingerprints(self, n: usize) -> Vec<u64> {
        let mut random = Random(n as u64);
        match self {
            Self::Uniform => (0..n).map(|_| random.next()).collect(),
            Self::Clustered => {
                let mut all = Vec::with_capacity(n);
                while all.len() < n {
                    let centre = random.next();
                    let size = 1u64 << random.below(12);
                    for _ in 0..size.min((n - all.len()) as u64) {
                        let errors = random.below(9) as u32;
                        all.push(random.flip(centre, errors));
                    }
                }
                all
            }
            Self::Real => {
                let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/fingerprints.u64le");
                let bytes = std::fs::read(file).unwrap();
                bytes.chunks_exact(8).map(|c| u64::from_le_bytes(c.try_into().unwrap())).collect()
            }
        }
    }
}

/// Whether only a quick run is requested, as `cargo bench -- --test` does.
pub fn is_test() -> bool {
    std::env::args().any(|arg| arg == "--test")
}

/// Returns the value after `--name`, or the default.
pub fn option<T: std::str::FromStr>(name: &str, default: T) -> T {
    let mut args = std::env::args().skip_while(|arg| arg != name);
    args.nth(1).and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Returns a folder for databases: in `FPDB_BENCH_DIR`, or the system's temporary folder.
pub fn folder() -> tempfile::TempDir {
    match std::env::var_os("FPDB_BENCH_DIR") {
        Some(dir) => tempfile::tempdir_in(PathBuf::from(dir)).unwrap(),
        None => tempfile::tempdir().unwrap(),
    }
}

/// Returns settings with blocks of 128 bytes, and room for the entire index in memory.
pub fn options(layout: &str, filter_bits: u32) -> Options {
    Db::options()
        .layout(Layout::preset(layout, 64).unwrap())
        .block_size(128)
        .filter_bits(filter_bits)
        .index_memory(option("--index-memory", 1 << 30))
}

/// Loads these fingerprints into one segment, with positions as ids, and then its index into
/// memory. Returns the database and the seconds that the load took.
pub fn load(options: Options, path: PathBuf, fingerprints: &[u64]) -> (Db, f64) {
    let db = options.create(path).unwrap();
    let start = Instant::now();
    let entries = (0..).zip(fingerprints);
    let _ = db
        .bulk_load(entries.map(|(id, &fingerprint)| Ok(Entry { fingerprint, id: DocId(id) })))
        .unwrap();
    let seconds = start.elapsed().as_secs_f64();
    db.warm().unwrap();
    (db, seconds)
}

/// Returns queries: half are entries with up to 4 flipped bits, half random fingerprints.
pub fn queries(fingerprints: &[u64], count: usize) -> Vec<u64> {
    let mut random = Random(99);
    (0..count)
        .map(|i| match i % 2 {
            0 => {
                let near = fingerprints[random.below(fingerprints.len() as u64) as usize];
                random.flip(near, (i / 2 % 5) as u32)
            }
            _ => random.next(),
        })
        .collect()
}

/// Counts the entries within the distance by comparing all of them.
pub fn scan(fingerprints: &[u64], query: u64, distance: u32) -> usize {
    fingerprints.iter().filter(|&&f| (f ^ query).count_ones() <= distance).count()
}

/// Returns the time of each piece of work, in ascending order.
pub fn times<T>(items: impl IntoIterator<Item = T>, mut work: impl FnMut(T)) -> Vec<Duration> {
    let timed = |item| {
        let start = Instant::now();
        work(item);
        start.elapsed()
    };
    let mut times: Vec<Duration> = items.into_iter().map(timed).collect();
    times.sort_unstable();
    times
}

/// Returns the median; of two values the greater.
pub fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Returns the seconds that this takes.
pub fn seconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

/// Returns a percentile of the durations, in microseconds.
pub fn percentile(sorted: &[Duration], share: f64) -> f64 {
    let index = ((sorted.len() - 1) as f64 * share) as usize;
    sorted[index].as_secs_f64() * 1e6
}

/// Returns the memory of this process without mapped files. 0 if the system does not report it.
pub fn anonymous_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

/// Returns the processor seconds of this process, to 10 ms. Other load changes them little.
/// Infinite if the system does not report them.
pub fn processor_seconds() -> f64 {
    own_and_kernel_seconds().iter().sum()
}

/// Returns the same in two parts: in its own code, and in the kernel.
pub fn own_and_kernel_seconds() -> [f64; 2] {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let (_, fields) = stat.rsplit_once(')').unwrap_or_default();
    let mut ticks = fields.split_whitespace().skip(11).map(|ticks| ticks.parse::<f64>());
    std::array::from_fn(|_| ticks.next().and_then(Result::ok).map_or(f64::INFINITY, |t| t / 100.0))
}

/// Returns the paths of the files in a folder.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Drops the system's cache of the files in a folder, which must not be mapped. Only Linux can.
pub fn evict(folder: &Path) {
    for path in files(folder) {
        let file = File::open(path).unwrap();
        file.sync_all().unwrap();
        #[cfg(target_os = "linux")]
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    }
}

/// Opens a file of which nothing is read in advance. Only Linux can be told so.
pub fn open_for_random_reads(path: &Path) -> File {
    let file = File::open(path).unwrap();
    #[cfg(target_os = "linux")]
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Random).unwrap();
    file
}

/// Bytes of a page of a file.
pub const PAGE: u64 = 4096;

/// Returns the bytes that devices have read for this process so far.
pub fn bytes_read() -> u64 {
    let io = std::fs::read_to_string("/proc/self/io").unwrap();
    let line = io.lines().find_map(|line| line.strip_prefix("read_bytes: "));
    line.unwrap().parse().unwrap()
}

/// Returns the largest file in a folder.
pub fn largest(folder: &Path) -> PathBuf {
    files(folder).into_iter().max_by_key(|path| path.metadata().unwrap().len()).unwrap()
}

/// Returns the median time to read `depth` random pages of a cold file with this many threads.
pub fn device(path: &Path, depth: usize, threads: usize) -> f64 {
    let pages = path.metadata().unwrap().len() / PAGE;
    let rounds = if is_test() { 3 } else { 60 };
    let (start, end) = (Barrier::new(threads + 1), Barrier::new(threads + 1));
    let mut times = Vec::new();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (start, end) = (&start, &end);
            scope.spawn(move || {
                let mut file = open_for_random_reads(path);
                let mut random = Random(thread as u64 * 7919 + depth as u64);
                let mut page = [0; PAGE as usize];
                for _ in 0..rounds {
                    start.wait();
                    for _ in 0..depth / threads {
                        file.seek(SeekFrom::Start(random.below(pages) * PAGE)).unwrap();
                        file.read_exact(&mut page).unwrap();
                    }
                    end.wait();
                }
            });
        }
        for _ in 0..rounds {
            start.wait();
            let begin = Instant::now();
            end.wait();
            times.push(begin.elapsed());
        }
    });
    times.sort_unstable();
    percentile(&times, 0.5)
}
