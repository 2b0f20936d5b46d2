//! The reader of archives: where a record ends and the next one begins, and how to find the next
//! one after damage.

use std::io::{self, Read};

use super::format::{Format, PEEK};
use super::members::{GZIP_MAGIC, Members, Place};
use super::record::{Header, Record};
use super::{arc, warc};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;

/// The most bytes that are put back over all of a file, in records of the largest size.
const MAX_PUT_BACK: usize = 16;

/// A length that is wrong by at most this many bytes loses nothing.
const LITTLE: usize = 1 << 10;

const MENDED: &str =
    "the record's length is wrong: it was read up to the next record, or to the end of the member";

/// Reported once per file. All records are still read.
const SHARED_MEMBER: &str = "a gzip member holds several records, so they cannot be found by their \
    offsets: compress the archive record by record";

/// The records of an archive of a crawl, in order.
///
/// It reads WARC (versions 0.17 to 1.1) and ARC (version 1), uncompressed or compressed with gzip.
/// The format is recognised by the first bytes. The file is read once, from its beginning to its
/// end, as records are requested; only one block is in memory at a time.
///
/// Damage to one record does not end the iteration: it is reported as an error in place of
/// the record, and the next record that can be found follows. The iterator always ends, however
/// often it returned an error.
///
/// # Examples
///
/// ```
/// use fpdb_web::{Archive, Extractor, Extracted};
///
/// let archive = b"WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: http://a.example/\r\n\
///     Content-Type: text/html\r\nContent-Length: 8\r\n\r\n<p>Hello\r\n\r\n";
/// let extractor = Extractor::default();
/// let mut texts = Vec::new();
/// for record in Archive::new(&archive[..])? {
///     match record.and_then(|record| extractor.record(&record)) {
///         Ok(Extracted::Page(page)) => texts.push(page.text),
///         Ok(Extracted::Skipped(_)) => {}
///         Err(error) => eprintln!("{error}"),
///     }
/// }
/// assert_eq!(texts, ["Hello"]);
/// # Ok::<(), fpdb_web::Error>(())
/// ```
pub struct Archive<R> {
    members: Members<R>,
    format: Format,
    limits: Limits,
    /// Bytes that may still be put back.
    put_back_left: usize,
    /// Whether the beginning of the next record is unknown.
    lost: bool,
    ended: bool,
    /// Whether it has been reported that a gzip member holds several records.
    reported_shared_member: bool,
    /// A record that has been read, but comes after an error that is reported first.
    waiting: Option<Record>,
}

/// Why a record cannot be read.
enum Fault {
    /// The bytes cannot be read or uncompressed.
    Read(io::Error),
    /// They are not a complete record, so the next one has to be searched for.
    Record(Error),
    /// The record is wrong, but complete: the next one begins after it.
    Complete(Error),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

impl Fault {
    fn record(message: impl Into<String>) -> Self {
        Self::Record(Error::new(ErrorKind::Record, message))
    }
}

impl<R: Read> Archive<R> {
    /// Opens an archive with the default [`Limits`]. The reader needs no buffer of its own.
    ///
    /// # Errors
    ///
    /// An error of kind [`Io`](ErrorKind::Io) if the first bytes cannot be read.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// let archive = fpdb_web::Archive::new(std::fs::File::open("crawl.warc.gz")?)?;
    /// println!("{} records", archive.count());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(reader: R) -> Result<Self> {
        Self::with_limits(reader, Limits::default())
    }

    /// Opens an archive with these limits.
    ///
    /// # Errors
    ///
    /// An error of kind [`Io`](ErrorKind::Io) if the first bytes cannot be read.
    pub fn with_limits(reader: R, limits: Limits) -> Result<Self> {
        let members = Members::new(reader).map_err(|error| io_error(&error))?;
        Ok(Self {
            members,
            format: Format::Warc,
            limits,
            put_back_left: limits.record.saturating_mul(MAX_PUT_BACK),
            lost: false,
            ended: false,
            reported_shared_member: false,
            waiting: None,
        })
    }

