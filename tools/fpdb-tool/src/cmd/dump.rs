//! `dump`

use std::path::PathBuf;

use anyhow::Result;

use crate::database::by_width;
use crate::dump;
use crate::failure::Exit;
use crate::memory::MemoryArgs;
use crate::output::Context;
use crate::progress;

const EXAMPLE: &str = "\
Examples:
  fpdb-tool dump crawl.fpdb | zstd > crawl.dump.zst
  fpdb-tool load crawl.dump.zst --into new.fpdb";

/// Writes an entire database as text, from which `load` makes it again
///
/// The text is lines of JSON: the settings first, then each entry or document with its id, name,
/// stamp and original, and a checksum last. docs/dump.md describes it. Removed entries and
/// documents are left out, but the ids of removed documents do not come back.
///
/// This is also the way from one version of the file format to another: dump with the fpdb-tool
/// that reads the old database, and load with the new one.
///
/// The output is the state at one moment, even if another process is writing to the database.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    path: PathBuf,

    #[command(flatten)]
    memory: MemoryArgs,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        let bits = fpdb::Description::read(&self.path)?.bits;
        let bar = progress::of_operation(context);
        bar.set_message("dump");
        let dumped = by_width!(bits, |options| {
            let options = self.memory.apply(options.index_memory(0));
            options
                .open_read_only(&self.path)
                .map_err(Into::into)
                .and_then(|db| dump::write(&db, &bar, context.out))
        });
        bar.finish_and_clear();
        dumped.map(|()| Exit::Done)
    }
}
