//! A client's commands, and what the server remembers about the client.

use std::sync::Arc;
use std::time::Instant;

use super::batch;
use super::clients::Client;
use super::command::{ALL, Command};
use super::data;
use super::failure::{Failure, Result};
use super::info;
use super::output::{Loan, Output};
use super::resp::{Limits, Protocol};
use super::service::Service;
use crate::recipe::Width;

/// The only user.
const USER: &[u8] = b"default";

/// The longest name of a client.
const MAX_NAME: usize = 256;

/// A connection's state.
pub(super) struct Session<'a, F: Width> {
    service: &'a Service<F>,
    client: &'a Arc<Client>,
    /// Only for use while nothing is being committed, because until then it is lent.
    pub(super) output: Output,
    loan: Arc<Loan>,
    /// Whether commands are being committed whose replies are not sent yet.
    is_committing: bool,
    /// Since when the client has not given the password that it needs.
    unauthenticated_since: Option<Instant>,
    /// The client has sent `QUIT`.
    pub(super) has_quit: bool,
}

impl<'a, F: Width> Session<'a, F> {
    pub(super) fn new(service: &'a Service<F>, client: &'a Arc<Client>) -> Self {
        Self {
            service,
            client,
            output: Output::new(client.clone(), service.server.metrics.clone()),
            loan: Arc::default(),
            is_committing: false,
            unauthenticated_since: service.server.password.as_ref().map(|_| client.since),
            has_quit: false,
        }
    }

    /// Returns whether the client may use the database.
    pub(super) fn is_authenticated(&self) -> bool {
        self.unauthenticated_since.is_none()
    }

    pub(super) fn unauthenticated_since(&self) -> Option<Instant> {
        self.unauthenticated_since
    }

    pub(super) fn limits(&self) -> Limits {
        let server = &self.service.server;
        if self.is_authenticated() { server.limits } else { server.unauthenticated_limits }
    }

    /// Returns whether commands are being committed whose replies are not sent yet.
    pub(super) fn is_committing(&self) -> bool {
        self.is_committing
    }

    /// Waits until the replies to all commands so far are sent or in `output`.
    pub(super) fn settle(&mut self) {
        if self.is_committing {
            self.output = self.loan.wait();
            self.is_committing = false;
        }
    }

    /// Executes commands in their order. Each is a list of at least one word. Returns before the last
    /// ones are executed if they are writes.
    pub(super) fn execute(&mut self, requests: &[Vec<&[u8]>]) {
        let mut at = 0;
        while at < requests.len() && !self.has_quit {
            self.settle();
            let words = &requests[at];
            let Some(command) = Command::find(words[0]) else {
                self.unknown(words[0]);
                at += 1;
                continue;
            };
            let mut calls = 1;
            if command.is_batched() && self.is_authenticated() {
                let same = |words: &&Vec<&[u8]>| Command::find(words[0]) == Some(command);
                calls = requests[at..].iter().take(batch::MOST).take_while(same).count();
            }
            self.count_and_run(command, &requests[at..at + calls]);
            at += calls;
            if !self.is_committing {
                self.output.send_if_full();
            }
        }
    }

    fn unknown(&mut self, name: &[u8]) {
        self.service.server.metrics.unknown.add(1);
        let failure = if self.is_authenticated() {
            let name = String::from_utf8_lossy(&name[..name.len().min(64)]);
            Failure::general(format!("unknown command '{name}'"))
        } else {
            no_auth()
        };
        failure.write(&mut self.output.replies);
    }

    /// Runs one command, or has several of them committed together.
    fn count_and_run(&mut self, command: Command, requests: &[Vec<&[u8]>]) {
        let metrics = &self.service.server.metrics;
        let counted = metrics.of(command);
        counted.calls.add(requests.len() as u64);
        let errors = if command.is_batched() && self.is_authenticated() {
            let batch = self.service.batch(command, requests);
            self.service.queue.submit(batch, self.output.lend(&self.loan));
            self.is_committing = true;
            // Counted by the thread that finds them.
            0
        } else if let Err(failure) = self.run(command, &requests[0]) {
            failure.write(&mut self.output.replies);
            1
        } else {
            0
        };
        counted.errors.add(errors);
    }

