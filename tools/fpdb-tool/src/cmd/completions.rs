//! `completions`

use anyhow::Result;
use clap_complete::{Shell, generate};

use crate::failure::Exit;
use crate::output::Context;

const EXAMPLE: &str = "\
Example:
  fpdb-tool completions bash > ~/.local/share/bash-completion/completions/fpdb-tool";

/// Prints a script that completes commands and options in a shell
///
/// Store the script where your shell looks for completions, or source it.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// The shell to write the script for
    #[arg(value_enum)]
    shell: Shell,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        // Into memory, because `generate` panics when a write fails.
        let mut script = Vec::new();
        generate(self.shell, &mut (context.command_line)(), "fpdb-tool", &mut script);
        context.out.write_all(&script)?;
        Ok(Exit::Done)
    }
}
