//! `merge` and `rebuild`

use std::path::{Path, PathBuf};

use anyhow::Result;
use fpdb::reports::BuildReport;
use fpdb::{Fingerprint, Options, Source};
use indicatif::ProgressBar;
use serde::Serialize;

use crate::args::database::{NewDatabase, by_width};
use crate::args::writing::WritingArgs;
use crate::output::Context;
use crate::output::failure::Exit;
use crate::output::progress;

const EXAMPLE: &str = "\
Example:
  fpdb-tool merge monday.fpdb tuesday.fpdb --out week.fpdb";

const REBUILD_EXAMPLE: &str = "\
Example:
  fpdb-tool rebuild crawl.fpdb --out fast.fpdb --layout ring-4 --max-distance 5";

/// Combines databases into a new one
///
/// All databases must have the same width, recipe, extraction and kind of ids. Options that are not
/// given are taken from the first database.
///
/// User ids and unique ids stay as they are. Names stay as they are, and so do the ids of the first
/// database; the ids of each further one are raised by the number of ids that those before it have
/// assigned. If several databases have a document with the same name or unique id, the one with the
/// greatest stamp is taken, and of equal stamps the last one.
///
/// The databases are not changed, and can be in use. If the merge fails, what it wrote is removed.
/// If it is interrupted, for instance by a signal, the next merge into the same folder removes it.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// The databases
    #[arg(value_name = "DB", required = true)]
    sources: Vec<PathBuf>,

    #[command(flatten)]
    build: Build,
}

/// Writes a database again with other options
///
/// Options that are not given stay as they are, except that a new max distance leads to the layout
/// that a new database would have. Ids, names and stamps stay. The database is not changed. If the
/// rebuild fails, what it wrote is removed. If it is interrupted, for instance by a signal, the
/// next rebuild into the same folder removes it.
#[derive(clap::Args)]
#[command(after_help = REBUILD_EXAMPLE)]
pub(crate) struct RebuildArgs {
    /// The database
    #[arg(value_name = "DB")]
    source: PathBuf,

    #[command(flatten)]
    build: Build,
}

/// The new database of `merge` and `rebuild`.
#[derive(clap::Args)]
struct Build {
    /// The folder to create
    #[arg(long, value_name = "NEW")]
    out: PathBuf,

    #[command(flatten)]
    new: NewDatabase,

    #[command(flatten)]
    memory: WritingArgs,
}

/// `fpdb.merge/1`
#[derive(Serialize)]
struct Report {
    out: String,
    sources: Vec<String>,
    read: u64,
    written: u64,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        self.build.run(&self.sources, context)
    }
}

impl RebuildArgs {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        self.build.run(&[self.source], context)
    }
}

impl Build {
    fn run(&self, sources: &[PathBuf], context: &mut Context<'_>) -> Result<Exit> {
        let first = sources.first().map_or(Path::new(""), PathBuf::as_path);
        let bits = fpdb::Description::read(first)?.bits;
        let bar = progress::of_operation(context);
        let merged =
            by_width!(bits, self.new.sketches(), |options| self.merge(options, sources, &bar));
        bar.finish_and_clear();
        let BuildReport { read, written, .. } = merged?;
        let out = self.out.display().to_string();
        let sources = sources.iter().map(|path| path.display().to_string()).collect();
        let sentence = format!("wrote {written} of {read} documents to {out}");
        let report = Report { out, sources, read, written };
        context.conclude("fpdb.merge/1", &report, sentence)?;
        Ok(Exit::Done)
    }

    fn merge<F: Fingerprint>(
        &self,
        options: Options<F>,
        sources: &[PathBuf],
        bar: &ProgressBar,
    ) -> Result<BuildReport> {
        let options = self.memory.apply(self.new.options(options)?.index_memory(0));
        let options = options.on_progress(progress::on(bar));
        Ok(options.build(&self.out, Source::databases(sources))?)
    }
}
