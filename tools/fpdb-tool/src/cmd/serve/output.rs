//! The replies of a connection, on their way to the client.

use std::io::Write;
use std::net::TcpStream;

use super::metrics::Counter;
use super::resp::Replies;

/// Replies are sent when they have this many bytes, even if more follow.
const FULL: usize = 64 << 10;

/// Collects replies and sends them. So no reply takes more memory than this, however long it is.
pub(super) struct Output<'a> {
    pub(super) replies: Replies,
    stream: &'a TcpStream,
    sent: &'a Counter,
    is_broken: bool,
}

impl<'a> Output<'a> {
    /// Sends to `stream`, and adds the bytes to `sent`.
    pub(super) fn new(stream: &'a TcpStream, sent: &'a Counter) -> Self {
        Self { replies: Replies::default(), stream, sent, is_broken: false }
    }

    /// Sends the replies so far if they are many.
    pub(super) fn send_if_full(&mut self) {
        if self.replies.len() >= FULL {
            self.send();
        }
    }

    /// Sends the replies so far. If the client does not read them in time, it gets no more, because it
    /// could not tell what they belong to.
    pub(super) fn send(&mut self) {
        let bytes = self.replies.bytes();
        if !self.is_broken && !bytes.is_empty() {
            match (&mut &*self.stream).write_all(bytes) {
                Ok(()) => self.sent.add(bytes.len() as u64),
                Err(_) => self.is_broken = true,
            }
        }
        self.replies.clear(FULL);
    }

    /// Returns whether the client gets no more replies.
    pub(super) fn is_broken(&self) -> bool {
        self.is_broken
    }
}
