//! The records of a WARC or ARC file: where one ends and the next begins, and how to find the
//! next after damage.

use std::io;

use super::record::{Capture, Meaning, Record};
use super::source::{Place, Source, find_line};
use super::warc::Head;
use super::{Reason, arc, warc};

/// Bytes of the longest head.
const MAX_HEAD: usize = 1 << 20;
/// Bytes put back at most, in records of the largest size.
const MAX_PUT_BACK: usize = 16;
/// Bytes looked at to tell whether a record begins: the longest line of an ARC head, nearly.
const PEEK: usize = 1 << 12;

/// Told once a file. All records are read nevertheless.
const SHARED_MEMBER: &str = "a gzip member holds several records, so they cannot be found by their \
    offsets: compress the archive record by record";

/// The records of an archive.
pub(super) struct Archive {
    source: Source,
    kind: Kind,
    max_record: usize,
    /// Bytes that may still be put back.
    put_back_left: usize,
    /// Where the next record begins is not known.
    lost: bool,
    ended: bool,
    /// It was told that a gzip member holds several records.
    told_of_shared_member: bool,
    /// A record that is read and waits, because there was something to tell first.
    waiting: Option<Record>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Warc,
    Arc,
}

/// Why a record cannot be read.
enum Fault {
    /// The bytes cannot be unzipped, or not be read at all.
    Source(io::Error),
    /// They are no record, or not a whole one.
    Frame(String),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Source(error)
    }
}

impl Kind {
    fn is_head(self, bytes: &[u8]) -> bool {
        match self {
            Self::Warc => warc::is_head(bytes),
            Self::Arc => arc::is_head(bytes),
        }
    }
}

impl Archive {
    pub(super) fn new(source: Source, max_record: usize) -> Self {
        let put_back_left = max_record.saturating_mul(MAX_PUT_BACK);
        Self {
            source,
            kind: Kind::Warc,
            max_record,
            put_back_left,
            lost: false,
            ended: false,
            told_of_shared_member: false,
            waiting: None,
        }
    }

    /// The first record tells the kind of the file.
    fn read(&mut self, place: &mut Place) -> Result<Option<Record>, Fault> {
        let was_lost = self.lost;
        if was_lost {
            self.seek_head()?;
            self.lost = false;
        }
        let found = self.skip_to_record();
        *place = self.source.place();
        if !found? {
            return Ok(None);
        }
        let shares_member = place.inside > 0 && !was_lost;
        if place.offset == 0 && place.inside == 0 && self.peek()?.starts_with(arc::MAGIC) {
            self.kind = Kind::Arc;
        }
        let head = self.head()?;
        let too_large = head.length > self.max_record as u64;
        let block = self.block(head.length)?;
        self.check_end(&block)?;
        let record = match head.meaning {
            Meaning::Captured(_) if too_large => Record::skipped(place.offset, Reason::TooLarge),
            Meaning::Captured(form) => {
                let url = head.url.unwrap_or_default();
                Record::capture(Capture { offset: place.offset, url, form, block })
            }
            Meaning::Skipped(reason) => Record::skipped(place.offset, reason),
            Meaning::Broken(error) => Record::broken(place.offset, error.to_owned()),
        };
        if shares_member && !self.told_of_shared_member {
            self.told_of_shared_member = true;
            self.waiting = Some(record);
            return Ok(Some(Record::broken(place.offset, SHARED_MEMBER.to_owned())));
        }
        Ok(Some(record))
    }

    fn head(&mut self) -> Result<Head, Fault> {
        let start = self.peek()?;
        // Of what begins otherwise, the first line may have any length. A member may end in the
        // middle of it.
        let begun = start.starts_with(warc::MAGIC) || warc::MAGIC.starts_with(&start);
        if self.kind == Kind::Warc && !begun {
            return Err(no_record(&start));
        }
        let mut lines = Vec::new();
        self.line(&mut lines)?;
        if self.kind == Kind::Arc {
            return arc::head(&lines).map_err(Fault::Frame);
        }
        if !warc::is_head(&lines) {
            return Err(no_record(&lines));
        }
        loop {
            let line = lines.len();
            self.line(&mut lines)?;
            if lines.get(line..).is_none_or(|line| line.trim_ascii().is_empty()) {
                return Head::parse(&lines).map_err(Fault::Frame);
            }
        }
    }

    /// Adds a line, with its end.
    fn line(&mut self, lines: &mut Vec<u8>) -> Result<(), Fault> {
        loop {
            let bytes = self.source.bytes()?;
            let end = memchr::memchr(b'\n', bytes);
            let taken = end.map_or(bytes.len(), |end| end + 1);
            lines.extend_from_slice(bytes.get(..taken).unwrap_or_default());
            self.source.consume(taken);
            if lines.len() > MAX_HEAD {
                return Err(Fault::Frame(format!("a record's head has over {MAX_HEAD} bytes")));
            }
            if end.is_some() {
                return Ok(());
            }
            if taken == 0 {
                self.cross("in a record's head", &[])?;
            }
        }
    }

