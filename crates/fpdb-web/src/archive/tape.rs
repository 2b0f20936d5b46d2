//! A reader that counts bytes and can go back over the last ones.

use std::io::{self, BufRead, BufReader, Read};

/// Bytes that can be gone back over. Decompression rarely notices damage to a gzip member more
/// than a few kilobytes after it.
const WINDOW: usize = 1 << 20;
/// Bytes per call of the inner reader.
const BUFFER: usize = 1 << 16;

/// A reader that knows its offset and can go back to a recent one.
pub(super) struct Tape<R> {
    /// None for a placeholder that reads as empty.
    inner: Option<BufReader<R>>,
    /// The bytes read since the mark, or the last ones of them, and some that came before them.
    kept: Vec<u8>,
    /// The index in `kept` of the first byte that can be gone back to.
    first: usize,
    /// The index in `kept` of the next byte; its length if the next byte is not kept.
    replay: usize,
    /// The offset of the first byte in `kept`.
    start: u64,
}

impl<R: Read> Tape<R> {
    pub(super) fn new(inner: R) -> Self {
        let inner = Some(BufReader::with_capacity(BUFFER, inner));
        Self { inner, kept: Vec::new(), first: 0, replay: 0, start: 0 }
    }

    /// An empty reader.
    pub(super) fn empty() -> Self {
        Self { inner: None, kept: Vec::new(), first: 0, replay: 0, start: 0 }
    }

    /// Returns the offset of the next byte.
    pub(super) fn offset(&self) -> u64 {
        self.start + self.replay as u64
    }

    /// Keeps bytes from here on. Those before can no longer be gone back to.
    pub(super) fn mark(&mut self) {
        self.mark_before(0);
    }

    /// Does the same from `count` bytes before here.
    pub(super) fn mark_before(&mut self, count: usize) {
        self.first = self.replay.saturating_sub(count).max(self.first);
        // Not for each mark: there may be one every few bytes, and each would move all that follow.
        if self.first > self.kept.len() / 2 {
            self.forget(self.first);
        }
    }

    /// Drops the first `count` of the kept bytes.
    fn forget(&mut self, count: usize) {
        self.kept.drain(..count);
        self.start += count as u64;
        self.first = self.first.saturating_sub(count);
        self.replay = self.replay.saturating_sub(count);
    }

    /// Goes back to `offset`, or as far as there are bytes kept.
    pub(super) fn rewind(&mut self, offset: u64) {
        let back = offset.saturating_sub(self.start);
        let back = usize::try_from(back).unwrap_or(usize::MAX).max(self.first);
        self.replay = back.min(self.replay);
    }

    fn fill_inner(&mut self) -> io::Result<&[u8]> {
        let Some(inner) = &mut self.inner else { return Ok(&[]) };
        loop {
            match inner.fill_buf() {
                Ok(_) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        inner.fill_buf()
    }
}

impl<R: Read> Read for Tape<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(into)?;
        self.consume(read);
        Ok(read)
    }
}

impl<R: Read> BufRead for Tape<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.replay < self.kept.len() {
            return Ok(self.kept.get(self.replay..).unwrap_or_default());
        }
        self.fill_inner()
    }

    fn consume(&mut self, count: usize) {
        if self.replay < self.kept.len() {
            self.replay = (self.replay + count).min(self.kept.len());
            return;
        }
        let Some(inner) = &mut self.inner else { return };
        // The bytes are in the buffer already, so this does not read.
        self.kept.extend_from_slice(inner.buffer().get(..count).unwrap_or_default());
        inner.consume(count);
        self.replay = self.kept.len();
        if self.kept.len() > 2 * WINDOW {
            self.forget(self.kept.len() - WINDOW);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_read_since_the_mark_can_be_read_again() {
        let mut tape = Tape::new(&b"abcdefgh"[..]);
        let read = |tape: &mut Tape<&[u8]>, count: usize| {
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
    fn only_a_window_of_bytes_is_kept() {
        let bytes = vec![7; 5 * WINDOW];
        let mut tape = Tape::new(bytes.as_slice());
        io::copy(&mut tape, &mut io::sink()).unwrap();
        assert_eq!(tape.offset(), bytes.len() as u64);
        tape.rewind(0);
        assert!(tape.offset() >= bytes.len() as u64 - 2 * WINDOW as u64 - (1 << 16));
    }
}