    /// Reads the next record, and sets `place` to where it begins. The first record decides the
    /// format of the file.
    fn read(&mut self, place: &mut Place) -> Result<Option<Record>, Fault> {
        let was_lost = self.lost;
        if was_lost {
            self.seek_header()?;
            self.lost = false;
        }
        let found = self.skip_to_record();
        *place = self.members.place();
        if !found? {
            return Ok(None);
        }
        let shares_member = place.inside > 0 && !was_lost;
        // No more than needed is read, because a file may be cut off after its last record.
        let is_first = place.offset == 0 && place.inside == 0;
        if is_first && !warc::is_header(&self.peek()?) && arc::is_file(self.members.at_least(PEEK)?)
        {
            self.format = Format::Arc;
        }
        let header = self.header()?;
        let truncated = header.length > self.limits.record as u64;
        let mut block = Vec::new();
        let is_long = self.read_block(header.length, &mut block)?;
        let is_mended = self.check_end(&mut block, truncated)? || is_long;
        if let Some(fault) = header.fault {
            return Err(Fault::Complete(Error::new(ErrorKind::Record, fault)));
        }
        let record = Record {
            offset: place.offset,
            kind: header.kind,
            url: header.url,
            content_type: header.content_type,
            fields: header.fields,
            block: if truncated { Vec::new() } else { block },
            truncated,
        };
        if is_mended {
            self.waiting = Some(record);
            return Err(Fault::Complete(Error::new(ErrorKind::Length, MENDED)));
        }
        if shares_member && !self.reported_shared_member {
            self.reported_shared_member = true;
            self.waiting = Some(record);
            let error = Error::new(ErrorKind::SharedMember, SHARED_MEMBER);
            return Err(Fault::Complete(error));
        }
        Ok(Some(record))
    }

    fn header(&mut self) -> Result<Header, Fault> {
        let start = self.peek()?;
        // Unless it begins as a record does, the first line may have any length. A member may end
        // in the middle of the first bytes.
        if self.format == Format::Warc && !warc::may_begin(&start) {
            return Err(not_a_record(&start));
        }
        let mut lines = Vec::new();
        self.line(&mut lines)?;
        if self.format == Format::Arc {
            return arc::parse(&lines).map_err(Fault::Record);
        }
        if !warc::is_header(&lines) {
            return Err(not_a_record(&lines));
        }
        for _ in 0..self.limits.header_lines {
            let line = lines.len();
            self.line(&mut lines)?;
            if lines.get(line..).is_none_or(|line| line.trim_ascii().is_empty()) {
                return warc::parse(&lines).map_err(Fault::Record);
            }
        }
        let count = self.limits.header_lines;
        let message = format!("the header of a record has more than {count} lines");
        Err(Fault::Record(Error::new(ErrorKind::Limit, message)))
    }

    /// Appends a line with its line end.
    fn line(&mut self, lines: &mut Vec<u8>) -> Result<(), Fault> {
        loop {
            let bytes = self.members.bytes()?;
            let end = memchr::memchr(b'\n', bytes);
            let taken = end.map_or(bytes.len(), |end| end + 1);
            lines.extend_from_slice(bytes.get(..taken).unwrap_or_default());
            self.members.consume(taken);
            if lines.len() > self.limits.header {
                let message =
                    format!("the header of a record has more than {} bytes", self.limits.header);
                return Err(Fault::Record(Error::new(ErrorKind::Limit, message)));
            }
            if end.is_some() {
                return Ok(());
            }
            if taken == 0 {
                let place = "in the header of a record";
                if !self.cross_members(place, &mut Vec::new())? {
                    return Err(Fault::record(format!("the gzip member ends {place}")));
                }
            }
        }
    }

    /// Consumes a block and adds it to `block`, or only a part of it if it exceeds the limit.
    /// Returns whether the block is shorter than `length` by little.
    fn read_block(&mut self, length: u64, block: &mut Vec<u8>) -> Result<bool, Fault> {
        let mut left = length;
        while left > 0 {
            let bytes = self.members.bytes()?;
            let taken = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
            if block.len() + taken <= self.limits.record {
                block.extend_from_slice(bytes.get(..taken).unwrap_or_default());
            }
            self.members.consume(taken);
            left -= taken as u64;
            if taken == 0 {
                let place = format!("after {} of the record's {length} bytes", length - left);
                let is_all = block.len() as u64 + left == length;
                let has_end = self.format.ends_record(block);
                match self.cross_members(&place, block) {
                    Ok(true) => continue,
                    Ok(false) => {}
                    // A file that is cut off does not end as a record does.
                    Err(Fault::Record(_)) if has_end && left <= LITTLE as u64 => {}
                    Err(fault) => return Err(fault),
                }
                if is_all && length - block.len() as u64 <= LITTLE as u64 {
                    self.format.trim_separator(block);
                    return Ok(true);
                }
                return Err(Fault::record(format!("another record begins {place}")));
            }
        }
        Ok(false)
    }

