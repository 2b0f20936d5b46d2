//! Executes a client's commands in their order.

use std::sync::Arc;
use std::time::{Instant, UNIX_EPOCH};

use fpdb::Fingerprint;
use fpdb::Ids;

use crate::command::Command;
use crate::commands::describe;
use crate::commands::handshake::Handshake;
use crate::commands::info::{self, Figures};
use crate::commands::maintenance;
use crate::commands::reads;
use crate::commands::rest;
use crate::commands::service::Service;
use crate::commands::transaction::Transaction;
use crate::commands::writes;
use crate::failure::{Failure, Result};
use crate::net::clients::Client;
use crate::net::loan::{Lent, Loan, Rested};
use crate::net::output::Output;
use crate::resp::Replies;

/// A connection rests after this many times in a row in which it has sent documents only. Clients
/// that read in between would wait longer.
const REST_AFTER: u32 = 4;

/// A connection's state.
pub(crate) struct Session<'a, F: Fingerprint> {
    service: &'a Service<F>,
    pub(crate) handshake: Handshake<'a>,
    /// Only for use while nothing is being committed, because until then it is lent.
    pub(crate) output: Output,
    loan: Arc<Loan>,
    /// Whether commands are being committed whose replies are not sent yet.
    is_committing: bool,
    /// How many times in a row what arrived together was nothing but documents.
    documents_in_a_row: u32,
    /// After `MULTI`, the commands that wait for `EXEC`.
    transaction: Option<Transaction>,
    /// The client wants no reply to its next command.
    skips_next: bool,
    /// Whether no command gets a reply.
    replies_are_off: bool,
    /// The client has sent `QUIT`.
    pub(crate) has_quit: bool,
}

impl<'a, F: Fingerprint> Session<'a, F> {
    pub(crate) fn new(service: &'a Service<F>, client: &'a Arc<Client>) -> Self {
        Self {
            service,
            handshake: Handshake::new(&service.shared, client, service.db.is_read_only()),
            output: Output::new(client.clone(), service.shared.metrics.clone()),
            loan: Loan::new(service.queue.poll().cloned()),
            is_committing: false,
            documents_in_a_row: 0,
            transaction: None,
            skips_next: false,
            replies_are_off: false,
            has_quit: false,
        }
    }

    /// Returns whether commands are being committed whose replies are not sent yet.
    pub(crate) fn is_committing(&self) -> bool {
        self.is_committing
    }

    /// Waits until the replies to all commands so far are sent or in `output`.
    pub(crate) fn settle(&mut self) {
        if self.is_committing {
            self.output = self.loan.wait();
            self.is_committing = false;
        }
    }

    /// Notes which commands arrived together. If they are documents for long enough, the connection
    /// can rest.
    pub(crate) fn note(&mut self, requests: &[Vec<&[u8]>]) {
        if requests.iter().any(|words| !rest::is_for_rest(words)) {
            self.documents_in_a_row = 0;
        } else if !requests.is_empty() {
            self.documents_in_a_row += 1;
        }
    }

    /// Lets the connection rest if it has written nothing but documents for a while, and its last
    /// ones are being committed. Returns when it has something else to do, with what was received
    /// in the meantime.
    pub(crate) fn rest(&mut self) -> Option<Rested> {
        if !self.is_committing || self.documents_in_a_row < REST_AFTER {
            return None;
        }
        let (rested, output) = self.loan.rest(self.service.shared.timeouts.idle)?;
        (self.output, self.is_committing, self.documents_in_a_row) = (output, false, 0);
        Some(rested)
    }

    /// Executes commands in their order. Each is a list of at least one word. Returns before the
    /// last ones are executed if they are writes.
    pub(crate) fn execute(&mut self, requests: &[Vec<&[u8]>]) {
        let mut rest = requests;
        while !rest.is_empty() && !self.has_quit && !self.service.shared.clients.is_cut_off() {
            self.settle();
            let executed =
                if self.skips_next { self.skip_reply(rest) } else { self.execute_first(rest) };
            rest = &rest[executed..];
            if !self.is_committing {
                self.output.send_if_full();
            }
        }
    }

    /// Executes a command without a reply. Returns the number of commands, which is one.
    fn skip_reply(&mut self, requests: &[Vec<&[u8]>]) -> usize {
        self.skips_next = false;
        self.output.replies.are_off = true;
        self.execute_first(&requests[..1]);
        self.settle();
        // The command may have been CLIENT REPLY.
        self.output.replies.are_off = self.replies_are_off;
        1
    }

