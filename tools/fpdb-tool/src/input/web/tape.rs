//! Stored bytes, counted, of which the last ones can be read again.

use std::io::{self, BufRead, Read};

/// Bytes that can be gone back over. A damaged gzip member is seldom found out more than some
/// kilobytes after the damage.
const WINDOW: usize = 1 << 20;

/// A reader that knows where it stands, and can go back a little.
pub(super) struct Tape {
    inner: Box<dyn BufRead + Send>,
    /// What was read since the mark, or the end of it.
    kept: Vec<u8>,
    /// The next byte, if it is one of those kept.
    replay: usize,
    /// Where the first of the bytes kept stands.
    start: u64,
}

impl Tape {
    pub(super) fn new(inner: Box<dyn BufRead + Send>) -> Self {
        Self { inner, kept: Vec::new(), replay: 0, start: 0 }
    }

    pub(super) fn empty() -> Self {
        Self::new(Box::new(io::empty()))
    }

    /// Where the next byte stands.
    pub(super) fn offset(&self) -> u64 {
        self.start + self.replay as u64
    }

    /// From here on, bytes are kept; those before are not needed again.
    pub(super) fn mark(&mut self) {
        self.start = self.offset();
        self.kept.drain(..self.replay);
        self.replay = 0;
    }

    /// Goes back to `offset`, or as far as there are bytes kept.
    pub(super) fn rewind(&mut self, offset: u64) {
        let back = offset.saturating_sub(self.start);
        self.replay = usize::try_from(back).unwrap_or(usize::MAX).min(self.replay);
    }
}

impl Read for Tape {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(into)?;
        self.consume(read);
        Ok(read)
    }
}

impl BufRead for Tape {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.replay < self.kept.len() {
            return Ok(self.kept.get(self.replay..).unwrap_or_default());
        }
        loop {
            match self.inner.fill_buf() {
                Ok(_) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.inner.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        if self.replay < self.kept.len() {
            self.replay = (self.replay + count).min(self.kept.len());
            return;
        }
        // What was filled is still there, so this reads nothing.
        if let Some(bytes) = self.inner.fill_buf().ok().and_then(|bytes| bytes.get(..count)) {
            self.kept.extend_from_slice(bytes);
        }
        self.inner.consume(count);
        if self.kept.len() > 2 * WINDOW {
            let old = self.kept.len() - WINDOW;
            self.kept.drain(..old);
            self.start += old as u64;
        }
        self.replay = self.kept.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_since_the_mark_is_read_again() {
        let mut tape = Tape::new(Box::new(&b"abcdefgh"[..]));
        let read = |tape: &mut Tape, count: usize| {
            let mut bytes = vec![0; count];
            tape.read_exact(&mut bytes).unwrap();
            String::from_utf8(bytes).unwrap()
        };
        assert_eq!(read(&mut tape, 2), "ab");
        tape.mark();
        assert_eq!(read(&mut tape, 4), "cdef");
        tape.rewind(3);
        assert_eq!(tape.offset(), 3);
        assert_eq!(read(&mut tape, 2), "de");
        tape.mark();
        tape.rewind(0);
        assert_eq!((tape.offset(), read(&mut tape, 3)), (5, "fgh".to_owned()));
    }

    #[test]
    fn only_a_window_is_kept() {
        let bytes: &'static [u8] = vec![7; 5 * WINDOW].leak();
        let mut tape = Tape::new(Box::new(bytes));
        io::copy(&mut tape, &mut io::sink()).unwrap();
        assert_eq!(tape.offset(), bytes.len() as u64);
        tape.rewind(0);
        assert!(tape.offset() >= bytes.len() as u64 - 2 * WINDOW as u64 - (1 << 16));
    }
}