    /// Continues a record in the next gzip member. Returns false if another record begins there, or
    /// if the block has swallowed others up to the end of the file: its length is wrong then.
    fn cross_members(&mut self, place: &str, block: &mut Vec<u8>) -> Result<bool, Fault> {
        if !self.members.next_member()? {
            return match self.put_back_records(block, 0) {
                true => Ok(false),
                false => Err(Fault::record(format!("the file ends {place}"))),
            };
        }
        Ok(matches!(self.peek(), Ok(next) if !self.format.is_header(&next)))
    }

    /// Checks that a record's length is right: that its block is followed by another record, or by
    /// nothing. If the length was wrong by little, mends the block and returns true. If it was
    /// wrong by more, puts back the records that the block has swallowed.
    fn check_end(&mut self, block: &mut Vec<u8>, truncated: bool) -> Result<bool, Fault> {
        let next = match self.peek() {
            Ok(next) => next,
            // The file is cut off after this record. Reading the next record reports it.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let separator: [&[u8]; 2] = match self.format {
            Format::Warc => [b"\r\n\r\n", b"\n\n"],
            Format::Arc => [b"\n", b"\r\n"],
        };
        // What follows the separator does not concern this record. Some writers omit it.
        if separator.iter().any(|separator| next.starts_with(separator)) {
            return Ok(false);
        }
        if let Some(at) = self.format.find_cut_header(block, &next).filter(|_| !truncated) {
            let near = block.len().saturating_sub(LITTLE);
            let first = self.format.find_header(block, near).unwrap_or(at);
            self.put_back_from(block, first.min(at));
            return Ok(true);
        }
        let next = next.trim_ascii_start();
        let is_short = next.len() < warc::MAGIC.len();
        let is_start = self.format == Format::Warc && is_short && warc::may_begin(next);
        if next.is_empty() || is_start || self.format.is_header(next) {
            return Ok(false);
        }
        let near = block.len().saturating_sub(LITTLE);
        if !truncated && (self.put_back_records(block, near) || self.lengthen(block)?) {
            return Ok(true);
        }
        self.put_back_records(block, 0);
        Err(Fault::record("the record's length is wrong: no other record follows it"))
    }

    /// Adds what follows a block whose length was too small by little: up to the next record, or to
    /// the end of the member. Returns whether there is an end so near.
    fn lengthen(&mut self, block: &mut Vec<u8>) -> io::Result<bool> {
        // With the first line of a header.
        let near = LITTLE + PEEK;
        let bytes = self.members.at_least(near)?;
        let bytes = bytes.get(..near).unwrap_or(bytes).to_vec();
        let end =
            self.format.find_header(&bytes, 0).or((bytes.len() < near).then_some(bytes.len()));
        let Some(rest) = end.filter(|&end| end <= LITTLE).and_then(|end| bytes.get(..end)) else {
            return Ok(false);
        };
        block.extend_from_slice(rest);
        self.members.consume(rest.len());
        self.format.trim_separator(block);
        Ok(true)
    }

    /// Cuts off the records that a block has swallowed, from the first that begins at `from` or
    /// later, and puts them back. Returns whether there are any.
    fn put_back_records(&mut self, block: &mut Vec<u8>, from: usize) -> bool {
        let at = self.format.find_header(block, from);
        at.inspect(|&at| self.put_back_from(block, at)).is_some()
    }

    /// Cuts off a block at a record, and puts the rest back. The total is bounded: otherwise a file
    /// of nothing but wrong lengths would be read once per record.
    fn put_back_from(&mut self, block: &mut Vec<u8>, at: usize) {
        let records = block.split_off(at);
        if let Some(left) = self.put_back_left.checked_sub(records.len()) {
            self.put_back_left = left;
            self.members.put_back(&records);
        }
        self.format.trim_separator(block);
    }

