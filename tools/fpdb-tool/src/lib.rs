//! The command-line tool of fpdb. Each command is a module of `cmd`; the library `fpdb` does the
//! work. `args` has what several commands take, `input` reads documents and lists, `complete` reads
//! and writes entire databases as text, and `output` says how results look.
//!
//! All commands follow the same rules. Data goes to standard output and messages to standard error.
//! `-` means standard input. Fingerprints are written as `0x` and all their digits. Commands that
//! only read open the database read-only, so they can run at the same time as a writer. The exit
//! code is 0 for success, 1 for a check that failed, 2 for an error, 3 for a database that another
//! process is writing to, and 4 for a database made by a newer version. If the reader of the output
//! goes away, that is not an error. If standard output is closed from the start, that is an error.

#![deny(missing_docs)]

mod args;
mod cmd;
mod complete;
mod input;
mod output;

use std::ffi::OsString;
use std::io::{self, BufWriter, IsTerminal, Write};

use clap::{CommandFactory, FromArgMatches, Parser};

use output::Context;
use output::escape::Terminal;
use output::failure::{self, Exit};
use output::provenance::Provenance;
use output::standard_output::StandardOutput;

/// The exit codes, as `--help` shows them.
const EXIT_CODES: &str = "\
Exit codes:
  0  success, also if a query has no match or all documents are duplicates
  1  a check failed: verify found damage, query --exit-status found no match, or get --exit-status found
     a document missing
  2  an error
  3  another process is writing to the database
  4  the database was made by a newer version

Example:
  fpdb-tool dedup crawl.fpdb pages.ndjson > novel.ndjson";

/// Creates, fills, queries, checks and maintains fpdb databases: exact near-duplicate indexes of
/// fingerprints.
#[derive(Parser)]
#[command(name = "fpdb-tool", version, arg_required_else_help = true, after_help = EXIT_CODES)]
struct Cli {
    /// Write results as JSON: one object, or one record per line with a summary record last.
    /// Reports and summaries name their form in the field `schema`, and say in `provenance` which
    /// version made them, when, by which command line and from which database
    #[arg(long, global = true)]
    json: bool,

    /// Write only errors to standard error
    #[arg(short, long, global = true)]
    quiet: bool,

    #[command(subcommand)]
    command: cmd::Command,
}

/// Runs the tool as the program of this process, and returns its exit code. The first argument is
/// the program's name.
pub fn run_in_terminal(args: impl IntoIterator<Item = OsString>) -> u8 {
    block_file_size_signal();
    let out: Box<dyn Write> = if io::stdout().is_terminal() {
        Box::new(Terminal::new(StandardOutput::open()))
    } else {
        Box::new(StandardOutput::open())
    };
    let mut out = BufWriter::with_capacity(1 << 16, out);
    // Standard error is not locked because a progress bar draws on it from its own thread.
    run(args, &mut out, &mut io::stderr())
}

/// Makes a write beyond `ulimit -f` an error, which can be reported. Otherwise the system would end
/// the process. All threads inherit this.
fn block_file_size_signal() {
    #[cfg(unix)]
    {
        use nix::sys::signal::{SigSet, Signal};
        // It fails for invalid arguments only.
        let _ = SigSet::from(Signal::SIGXFSZ).thread_block();
    }
}

/// Runs the tool with these arguments, and returns its exit code. The first argument is the
/// program's name.
///
/// Writes results to `out`, which it flushes, and everything else to `err`. Only progress bars go
/// directly to the standard error of the process, if that is a terminal.
pub fn run(
    args: impl IntoIterator<Item = OsString>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    let (cli, provenance) = match parse(&args) {
        Ok(parsed) => parsed,
        Err(stop) => return failure::usage(&stop, out, err),
    };
    let Cli { json, quiet, .. } = cli;
    let expects_reader = cli.command.changes_database();
    let mut context = Context { out, err, json, quiet, command_line: Cli::command, provenance };
    let result = cli.command.run(&mut context).and_then(|outcome: Exit| {
        context.out.flush()?;
        Ok(outcome)
    });
    failure::exit_code(result, expects_reader, context.err)
}

/// Parses the command line, and says what its reports come from.
fn parse(args: &[OsString]) -> Result<(Cli, Provenance), clap::Error> {
    let mut definition = Cli::command();
    let matches = definition.try_get_matches_from_mut(args)?;
    let provenance = Provenance::of(args, &definition, &matches);
    let cli = Cli::from_arg_matches(&matches).map_err(|e| e.format(&mut definition))?;
    Ok((cli, provenance))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_of_the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
