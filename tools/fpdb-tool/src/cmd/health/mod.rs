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
use crate::numbers::parse_count;
use crate::output::Context;
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
    /// The database, or files of fingerprints (`-` is standard input)
    #[arg(value_name = "DB|FILE", required = true)]
    paths: Vec<PathBuf>,

    /// What to read
    #[arg(long, value_enum, default_value = "auto")]
    from: Source,

    #[command(flatten)]
    list: ListArgs,

    /// Width of the fingerprints in the files, 64 or 128 [default: 64]
    #[arg(long, value_parser = database::parse_bits)]
    bits: Option<u32>,

    /// Number of fingerprints to read from files, chosen at random if there are more; a database is
    /// read completely [default: 4000000]
    #[arg(long, value_name = "NUMBER", value_parser = parse_count)]
    sample: Option<u64>,

    #[command(flatten)]
    memory: MemoryArgs,
}

/// `--from`
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// Fingerprints if there is a file or standard input among the arguments, else one database
    Auto,
    /// Files of fingerprints
    Fp,
}

/// Fingerprints that are read from files, unless `--sample` says otherwise.
const SAMPLE: u64 = 4_000_000;

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        let report = if self.has_files() {
            by_width!(self.bits.unwrap_or(64), |options| self.of_files(options, context)?)
        } else {
            let path = self.database()?;
            let description = fpdb::Description::read(path)?;
            by_width!(description.bits, |options| of_database(
                self.memory.apply(options.index_memory(0)),
                path,
                &description,
                context
            )?)
        };
        if context.json {
            context.report(&report)?;
        } else {
            report.print(context.out)?;
        }
        Ok(if report.is_faulty() { Exit::CheckFailed } else { Exit::Done })
    }

    fn has_files(&self) -> bool {
        let is_file = |path: &PathBuf| input::is_stdin(path) || path.is_file();
        self.from == Source::Fp || self.paths.iter().any(is_file)
    }

    /// Returns the database, if the arguments make sense for one.
    fn database(&self) -> Result<&Path> {
        if self.list.fp_format != FingerprintFormat::Auto {
            bail!("--fp-format is for files: use it with --from fp")
        }
        if self.bits.is_some() || self.sample.is_some() {
            bail!("--bits and --sample are for files: use them with --from fp")
        }
        match self.paths.as_slice() {
            [path] => Ok(path),
            _ => bail!("expected one database, or files with --from fp"),
        }
    }

    /// The options show the width only.
    fn of_files<F: Fingerprint>(&self, _: Options<F>, context: &Context<'_>) -> Result<Report> {
        input::check_all(&self.paths)?;
        let bar = progress::over_files(context, &self.paths);
        let mut sample = Reservoir::new(usize::try_from(self.sample.unwrap_or(SAMPLE))?);
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
