//! How a run ends: exit codes, and errors as sentences.

use std::io::{self, Write};

use anyhow::Result;
use fpdb::ErrorKind;

use crate::output::{printable, printable_lines};

const CHECK_FAILED: u8 = 1;
const ERROR: u8 = 2;
const LOCKED: u8 = 3;
const NEWER_FORMAT: u8 = 4;

/// How a command ended that ran to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    /// The command checked something, and the check failed.
    CheckFailed,
}

/// Returns the exit code of a run. Writes an error to `err`. That nobody reads the output any more
/// is one only if the command `expects_reader`.
pub(crate) fn exit_code(result: Result<Exit>, expects_reader: bool, err: &mut dyn Write) -> u8 {
    match result {
        Ok(Exit::Done) => 0,
        Ok(Exit::CheckFailed) => CHECK_FAILED,
        Err(error) if is_broken_pipe(&error) && !expects_reader => 0,
        Err(error) => {
            // If standard error fails too, there is nowhere to report that.
            let _ = writeln!(err, "fpdb-tool: {}", printable(&sentence(&error)));
            code_of(&error)
        }
    }
}

/// Writes what clap has to say, which is help or a usage error, and returns the exit code.
pub(crate) fn usage(stop: &clap::Error, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    if stop.use_stderr() {
        // A usage error quotes the arguments, which may be file names.
        let text = printable_lines(&stop.render().to_string());
        // clap starts its errors with `error: `. The help that it shows instead of an error, when
        // there are no arguments, starts with no such word.
        let _ = match text.strip_prefix("error: ") {
            Some(sentence) => write!(err, "fpdb-tool: {sentence}"),
            None => write!(err, "{text}"),
        };
        return ERROR;
    }
    let written = write!(out, "{}", stop.render()).and_then(|()| out.flush());
    exit_code(written.map(|()| Exit::Done).map_err(Into::into), false, err)
}

/// Returns the error and its causes on one line. Leaves out a cause that the message before it
/// already ends with.
pub(crate) fn sentence(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |text, cause| {
        let cause = cause.to_string();
        match text.as_str() {
            "" => cause,
            so_far if so_far.ends_with(&cause) => text,
            so_far => format!("{so_far}: {cause}"),
        }
    })
}

/// Turns an error of the library into a usage error, with exit code 2 whatever its kind. For errors
/// that are about an argument and not about the database.
pub(crate) fn as_usage(error: &fpdb::Error) -> anyhow::Error {
    anyhow::Error::msg(error.to_string())
}

/// Returns the exit code of an error.
///
/// Commands check a database's width and recipe before they open it, so `Unsupported` from the
/// library is about the format.
fn code_of(error: &anyhow::Error) -> u8 {
    let kind = error.chain().find_map(|cause| cause.downcast_ref::<fpdb::Error>());
    match kind.map(fpdb::Error::kind) {
        Some(ErrorKind::Locked) => LOCKED,
        Some(ErrorKind::Unsupported) => NEWER_FORMAT,
        _ => ERROR,
    }
}

/// Returns whether a program that reads the output has ended.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn sentence_names_each_cause_once() {
        let refused = io::Error::other("refused");
        let error = anyhow::Error::new(refused).context("cannot read x: refused").context("top");
        assert_eq!(sentence(&error), "top: cannot read x: refused");
    }

    #[test]
    fn a_broken_pipe_is_quiet_at_any_depth_unless_a_reader_is_expected() {
        let mut err = Vec::new();
        let pipe = io::ErrorKind::BrokenPipe;
        let error = || Err(io::Error::from(pipe)).context("cannot write").context("cannot commit");
        assert_eq!(exit_code(error(), false, &mut err), 0);
        assert!(err.is_empty());
        assert_eq!(exit_code(error(), true, &mut err), ERROR);
        assert!(!err.is_empty());
    }

    #[test]
    fn control_characters_in_an_error_are_escaped() {
        let mut err = Vec::new();
        exit_code(Err(anyhow::anyhow!("cannot open \u{1b}[31m")), false, &mut err);
        assert_eq!(err, b"fpdb-tool: cannot open \\u{1b}[31m\n");
    }
}
