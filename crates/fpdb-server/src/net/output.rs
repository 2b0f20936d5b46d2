//! The replies of a connection, on their way to the client.

use std::io::{self, ErrorKind, Write};
use std::mem;
use std::sync::Arc;

use crate::metrics::Metrics;
use crate::net::clients::Client;
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

    /// Receives what the client has sent, without waiting for it.
    pub(crate) fn receive_at_once(&self, bytes: &mut [u8]) -> io::Result<usize> {
        let received = self.client.stream.receive_at_once(bytes)?;
        self.metrics.bytes_received.add(received as u64);
        Ok(received)
    }

    /// Returns whether the client gets no more replies.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Ends the connection, which may be waiting for a request.
    pub(crate) fn break_off(&mut self) {
        self.is_broken = true;
        self.client.disconnect();
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Returns the output, and leaves an empty one.
    pub(crate) fn take(&mut self) -> Self {
        let empty = Self::new(self.client.clone(), self.metrics.clone());
        mem::replace(self, empty)
    }
}

fn is_temporary(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
