//! How a run ends: exit codes, and errors as sentences.

use std::io::{self, Write};

use anyhow::Result;
use fpdb::ErrorKind;

const FAILED_CHECK: u8 = 1;
const ERROR: u8 = 2;
const LOCKED: u8 = 3;
const NEWER_FORMAT: u8 = 4;

/// What a command that ran to its end found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It did what it was asked to do.
    Done,
    /// It was asked to check something, and the answer is no.
    CheckFailed,
}

/// The exit code of a run; an error is written to `err`.
pub(crate) fn exit_code(result: Result<Outcome>, err: &mut dyn Write) -> u8 {
    match result {
        Ok(Outcome::Done) => 0,
        Ok(Outcome::CheckFailed) => FAILED_CHECK,
        Err(error) if is_broken_pipe(&error) => 0,
        Err(error) => {
            // Nobody is left to be told of a failure to tell.
            let _ = writeln!(err, "fpdb-tool: {}", sentence(&error));
            code_of(&error)
        }
    }
}

/// Writes what clap has to say, help or a usage error, and returns the exit code.
pub(crate) fn usage(stop: &clap::Error, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    if stop.use_stderr() {
        let text = stop.render().to_string();
        // clap begins errors with a word of its own, and help, where usage shows it, with none.
        let _ = match text.strip_prefix("error: ") {
            Some(sentence) => write!(err, "fpdb-tool: {sentence}"),
            None => write!(err, "{text}"),
        };
        return ERROR;
    }
    let written = write!(out, "{}", stop.render()).and_then(|()| out.flush());
    exit_code(written.map(|()| Outcome::Done).map_err(Into::into), err)
}

/// The error and its causes on one line. A cause that the message before it already ends with is
/// not said again.
pub(crate) fn sentence(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |text, cause| {
        let cause = cause.to_string();
        match text.as_str() {
            "" => cause,
            told if told.ends_with(&cause) => text,
            told => format!("{told}: {cause}"),
        }
    })
}

/// An error of the library as one of usage: whatever its kind, it does not speak of the database.
pub(crate) fn as_usage(error: &fpdb::Error) -> anyhow::Error {
    anyhow::Error::msg(error.to_string())
}

/// Commands look at a database's width and recipe before they open it. So what the library itself
/// finds unsupported is the format.
fn code_of(error: &anyhow::Error) -> u8 {
    let kind = error.chain().find_map(|cause| cause.downcast_ref::<fpdb::Error>());
    match kind.map(fpdb::Error::kind) {
        Some(ErrorKind::Locked) => LOCKED,
        Some(ErrorKind::Unsupported) => NEWER_FORMAT,
        _ => ERROR,
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
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
    fn a_cause_is_told_once() {
        let refused = io::Error::other("refused");
        let error = anyhow::Error::new(refused).context("cannot read x: refused").context("top");
        assert_eq!(sentence(&error), "top: cannot read x: refused");
    }

    #[test]
    fn a_broken_pipe_is_quiet_however_deep_it_lies() {
        let mut told = Vec::new();
        let pipe = io::Error::from(io::ErrorKind::BrokenPipe);
        let error = Err(pipe).context("cannot write").context("cannot commit");
        assert_eq!(exit_code(error, &mut told), 0);
        assert!(told.is_empty());
    }

    #[test]
    fn kinds_of_failure_have_codes_of_their_own() {
        let missing = fpdb::describe("no/such/database").unwrap_err();
        let mut told = Vec::new();
        assert_eq!(exit_code(Err(missing.into()), &mut told), ERROR);
        assert!(told.starts_with(b"fpdb-tool: "), "{}", String::from_utf8_lossy(&told));
    }
}
