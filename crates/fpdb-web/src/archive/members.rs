//! The uncompressed bytes of an archive, and their places in the file.
//!
//! An archive is either uncompressed or a sequence of gzip members. By convention a member holds
//! one record, but some files have one member over all records, or any other division. An
//! uncompressed file is treated as one member.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

use super::tape::Tape;

pub(super) const GZIP_MAGIC: [u8; 3] = [0x1f, 0x8b, 8];
const CHUNK: usize = 1 << 15;
/// Bytes that may be read in vain as members that are none, without losing any member: this many,
/// and this many per byte of the file.
const MAX_WASTED: u64 = 16 << 20;
const WASTED_PER_BYTE: u64 = 8;

/// The bytes of an archive, member by member.
pub(super) struct Members<R> {
    stored: Stored<R>,
    /// Uncompressed bytes; those from `next` on have not been consumed.
    buffer: Vec<u8>,
    next: usize,
    /// The offset at which the member begins.
    member: u64,
    /// Bytes of the member that have been uncompressed.
    uncompressed: u64,
    /// Whether the end of the member has been reached.
    ended: bool,
    /// Bytes that were read as members that were none.
    wasted: u64,
}

enum Stored<R> {
    Plain(Tape<R>),
    Gzip(Box<GzDecoder<Tape<R>>>),
}

/// The place of a byte in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// The offset in the file as stored: of the byte, or of the gzip member that holds it.
    pub(super) offset: u64,
    /// The offset in the uncompressed member; 0 in an uncompressed file.
    pub(super) inside: u64,
}

impl<R: Read> Members<R> {
    /// Reads the first bytes, to see whether they are compressed.
    pub(super) fn new(reader: R) -> io::Result<Self> {
        let mut tape = Tape::new(reader);
        let gzip = tape.fill_buf()?.starts_with(&GZIP_MAGIC[..2]);
        let stored = match gzip {
            true => Stored::Gzip(Box::new(GzDecoder::new(tape))),
            false => Stored::Plain(tape),
        };
        Ok(Self {
            stored,
            buffer: Vec::new(),
            next: 0,
            member: 0,
            uncompressed: 0,
            ended: false,
            wasted: 0,
        })
    }

    /// Returns the place of the next byte.
    pub(super) fn place(&self) -> Place {
        let unread = (self.buffer.len() - self.next) as u64;
        match &self.stored {
            Stored::Plain(tape) => {
                Place { offset: tape.offset().saturating_sub(unread), inside: 0 }
            }
            Stored::Gzip(_) => {
                Place { offset: self.member, inside: self.uncompressed.saturating_sub(unread) }
            }
        }
    }

    /// Returns the next bytes of the member, which are none at its end.
    pub(super) fn bytes(&mut self) -> io::Result<&[u8]> {
        self.at_least(1)
    }

    /// Returns the next bytes of the member: at least `count`, unless it ends before.
    pub(super) fn at_least(&mut self, count: usize) -> io::Result<&[u8]> {
        while self.buffer.len() - self.next < count && !self.ended {
            self.fill(CHUNK)?;
        }
        Ok(self.buffer.get(self.next..).unwrap_or_default())
    }

    /// Consumes `count` of the next bytes.
    pub(super) fn consume(&mut self, count: usize) {
        self.next = (self.next + count).min(self.buffer.len());
    }

    /// Puts back bytes of this member, to be read next.
    pub(super) fn put_back(&mut self, bytes: &[u8]) {
        // Where the bytes were before, if possible. Moving all bytes that follow would take
        // quadratic time, because those that were put back before are among them.
        let at = self.next.checked_sub(bytes.len());
        match at.and_then(|at| self.buffer.get_mut(at..self.next)) {
            Some(room) => {
                room.copy_from_slice(bytes);
                self.next -= bytes.len();
            }
            None => {
                self.buffer.splice(..self.next, bytes.iter().copied());
                self.next = 0;
            }
        }
    }

    /// Moves from the end of a member to the next one. Returns false at the end of the file.
    pub(super) fn next_member(&mut self) -> io::Result<bool> {
        let Stored::Gzip(decoder) = &mut self.stored else { return Ok(false) };
        let tape = decoder.get_mut();
        tape.mark();
        match tape.fill_buf()?.first().copied() {
            None => return Ok(false),
            Some(0) if ends_in_zeros(tape)? => return Ok(false),
            // The rest of the file is not compressed.
            Some(b'W') => {
                let offset = tape.offset();
                self.stored = Stored::Plain(std::mem::replace(tape, Tape::empty()));
                self.member = offset;
                (self.next, self.uncompressed, self.ended) = (0, 0, false);
                self.buffer.clear();
            }
            Some(_) => self.begin(),
        }
        Ok(true)
    }

