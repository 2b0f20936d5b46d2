//! `repair`

use std::path::PathBuf;

use anyhow::Result;
use fpdb::reports::{BuildReport, Loss};
use fpdb::{Error, Fingerprint, Options, Source};
use indicatif::ProgressBar;
use serde::Serialize;

use crate::args::database::by_width;
use crate::args::memory::MemoryArgs;
use crate::output::damage;
use crate::output::failure::Exit;
use crate::output::progress;
use crate::output::{Context, printable};

const EXAMPLE: &str = "\
Example:
  fpdb-tool repair crawl.fpdb --out repaired.fpdb";

/// Writes what a damaged database still proves to a new one
///
/// Most damage loses nothing, because each file of a database is proven by others. Lists all damage
/// and what was lost. The damaged database is not changed. The exit code is 0 if nothing was lost
/// and 1 if something was.
///
/// Documents whose names are lost keep their fingerprints, and each is called "(lost name of id N)".
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// The damaged database
    #[arg(value_name = "BROKEN")]
    path: PathBuf,

    /// The folder to create
    #[arg(long, value_name = "FIXED")]
    out: PathBuf,

    #[command(flatten)]
    memory: MemoryArgs,
}

/// `fpdb.repair/1`
#[derive(Serialize)]
struct Report {
    schema: &'static str,
    out: String,
    damage: Vec<Error>,
    losses: Vec<Loss>,
    /// Documents in the new database; entries, with user ids.
    written: u64,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        let bits = fpdb::Description::read_damaged(&self.path)?.bits;
        let bar = progress::of_operation(context);
        let repaired = by_width!(bits, |options| self.repair(options, &bar));
        bar.finish_and_clear();
        let BuildReport { damage, losses, written, .. } = repaired?;
        if !context.json {
            damage::print(&damage, context)?;
            for loss in &losses {
                let path = printable(&loss.path.to_string_lossy());
                writeln!(context.out, "lost: {loss} ({path})")?;
            }
        }
        let out = self.out.display().to_string();
        let exit = if losses.is_empty() { Exit::Done } else { Exit::CheckFailed };
        let end = match (damage.is_empty(), losses.is_empty()) {
            (true, _) => "there was no damage",
            (false, true) => "nothing was lost",
            (false, false) => "something was lost",
        };
        let sentence = format!("wrote {written} documents to {out}: {end}");
        let schema = "fpdb.repair/1";
        context.conclude(&Report { schema, out, damage, losses, written }, sentence)?;
        Ok(exit)
    }

    fn repair<F: Fingerprint>(
        &self,
        options: Options<F>,
        bar: &ProgressBar,
    ) -> fpdb::Result<BuildReport> {
        let options = self.memory.apply(options.index_memory(0));
        options.on_progress(progress::on(bar)).build(&self.out, Source::damaged(&self.path))
    }
}