    fn peek(&mut self) -> io::Result<Vec<u8>> {
        let bytes = self.members.at_least(if self.format == Format::Arc { PEEK } else { 32 })?;
        Ok(bytes.get(..PEEK).unwrap_or(bytes).to_vec())
    }

    /// Consumes the line ends between records. Returns false at the end of the file.
    fn skip_to_record(&mut self) -> io::Result<bool> {
        loop {
            let bytes = self.members.bytes()?;
            let spaces = bytes.iter().take_while(|b| b.is_ascii_whitespace()).count();
            if bytes.len() > spaces {
                self.members.consume(spaces);
                let format = self.format;
                self.members.enter_gzip(|bytes| format.is_header(bytes))?;
                return Ok(true);
            }
            let at_end = bytes.is_empty();
            self.members.consume(spaces);
            if at_end && !self.members.next_member()? {
                return Ok(false);
            }
        }
    }

    /// Consumes lines up to one that begins a record, or up to the end of the file.
    fn seek_header(&mut self) -> io::Result<()> {
        loop {
            let format = self.format;
            let bytes = self.members.at_least(PEEK)?;
            if bytes.is_empty() {
                if !self.members.next_member()? {
                    return Ok(());
                }
                continue;
            }
            if format.is_header(bytes) {
                return Ok(());
            }
            if self.members.enter_gzip(|bytes| format.is_header(bytes))? {
                return Ok(());
            }
            let bytes = self.members.at_least(PEEK)?;
            let line = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |end| end + 1);
            // Damage may end in the middle of a line.
            let rest = bytes.get(1..line).unwrap_or_default();
            let found = match format {
                Format::Warc => memchr::memmem::find(rest, warc::MAGIC),
                Format::Arc => None,
            };
            let member = memchr::memmem::find(rest, &GZIP_MAGIC);
            let found = [found, member].into_iter().flatten().min();
            let skipped = found.map_or(line, |found| found + 1);
            // The last bytes may be the beginning of the magic.
            let is_whole = bytes.get(line - 1) == Some(&b'\n') || bytes.len() < PEEK;
            let kept = if is_whole || found.is_some() { 0 } else { warc::MAGIC.len() - 1 };
            self.members.consume(skipped - kept);
        }
    }

    /// Turns a fault into an error, and prepares for finding the record after it.
    fn recover(&mut self, place: Place, fault: Fault) -> Error {
        let error = match fault {
            Fault::Complete(error) => return error.at(place.offset),
            Fault::Record(error) => {
                self.lost = true;
                error
            }
            Fault::Read(error) => {
                let format = self.format;
                let found = self.members.recover(|bytes| format.is_header(bytes));
                self.ended = !matches!(found, Ok(true));
                self.lost = false;
                io_error(&error)
            }
        };
        match place.inside {
            0 => error.at(place.offset),
            inside => error.about(&format!("at byte {inside} of the gzip member")).at(place.offset),
        }
    }
}

/// Returns the error for a failed read.
fn io_error(error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => Error::new(ErrorKind::Gzip, "the file is cut off"),
        // What flate2 reports of damaged data.
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
            Error::new(ErrorKind::Gzip, error.to_string())
        }
        kind => Error::new(ErrorKind::Io(kind), error.to_string()),
    }
}

fn not_a_record(start: &[u8]) -> Fault {
    let start = String::from_utf8_lossy(start.get(..40).unwrap_or(start).trim_ascii());
    Fault::record(format!("expected a WARC record, found {start:?}"))
}

impl<R: Read> Iterator for Archive<R> {
    type Item = Result<Record>;

    fn next(&mut self) -> Option<Result<Record>> {
        if let Some(record) = self.waiting.take() {
            return Some(Ok(record));
        }
        if self.ended {
            return None;
        }
        let mut place = self.members.place();
        match self.read(&mut place) {
            Ok(Some(record)) => Some(Ok(record)),
            Ok(None) => {
                self.ended = true;
                None
            }
            Err(fault) => Some(Err(self.recover(place, fault))),
        }
    }
}
