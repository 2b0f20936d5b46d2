//! Writes replies.

use std::fmt::Display;
use std::io::Write;

/// The version of the protocol that a client has chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Protocol {
    #[default]
    Resp2,
    Resp3,
}

/// Replies that were not sent yet.
///
/// After [`array`](Self::array), [`set`](Self::set) and [`map`](Self::map), the caller writes the
/// announced number of replies.
#[derive(Debug, Default)]
pub(crate) struct Replies {
    bytes: Vec<u8>,
    pub(crate) protocol: Protocol,
    /// Whether the client wants none, so that they are not written at all.
    pub(crate) are_off: bool,
}

impl Replies {
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Removes everything, and keeps at most this much memory.
    pub(crate) fn clear(&mut self, keep: usize) {
        self.bytes.clear();
        self.bytes.shrink_to(keep);
    }

    /// Removes the first bytes.
    pub(crate) fn remove(&mut self, bytes: usize) {
        self.bytes.drain(..bytes);
    }

    /// Writes a short text that has no line end.
    pub(crate) fn simple(&mut self, text: &str) {
        self.line('+', text);
    }

    /// Writes an error. Its code is one word in capitals, by which programs recognize it.
    pub(crate) fn error(&mut self, code: &str, message: &str) {
        let message = message.replace(char::is_control, " ");
        self.line('-', format_args!("{code} {message}"));
    }

    /// Writes a number, which the protocol limits to the range of `i64`.
    pub(crate) fn integer(&mut self, number: u64) {
        self.line(':', number.min(i64::MAX.cast_unsigned()));
    }

    pub(crate) fn signed(&mut self, number: i64) {
        self.line(':', number);
    }

    pub(crate) fn double(&mut self, number: f64) {
        match self.protocol {
            Protocol::Resp2 => self.bulk(number.to_string().as_bytes()),
            Protocol::Resp3 => self.line(',', number),
        }
    }

    /// Writes a text of any bytes.
    pub(crate) fn bulk(&mut self, text: &[u8]) {
        self.count(b'$', text.len());
        self.push(text);
        self.push(b"\r\n");
    }

    pub(crate) fn null(&mut self) {
        match self.protocol {
            Protocol::Resp2 => self.push(b"$-1\r\n"),
            Protocol::Resp3 => self.push(b"_\r\n"),
        }
    }

    /// Writes a text, or null.
    pub(crate) fn optional(&mut self, text: Option<&str>) {
        match text {
            Some(text) => self.bulk(text.as_bytes()),
            None => self.null(),
        }
    }

    pub(crate) fn array(&mut self, replies: usize) {
        self.count(b'*', replies);
    }

    /// Begins a set: with RESP2, an array.
    pub(crate) fn set(&mut self, replies: usize) {
        match self.protocol {
            Protocol::Resp2 => self.array(replies),
            Protocol::Resp3 => self.line('~', replies),
        }
    }

    /// Begins a map of this many pairs: with RESP2, an array of keys and values in turn.
    pub(crate) fn map(&mut self, pairs: usize) {
        match self.protocol {
            Protocol::Resp2 => self.array(2 * pairs),
            Protocol::Resp3 => self.line('%', pairs),
        }
    }

    /// Writes a line with a number. Most have one digit, which takes no formatting.
    fn count(&mut self, first: u8, count: usize) {
        match u8::try_from(count) {
            Ok(digit @ 0..10) => self.push(&[first, b'0' + digit, b'\r', b'\n']),
            _ => self.line(first.into(), count),
        }
    }

    fn line(&mut self, first: char, rest: impl Display) {
        if !self.are_off {
            // Memory takes everything.
            let _ = write!(self.bytes, "{first}{rest}\r\n");
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        if !self.are_off {
            self.bytes.extend_from_slice(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(protocol: Protocol) -> String {
        let mut replies = Replies { protocol, ..Replies::default() };
        replies.simple("OK");
        replies.error("ERR", "a\r\nb");
        replies.integer(7);
        replies.integer(u64::MAX);
        replies.double(0.5);
        replies.bulk(b"");
        replies.bulk("a\r\né".as_bytes());
        replies.null();
        replies.array(0);
        replies.map(2);
        replies.set(3);
        String::from_utf8(replies.bytes).unwrap()
    }

    #[test]
    fn each_protocol_has_its_own_types() {
        assert_eq!(
            written(Protocol::Resp2),
            "+OK\r\n-ERR a  b\r\n:7\r\n:9223372036854775807\r\n$3\r\n0.5\r\n$0\r\n\r\n\
             $5\r\na\r\né\r\n$-1\r\n*0\r\n*4\r\n*3\r\n"
        );
        assert_eq!(
            written(Protocol::Resp3),
            "+OK\r\n-ERR a  b\r\n:7\r\n:9223372036854775807\r\n,0.5\r\n$0\r\n\r\n\
             $5\r\na\r\né\r\n_\r\n*0\r\n%2\r\n~3\r\n"
        );
    }
}
