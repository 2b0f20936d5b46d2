//! `repair`

use std::path::PathBuf;

use anyhow::Result;
use fpdb::reports::{BuildReport, Loss, LossKind};
use fpdb::{Description, Error, Fingerprint, Ids, Options, Source};
use indicatif::ProgressBar;
use serde::Serialize;

use crate::args::database::by_width;
use crate::args::writing::WritingArgs;
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
/// Documents whose names are lost keep their fingerprints, and each is called "(lost name of id
/// N)".
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
    memory: WritingArgs,
}

/// `fpdb.repair/1`
#[derive(Serialize)]
struct Report {
    out: String,
    damage: Vec<Error>,
    losses: Vec<Loss>,
    /// Documents that the damaged database had; entries, with user ids.
    read: u64,
    /// Those in the new database.
    written: u64,
}

/// Says how many documents are missing, and how many have no name any more.
fn lost(losses: &[Loss], missing: u64) -> String {
    // Of a file or a log, bytes are lost.
    let is_unknown =
        |loss: &Loss| loss.count.is_none() || matches!(loss.kind, LossKind::Files | LossKind::Log);
    let names = losses.iter().filter(|loss| loss.kind == LossKind::Names);
    let names: u64 = names.filter_map(|loss| loss.count).sum();
    let mut all = match (missing, losses.iter().any(is_unknown)) {
        (0, false) => "none is lost".to_owned(),
        (missing, false) => format!("{missing} are lost"),
        (0, true) => "it is not known how many are lost".to_owned(),
        (missing, true) => format!("{missing} are lost, and perhaps more"),
    };
    if names > 0 {
        all += &format!(", and {names} have lost their names");
    }
    all
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        let Description { bits, ids, .. } = Description::read_damaged(&self.path)?;
        let bar = progress::of_operation(context);
        let repaired = by_width!(bits, |options| self.repair(options, &bar));
        bar.finish_and_clear();
        let BuildReport { damage, losses, read, written, .. } = repaired?;
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
            (true, _) => "there was no damage".to_owned(),
            (false, true) => "nothing was lost".to_owned(),
            (false, false) => lost(&losses, read.saturating_sub(written)),
        };
        let what = if ids == Ids::User { "entries" } else { "documents" };
        let sentence = format!("saved {written} of {read} {what} to {out}: {end}");
        let report = Report { out, damage, losses, read, written };
        context.conclude("fpdb.repair/1", &report, sentence)?;
        context.say(format_args!(
            "to use the new database, close the damaged one, move its folder away, and give the new \
             folder its name"
        ));
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
