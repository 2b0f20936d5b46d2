//! The operator's tool of fpdb. Each command is a module of `cmd` of its own; the work is the
//! library's.
//!
//! What holds for all of them: data goes to standard output and talk to standard error, `-` is
//! standard input, fingerprints are written as `0x` and all their digits, commands that only read
//! open the database read-only and so run beside a writer, and the exit code is 0 for done, 1 for
//! a check that failed, 2 for an error, 3 for a database that another process writes to, and 4 for
//! one made by a newer version. A reader of the output that goes away is not an error.

mod cmd;
mod count;
mod database;
mod failure;
mod html;
mod input;
mod output;
mod progress;
mod recipe;
mod svg;
mod temporary;

use std::ffi::OsString;
use std::io::Write;

use clap::Parser;

use failure::Outcome;
use output::Context;

/// The exit codes, as `--help` tells them.
const EXIT_CODES: &str = "\
Exit codes:
  0  done (a query without a match and a dedup with duplicates too)
  1  a check failed: verify found damage, health a fault, query --exit-status no match
  2  an error
  3  another process writes to the database
  4  the database was made by a newer version";

/// Makes, fills, asks, checks and maintains fpdb databases: exact near-duplicate indexes of
/// fingerprints.
#[derive(Parser)]
#[command(name = "fpdb-tool", version, arg_required_else_help = true, after_help = EXIT_CODES)]
struct Cli {
    /// Write results as JSON: one object, or one record a line and a summary record last
    #[arg(long, global = true)]
    json: bool,

    /// Say nothing on standard error but errors
    #[arg(short, long, global = true)]
    quiet: bool,

    #[command(subcommand)]
    command: cmd::Command,
}

/// Runs the tool with these arguments, the program's name first, and returns its exit code.
///
/// Results are written to `out`, which is flushed, and all else to `err`. Progress bars alone go
/// to the standard error of the process, if that is a terminal.
pub fn run(
    args: impl IntoIterator<Item = OsString>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> u8 {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(stop) => return failure::usage(&stop, out, err),
    };
    let mut context = Context { out, err, json: cli.json, quiet: cli.quiet };
    let result = cli.command.run(&mut context).and_then(|outcome: Outcome| {
        context.out.flush()?;
        Ok(outcome)
    });
    failure::exit_code(result, context.err)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_of_the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
