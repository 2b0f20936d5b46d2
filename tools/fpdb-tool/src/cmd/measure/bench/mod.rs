//! `bench`

mod latency;
mod mix;
mod page;
mod ready;
mod report;
mod run;
mod target;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;
use fpdb::{BlockCode, Durability, Fingerprint};

use crate::cmd::measure::generate::Data;
use crate::count;
use crate::database::{self, by_width};
use crate::failure::Outcome;
use crate::input::fingerprints::{FingerprintFormat, ListArgs};
use crate::output::{self, Context};
use crate::progress;
use mix::{Kind, Mix};
use ready::Ready;
use report::{Database, KindReport, Phase, Report};
use run::{Done, Work};

/// Operations measured unless another number or a time is asked for.
const DEFAULT_OPERATIONS: u64 = 100_000;

const EXAMPLE: &str = "\
Examples:
  fpdb-tool bench crawl.fpdb --queries 1e6 --threads 2 --html bench.html
  fpdb-tool bench --new -n 1e7 --layout half-2 --mix 40:40:20";

/// Measures how long queries and inserts take
///
/// Hits are queries for entries of the database, drawn at random, none or up to -k of their bits
/// flipped; misses are queries for uniformly random fingerprints; inserts commit a uniformly random
/// fingerprint each. Kinds alternate at random, and each operation is timed by itself.
///
/// A database is only read, unless --mix has inserts: then a copy of it is measured, and removed
/// afterwards. The exit code is 1 if a hit did not find the entry it was made from.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// The database
    #[arg(value_name = "DB", required_unless_present = "new", conflicts_with = "new")]
    path: Option<PathBuf>,

    /// Measure a new database, which is removed afterwards
    #[arg(long)]
    new: bool,

    /// Shares of hits, misses and inserts
    #[arg(long, value_name = "HITS:MISSES:INSERTS", default_value = "50:50:0")]
    mix: Mix,

    /// Operations to measure, by all threads together [default: 1e5, or as many as --seconds
    /// allows]
    #[arg(long, value_name = "NUMBER", value_parser = count::parse)]
    queries: Option<u64>,

    /// Stop after this time
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    seconds: Option<Duration>,

    /// Operations before, without inserts, that are not measured; 0 for none
    #[arg(long, value_name = "NUMBER", default_value_t = 10_000)]
    warm_up: u64,

    /// Distance in bits to ask for [default: the database's own, of a new one 3]
    #[arg(short = 'k', long = "distance", value_name = "BITS",
        value_parser = clap::value_parser!(u32).range(0..=128))]
    distance: Option<u32>,

    /// Threads that ask at the same time
    #[arg(long, value_name = "NUMBER", default_value_t = 1,
        value_parser = clap::value_parser!(u64).range(1..=1024))]
    threads: u64,

    /// Where the operations begin: the same number asks the same
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,

    /// What an insert waits for
    #[arg(long, value_enum, default_value = "sync")]
    durability: DurabilityArg,

    /// Insert into the database itself, where the entries stay
    #[arg(long, conflicts_with = "new")]
    in_place: bool,

    /// Where a copy or a new database is written [default: the system's folder for temporary files]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,

    /// Write a page with a chart into this file; it is replaced
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    #[command(flatten)]
    made: NewArgs,

    #[command(flatten)]
    list: ListArgs,
}

/// What a new database is made of.
#[derive(clap::Args)]
#[command(next_help_heading = "A new database")]
struct NewArgs {
    /// uniform, clustered (families of near neighbours), or a file of fingerprints [default:
    /// uniform]
    #[arg(long, value_name = "DATA")]
    data: Option<Data>,

    /// Number of entries, such as 50000 or 1e6 [default: 1e6, of a file all]
    #[arg(short, value_name = "NUMBER", value_parser = count::parse)]
    n: Option<u64>,

    /// Width of the fingerprints, 64 or 128 [default: 64]
    #[arg(long, value_parser = database::parse_bits)]
    bits: Option<u32>,

    /// Layout, by name, or auto [default: auto]
    #[arg(long, value_name = "NAME")]
    layout: Option<String>,

    /// Size of a block, a power of two from 128 to 4096 [default: the library's]
    #[arg(long, value_name = "BYTES")]
    block_size: Option<usize>,

    /// Code of the blocks, elias-fano or huffman [default: the library's]
    #[arg(long, value_name = "CODE", value_parser = BlockCode::parse)]
    code: Option<BlockCode>,

    /// Bits a fingerprint of the prefix filter, 0 to 32 [default: the library's]
    #[arg(long, value_name = "BITS")]
    filter_bits: Option<u32>,
}

