//! `ratio`

mod bound;
mod codec;
mod generate;
mod measure;
mod page;
mod report;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use fpdb::{Layout, Word};
use indicatif::ProgressBar;

use crate::args::database;
use crate::args::numbers::parse_count;
use crate::args::suggested;
use crate::input::fingerprints::{FingerprintFormat, ListArgs};
use crate::output::Context;
use crate::output::failure::{self, Exit};
use crate::output::progress;
use crate::temporary::{self, Temporary};
use generate::{Data, Source};
use measure::{Content, Design};
use report::{Report, Row};

const EXAMPLE: &str = "\
Example:
  fpdb-tool ratio -n 1e5,1e6 --layouts half-2,ring-4 --blocks 256,1024 --html ratio.html";

/// Measures the space per fingerprint on disk, by number of entries (n), layout and block
/// size
///
/// For each n, layout and block size, a database is written, measured and removed; the space
/// of its blocks, index, filters and ids is reported separately, and each is compared with the
/// least that it could take: blocks with the entropy bound, a filter with --filter-bits, and ids
/// with the number of ways to distribute them, about log2(n / e) bits each; index and checksums
/// could take nothing. For comparison, the report has the sizes of raw fingerprints and of the
/// differences between sorted neighbours (at full width and as varints) compressed with Zstandard
/// at level 3, and what the paper's code would take.
///
/// The entropy bound depends on the measured fingerprints. It is log2 of the number of sets whose
/// sorted neighbours first differ at each bit position as often as theirs do, divided by the number
/// of fingerprints. The uniform bound is for uniformly random fingerprints: log2(C(2^bits, n)) / n.
/// The more the fingerprints cluster, the further the entropy bound is below it.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// Numbers of entries, such as 50000 or 1e6 [default: the powers of ten from 1e4 to --max-n, or
    /// all entries of a file]
    #[arg(short, long = "entries", value_name = "NUMBERS", value_delimiter = ',',
        value_parser = parse_count, conflicts_with = "max_n")]
    n: Vec<u64>,

    /// The largest power of ten to measure; the default takes about a minute, 1e8 a quarter of an
    /// hour
    #[arg(long, value_name = "NUMBER", value_parser = parse_count, default_value = "1e7")]
    max_n: u64,

    /// Layouts to measure, by name
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "half-2,ring-4",
        value_parser = suggested::presets(), hide_possible_values = true)]
    layouts: Vec<String>,

    /// Block sizes in bytes, powers of two from 128 to 4096
    #[arg(long, value_name = "BYTES", value_delimiter = ',', value_parser = parse_block,
        default_value = "128,256,1024,4096")]
    blocks: Vec<usize>,

    /// Size of the prefix filter in bits per fingerprint, 0 for none
    #[arg(long, value_name = "BITS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=32))]
    filter_bits: u32,

    /// Fingerprints to measure: uniform, clustered (families of near neighbours), or a file
    #[arg(long, value_name = "DATA", default_value = "uniform")]
    data: Data,

    /// Width of the fingerprints, 64 or 128
    #[arg(long, value_parser = database::parse_bits, default_value = "64")]
    bits: u32,

    /// Write the results to this file as CSV, replacing it
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Write an HTML page with bars to this file, replacing it
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Folder for the databases [default: the system's folder for temporary files]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,

    #[command(flatten)]
    list: ListArgs,
}

