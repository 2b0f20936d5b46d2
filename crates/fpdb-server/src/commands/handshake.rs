//! Who a client is and what it may do: `AUTH`, `HELLO` and `CLIENT`.

use std::sync::Arc;
use std::time::Instant;

use crate::command::Command;
use crate::commands::service::Shared;
use crate::events;
use crate::failure::{Failure, Result};
use crate::net::clients::Client;
use crate::net::guard::Refusal;
use crate::resp::{Limits, Protocol, Replies};
use crate::users::{self, User};

/// The longest name of a client.
const MAX_NAME: usize = 256;

/// What the server knows about who the client is.
pub(crate) struct Handshake<'a> {
    shared: &'a Shared,
    client: &'a Client,
    /// Whether the server only reads the database.
    is_replica: bool,
    /// Since when the client has not given the password that it needs.
    unauthenticated_since: Option<Instant>,
    /// The user whose password the client has given.
    user: Option<Arc<User>>,
}

impl<'a> Handshake<'a> {
    pub(crate) fn new(shared: &'a Shared, client: &'a Client, is_replica: bool) -> Self {
        let unauthenticated_since = (!shared.accounts.are_open()).then_some(client.since);
        Self { shared, client, is_replica, unauthenticated_since, user: None }
    }

    /// Refuses a command that the client may not use.
    pub(crate) fn expect_right(&self, command: Command) -> Result<()> {
        if self.allows(command) {
            return Ok(());
        }
        let Some(User { name, .. }) = self.user.as_deref() else { return Err(Failure::no_auth()) };
        events::no_permission(self.client.peer, name, command);
        let command = command.definition().name;
        let message = format!("User {name} has no permissions to run the '{command}' command");
        Err(Failure::new("NOPERM", message))
    }

    /// Returns whether the client may use a command.
    pub(crate) fn allows(&self, command: Command) -> bool {
        (self.is_authenticated() || command.is_open())
            && self.user.as_ref().is_none_or(|user| user.right >= command.right())
    }

    /// Returns whether the client may use the database.
    pub(crate) fn is_authenticated(&self) -> bool {
        self.unauthenticated_since.is_none()
    }

    pub(crate) fn unauthenticated_since(&self) -> Option<Instant> {
        self.unauthenticated_since
    }

    /// Returns what the client may send.
    pub(crate) fn limits(&self) -> Limits {
        let shared = self.shared;
        if self.is_authenticated() { shared.limits } else { shared.unauthenticated_limits }
    }

    /// `AUTH [user] password`
    pub(crate) fn auth(&mut self, words: &[&[u8]], replies: &mut Replies) -> Result<()> {
        let (user, password) = match *words {
            [_, user, password] => (user, password),
            [_, password] => (users::DEFAULT.as_bytes(), password),
            _ => return Err(Failure::syntax()),
        };
        self.authenticate(user, password)?;
        replies.simple("OK");
        Ok(())
    }

    fn authenticate(&mut self, user: &[u8], password: &[u8]) -> Result<()> {
        let (shared, peer) = (self.shared, self.client.peer);
        if shared.accounts.are_open() {
            return Err(Failure::general(
                "AUTH <password> called without any password configured for the default user. Are \
                 you sure your configuration is correct?",
            ));
        }
        if let Some(Refusal { wait, is_first }) = shared.guard.refuse(peer) {
            shared.metrics.refused_passwords.add(1);
            if is_first {
                events::passwords_refused(peer, wait);
            }
            let seconds = wait.as_secs() + 1;
            return Err(Failure::new(
                "WRONGPASS",
                format!(
                    "too many wrong passwords from your address: try again in {seconds} seconds \
                     (limit: max-wrong-passwords)"
                ),
            ));
        }
        if let Some(user) = shared.accounts.log_in(self.client, user, password) {
            (self.user, self.unauthenticated_since) = (Some(user), None);
            return Ok(());
        }
        shared.metrics.wrong_passwords.add(1);
        shared.guard.wrong_password(peer);
        events::wrong_password(peer);
        Err(Failure::new("WRONGPASS", "invalid username-password pair or user is disabled."))
    }

