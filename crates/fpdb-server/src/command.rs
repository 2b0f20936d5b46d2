//! The commands by name.

/// A command that the server knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    AddNx,
    Upsert,
    Query,
    MQuery,
    Get,
    Del,
    Stats,
    Ping,
    Echo,
    Info,
    Hello,
    Auth,
    Client,
    Commands,
    Select,
    Multi,
    Exec,
    Discard,
    Watch,
    Quit,
    Reset,
}

/// What is fixed about a command.
#[derive(Debug)]
pub(crate) struct Definition {
    command: Command,
    /// In lower case.
    pub(crate) name: &'static str,
    /// The number of words, with the name.
    least: usize,
    most: usize,
    pub(crate) effect: Effect,
    /// The arguments, as the documentation writes them.
    pub(crate) arguments: &'static str,
    /// What it does, in a few words.
    pub(crate) summary: &'static str,
}

/// What a command does to the database, or what it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    Write,
    Read,
    /// Neither reads nor writes.
    Connection,
    /// The same, before the password is given.
    NoAuth,
}

/// The number of commands.
pub(crate) const COUNT: usize = 21;

const ANY: usize = usize::MAX;

/// All commands, in the order of [`Command`].
pub(crate) const ALL: [Definition; COUNT] = {
    use Command::*;
    use Effect::*;
    [
        define(
            AddNx,
            "fp.addnx",
            3,
            4,
            Write,
            "key document",
            "Inserts a document unless one is near",
        ),
        define(
            Upsert,
            "fp.upsert",
            3,
            4,
            Write,
            "key document",
            "Inserts or updates a document unless another one is near",
        ),
        define(
            Query,
            "fp.query",
            2,
            6,
            Read,
            "document [k] [LIMIT n]",
            "Finds the entries within a distance",
        ),
        define(
            MQuery,
            "fp.mquery",
            3,
            ANY,
            Read,
            "k fingerprint ...",
            "Finds the entries within a distance of several fingerprints",
        ),
        define(Get, "fp.get", 2, 2, Read, "key", "Returns what is known about a document"),
        define(Del, "fp.del", 2, 3, Write, "key [fingerprint]", "Removes a document"),
        define(Stats, "fp.stats", 1, 1, Read, "", "Returns statistics about the database"),
        define(Ping, "ping", 1, 2, Connection, "[text]", "Returns PONG or the text"),
        define(Echo, "echo", 2, 2, Connection, "text", "Returns the text"),
        define(
            Info,
            "info",
            1,
            ANY,
            Connection,
            "[section ...]",
            "Returns the state of the server",
        ),
        define(
            Hello,
            "hello",
            1,
            7,
            NoAuth,
            "[version] [AUTH user password] [SETNAME name]",
            "Chooses the protocol",
        ),
        define(Auth, "auth", 2, 3, NoAuth, "[user] password", "Gives the password"),
        define(Client, "client", 2, 4, Connection, "subcommand ...", "Describes and names clients"),
        define(
            Commands,
            "command",
            1,
            ANY,
            Connection,
            "[subcommand ...]",
            "Describes the commands",
        ),
        define(Select, "select", 2, 2, Connection, "0", "Does nothing: there is one database"),
        define(Multi, "multi", 1, 1, Connection, "", "Begins a transaction"),
        define(Exec, "exec", 1, 1, Connection, "", "Executes the commands of a transaction"),
        define(Discard, "discard", 1, 1, Connection, "", "Forgets the commands of a transaction"),
        define(Watch, "watch", 2, ANY, Connection, "key ...", "Not supported"),
        define(Quit, "quit", 1, ANY, NoAuth, "", "Ends the connection"),
        define(Reset, "reset", 1, 1, NoAuth, "", "Puts the connection into its first state"),
    ]
};

const fn define(
    command: Command,
    name: &'static str,
    least: usize,
    most: usize,
    effect: Effect,
    arguments: &'static str,
    summary: &'static str,
) -> Definition {
    Definition { command, name, least, most, effect, arguments, summary }
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
        self.definition().effect == Effect::NoAuth
    }

    /// Returns whether the command takes effect between `MULTI` and `EXEC`, instead of waiting.
    pub(crate) fn is_about_transactions(self) -> bool {
        use Command::{Discard, Exec, Multi, Quit, Reset, Watch};
        matches!(self, Multi | Exec | Discard | Watch | Quit | Reset)
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

    /// Returns whether the first argument is a key.
    pub(crate) fn has_key(&self) -> bool {
        self.arguments.starts_with("key")
    }

    /// Returns the effects, as clients of Redis know them.
    pub(crate) fn flags(&self) -> &'static [&'static str] {
        match self.effect {
            Effect::Write => &["write"],
            Effect::Read => &["readonly"],
            Effect::Connection => &["fast"],
            Effect::NoAuth => &["no_auth", "fast"],
        }
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
        assert!(Command::AddNx.takes(3) && Command::AddNx.takes(4) && !Command::AddNx.takes(5));
    }
}
