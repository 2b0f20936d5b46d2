//! How a client introduces itself: `AUTH`, `HELLO` and `CLIENT`.

use std::time::Instant;

use crate::clients::Client;
use crate::failure::{Failure, Result};
use crate::resp::{Limits, Protocol, Replies};
use crate::service::Shared;

/// The only user.
const USER: &[u8] = b"default";

/// The longest name of a client.
const MAX_NAME: usize = 256;

/// What the server knows about who the client is.
pub(crate) struct Handshake<'a> {
    shared: &'a Shared,
    client: &'a Client,
    /// Since when the client has not given the password that it needs.
    unauthenticated_since: Option<Instant>,
}

impl<'a> Handshake<'a> {
    pub(crate) fn new(shared: &'a Shared, client: &'a Client) -> Self {
        let unauthenticated_since = shared.password.as_ref().map(|_| client.since);
        Self { shared, client, unauthenticated_since }
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
            _ => (USER, words[1]),
        };
        self.authenticate(user, password)?;
        replies.simple("OK");
        Ok(())
    }

    fn authenticate(&mut self, user: &[u8], password: &[u8]) -> Result<()> {
        let Some(expected) = &self.shared.password else {
            return Err(Failure::general(
                "AUTH was called, but the server was started without a password",
            ));
        };
        // Both are compared in any case, so that the time says nothing about either.
        if expected.is(password) & (user == USER) {
            self.unauthenticated_since = None;
            return Ok(());
        }
        self.shared.metrics.wrong_passwords.add(1);
        Err(Failure::new("WRONGPASS", "invalid username-password pair or user is disabled."))
    }

    /// `HELLO [2|3] [AUTH user password] [SETNAME name]`
    pub(crate) fn hello(&mut self, words: &[&[u8]], replies: &mut Replies) -> Result<()> {
        let (protocol, mut rest) = match *words {
            [_] => (None, &[][..]),
            [_, b"2", ref rest @ ..] => (Some(Protocol::Resp2), rest),
            [_, b"3", ref rest @ ..] => (Some(Protocol::Resp3), rest),
            _ => return Err(Failure::new("NOPROTO", "unsupported protocol version")),
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
                _ => return Err(Failure::syntax()),
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
        for (name, value) in [("mode", "standalone"), ("role", "master")] {
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
            // What library the client is, which nothing depends on.
            (b"setinfo", [_, _]) => replies.simple("OK"),
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

    /// `RESET`
    pub(crate) fn reset(&mut self, replies: &mut Replies) {
        replies.simple("RESET");
        replies.protocol = Protocol::default();
        self.client.set_name("");
        self.unauthenticated_since = self.shared.password.as_ref().map(|_| Instant::now());
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