/// `--durability`
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum DurabilityArg {
    /// Until it is on the disk
    Sync,
    /// Until the operating system has it
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
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Outcome> {
        self.check()?;
        let report = match &self.path {
            Some(path) => {
                let found = fpdb::describe(path)?;
                by_width!(found.bits, |options| {
                    let ready = self.open(options, path, &found)?;
                    self.measure(ready, context)?
                })
            }
            None => by_width!(self.made.bits.unwrap_or(64), |options| {
                let ready = self.make(options, context)?;
                self.measure(ready, context)?
            }),
        };
        self.tell(&report, context)
    }

    /// What clap cannot see. That --new conflicts with DB makes it forget that others require it.
    fn check(&self) -> Result<()> {
        if !self.new && self.made.is_given() {
            bail!("a database that there is stays as it is: what it is made of goes with --new");
        }
        if self.html.as_ref().is_some_and(|path| path.as_os_str() == "-") {
            bail!("standard output is for the figures: give --html a file");
        }
        if self.in_place && self.mix.inserts == 0 {
            bail!("--in-place is for inserts, and --mix has none");
        }
        if self.list.fp_format != FingerprintFormat::Auto
            && !matches!(self.made.data, Some(Data::File(_)))
        {
            bail!("--fp-format is for files: give --data one");
        }
        Ok(())
    }

    /// Operations that are measured at most, as far as is known.
    fn operations(&self) -> u64 {
        self.queries.or(self.seconds.is_none().then_some(DEFAULT_OPERATIONS)).unwrap_or(0)
    }

    fn measure<F: Fingerprint>(&self, ready: Ready<F>, context: &Context<'_>) -> Result<Report> {
        let Ready { target, distance, database, _folder } = ready;
        let bar = progress::working(context, "drawing entries");
        let sample = if self.mix.hits > 0 { target.sample(self.seed)? } else { Vec::new() };
        if self.mix.hits > 0 && sample.is_empty() {
            bail!("the database is empty, so nothing can hit: give --mix 0:1:0, say");
        }
        let queries = self.mix.queries();
        let warm_up = Work {
            target: &target,
            mix: queries,
            sample: &sample,
            distance,
            threads: self.threads,
            seed: !self.seed,
            operations: if queries.is_empty() { 0 } else { self.warm_up },
            limit: None,
        };
        bar.set_message("warming up");
        let warmed = warm_up.run()?;
        bar.set_message("measuring");
        let operations = self.queries.unwrap_or(match self.seconds {
            Some(_) => u64::MAX,
            None => DEFAULT_OPERATIONS,
        });
        let work =
            Work { mix: self.mix, seed: self.seed, operations, limit: self.seconds, ..warm_up };
        let done = work.run()?;
        bar.finish_and_clear();
        target.close()?;
        Ok(self.report(database, distance, &warmed, &done))
    }

    fn report(&self, database: Database, distance: u32, warmed: &Done, done: &Done) -> Report {
        let seconds = done.elapsed.as_secs_f64();
        let kinds = Kind::ALL.iter().zip(&done.kinds).filter(|(_, times)| times.count() > 0);
        let kinds: Vec<_> =
            kinds.map(|(&kind, times)| KindReport::new(kind, times, seconds)).collect();
        let clock_ns = run::clock();
        let measured = phase(done);
        let stopped = self.queries.is_some_and(|asked| measured.operations < asked);
        Report {
            schema: "fpdb.bench/1",
            database,
            distance,
            mix: self.mix,
            durability: (self.mix.inserts > 0).then_some(match self.durability {
                DurabilityArg::Sync => "sync",
                DurabilityArg::Buffered => "buffered",
            }),
            threads: self.threads,
            seed: self.seed,
            warm_up: phase(warmed),
            measured,
            waited_seconds: done.waited.map(|waited| waited.as_secs_f64()),
            clock_ns,
            notes: report::notes(&kinds, self.threads, clock_ns, done, stopped),
            kinds,
        }
    }

    fn tell(&self, report: &Report, context: &mut Context<'_>) -> Result<Outcome> {
        if context.json {
            output::json_line(context.out, report)?;
        } else {
            report.print(context.out)?;
        }
        report.notes.iter().for_each(|note| context.say(format!("note: {note}")));
        if let Some(path) = &self.html {
            let written = fs::write(path, page::html(report));
            written.with_context(|| format!("cannot write {}", path.display()))?;
        }
        let lost: u64 = report.kinds.iter().map(KindReport::lost).sum();
        if lost > 0 {
            context.say(format!("{lost} hits did not find the entry they were made from"));
            return Ok(Outcome::CheckFailed);
        }
        Ok(Outcome::Done)
    }
}

impl NewArgs {
    fn is_given(&self) -> bool {
        let numbers = self.n.is_some() || self.bits.is_some() || self.block_size.is_some();
        let names = self.code.is_some() || self.data.is_some() || self.layout.is_some();
        numbers || self.filter_bits.is_some() || names
    }
}

fn phase(done: &Done) -> Phase {
    let operations = done.kinds.iter().map(latency::Latencies::count).sum();
    Phase { operations, seconds: done.elapsed.as_secs_f64() }
}
