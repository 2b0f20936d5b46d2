//! Errors as replies.

use fpdb::ErrorKind;

use crate::command::Command;
use crate::events;
use crate::metrics::Metrics;
use crate::net::stream::Peer;
use crate::resp::Replies;

/// The code of commands that are refused because the disk is nearly full.
const NO_SPACE: &str = "NOSPACE";

/// A command that failed.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    /// One word in capitals, by which programs recognize the error.
    code: &'static str,
    message: String,
    stops_all_writes: bool,
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), stops_all_writes: false }
    }

    /// An error in the command, or one without a code of its own.
    pub(crate) fn general(message: impl Into<String>) -> Self {
        Self::new("ERR", message)
    }

    /// A number of arguments that the command does not take.
    pub(crate) fn arity(command: Command) -> Self {
        let name = command.definition().name;
        Self::general(format!("wrong number of arguments for '{name}' command"))
    }

    pub(crate) fn no_auth() -> Self {
        Self::new("NOAUTH", "Authentication required.")
    }

    pub(crate) fn syntax() -> Self {
        Self::general("syntax error")
    }

    /// Whether every other write fails as well, whatever it writes.
    pub(crate) fn stops_all_writes(&self) -> bool {
        self.stops_all_writes
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Counts the failure of a command, and writes what the operator should know of into the log,
    /// apart from what the database itself reports.
    pub(crate) fn report(&self, peer: Peer, command: Command, metrics: &Metrics) {
        metrics.of(command).errors.add(1);
        match self.code {
            "IOERR" | "CORRUPTION" => events::failed(peer, command, &self.message),
            // The database counts attempts, of which there are several if a commit is repeated in
            // halves.
            NO_SPACE => metrics.refused_for_space.add(1),
            _ => {}
        }
    }

    pub(crate) fn write(&self, replies: &mut Replies) {
        replies.error(self.code, &self.message);
    }
}

impl From<fpdb::Error> for Failure {
    fn from(error: fpdb::Error) -> Self {
        let code = match error.kind() {
            ErrorKind::NoSpace => NO_SPACE,
            ErrorKind::Corruption => "CORRUPTION",
            ErrorKind::Io => "IOERR",
            // The server has to be started again.
            ErrorKind::Poisoned | ErrorKind::Closed | ErrorKind::Replaced => "UNWRITABLE",
            _ => "ERR",
        };
        Self { stops_all_writes: error.stops_all_writes(), ..Self::new(code, error.to_string()) }
    }
}