    /// `HELLO [2|3] [AUTH user password] [SETNAME name]`
    pub(crate) fn hello(&mut self, words: &[&[u8]], replies: &mut Replies) -> Result<()> {
        let (protocol, mut rest) = match *words {
            [_] => (None, &[][..]),
            [_, b"2", ref rest @ ..] => (Some(Protocol::Resp2), rest),
            [_, b"3", ref rest @ ..] => (Some(Protocol::Resp3), rest),
            [_, version, ..] if version.iter().all(u8::is_ascii_digit) => {
                return Err(Failure::new("NOPROTO", "unsupported protocol version"));
            }
            _ => {
                return Err(Failure::general("Protocol version is not an integer or out of range"));
            }
        };
        let mut name = None;
        while !rest.is_empty() {
            rest = match *rest {
                [word, user, password, ref rest @ ..] if word.eq_ignore_ascii_case(b"auth") => {
                    self.authenticate(user, password)?;
                    rest
                }
                [word, given, ref rest @ ..] if word.eq_ignore_ascii_case(b"setname") => {
                    name = Some(parse_name(given)?);
                    rest
                }
                _ => {
                    let option = String::from_utf8_lossy(rest[0]);
                    let message = format!("Syntax error in HELLO option '{option}'");
                    return Err(Failure::general(message));
                }
            };
        }
        if !self.is_authenticated() {
            return Err(Failure::new(
                "NOAUTH",
                "HELLO must be called with the client already authenticated, or as HELLO 3 AUTH \
                 default <password>",
            ));
        }
        if let Some(name) = name {
            self.client.set_name(name);
        }
        replies.protocol = protocol.unwrap_or(replies.protocol);
        replies.map(7);
        for (name, value) in [("server", "fpdb"), ("version", env!("CARGO_PKG_VERSION"))] {
            replies.bulk(name.as_bytes());
            replies.bulk(value.as_bytes());
        }
        replies.bulk(b"proto");
        replies.integer(if replies.protocol == Protocol::Resp3 { 3 } else { 2 });
        replies.bulk(b"id");
        replies.integer(self.client.id);
        let role = if self.is_replica { "replica" } else { "master" };
        for (name, value) in [("mode", "standalone"), ("role", role)] {
            replies.bulk(name.as_bytes());
            replies.bulk(value.as_bytes());
        }
        replies.bulk(b"modules");
        replies.array(0);
        Ok(())
    }

    /// `CLIENT ID|GETNAME|SETNAME|SETINFO|INFO|LIST`
    pub(crate) fn client(&self, words: &[&[u8]], replies: &mut Replies) -> Result<()> {
        let subcommand = words[1].to_ascii_lowercase();
        match (subcommand.as_slice(), &words[2..]) {
            (b"id", []) => replies.integer(self.client.id),
            (b"getname", []) => match self.client.name() {
                name if name.is_empty() => replies.null(),
                name => replies.bulk(name.as_bytes()),
            },
            (b"setname", [name]) => {
                self.client.set_name(parse_name(name)?);
                replies.simple("OK");
            }
            (b"setinfo", [field, value]) => {
                self.set_info(field, value)?;
                replies.simple("OK");
            }
            (b"info", []) => replies.bulk(format!("{}\n", self.client.describe()).as_bytes()),
            (b"list", []) => {
                let clients = self.shared.clients.all();
                let lines = clients.iter().map(|client| format!("{}\n", client.describe()));
                replies.bulk(lines.collect::<String>().as_bytes());
            }
            _ => {
                return Err(Failure::general(
                    "unknown subcommand or wrong number of arguments of 'client' command",
                ));
            }
        }
        Ok(())
    }

    /// Stores what library the client is.
    fn set_info(&self, field: &[u8], value: &[u8]) -> Result<()> {
        let field = String::from_utf8_lossy(field).to_ascii_lowercase();
        let is_name = field == "lib-name";
        if !is_name && field != "lib-ver" {
            return Err(Failure::general(format!("Unrecognized option '{field}'")));
        }
        let value = parse_name(value).map_err(|_| {
            Failure::general(format!(
                "{field} cannot contain spaces, newlines or special characters."
            ))
        })?;
        self.client.set_library(is_name, value);
        Ok(())
    }

    /// `RESET`
    pub(crate) fn reset(&mut self, replies: &mut Replies) {
        replies.simple("RESET");
        replies.protocol = Protocol::default();
        self.client.set_name("");
        self.client.set_user(None);
        self.user = None;
        self.unauthenticated_since = (!self.shared.accounts.are_open()).then(Instant::now);
    }
}

/// Parses a name for a client: printable ASCII without spaces, so that a list of clients has one
/// line each.
fn parse_name(word: &[u8]) -> Result<&str> {
    let is_name = word.len() <= MAX_NAME && word.iter().all(u8::is_ascii_graphic);
    let name = std::str::from_utf8(word).ok().filter(|_| is_name);
    name.ok_or_else(|| {
        Failure::general(
            "a client's name has at most 256 characters: printable ASCII without spaces",
        )
    })
}