    /// Executes a command, together with following ones of its kind if they are written together.
    /// Returns the number of commands.
    fn execute_first(&mut self, requests: &[Vec<&[u8]>]) -> usize {
        let words = &requests[0];
        let Some(command) = Command::find(words[0]) else {
            self.unknown(words[0]);
            return 1;
        };
        if self.transaction.is_some() && command.is_queued() {
            self.queue(command, words);
            return 1;
        }
        if command.is_batched() && self.handshake.allows(command) {
            return self.submit(command, requests);
        }
        self.count_and_run(command, words);
        1
    }

    /// Hands over a command and the following ones of its kind, to be committed together. Returns
    /// their number.
    fn submit(&mut self, command: Command, requests: &[Vec<&[u8]>]) -> usize {
        let batch = writes::batch(self.service, command, requests);
        let calls = batch.len();
        // Failures are counted by the thread that finds them.
        self.service.shared.metrics.of(command).calls.add(calls as u64);
        self.service.queue.submit(batch, Lent::new(&mut self.output, &self.loan));
        self.is_committing = true;
        calls
    }

    /// Lets a command wait for `EXEC`.
    fn queue(&mut self, command: Command, words: &[&[u8]]) {
        let Some(transaction) = &mut self.transaction else { return };
        let most = self.service.shared.limits.request;
        let queued = self.handshake.expect_right(command).and_then(|()| {
            if is_client_reply(command, words) {
                // `EXEC` announces a reply to each command.
                Err(Failure::general("CLIENT REPLY inside MULTI is not allowed"))
            } else if command.takes(words.len()) {
                transaction.push(words, most)
            } else {
                Err(Failure::arity(command))
            }
        });
        match queued {
            Ok(()) => self.output.replies.simple("QUEUED"),
            Err(failure) => {
                transaction.is_spoiled = true;
                self.service.shared.metrics.of(command).errors.add(1);
                failure.write(&mut self.output.replies);
            }
        }
    }

    /// `EXEC`
    fn execute_transaction(&mut self) -> Result<()> {
        let Some(transaction) = self.transaction.take() else {
            return Err(Failure::general("EXEC without MULTI"));
        };
        if transaction.is_spoiled {
            let message = "Transaction discarded because of previous errors.";
            return Err(Failure::new("EXECABORT", message));
        }
        let commands = transaction.commands();
        self.output.replies.array(commands.len());
        self.execute(&commands);
        Ok(())
    }

    fn unknown(&mut self, name: &[u8]) {
        self.service.shared.metrics.unknown.add(1);
        self.spoil_transaction();
        let failure = if self.handshake.is_authenticated() {
            let name = String::from_utf8_lossy(&name[..name.len().min(64)]);
            Failure::general(format!("unknown command '{name}'"))
        } else {
            Failure::no_auth()
        };
        failure.write(&mut self.output.replies);
    }

    /// Makes the next `EXEC` fail, because a command was refused.
    fn spoil_transaction(&mut self) {
        if let Some(transaction) = &mut self.transaction {
            transaction.is_spoiled = true;
        }
    }

    fn count_and_run(&mut self, command: Command, words: &[&[u8]]) {
        let counted = self.service.shared.metrics.of(command);
        counted.calls.add(1);
        let start = Instant::now();
        let result = self.run(command, words);
        let (took, peer) = (start.elapsed(), self.output.peer());
        counted.took.add(1, took);
        self.service.shared.slow.add(peer, command, 1, took);
        if let Err(failure) = &result {
            failure.report(peer, command, &self.service.shared.metrics);
            failure.write(&mut self.output.replies);
        }
    }

