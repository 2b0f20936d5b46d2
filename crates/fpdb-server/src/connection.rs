//! A connection, from its first request to its end.

use std::io::{self, ErrorKind, Read};
use std::net::Shutdown;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fpdb::Fingerprint;

use crate::commands::service::{Service, Shared};
use crate::commands::session::Session;
use crate::events;
use crate::failure::Failure;
use crate::net::clients::Client;
use crate::net::input::{Input, Received};
use crate::net::loan::Rested;
use crate::net::stream::Stream;
use crate::resp::Parser;

/// How many requests, and about how many bytes of them, are executed together at most.
const ROUND: usize = 1024;
const ROUND_BYTES: usize = 64 << 10;

/// How long a client may go on sending requests while the server stops.
pub(crate) const GRACE: Duration = Duration::from_secs(1);

/// For how long the server listens to a client after the last reply.
const LINGER: Duration = Duration::from_millis(500);

/// Why a connection ends.
enum End {
    /// There are no more requests.
    Regular,
    /// The client broke a rule. The reply says which one.
    Refused(Failure),
    /// The client cannot be reached.
    Broken,
}

/// Serves a client until it ends the connection or breaks a rule, or the server stops.
pub(crate) fn serve<F: Fingerprint>(service: &Service<F>, client: &Arc<Client>) {
    let mut connection = Connection {
        shared: &service.shared,
        client,
        session: Session::new(service, client),
        input: Input::new(service.shared.budget.clone()),
        parser: Parser::default(),
        begun: None,
        read_timeout: None,
    };
    let end = connection.run();
    let Connection { mut session, input, .. } = connection;
    // Other connections can use its memory from now on.
    drop(input);
    session.settle();
    let output = &mut session.output;
    if let End::Refused(failure) = &end {
        events::broke_off(client.peer, failure.message());
        failure.write(&mut output.replies);
    }
    output.send();
    if !matches!(end, End::Broken) && !output.is_broken() {
        linger(&client.stream);
    }
}

struct Connection<'a, F: Fingerprint> {
    shared: &'a Shared,
    client: &'a Client,
    session: Session<'a, F>,
    input: Input,
    parser: Parser,
    /// When the request began that is not complete yet.
    begun: Option<Instant>,
    /// The read timeout of the stream.
    read_timeout: Option<Duration>,
}

impl<F: Fingerprint> Connection<'_, F> {
    fn run(&mut self) -> End {
        if self.prepare().is_err() {
            return End::Broken;
        }
        loop {
            if let Err(end) = self.answer().and_then(|()| self.receive()) {
                return end;
            }
        }
    }

    fn prepare(&self) -> io::Result<()> {
        let stream = &self.client.stream;
        stream.set_write_timeout(Some(self.shared.timeouts.write))?;
        stream.prepare()
    }

    /// Answers all requests that have arrived completely.
    fn answer(&mut self) -> Result<(), End> {
        loop {
            let mut unread = self.input.unread_mut();
            // What a client may send depends on whether it has given the password.
            let most = if self.session.handshake.is_authenticated() { ROUND } else { 1 };
            let mut requests: Vec<Vec<&[u8]>> = Vec::new();
            let (mut at, mut malformed) = (0, None);
            while requests.len() < most && at < ROUND_BYTES {
                match self.parser.parse(unread, self.session.handshake.limits()) {
                    Ok(Some(request)) => {
                        let (bytes, rest) = unread.split_at_mut(request.length);
                        let bytes: &[u8] = bytes;
                        let words = request.arguments.into_iter().map(|range| &bytes[range]);
                        requests.push(words.collect());
                        at += request.length;
                        unread = rest;
                    }
                    Ok(None) => break,
                    Err(reason) => {
                        malformed = Some(Failure::general(reason.to_string()));
                        break;
                    }
                }
            }
            requests.retain(|words| !words.is_empty());
            self.session.note(&requests);
            self.session.execute(&requests);
            self.input.consume(at);
            if self.session.has_quit {
                return Err(End::Regular);
            }
            if let Some(failure) = malformed {
                return Err(End::Refused(failure));
            }
            if at == 0 {
                break;
            }
            self.begun = None;
        }
        if self.session.is_committing() {
            return Ok(());
        }
        self.session.output.send();
        if self.session.output.is_broken() { Err(End::Broken) } else { Ok(()) }
    }

    /// Waits for more bytes.
    fn receive(&mut self) -> Result<(), End> {
        if self.shared.clients.stopping_since().is_some_and(|since| since.elapsed() > GRACE) {
            return Err(End::Regular);
        }
        if self.input.unread().is_empty() {
            match self.session.rest() {
                Some(Rested::Received(bytes)) if !bytes.is_empty() => {
                    self.input.push(&bytes);
                    return Ok(());
                }
                Some(Rested::Idle) => return Err(End::Regular),
                Some(Rested::Received(_)) | None => {}
            }
        }
        let now = Instant::now();
        if !self.input.unread().is_empty() {
            self.begun.get_or_insert(now);
        }
        let timeouts = self.shared.timeouts;
        let since = self.session.handshake.unauthenticated_since().or(self.begun);
        let left = since.map(|since| timeouts.request.saturating_sub(now - since));
        if left == Some(Duration::ZERO) {
            return Err(self.timed_out());
        }
        self.set_read_timeout(left.or(timeouts.idle)).map_err(|_| End::Broken)?;
        match self.input.receive(&mut &self.client.stream) {
            Ok(Received::Bytes(bytes)) => {
                self.shared.metrics.bytes_received.add(bytes as u64);
                Ok(())
            }
            Ok(Received::End) => Err(End::Regular),
            Ok(Received::NoMemory) => Err(End::Refused(Failure::general(
                "the memory for requests is used up (limit: request-memory)",
            ))),
            Err(error) if is_timeout(&error) && self.session.is_committing() => {
                // The client has waited for its replies until now.
                self.session.settle();
                self.begun = None;
                Ok(())
            }
            Err(error) if is_timeout(&error) => Err(self.timed_out()),
            Err(_) => Err(End::Broken),
        }
    }

    fn timed_out(&self) -> End {
        if self.begun.is_none() {
            // The client expects no reply.
            return End::Regular;
        }
        let seconds = self.shared.timeouts.request.as_secs_f64();
        End::Refused(Failure::general(format!(
            "the request was not complete after {seconds} seconds (limit: request-timeout)"
        )))
    }

    fn set_read_timeout(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        if timeout != self.read_timeout {
            self.client.stream.set_read_timeout(timeout)?;
            self.read_timeout = timeout;
        }
        Ok(())
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Ends the connection so that the last replies reach the client. If the server closed it while
/// bytes of the client arrive, the system would discard replies that the client has not read yet.
fn linger(stream: &Stream) {
    let start = Instant::now();
    if stream.shutdown(Shutdown::Write).is_err() || stream.set_read_timeout(Some(LINGER)).is_err() {
        return;
    }
    let mut ignored = [0; 4096];
    while start.elapsed() < LINGER && matches!((&mut &*stream).read(&mut ignored), Ok(1..)) {}
}