    /// Takes a block, and returns it, or of one that is too large only a part.
    fn block(&mut self, length: u64) -> Result<Vec<u8>, Fault> {
        let mut block = Vec::new();
        let mut left = length;
        while left > 0 {
            let bytes = self.source.bytes()?;
            let taken = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
            if block.len() + taken <= self.max_record {
                block.extend_from_slice(bytes.get(..taken).unwrap_or_default());
            }
            self.source.consume(taken);
            left -= taken as u64;
            if taken == 0 {
                let told = format!("after {} of a record's {length} bytes", length - left);
                self.cross(&told, &block)?;
            }
        }
        Ok(block)
    }

    /// Goes on with a record from the end of a member, unless another record begins there. If the
    /// file ends, the record's length may be wrong.
    fn cross(&mut self, told: &str, block: &[u8]) -> Result<(), Fault> {
        if !self.source.next_member()? {
            self.put_back_records(block);
            return Err(Fault::Frame(format!("the file ends {told}")));
        }
        match self.peek() {
            Ok(next) if !self.kind.is_head(&next) => Ok(()),
            _ => Err(Fault::Frame(format!("the gzip member ends {told}"))),
        }
    }

    /// Checks that a record's length is right: that its block is followed by another record, or
    /// by nothing. If it is not, the records that the block has swallowed are put back.
    fn check_end(&mut self, block: &[u8]) -> Result<(), Fault> {
        let next = match self.peek() {
            Ok(next) => next,
            // The file is cut, but after this record. The next will meet the cut.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let separator: [&[u8]; 2] = match self.kind {
            Kind::Warc => [b"\r\n\r\n", b"\n\n"],
            Kind::Arc => [b"\n", b"\r\n"],
        };
        // What follows the separator is not this record's concern. Some writers leave it out.
        if separator.iter().any(|separator| next.starts_with(separator)) {
            return Ok(());
        }
        let next = next.trim_ascii_start();
        if self.kind.is_head(next) || self.kind == Kind::Warc && warc::MAGIC.starts_with(next) {
            return Ok(());
        }
        self.put_back_records(block);
        Err(Fault::Frame("the record's length is wrong: no other record follows it".to_owned()))
    }

    /// Puts back the records that a block has swallowed. Not without end: a file of nothing but
    /// wrong lengths would be read once for each.
    fn put_back_records(&mut self, block: &[u8]) {
        let at = if self.kind == Kind::Warc { find_line(block, warc::MAGIC) } else { None };
        let Some(records) = at.and_then(|at| block.get(at..)) else { return };
        if let Some(left) = self.put_back_left.checked_sub(records.len()) {
            self.put_back_left = left;
            self.source.put_back(records);
        }
    }

    fn peek(&mut self) -> io::Result<Vec<u8>> {
        let bytes = self.source.at_least(if self.kind == Kind::Arc { PEEK } else { 32 })?;
        Ok(bytes.get(..PEEK).unwrap_or(bytes).to_vec())
    }

    /// Takes the line ends between records. False at the end of the file.
    fn skip_to_record(&mut self) -> io::Result<bool> {
        loop {
            let bytes = self.source.bytes()?;
            let spaces = bytes.iter().take_while(|b| b.is_ascii_whitespace()).count();
            if bytes.len() > spaces {
                self.source.consume(spaces);
                return Ok(true);
            }
            let at_end = bytes.is_empty();
            self.source.consume(spaces);
            if at_end && !self.source.next_member()? {
                return Ok(false);
            }
        }
    }

    /// Takes lines up to one that begins a record, or up to the end of the file.
    fn seek_head(&mut self) -> io::Result<()> {
        loop {
            let kind = self.kind;
            let bytes = self.source.at_least(PEEK)?;
            if bytes.is_empty() {
                if !self.source.next_member()? {
                    return Ok(());
                }
                continue;
            }
            if kind.is_head(bytes) {
                return Ok(());
            }
            let end = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |end| end + 1);
            self.source.consume(end);
        }
    }

    /// Tells of a fault, and sees to it that the record after it is found.
    fn report(&mut self, place: Place, fault: Fault) -> Record {
        let told = match fault {
            Fault::Frame(told) => {
                self.lost = true;
                told
            }
            Fault::Source(error) => {
                let kind = self.kind;
                self.ended = !matches!(self.source.recover(|bytes| kind.is_head(bytes)), Ok(true));
                self.lost = false;
                match error.kind() {
                    io::ErrorKind::UnexpectedEof => "the file is cut off".to_owned(),
                    _ => error.to_string(),
                }
            }
        };
        match place.inside {
            0 => Record::broken(place.offset, told),
            inside => Record::broken(
                place.offset,
                format!("{inside} unzipped bytes into the gzip member: {told}"),
            ),
        }
    }
}

fn no_record(start: &[u8]) -> Fault {
    let start = String::from_utf8_lossy(start.get(..40).unwrap_or(start).trim_ascii());
    Fault::Frame(format!("expected a WARC record, found {start:?}"))
}

impl Iterator for Archive {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        if self.waiting.is_some() {
            return self.waiting.take();
        }
        if self.ended {
            return None;
        }
        let mut place = self.source.place();
        match self.read(&mut place) {
            Ok(Some(record)) => Some(record),
            Ok(None) => {
                self.ended = true;
                None
            }
            Err(fault) => Some(self.report(place, fault)),
        }
    }
}
