//! `man`

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap_mangen::Man;

use crate::output::Context;
use crate::output::failure::Exit;

const EXAMPLE: &str = "\
Examples:
  fpdb-tool man | man -l -
  fpdb-tool man --out ~/.local/share/man/man1";

/// Prints the manual page, or writes the pages of all commands
///
/// Without --out, prints the page of fpdb-tool itself in roff format. With --out, writes that page
/// and one page per command, such as fpdb-tool-dedup.1, and replaces pages that exist.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// Folder to write the pages to, created if missing
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        let command_line = (context.command_line)();
        let Some(folder) = &self.out else {
            Man::new(command_line).render(&mut context.out)?;
            return Ok(Exit::Done);
        };
        let written = fs::create_dir_all(folder)
            .and_then(|()| clap_mangen::generate_to(command_line, folder));
        written.with_context(|| format!("cannot write manual pages to {}", folder.display()))?;
        context.say(format_args!("wrote the manual pages to {}", folder.display()));
        Ok(Exit::Done)
    }
}