/// Parses a block size that the library accepts.
fn parse_block(text: &str) -> Result<usize, String> {
    let bytes = text.parse().ok().filter(|b: &usize| b.is_power_of_two());
    bytes
        .filter(|bytes| (128..=4096).contains(bytes))
        .ok_or_else(|| "expected a power of two from 128 to 4096".to_owned())
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        for (name, path) in [("--csv", &self.csv), ("--html", &self.html)] {
            if path.as_ref().is_some_and(|path| path.as_os_str() == "-") {
                bail!("standard output is for the results: give {name} a file");
            }
        }
        if self.list.fp_format != FingerprintFormat::Auto && !matches!(self.data, Data::File(_)) {
            bail!("--fp-format is for files: use --data with a file");
        }
        let report = match self.bits {
            128 => self.measure::<u128>(context)?,
            _ => self.measure::<u64>(context)?,
        };
        if context.json {
            context.report("fpdb.ratio/1", &report)?;
        } else {
            report.print(context.out)?;
            for line in report::LEGEND.lines().chain(report::BOUNDS.lines()) {
                context.say(line);
            }
        }
        if let Some(path) = &self.csv {
            write(path, &report.csv()?)?;
        }
        if let Some(path) = &self.html {
            write(path, page::html(&report, &context.provenance).as_bytes())?;
        }
        Ok(Exit::Done)
    }

    fn measure<F: Word>(&self, context: &Context<'_>) -> Result<Report> {
        let designs = self.designs(F::BITS)?;
        let source = self.data.source::<F>(&self.list, context)?;
        let sizes = self.sizes(&source)?;
        let folder = Temporary::new(self.folder.as_deref())?;
        let room = sizes.iter().flat_map(|&n| {
            designs
                .iter()
                .map(move |design| temporary::room_for(&design.layout, design.filter_bits, n))
        });
        folder.need(room.max().unwrap_or(0))?;

        let bar = progress::working(context, "measuring");
        let mut rows = Vec::new();
        for n in sizes {
            rows.extend(measure_size(n, &designs, &source, folder.path(), &bar)?);
        }
        bar.finish_and_clear();
        Ok(Report { data: self.data.name(), bits: F::BITS, filter_bits: self.filter_bits, rows })
    }

    fn designs(&self, bits: u32) -> Result<Vec<Design>> {
        let blocks = distinct(self.blocks.iter().copied());
        let mut designs = Vec::new();
        for name in distinct(self.layouts.iter()) {
            let layout = Layout::preset(name, bits).map_err(|e| failure::as_usage(&e))?;
            designs.extend(blocks.iter().map(|&block_size| Design {
                layout: layout.clone(),
                block_size,
                filter_bits: self.filter_bits,
            }));
        }
        Ok(designs)
    }

    /// Returns the numbers of entries to measure, in ascending order.
    fn sizes<F: Word>(&self, source: &Source<F>) -> Result<Vec<u64>> {
        let powers = (4..).map(|power| 10u64.pow(power)).take_while(|&n| n <= self.max_n);
        let mut sizes = match (self.n.is_empty(), source.len()) {
            (true, Some(len)) => vec![len],
            (true, None) => powers.collect(),
            (false, _) => self.n.clone(),
        };
        if sizes.is_empty() {
            bail!("--max-n is below 1e4, the smallest number measured: use -n");
        }
        sizes.sort_unstable();
        sizes.dedup();
        match source.len() {
            Some(len) if sizes.last().is_some_and(|&most| most > len) => {
                bail!("{} has {len} fingerprints, fewer than -n requests", self.data.name())
            }
            _ => Ok(sizes),
        }
    }
}

/// Measures one set of `n` entries under all codes.
fn measure_size<F: Word>(
    n: u64,
    designs: &[Design],
    source: &Source<F>,
    folder: &Path,
    bar: &ProgressBar,
) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    // Every database of this size has the same fingerprints.
    let mut content: Option<Content> = None;
    for design in designs {
        let (layout, block) = (design.layout.name(), design.block_size);
        bar.set_message(format!("measuring {n} entries: {layout}, blocks of {block} B"));
        measure::load(design, source, n, folder, |db| {
            let Content { branches, ids_bits, others } = match &mut content {
                Some(content) => content,
                none => none.insert(Content::of(db)?),
            };
            let others = others.drain(..);
            rows.extend(others.map(|(codec, bytes)| Row::of_other(n, branches, codec, bytes)));
            let stats = db.stats();
            let tables = measure::tables(&stats)?;
            let row = Row::of_database(n, branches, design, &stats, tables);
            rows.push(row.with_ids_bound(*ids_bits));
            Ok(())
        })?;
    }
    Ok(rows)
}

/// Returns each value once, where it comes first.
fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    values.fold(Vec::new(), |mut all, value| {
        if !all.contains(&value) {
            all.push(value);
        }
        all
    })
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}
