//! `health`

mod bits;
mod report;
mod survey;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;
use fpdb::{Description, DocId, Entry, Fingerprint, Ids, Options};

use crate::database::{self, by_width};
use crate::failure::Exit;
use crate::input::fingerprints::{FingerprintFormat, ListArgs, Lists};
use crate::memory::MemoryArgs;
use crate::output::{self, Context};
use crate::{input, progress};
use report::Report;
use survey::{Reservoir, Survey};

const EXAMPLE: &str = "\
Example:
  fpdb-tool health crawl.fpdb";

/// Checks the quality of fingerprints
///
/// Looks for bits that tell nothing and for a fingerprint that many entries share. Bits are judged
/// by up to 131,072 distinct fingerprints, chosen at random.
///
/// A bit is constant if it is the same in 99 % of them. A bit is a copy if it is equal to a lower
/// bit in 99 % of them, or opposite to it. The exit code is 1 if one bit in eight is constant or a
/// copy, as after a hash of half the width. The following are only warnings: fewer such bits; bits
/// set in less than a quarter or more than three quarters of the fingerprints; a fingerprint shared
/// by 1 % of the entries, and by at least 100.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// The database, or with --from fp files of fingerprints (`-` is standard input)
    #[arg(value_name = "DB|FILE", required = true)]
    paths: Vec<PathBuf>,

    /// Read files of this kind instead of a database
    #[arg(long, value_enum)]
    from: Option<Source>,

    #[command(flatten)]
    list: ListArgs,

    /// Width of the fingerprints in the files, 64 or 128 [default: 64]
    #[arg(long, value_parser = database::parse_bits, requires = "from")]
    bits: Option<u32>,

    /// Number of fingerprints to read from files, chosen at random if there are more; a database is
    /// read completely
    #[arg(long, value_name = "NUMBER", default_value_t = 4_000_000, requires = "from",
        value_parser = parse_sample)]
    sample: usize,

    #[command(flatten)]
    memory: MemoryArgs,
}

/// `--from`
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// Fingerprints
    Fp,
}

fn parse_sample(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|&number| number > 0);
    number.ok_or_else(|| "expected a number of at least 1".to_owned())
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        let report = match (self.from, self.paths.as_slice()) {
            (Some(Source::Fp), _) if self.bits == Some(128) => self.of_files::<u128>(context)?,
            (Some(Source::Fp), _) => self.of_files::<u64>(context)?,
            (None, _) if self.list.fp_format != FingerprintFormat::Auto => {
                bail!("--fp-format is for files: use it with --from fp")
            }
            (None, [path]) => {
                let description = fpdb::Description::read(path)?;
                by_width!(description.bits, |options| of_database(
                    self.memory.apply(options.index_memory(0), path),
                    path,
                    &description,
                    context
                )?)
            }
            (None, _) => bail!("expected one database, or files with --from fp"),
        };
        if context.json {
            output::json_line(context.out, &report)?;
        } else {
            report.print(context.out)?;
        }
        Ok(if report.is_faulty() { Exit::CheckFailed } else { Exit::Done })
    }

    fn of_files<F: Fingerprint>(&self, context: &Context<'_>) -> Result<Report> {
        input::check_all(&self.paths)?;
        let bar = progress::over_files(context, &self.paths);
        let mut sample = Reservoir::new(self.sample);
        let lists =
            Lists { args: &self.list, id_column: None, max_ratio: input::MAX_RATIO, bar: &bar };
        for (id, listed) in (0..).zip(lists.read(&self.paths)) {
            sample.add(Entry { fingerprint: listed?.fingerprint, id: DocId(id) });
        }
        bar.finish_and_clear();
        let mut entries: Vec<Entry<F>> = sample.kept;
        entries.sort_unstable();
        let mut survey = Survey::new();
        entries.into_iter().for_each(|entry| survey.add(entry));
        Report::new(sample.seen, None, &survey, |_| Ok(None))
    }
}

fn of_database<F: Fingerprint>(
    options: Options<F>,
    path: &Path,
    description: &Description,
    context: &Context<'_>,
) -> Result<Report> {
    let bar = progress::working(context, "reading entries");
    let snapshot = options.open_read_only(path)?.snapshot();
    let mut survey = Survey::new();
    for entry in snapshot.iter() {
        survey.add(entry.with_context(|| format!("cannot read {}", path.display()))?);
    }
    bar.finish_and_clear();
    let names = description.ids == Ids::Names;
    Report::new(survey.entries, description.recipe.clone(), &survey, |id| {
        Ok(if names { snapshot.name(id)? } else { None })
    })
}
