//! The unzipped bytes of an archive, and where in the file they stand.
//!
//! An archive is plain, or gzip members one after another: by custom one to a record, but also one
//! over all records, or any other cut. A plain file is treated as one member.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;
use memchr::memmem;

use super::tape::Tape;

const GZIP_MAGIC: [u8; 3] = [0x1f, 0x8b, 8];
const CHUNK: usize = 1 << 15;

/// The bytes of an archive, member by member.
pub(super) struct Source {
    stored: Stored,
    /// Unzipped bytes; those from `next` on are to be read.
    buffer: Vec<u8>,
    next: usize,
    /// Where the member begins.
    member: u64,
    /// How many bytes of the member came out.
    unzipped: u64,
    /// The member came to its end.
    ended: bool,
}

enum Stored {
    Plain(Tape),
    Gzip(Box<GzDecoder<Tape>>),
}

/// Where a byte stands in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// In the file as stored: of the gzip member, if it is zipped.
    pub(super) offset: u64,
    /// In the member, unzipped; 0 in a plain file.
    pub(super) inside: u64,
}

impl Source {
    /// Looks at the first bytes, to tell whether they are zipped.
    pub(super) fn new(reader: Box<dyn BufRead + Send>) -> io::Result<Self> {
        let mut tape = Tape::new(reader);
        let gzip = tape.fill_buf()?.starts_with(&GZIP_MAGIC[..2]);
        let stored = match gzip {
            true => Stored::Gzip(Box::new(GzDecoder::new(tape))),
            false => Stored::Plain(tape),
        };
        Ok(Self { stored, buffer: Vec::new(), next: 0, member: 0, unzipped: 0, ended: false })
    }

    pub(super) fn place(&self) -> Place {
        let unread = (self.buffer.len() - self.next) as u64;
        match &self.stored {
            Stored::Plain(tape) => {
                Place { offset: tape.offset().saturating_sub(unread), inside: 0 }
            }
            Stored::Gzip(_) => {
                Place { offset: self.member, inside: self.unzipped.saturating_sub(unread) }
            }
        }
    }

    /// The bytes of the member to be read next; none at its end.
    pub(super) fn bytes(&mut self) -> io::Result<&[u8]> {
        self.at_least(1)
    }

    /// The bytes of the member to be read next: `count` or more of them, unless it ends before.
    pub(super) fn at_least(&mut self, count: usize) -> io::Result<&[u8]> {
        while self.buffer.len() - self.next < count && !self.ended {
            self.fill(CHUNK)?;
        }
        Ok(self.buffer.get(self.next..).unwrap_or_default())
    }

    /// Of the bytes to be read next, `count` are read.
    pub(super) fn consume(&mut self, count: usize) {
        self.next = (self.next + count).min(self.buffer.len());
    }

    /// Puts bytes of this member back, to be read next.
    pub(super) fn put_back(&mut self, bytes: &[u8]) {
        self.buffer.splice(..self.next, bytes.iter().copied());
        self.next = 0;
    }

    /// Goes on to the next member, from the end of one. False at the end of the file.
    pub(super) fn next_member(&mut self) -> io::Result<bool> {
        let Stored::Gzip(decoder) = &mut self.stored else { return Ok(false) };
        let tape = decoder.get_mut();
        tape.mark();
        if tape.fill_buf()?.is_empty() {
            return Ok(false);
        }
        self.begin();
        Ok(true)
    }

    /// Finds the next member after damage: one that begins as a record does. False if there is
    /// none.
    pub(super) fn recover(&mut self, is_head: impl Fn(&[u8]) -> bool) -> io::Result<bool> {
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
            // Few bytes, so that a member damaged farther on is found all the same.
            if self.fill(16).is_ok() && is_head(&self.buffer) {
                return Ok(true);
            }
            from = self.member + 1;
        }
    }

    /// Begins a member where the tape stands.
    fn begin(&mut self) {
        let Stored::Gzip(decoder) = &mut self.stored else { return };
        self.member = decoder.get_ref().offset();
        let tape = decoder.reset(Tape::empty());
        decoder.reset(tape);
        (self.next, self.unzipped, self.ended) = (0, 0, false);
        self.buffer.clear();
    }

    /// Unzips up to `count` bytes more.
    fn fill(&mut self, count: usize) -> io::Result<()> {
        self.buffer.drain(..self.next);
        self.next = 0;
        let old = self.buffer.len();
        self.buffer.resize(old + count, 0);
        let room = self.buffer.get_mut(old..).unwrap_or_default();
        let read = match &mut self.stored {
            Stored::Plain(tape) => {
                let read = tape.read(room);
                tape.mark();
                read
            }
            Stored::Gzip(decoder) => decoder.read(room),
        };
        self.buffer.truncate(old + *read.as_ref().unwrap_or(&0));
        let read = read?;
        self.unzipped += read as u64;
        self.ended = read == 0;
        Ok(())
    }
}

/// Takes bytes up to what looks like the head of a gzip member. False if the file ends first.
fn seek_magic(tape: &mut Tape) -> io::Result<bool> {
    // The bytes before, which a head across two buffers begins with.
    let mut head = [0; 4];
    loop {
        let bytes = tape.fill_buf()?;
        if bytes.is_empty() {
            return Ok(false);
        }
        // Whatever is far from a first byte of a head can be taken at once.
        let skip = match head.contains(&GZIP_MAGIC[0]) {
            true => 0,
            false => memchr::memchr(GZIP_MAGIC[0], bytes).unwrap_or(bytes.len()),
        };
        if skip > 0 {
            head = [0; 4];
            tape.consume(skip);
            continue;
        }
        head.rotate_left(1);
        head[3] = bytes.first().copied().unwrap_or_default();
        tape.consume(1);
        // Three bits of the flags are reserved, and 0.
        if head.starts_with(&GZIP_MAGIC) && head[3] & 0xe0 == 0 {
            tape.rewind(tape.offset() - 4);
            return Ok(true);
        }
    }
}

/// Where `needle` begins at the start of a line.
pub(super) fn find_line(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    memmem::find_iter(bytes, needle).find(|&at| at == 0 || bytes.get(at - 1) == Some(&b'\n'))
}