    fn run(&mut self, command: Command, words: &[&[u8]]) -> Result<()> {
        self.handshake.expect_right(command)?;
        if !command.takes(words.len()) {
            self.spoil_transaction();
            return Err(Failure::arity(command));
        }
        let service = self.service;
        let replies = &mut self.output.replies;
        match command {
            // These are written together with their neighbours.
            Command::AddNx | Command::Upsert => {}
            Command::Query => return reads::query(service, words, &mut self.output),
            Command::MQuery => return reads::query_many(service, words, &mut self.output),
            Command::Get => return reads::get(service, words, replies),
            Command::Del => return writes::delete(service, words, replies),
            Command::Touch => return writes::touch(service, words, replies),
            Command::Expire => return maintenance::expire(service, words, replies),
            Command::Flush => return maintenance::flush(service, replies),
            Command::Compact => return maintenance::compact(service, replies),
            Command::Backup => return maintenance::backup(service, words, replies),
            Command::Verify => return maintenance::verify(service, replies),
            Command::Stats => reads::stats(service, replies),
            Command::Multi if self.transaction.is_some() => {
                return Err(Failure::general("MULTI calls can not be nested"));
            }
            Command::Multi => {
                self.transaction = Some(Transaction::new(service.shared.budget.clone()));
                replies.simple("OK");
            }
            Command::Exec => return self.execute_transaction(),
            Command::Discard => match self.transaction.take() {
                Some(_) => replies.simple("OK"),
                None => return Err(Failure::general("DISCARD without MULTI")),
            },
            Command::Watch if self.transaction.is_some() => {
                self.spoil_transaction();
                return Err(Failure::general("WATCH inside MULTI is not allowed"));
            }
            Command::Watch => {
                return Err(Failure::general(
                    "WATCH is not supported: FP.ADDNX and FP.UPSERT look and write in one step",
                ));
            }
            // Nothing is watched.
            Command::Unwatch => replies.simple("OK"),
            Command::Ping => match words.get(1) {
                None => replies.simple("PONG"),
                Some(text) => replies.bulk(text),
            },
            Command::Echo => replies.bulk(words[1]),
            Command::Info => {
                let figures = Figures::of(service);
                replies.bulk(info::info(&service.shared, &figures, &words[1..]).as_bytes());
            }
            Command::Hello => return self.handshake.hello(words, replies),
            Command::Auth => return self.handshake.auth(words, replies),
            Command::Time => write_time(replies),
            Command::DbSize => {
                let stats = service.db.stats();
                // A database with user ids has no documents.
                let is_user = service.db.description().ids == Ids::User;
                replies.integer(if is_user { stats.entries } else { stats.documents });
            }
            Command::Client if is_client_reply(command, words) => return self.client_reply(words),
            Command::Client => return self.handshake.client(words, replies),
            Command::Commands => return describe::commands(words, replies),
            Command::Select if words[1] == b"0" => replies.simple("OK"),
            Command::Select => return Err(Failure::general("DB index is out of range")),
            Command::Quit => {
                replies.simple("OK");
                self.has_quit = true;
            }
            Command::Reset => {
                self.transaction = None;
                (self.replies_are_off, replies.are_off) = (false, false);
                self.handshake.reset(replies);
            }
        }
        Ok(())
    }

    /// `CLIENT REPLY ON|OFF|SKIP`
    fn client_reply(&mut self, words: &[&[u8]]) -> Result<()> {
        let replies = &mut self.output.replies;
        match words[2..] {
            [word] if word.eq_ignore_ascii_case(b"on") => {
                (self.replies_are_off, replies.are_off) = (false, false);
                replies.simple("OK");
            }
            [word] if word.eq_ignore_ascii_case(b"off") => {
                (self.replies_are_off, replies.are_off) = (true, true);
            }
            // There is nothing to skip if there are no replies.
            [word] if word.eq_ignore_ascii_case(b"skip") => {
                self.skips_next = !self.replies_are_off;
            }
            _ => return Err(Failure::syntax()),
        }
        Ok(())
    }
}

impl<F: Fingerprint> Drop for Session<'_, F> {
    fn drop(&mut self) {
        self.loan.forget(self.output.client());
    }
}

fn is_client_reply(command: Command, words: &[&[u8]]) -> bool {
    command == Command::Client
        && words.get(1).is_some_and(|word| word.eq_ignore_ascii_case(b"reply"))
}

/// Writes the reply to `TIME`: seconds since the beginning of 1970, and microseconds.
fn write_time(replies: &mut Replies) {
    let now = UNIX_EPOCH.elapsed().unwrap_or_default();
    replies.array(2);
    replies.bulk(now.as_secs().to_string().as_bytes());
    replies.bulk(now.subsec_micros().to_string().as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::service::Shared;
    use crate::net::stream::{self, Address};
    use crate::options::Options;

    #[test]
    fn a_client_that_was_cut_off_executes_nothing_more() {
        let folder = tempfile::tempdir().unwrap();
        let db = fpdb::Db::options().create(folder.path().join("db")).unwrap();
        let (stream, peer, _client) = stream::pair();
        let address = Address::Tcp(([127, 0, 0, 1], 1).into());
        let service = Service::<u64>::new(db.clone(), Shared::new(address, &Options::default()));
        let clients = &service.shared.clients;
        let registered = clients.register(stream, peer, 1).unwrap();
        let mut session = Session::new(&service, &registered.client);
        db.insert(0xff, 7).unwrap();
        session.execute(&[vec![b"PING"]]);
        assert_eq!(session.output.replies.bytes(), b"+PONG\r\n");
        clients.cut_off();
        session.execute(&[vec![b"FP.DEL", b"7", b"0xff"]]);
        assert!(db.snapshot().contains(0xff).unwrap());
    }
}