    /// Goes on with the gzip member that begins at the next byte of an uncompressed part of the
    /// file. Returns false, and stays where it is, if no member begins there that begins as a
    /// record does.
    pub(super) fn enter_gzip(&mut self, is_record: impl Fn(&[u8]) -> bool) -> io::Result<bool> {
        let offset = self.place().offset;
        let Stored::Plain(tape) = &mut self.stored else { return Ok(false) };
        let begins = self.buffer.get(self.next..).is_some_and(|b| b.starts_with(&GZIP_MAGIC));
        if !begins || self.wasted > MAX_WASTED + offset.saturating_mul(WASTED_PER_BYTE) {
            return Ok(false);
        }
        let unread = tape.offset();
        tape.rewind(offset);
        if tape.offset() != offset {
            tape.rewind(unread);
            return Ok(false);
        }
        tape.mark();
        let tape = std::mem::replace(tape, Tape::empty());
        // A new decoder reads from its reader at once.
        let mut decoder = GzDecoder::new(Tape::empty());
        decoder.reset(tape);
        self.stored = Stored::Gzip(Box::new(decoder));
        self.begin();
        if self.fill(16).is_ok() && is_record(&self.buffer) {
            return Ok(true);
        }
        let Stored::Gzip(decoder) = &mut self.stored else { return Ok(false) };
        let mut tape = std::mem::replace(decoder.get_mut(), Tape::empty());
        self.wasted += tape.offset() - offset;
        tape.rewind(offset);
        self.stored = Stored::Plain(tape);
        (self.next, self.uncompressed, self.ended) = (0, 0, false);
        self.buffer.clear();
        self.fill(CHUNK)?;
        Ok(false)
    }

    /// Finds the next member after damage: one that begins as a record does. Returns false if
    /// there is none.
    pub(super) fn recover(&mut self, is_record: impl Fn(&[u8]) -> bool) -> io::Result<bool> {
        let mut from = self.member + 1;
        loop {
            let Stored::Gzip(decoder) = &mut self.stored else { return Ok(false) };
            let tape = decoder.get_mut();
            tape.rewind(from);
            if !seek_magic(tape)? {
                return Ok(false);
            }
            tape.mark();
            self.begin();
            // Only a few bytes, so that a member with damage further on is found too.
            if self.fill(16).is_ok() && is_record(&self.buffer) {
                return Ok(true);
            }
            from = self.after_false_member();
        }
    }

    /// Returns where to search for the next member if the last one found was none: one byte after
    /// its beginning, or after the bytes that were read as its header if too many were read in this
    /// way. A header can have 128 KiB, and another may begin every few bytes in it.
    fn after_false_member(&mut self) -> u64 {
        let Stored::Gzip(decoder) = &self.stored else { return self.member };
        let end = decoder.get_ref().offset();
        self.wasted += end.saturating_sub(self.member);
        let allowed = MAX_WASTED + end.saturating_mul(WASTED_PER_BYTE);
        if self.wasted > allowed { end.max(self.member + 1) } else { self.member + 1 }
    }

    /// Begins a member at the offset of the tape.
    fn begin(&mut self) {
        let Stored::Gzip(decoder) = &mut self.stored else { return };
        self.member = decoder.get_ref().offset();
        let tape = decoder.reset(Tape::empty());
        decoder.reset(tape);
        (self.next, self.uncompressed, self.ended) = (0, 0, false);
        self.buffer.clear();
    }

    /// Uncompresses up to `count` more bytes.
    fn fill(&mut self, count: usize) -> io::Result<()> {
        self.buffer.drain(..self.next);
        self.next = 0;
        let old = self.buffer.len();
        self.buffer.resize(old + count, 0);
        let room = self.buffer.get_mut(old..).unwrap_or_default();
        let read = match &mut self.stored {
            Stored::Plain(tape) => {
                // The bytes that have not been consumed may be the beginning of a member.
                tape.mark_before(old);
                tape.read(room)
            }
            Stored::Gzip(decoder) => decoder.read(room),
        };
        self.buffer.truncate(old + *read.as_ref().unwrap_or(&0));
        let read = read?;
        self.uncompressed += read as u64;
        self.ended = read == 0;
        Ok(())
    }
}

/// Returns whether only zeros follow, as on tapes. If not, goes back to where something is wrong.
fn ends_in_zeros<R: Read>(tape: &mut Tape<R>) -> io::Result<bool> {
    let from = tape.offset();
    loop {
        let bytes = tape.fill_buf()?;
        let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
        if zeros < bytes.len() {
            tape.rewind(from);
            return Ok(false);
        }
        if zeros == 0 {
            return Ok(true);
        }
        tape.consume(zeros);
    }
}

/// Consumes bytes up to what looks like the header of a gzip member. Returns false if the file
/// ends first.
fn seek_magic<R: Read>(tape: &mut Tape<R>) -> io::Result<bool> {
    // The last bytes, because a header may continue from one buffer into the next.
    let mut last = [0; 4];
    loop {
        let bytes = tape.fill_buf()?;
        if bytes.is_empty() {
            return Ok(false);
        }
        // Unless a header may have begun, everything before the next first byte is skipped at once.
        let skip = match last.contains(&GZIP_MAGIC[0]) {
            true => 0,
            false => memchr::memchr(GZIP_MAGIC[0], bytes).unwrap_or(bytes.len()),
        };
        if skip > 0 {
            last = [0; 4];
            tape.consume(skip);
            continue;
        }
        last.rotate_left(1);
        last[3] = bytes.first().copied().unwrap_or_default();
        tape.consume(1);
        // Three bits of the flags are reserved and 0.
        if last.starts_with(&GZIP_MAGIC) && last[3] & 0xe0 == 0 {
            tape.rewind(tape.offset() - 4);
            return Ok(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn false_headers_cost_a_bounded_number_of_bytes() {
        // Each is the header of a member with a field and a name of up to 64 KiB.
        let bytes = GZIP_MAGIC.repeat(1 << 17);
        let mut members = Members::new(bytes.as_slice()).unwrap();
        assert!(!members.recover(|_| true).unwrap());
        let len = bytes.len() as u64;
        let allowed = MAX_WASTED + WASTED_PER_BYTE * len + len;
        assert!(members.wasted <= allowed, "{} of {len} bytes", members.wasted);
    }
}
