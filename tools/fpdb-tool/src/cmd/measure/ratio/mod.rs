//! `ratio`

mod bound;
mod codec;
mod measure;
mod page;
mod report;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use fpdb::{BlockCode, Fingerprint, Layout};
use indicatif::ProgressBar;

use crate::cmd::measure::generate::{Data, Source};
use crate::count;
use crate::failure::{self, Outcome};
use crate::input::fingerprints::{FingerprintFormat, ListArgs};
use crate::output::{self, Context};
use crate::temporary::{self, Temporary};
use crate::{database, progress};
use measure::Design;
use report::{Report, Row};

const EXAMPLE: &str = "\
Example:
  fpdb-tool ratio --n 1e5,1e6 --layouts half-2,ring-4 --blocks 256,1024 --html ratio.html";

/// Measures what a fingerprint takes on disk: against n, layout, code and block size
///
/// For each size, layout, code and block size a database is written, measured and removed; what its
/// blocks, index, filters and ids take is told apart. Beside it stand raw fingerprints, Zstandard
/// (level 3) on the differences of the sorted ones, whole or as varints, what the paper's code
/// takes in theory, and the entropy bound log2(C(2^bits, n)) / n.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// Numbers of entries, such as 50000 or 1e6 [default: the powers of ten from 1e4 to --max-n;
    /// of a file all]
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', value_parser = count::parse,
        conflicts_with = "max_n")]
    n: Vec<u64>,

    /// The largest power of ten to go to; the default takes about a minute, 1e8 a quarter of an
    /// hour
    #[arg(long, value_name = "NUMBER", value_parser = count::parse, default_value = "1e7")]
    max_n: u64,

    /// Layouts to measure, by name
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "half-2,ring-4")]
    layouts: Vec<String>,

    /// Sizes of a block in bytes, powers of two from 128 to 4096
    #[arg(long, value_name = "BYTES", value_delimiter = ',', value_parser = parse_block,
        default_value = "128,256,1024,4096")]
    blocks: Vec<usize>,

    /// Codes of the blocks, by name
    #[arg(long, value_name = "CODES", value_delimiter = ',', value_parser = BlockCode::parse,
        default_value = "elias-fano,huffman")]
    code: Vec<BlockCode>,

    /// Bits a fingerprint of the prefix filter, 0 for none
    #[arg(long, value_name = "BITS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=32))]
    filter_bits: u32,

    /// uniform, clustered (families of near neighbours), or a file of fingerprints
    #[arg(long, value_name = "DATA", default_value = "uniform")]
    data: Data,

    /// Width of the fingerprints, 64 or 128
    #[arg(long, value_parser = database::parse_bits, default_value = "64")]
    bits: u32,

    /// Write the figures into this file as CSV; it is replaced
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Write a page with charts into this file; it is replaced
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Where the databases are written [default: the system's folder for temporary files]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,

    #[command(flatten)]
    list: ListArgs,
}

/// A size of blocks that the library takes.
fn parse_block(text: &str) -> Result<usize, String> {
    let bytes = text.parse().ok().filter(|b: &usize| b.is_power_of_two());
    bytes
        .filter(|bytes| (128..=4096).contains(bytes))
        .ok_or_else(|| "expected a power of two from 128 to 4096".to_owned())
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Outcome> {
        for (name, path) in [("--csv", &self.csv), ("--html", &self.html)] {
            if path.as_ref().is_some_and(|path| path.as_os_str() == "-") {
                bail!("standard output is for the figures: give {name} a file");
            }
        }
        if self.list.fp_format != FingerprintFormat::Auto && !matches!(self.data, Data::File(_)) {
            bail!("--fp-format is for files: give --data one");
        }
        let report = match self.bits {
            128 => self.measure::<u128>(context)?,
            _ => self.measure::<u64>(context)?,
        };
        if context.json {
            output::json_line(context.out, &report)?;
        } else {
            report.print(context.out)?;
            context.say(report::LEGEND);
        }
        if let Some(path) = &self.csv {
            write(path, &report.csv()?)?;
        }
        if let Some(path) = &self.html {
            write(path, page::html(&report).as_bytes())?;
        }
        Ok(Outcome::Done)
    }

    fn measure<F: Fingerprint>(&self, context: &Context<'_>) -> Result<Report> {
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
            rows.extend(of_size(n, &designs, &source, folder.path(), &bar)?);
        }
        bar.finish_and_clear();
        Ok(Report {
            schema: "fpdb.ratio/1",
            data: self.data.name(),
            bits: F::BITS,
            filter_bits: self.filter_bits,
            rows,
        })
    }

    fn designs(&self, bits: u32) -> Result<Vec<Design>> {
        let codes = page::distinct(self.code.iter().copied());
        let blocks = page::distinct(self.blocks.iter().copied());
        let mut designs = Vec::new();
        for name in page::distinct(self.layouts.iter()) {
            let layout = Layout::preset(name, bits).map_err(|e| failure::as_usage(&e))?;
            for &code in &codes {
                designs.extend(blocks.iter().map(|&block_size| Design {
                    layout: layout.clone(),
                    block_size,
                    code,
                    filter_bits: self.filter_bits,
                }));
            }
        }
        Ok(designs)
    }

    /// How many entries are measured, rising.
    fn sizes<F: Fingerprint>(&self, source: &Source<F>) -> Result<Vec<u64>> {
        let powers = (4..).map(|power| 10u64.pow(power)).take_while(|&n| n <= self.max_n);
        let mut sizes = match (self.n.is_empty(), source.len()) {
            (true, Some(len)) => vec![len],
            (true, None) => powers.collect(),
            (false, _) => self.n.clone(),
        };
        if sizes.is_empty() {
            bail!("--max-n is below 1e4, the first size measured: give --n");
        }
        sizes.sort_unstable();
        sizes.dedup();
        match source.len() {
            Some(len) if sizes.last().is_some_and(|&most| most > len) => {
                bail!("{} has {len} fingerprints, fewer than --n asks for", self.data.name())
            }
            _ => Ok(sizes),
        }
    }
}

/// All codes of one set of `n` entries.
fn of_size<F: Fingerprint>(
    n: u64,
    designs: &[Design],
    source: &Source<F>,
    folder: &Path,
    bar: &ProgressBar,
) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for design in designs {
        let (layout, block, code) = (design.layout.name(), design.block_size, design.code);
        bar.set_message(format!("measuring {n} in {layout}, blocks of {block} in {code},"));
        let measured = measure::load(design, source, n, folder, |db| {
            let stats = db.stats();
            // Of all databases of this size, for they hold the same.
            let others = if rows.is_empty() { measure::others(db)? } else { Vec::new() };
            let others = others
                .into_iter()
                .map(|(codec, bytes)| Row::of_other(F::BITS, n, codec, bytes, stats.fingerprints));
            let ours = Row::of_database(design, n, &stats, measure::tables(&stats)?);
            Ok(others.chain([ours]).collect::<Vec<_>>())
        })?;
        rows.extend(measured);
    }
    Ok(rows)
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}
