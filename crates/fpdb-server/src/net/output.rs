//! The replies of a connection, on their way to the client.

use std::io::{ErrorKind, Write};
use std::mem;
use std::net::Shutdown;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use crate::metrics::Metrics;
use crate::net::clients::{Client, lock};
use crate::net::stream::Peer;
use crate::resp::Replies;

/// Replies are sent when they have this many bytes, even if more follow.
const FULL: usize = 64 << 10;

/// Collects replies and sends them. So no reply takes more memory than this, however long it is.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) replies: Replies,
    client: Arc<Client>,
    metrics: Arc<Metrics>,
    is_broken: bool,
}

impl Output {
    /// Sends to `client`, and counts in `metrics`.
    pub(crate) fn new(client: Arc<Client>, metrics: Arc<Metrics>) -> Self {
        Self { replies: Replies::default(), client, metrics, is_broken: false }
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    pub(crate) fn peer(&self) -> Peer {
        self.client.peer
    }

    /// Returns whether the replies so far are so many that they should be sent.
    pub(crate) fn is_full(&self) -> bool {
        self.replies.len() >= FULL
    }

    /// Sends the replies so far if they are many.
    pub(crate) fn send_if_full(&mut self) {
        if self.is_full() {
            self.send();
        }
    }

    /// Sends the replies so far. If the client does not read them in time, it gets no more, because
    /// it could not tell what they belong to.
    pub(crate) fn send(&mut self) {
        let bytes = self.replies.bytes();
        if !self.is_broken && !bytes.is_empty() {
            match (&mut &self.client.stream).write_all(bytes) {
                Ok(()) => self.metrics.bytes_sent.add(bytes.len() as u64),
                Err(_) => self.is_broken = true,
            }
        }
        self.replies.clear(FULL);
    }

    /// Sends as much as is possible without waiting for the client. Returns whether nothing is left
    /// to send.
    pub(crate) fn try_send(&mut self) -> bool {
        let bytes = self.replies.bytes();
        if !self.is_broken && !bytes.is_empty() {
            match self.client.stream.send_at_once(bytes) {
                Ok(sent) => {
                    self.metrics.bytes_sent.add(sent as u64);
                    if sent < bytes.len() {
                        self.replies.remove(sent);
                        return false;
                    }
                }
                Err(error) if is_temporary(error.kind()) => return false,
                Err(_) => self.is_broken = true,
            }
        }
        self.replies.clear(FULL);
        true
    }

    /// Returns whether the client gets no more replies.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Lends the output to a thread that continues to write replies. Until it is returned, the
    /// connection has an empty one, which it must not use.
    pub(crate) fn lend(&mut self, to: &Arc<Loan>) -> Lent {
        Lent { output: self.take(), loan: to.clone(), is_complete: false }
    }

    fn take(&mut self) -> Self {
        let empty = Self::new(self.client.clone(), self.metrics.clone());
        mem::replace(self, empty)
    }
}

fn is_temporary(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Where a connection gets its output back.
#[derive(Debug, Default)]
pub(crate) struct Loan {
    state: Mutex<State>,
    returned: Condvar,
}

#[derive(Debug, Default)]
struct State {
    output: Option<Output>,
    is_awaited: bool,
}

impl Loan {
    /// Waits until the output is returned.
    pub(crate) fn wait(&self) -> Output {
        let mut state = lock(&self.state);
        loop {
            if let Some(output) = state.output.take() {
                state.is_awaited = false;
                return output;
            }
            state.is_awaited = true;
            state = self.returned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// An output that a connection has lent. Dropping it returns it.
#[derive(Debug)]
pub(crate) struct Lent {
    pub(crate) output: Output,
    loan: Arc<Loan>,
    /// Whether all replies were written. Otherwise, the connection ends.
    pub(crate) is_complete: bool,
}

impl Drop for Lent {
    fn drop(&mut self) {
        let mut output = self.output.take();
        output.is_broken |= !self.is_complete;
        if output.is_broken {
            // The connection may be waiting for a request.
            let _ = output.client.stream.shutdown(Shutdown::Both);
        }
        let mut state = lock(&self.loan.state);
        state.output = Some(output);
        // A notification is a system call, even if nobody waits for it.
        if state.is_awaited {
            self.loan.returned.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::net::clients::Clients;
    use crate::net::stream;
    use crate::resp::Protocol;

    #[test]
    fn a_lent_output_is_returned_and_broken_unless_all_replies_were_written() {
        for is_complete in [true, false] {
            let (stream, peer, mut client) = stream::pair();
            let registered = Arc::new(Clients::default()).register(stream, peer, 1).unwrap();
            let metrics = Arc::new(Metrics::new());
            let mut output = Output::new(registered.client.clone(), metrics.clone());
            output.replies.protocol = Protocol::Resp3;
            output.replies.simple("first");
            let loan = Arc::default();
            let mut lent = output.lend(&loan);
            lent.output.replies.simple("second");
            assert!(lent.output.try_send());
            lent.output.replies.simple("third");
            lent.is_complete = is_complete;
            let returning = std::thread::spawn(move || drop(lent));
            output = loan.wait();
            returning.join().unwrap();
            assert_eq!(
                (output.is_broken(), output.replies.protocol),
                (!is_complete, Protocol::Resp3)
            );
            output.send();
            drop((output, registered));
            let mut received = String::new();
            client.read_to_string(&mut received).unwrap();
            let expected = "+first\r\n+second\r\n+third\r\n";
            assert_eq!(received, expected[..if is_complete { expected.len() } else { 17 }]);
            assert_eq!(metrics.bytes_sent.get(), received.len() as u64);
        }
    }
}