    fn run(&mut self, command: Command, words: &[&[u8]]) -> Result<()> {
        if !self.is_authenticated() && !command.is_open() {
            return Err(no_auth());
        }
        if !command.takes(words.len()) {
            return Err(Failure::arity(command));
        }
        let service = self.service;
        let replies = &mut self.output.replies;
        match command {
            // These are written together with their neighbours.
            Command::AddNx | Command::Upsert => {}
            Command::Query => return data::query(service, words, &mut self.output),
            Command::MQuery => return data::query_many(service, words, &mut self.output),
            Command::Get => return data::get(service, words, replies),
            Command::Del => return data::delete(service, words, replies),
            Command::Stats => return data::stats(service, replies),
            Command::Ping => match words.get(1) {
                None => replies.simple("PONG"),
                Some(text) => replies.bulk(text),
            },
            Command::Echo => replies.bulk(words[1]),
            Command::Info => replies.bulk(info::info(service).as_bytes()),
            Command::Hello => return self.hello(words),
            Command::Auth => {
                let (user, password) = match *words {
                    [_, user, password] => (user, password),
                    _ => (USER, words[1]),
                };
                self.authenticate(user, password)?;
                self.output.replies.simple("OK");
            }
            Command::Client => return self.client(words),
            Command::Commands => self.commands(words)?,
            Command::Select if words[1] == b"0" => replies.simple("OK"),
            Command::Select => return Err(Failure::general("DB index is out of range")),
            Command::Quit => {
                replies.simple("OK");
                self.has_quit = true;
            }
            Command::Reset => {
                replies.simple("RESET");
                replies.protocol = Protocol::default();
                self.client.set_name("");
                let password = service.server.password.as_ref();
                self.unauthenticated_since = password.map(|_| Instant::now());
            }
        }
        Ok(())
    }

    fn authenticate(&mut self, user: &[u8], password: &[u8]) -> Result<()> {
        let Some(expected) = &self.service.server.password else {
            return Err(Failure::general(
                "AUTH was called, but the server was started without a password",
            ));
        };
        // Both are compared in any case, so that the time says nothing about either.
        if expected.is(password) & (user == USER) {
            self.unauthenticated_since = None;
            return Ok(());
        }
        Err(Failure::new("WRONGPASS", "invalid username-password pair or user is disabled."))
    }

    /// `HELLO [2|3] [AUTH user password] [SETNAME name]`
    fn hello(&mut self, words: &[&[u8]]) -> Result<()> {
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
        let replies = &mut self.output.replies;
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
    fn client(&mut self, words: &[&[u8]]) -> Result<()> {
        let replies = &mut self.output.replies;
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
                let clients = self.service.server.clients.all();
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

    /// `COMMAND [COUNT|DOCS|LIST]`
    fn commands(&mut self, words: &[&[u8]]) -> Result<()> {
        let replies = &mut self.output.replies;
        let subcommand = words.get(1).map(|word| word.to_ascii_lowercase());
        match subcommand.as_deref() {
            Some(b"count") => replies.integer(ALL.len() as u64),
            // Clients offer help for commands with it.
            Some(b"docs") => replies.map(0),
            Some(b"list") => {
                replies.array(ALL.len());
                ALL.iter().for_each(|definition| replies.bulk(definition.name.as_bytes()));
            }
            None => {
                replies.array(ALL.len());
                for definition in &ALL {
                    let key = u64::from(definition.has_key);
                    replies.array(6);
                    replies.bulk(definition.name.as_bytes());
                    replies.signed(definition.arity());
                    replies.array(definition.flags.len());
                    definition.flags.iter().for_each(|flag| replies.simple(flag));
                    // The first and the last argument that is a key, and the step between keys.
                    (0..3).for_each(|_| replies.integer(key));
                }
            }
            Some(_) => return Err(Failure::general("unknown subcommand of 'command' command")),
        }
        Ok(())
    }
}

fn no_auth() -> Failure {
    Failure::new("NOAUTH", "Authentication required.")
}

/// Parses a name for a client: printable ASCII without spaces, so that a list of clients has one line
/// each.
fn parse_name(word: &[u8]) -> Result<&str> {
    let is_name = word.len() <= MAX_NAME && word.iter().all(u8::is_ascii_graphic);
    let name = std::str::from_utf8(word).ok().filter(|_| is_name);
    name.ok_or_else(|| {
        Failure::general(
            "a client's name has at most 256 characters: printable ASCII without spaces",
        )
    })
}
