//! The command line of `bench`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::ValueEnum;
use fpdb::{BlockCode, Durability};

use super::mix::Mix;
use crate::cmd::measure::generate::Data;
use crate::count;
use crate::database;
use crate::input::fingerprints::{FingerprintFormat, ListArgs};

/// The operations measured unless the command line gives a number or a time.
pub(super) const DEFAULT_OPERATIONS: u64 = 100_000;

const EXAMPLE: &str = "\
Examples:
  fpdb-tool bench crawl.fpdb --queries 1e6 --threads 2 --html bench.html
  fpdb-tool bench --new -n 1e7 --layout half-2 --mix 40:40:20";

/// Measures how long queries and inserts take
///
/// Hits are queries for random entries of the database, with up to -k of their bits flipped; misses
/// are queries for uniformly random fingerprints; each insert commits one uniformly random
/// fingerprint. The kinds come in random order, and each operation is timed separately.
///
/// A database is only read, unless --mix has inserts: then a copy of it is measured, and removed
/// afterwards. The exit code is 1 if a hit did not find the entry that it was made from.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// The database
    #[arg(value_name = "DB", required_unless_present = "new", conflicts_with = "new")]
    pub(super) path: Option<PathBuf>,

    /// Measure a new database, which is removed afterwards
    #[arg(long)]
    pub(super) new: bool,

    /// Shares of hits, misses and inserts
    #[arg(long, value_name = "HITS:MISSES:INSERTS", default_value = "50:50:0")]
    pub(super) mix: Mix,

    /// Operations to measure, in all threads together [default: 1e5, or as many as fit into
    /// --seconds]
    #[arg(long, value_name = "NUMBER", value_parser = count::parse)]
    pub(super) queries: Option<u64>,

    /// Stop after this time
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub(super) seconds: Option<Duration>,

    /// Operations to run before the measurement, without inserts; 0 for none
    #[arg(long, value_name = "NUMBER", default_value_t = 10_000)]
    pub(super) warm_up: u64,

    /// Distance of the queries in bits [default: the database's max distance, which is 3 for a new
    /// one]
    #[arg(short = 'k', long = "distance", value_name = "BITS",
        value_parser = clap::value_parser!(u32).range(0..=128))]
    pub(super) distance: Option<u32>,

    /// Threads that run operations at the same time
    #[arg(long, value_name = "NUMBER", default_value_t = 1,
        value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub(super) threads: u64,

    /// Seed of the random numbers: the same seed gives the same operations
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(super) seed: u64,

    /// What an insert waits for
    #[arg(long, value_enum, default_value = "sync")]
    pub(super) durability: DurabilityArg,

    /// Insert into the database itself, where the entries stay
    #[arg(long, conflicts_with = "new")]
    pub(super) in_place: bool,

    /// Folder for a copy or a new database [default: the system's folder for temporary files]
    #[arg(long, value_name = "DIR")]
    pub(super) folder: Option<PathBuf>,

    /// Write an HTML page with charts to this file, replacing it
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,

    #[command(flatten)]
    pub(super) made: NewArgs,

    #[command(flatten)]
    pub(super) list: ListArgs,
}

/// How a new database is made.
#[derive(clap::Args)]
#[command(next_help_heading = "A new database")]
pub(super) struct NewArgs {
    /// Fingerprints to load: uniform, clustered (families of near neighbours), or a file [default:
    /// uniform]
    #[arg(long, value_name = "DATA")]
    pub(super) data: Option<Data>,

    /// Number of entries, such as 50000 or 1e6 [default: 1e6, or all entries of a file]
    #[arg(short, value_name = "NUMBER", value_parser = count::parse)]
    pub(super) n: Option<u64>,

    /// Width of the fingerprints, 64 or 128 [default: 64]
    #[arg(long, value_parser = database::parse_bits)]
    pub(super) bits: Option<u32>,

    /// Layout, by name, or auto [default: auto]
    #[arg(long, value_name = "NAME")]
    pub(super) layout: Option<String>,

    /// Block size in bytes, a power of two from 128 to 4096 [default: that of the library]
    #[arg(long, value_name = "BYTES")]
    pub(super) block_size: Option<usize>,

    /// Code of the blocks, huffman or elias-fano [default: that of the library]
    #[arg(long, value_name = "CODE", value_parser = BlockCode::parse)]
    pub(super) code: Option<BlockCode>,

    /// Size of the prefix filter in bits per fingerprint, 0 to 32 [default: that of the library]
    #[arg(long, value_name = "BITS")]
    pub(super) filter_bits: Option<u32>,
}

/// `--durability`
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DurabilityArg {
    /// Until the entry is on disk
    Sync,
    /// Until the operating system has the entry
    Buffered,
}

impl From<DurabilityArg> for Durability {
    fn from(durability: DurabilityArg) -> Self {
        match durability {
            DurabilityArg::Sync => Self::Sync,
            DurabilityArg::Buffered => Self::Buffered,
        }
    }
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|s: f64| Duration::try_from_secs_f64(s).ok());
    let seconds = seconds.filter(|seconds| !seconds.is_zero());
    seconds.ok_or_else(|| "expected a number of seconds above 0".to_owned())
}

impl Args {
    /// Checks what clap cannot. Because --new conflicts with DB, it does not enforce that other
    /// options require --new.
    pub(super) fn check(&self) -> Result<()> {
        if !self.new && self.made.is_given() {
            bail!("options for a new database require --new");
        }
        if self.html.as_ref().is_some_and(|path| path.as_os_str() == "-") {
            bail!("standard output is for the results: give --html a file");
        }
        if self.in_place && self.mix.inserts == 0 {
            bail!("--in-place is for inserts, and --mix has none");
        }
        if self.list.fp_format != FingerprintFormat::Auto
            && !matches!(self.made.data, Some(Data::File(_)))
        {
            bail!("--fp-format is for files: use --data with a file");
        }
        Ok(())
    }

    /// Returns the most operations that are measured, or 0 if only time limits them.
    pub(super) fn operations(&self) -> u64 {
        self.queries.or(self.seconds.is_none().then_some(DEFAULT_OPERATIONS)).unwrap_or(0)
    }
}

impl NewArgs {
    /// Whether any option is given.
    fn is_given(&self) -> bool {
        let numbers = self.n.is_some() || self.bits.is_some() || self.block_size.is_some();
        let names = self.code.is_some() || self.data.is_some() || self.layout.is_some();
        numbers || self.filter_bits.is_some() || names
    }
}
