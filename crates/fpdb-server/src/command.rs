//! The commands by name.

use crate::users::Right;

/// A command that the server knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    AddNx,
    Upsert,
    Query,
    MQuery,
    Get,
    Del,
    Touch,
    Expire,
    Flush,
    Compact,
    Backup,
    Verify,
    Stats,
    Multi,
    Exec,
    Discard,
    Watch,
    Unwatch,
    Ping,
    Echo,
    Info,
    Time,
    DbSize,
    Hello,
    Auth,
    Client,
    Commands,
    Select,
    Quit,
    Reset,
}

/// What is fixed about a command.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) command: Command,
    /// In lower case.
    pub(crate) name: &'static str,
    /// The number of words, with the name.
    least: usize,
    most: usize,
    /// The effects, as clients of Redis know them.
    pub(crate) flags: &'static [&'static str],
    /// Whether the first argument is a key.
    pub(crate) has_key: bool,
}

/// The number of commands.
pub(crate) const COUNT: usize = 30;

const ANY: usize = usize::MAX;
const WRITE: &[&str] = &["write"];
const READ: &[&str] = &["readonly"];
const ADMIN_WRITE: &[&str] = &["admin", "write"];
const ADMIN_READ: &[&str] = &["admin", "readonly"];
const FAST: &[&str] = &["fast"];
/// Commands that need no password.
const NO_AUTH: &[&str] = &["no_auth", "fast"];

/// All commands, in the order of [`Command`].
pub(crate) const ALL: [Definition; COUNT] = {
    use Command::*;
    [
        define(AddNx, "fp.addnx", 3, 6, WRITE, true),
        define(Upsert, "fp.upsert", 3, 7, WRITE, true),
        define(Query, "fp.query", 2, 8, READ, false),
        define(MQuery, "fp.mquery", 3, ANY, READ, false),
        define(Get, "fp.get", 2, 2, READ, true),
        define(Del, "fp.del", 2, 3, WRITE, true),
        define(Touch, "fp.touch", 3, 3, WRITE, true),
        define(Expire, "fp.expire", 2, 2, WRITE, false),
        define(Flush, "fp.flush", 1, 1, ADMIN_WRITE, false),
        define(Compact, "fp.compact", 1, 1, ADMIN_WRITE, false),
        define(Backup, "fp.backup", 2, 2, ADMIN_READ, false),
        define(Verify, "fp.verify", 1, 1, ADMIN_READ, false),
        define(Stats, "fp.stats", 1, 1, READ, false),
        define(Multi, "multi", 1, 1, FAST, false),
        define(Exec, "exec", 1, 1, FAST, false),
        define(Discard, "discard", 1, 1, FAST, false),
        define(Watch, "watch", 2, ANY, FAST, true),
        define(Unwatch, "unwatch", 1, 1, FAST, false),
        define(Ping, "ping", 1, 2, FAST, false),
        define(Echo, "echo", 2, 2, FAST, false),
        define(Info, "info", 1, ANY, FAST, false),
        define(Time, "time", 1, 1, FAST, false),
        define(DbSize, "dbsize", 1, 1, READ, false),
        define(Hello, "hello", 1, 7, NO_AUTH, false),
        define(Auth, "auth", 2, ANY, NO_AUTH, false),
        define(Client, "client", 2, 4, FAST, false),
        define(Commands, "command", 1, ANY, FAST, false),
        define(Select, "select", 2, 2, FAST, false),
        define(Quit, "quit", 1, ANY, NO_AUTH, false),
        define(Reset, "reset", 1, 1, NO_AUTH, false),
    ]
};

const fn define(
    command: Command,
    name: &'static str,
    least: usize,
    most: usize,
    flags: &'static [&'static str],
    has_key: bool,
) -> Definition {
    Definition { command, name, least, most, flags, has_key }
}

impl Command {
    pub(crate) fn find(name: &[u8]) -> Option<Self> {
        let found = ALL.iter().find(|known| known.name.as_bytes().eq_ignore_ascii_case(name))?;
        Some(found.command)
    }

    pub(crate) fn definition(self) -> &'static Definition {
        &ALL[self as usize]
    }

    /// Returns whether the command takes this number of words, with its name.
    pub(crate) fn takes(self, words: usize) -> bool {
        let Definition { least, most, .. } = *self.definition();
        (least..=most).contains(&words)
    }

    /// Returns whether the command can be used without a password.
    pub(crate) fn is_open(self) -> bool {
        self.definition().flags.contains(&"no_auth")
    }

    /// Returns the right that a user needs for the command.
    pub(crate) fn right(self) -> Right {
        let flags = self.definition().flags;
        if flags.contains(&"admin") {
            Right::Admin
        } else if flags.contains(&"write") {
            Right::Write
        } else {
            Right::Read
        }
    }

    /// Returns whether the command waits for `EXEC` if it comes after `MULTI`.
    pub(crate) fn is_queued(self) -> bool {
        use Command::{Discard, Exec, Multi, Quit, Reset, Watch};
        !matches!(self, Multi | Exec | Discard | Watch | Quit | Reset)
    }

    /// Returns whether adjacent commands of this kind are committed together.
    pub(crate) fn is_batched(self) -> bool {
        matches!(self, Self::AddNx | Self::Upsert)
    }
}

impl Definition {
    /// Returns the number of words as Redis writes it: negative if it is the least of several.
    pub(crate) fn arity(&self) -> i64 {
        let least = i64::try_from(self.least).unwrap_or(i64::MAX);
        if self.least == self.most { least } else { -least }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_is_found_by_its_name_in_any_case() {
        for (at, definition) in ALL.iter().enumerate() {
            assert_eq!(definition.command as usize, at, "{}", definition.name);
            for name in [definition.name.to_owned(), definition.name.to_uppercase()] {
                assert_eq!(Command::find(name.as_bytes()), Some(definition.command));
            }
        }
        assert_eq!(Command::find(b"get"), None);
        assert_eq!(Command::find(b""), None);
    }

    #[test]
    fn arity_is_negative_if_it_varies() {
        assert_eq!(Command::Get.definition().arity(), 2);
        assert_eq!(Command::AddNx.definition().arity(), -3);
        assert!(Command::AddNx.takes(3) && Command::AddNx.takes(6) && !Command::AddNx.takes(7));
    }
}
