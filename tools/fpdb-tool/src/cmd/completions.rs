//! `completions`

use anyhow::Result;
use clap_complete::{Shell, generate};

use crate::args::choice::choice;
use crate::output::Context;
use crate::output::failure::Exit;

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
    #[arg(value_parser = choice::<Shell>())]
    shell: Shell,
}

/// The name of the program for bash. clap_complete names the functions of subcommands in two
/// different ways if the program's name has a hyphen (clap issue 6421), so nothing is completed
/// after them.
const WITHOUT_HYPHEN: &str = "fpdb_tool";

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        let name = if self.shell == Shell::Bash { WITHOUT_HYPHEN } else { "fpdb-tool" };
        // Into memory, because `generate` panics when a write fails.
        let mut script = Vec::new();
        generate(self.shell, &mut (context.command_line)(), name, &mut script);
        let script = String::from_utf8_lossy(&script);
        let script = match self.shell {
            // The command that is completed has the hyphen.
            Shell::Bash => script.replace(" default fpdb_tool", " default fpdb-tool"),
            // After a file that may be repeated, options are completed, too.
            Shell::Zsh => script.replace("'*::", "'*:"),
            _ => script.into_owned(),
        };
        context.out.write_all(script.as_bytes())?;
        Ok(Exit::Done)
    }
}
