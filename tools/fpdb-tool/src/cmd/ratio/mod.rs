//! `ratio`

mod compress;
mod measure;
mod picture;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use fpdb::{Description, Options, Word};
use serde::Serialize;

use crate::args::choice::choice;
use crate::args::database::{self, SKETCH_BITS, by_word};
use crate::args::numbers::parse_count;
use crate::input::fingerprints::{ListArgs, Listed, Lists};
use crate::input::{InputFormat, MAX_RATIO};
use crate::output::failure::Exit;
use crate::output::progress;
use crate::output::{self, Context};
use measure::{Code, Set};

const EXAMPLE: &str = "\
Examples:
  fpdb-tool ratio crawl.fpdb
  fpdb-tool ratio --from fp fingerprints.txt
  fpdb-tool ratio --entries 8e9 --picture ratio.svg";

/// Shows how far fingerprints can be compressed: by gzip, by zstd, and in the blocks of a table
///
/// The fingerprints come from a database or a list, or are random. Each counts once. All sizes
/// are of one copy of them, sorted, in bits per fingerprint, and the ratio is to what they take
/// without compression:
///
/// - gzip, zstd: of the sorted fingerprints, and of the differences between neighbours
///
/// - blocks of 128 B to 4096 B: a table without a filter, in the code of Manku, Jain and Das Sarma
///   (WWW 2007): the counts and the first fingerprints of blocks, the codewords, the remaining
///   bits, what is unused at the ends of blocks, the directory, and the rest, which is the header,
///   the checksums and the footer
///
/// - entropy bound: the least that any code can take on average, if the fingerprints are random
///
/// More than 2^24 random fingerprints are not all made. Their table consists of parts that have the
/// same leading bits, and one of these is built, with up to 2^20 fingerprints.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// A database, or with --from lists of fingerprints, where `-` is standard input
    #[arg(value_name = "DB|FILE", required_unless_present = "entries", conflicts_with = "entries")]
    paths: Vec<PathBuf>,

    /// Read lists of fingerprints: only `fp` is possible
    #[arg(long, value_parser = choice::<InputFormat>())]
    from: Option<InputFormat>,

    /// Measure so many random fingerprints, such as 1e6
    #[arg(long, value_name = "NUMBER", value_parser = parse_count)]
    entries: Option<u64>,

    /// Width of the fingerprints of a list or of random ones: 64 or 128 [default: 64]
    #[arg(long, value_name = "BITS", value_parser = database::parse_bits)]
    bits: Option<u32>,

    /// Draw the sizes as bars into this file
    #[arg(long, value_name = "FILE.svg")]
    picture: Option<PathBuf>,

    #[command(flatten)]
    list: ListArgs,
}

/// `fpdb.ratio/1`
#[derive(Serialize)]
struct Report {
    /// `database`, `list` or `random`.
    source: &'static str,
    bits: u32,
    fingerprints: u64,
    /// How many of them were compressed: all, or those of one part.
    built: u64,
    codes: Vec<Code>,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        let bits = self.width()?;
        let report = by_word!(bits, |options| self.measure(options, context))?;
        if let Some(path) = &self.picture {
            fs::write(path, picture::draw(&report.title(), &report.codes))
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        if context.json {
            context.report("fpdb.ratio/1", &report)?;
        } else {
            report.print(context)?;
        }
        Ok(Exit::Done)
    }

    /// Returns the width of the fingerprints.
    fn width(&self) -> Result<u32> {
        match (self.from, &self.paths[..]) {
            (Some(InputFormat::Documents(_)), _) => bail!(
                "ratio reads fingerprints, not documents: fpdb-tool fingerprint computes them"
            ),
            (Some(InputFormat::Fingerprints), _) | (None, []) => Ok(self.bits.unwrap_or(64)),
            (None, [path]) => {
                let found = Description::read(path)?.bits;
                if found == SKETCH_BITS {
                    bail!("a database of sketches has no tables of fingerprints to measure");
                }
                match self.bits {
                    Some(bits) if bits != found => {
                        bail!("the database has {found} bits: leave out --bits")
                    }
                    _ => Ok(found),
                }
            }
            (None, _) => bail!("expected one database; --from fp reads lists of fingerprints"),
        }
    }

    fn measure<F: Word>(&self, options: Options<F>, context: &mut Context<'_>) -> Result<Report> {
        let (source, set) = match (self.entries, self.from) {
            (Some(entries), _) => ("random", Set::random(entries)),
            (None, Some(_)) => ("list", Set::of(self.listed(context)?)),
            (None, None) => {
                let db = options.index_memory(0).open_read_only(&self.paths[0])?;
                let all = db.snapshot();
                let all = all.iter().map(|entry| Ok(entry?.fingerprint));
                ("database", Set::of(all.collect::<Result<_>>()?))
            }
        };
        if set.fingerprints.is_empty() {
            bail!("there are no fingerprints to compress");
        }
        let (fingerprints, built) = (set.count, set.fingerprints.len() as u64);
        Ok(Report { source, bits: F::BITS, fingerprints, built, codes: set.codes()? })
    }

    fn listed<F: Word>(&self, context: &Context<'_>) -> Result<Vec<F>> {
        let bar = progress::over_files(context, &self.paths);
        let (args, max_ratio) = (&self.list, MAX_RATIO);
        let lists = Lists { args, id_column: None, max_ratio, bar: &bar };
        let all = lists.read(&self.paths);
        let all = all.map(|listed: Result<Listed<F>>| Ok(listed?.fingerprint)).collect();
        bar.finish_and_clear();
        all
    }
}

impl Report {
    /// Says what was measured.
    fn title(&self) -> String {
        let Self { source, bits, fingerprints, built, .. } = self;
        let part = match built == fingerprints {
            true => String::new(),
            false => format!(", computed from a part of {built}"),
        };
        format!("{fingerprints} fingerprints of {bits} bits, {source}{part}")
    }

    fn print(&self, context: &mut Context<'_>) -> Result<()> {
        let out = &mut *context.out;
        writeln!(out, "{}\n", self.title())?;
        let header = [
            "code",
            "bits",
            "ratio",
            "first",
            "codewords",
            "remaining",
            "unused",
            "directory",
            "other",
        ];
        Ok(output::table(out, header, &self.codes.iter().map(Code::line).collect::<Vec<_>>())?)
    }
}
