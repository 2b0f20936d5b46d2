//! Reading a dump.

use std::io::{BufRead, Read};
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};
use fpdb::{DocId, Document, Entry, Fingerprint};
use indicatif::ProgressBar;
use serde::Deserialize;

use super::{DocumentLine, EndLine, EntryLine, Header};
use crate::input::{self, Compression, Input};

/// Most bytes of a line. The longest name, with all its bytes escaped, takes less than half of it.
const MAX_LINE: u64 = 1 << 20;

/// A dump that is read from its first line to its last.
pub(crate) struct Dump {
    label: String,
    lines: Lines,
    header: Header,
    /// Entries and documents that were read.
    count: u64,
}

impl Dump {
    /// Reads the first line of a file, or of standard input for `-`.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let label = input::label(path);
        // Each line is checked before the next is read, so a file that never ends is no danger.
        let ratio = u64::MAX;
        let input = Input::open(path, Compression::ByContent, ratio, &ProgressBar::hidden())?;
        let mut lines =
            Lines { input, crc32: crc32fast::Hasher::new(), line: Vec::new(), number: 0 };
        let first =
            if lines.next()? { Header::parse(&lines.line) } else { Err(anyhow!("it is empty")) };
        let header = first.with_context(|| format!("{label}, line 1"))?;
        lines.end_line();
        Ok(Self { label, lines, header, count: 0 })
    }

    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the file's name, for messages.
    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    /// Returns where reading is, for messages.
    pub(crate) fn place(&self) -> String {
        format!("{}, line {}", self.label, self.lines.number)
    }

    /// Reads the next entry, or `None` and the last line after the last one.
    pub(crate) fn entry<F: Fingerprint>(&mut self) -> Result<Option<Entry<F>>> {
        self.record(|line| {
            let EntryLine { fingerprint, id } = parse(line)?;
            Ok(Entry { fingerprint: parse_fingerprint(&fingerprint)?, id: DocId(id) })
        })
    }

    /// Reads the next document and its name, or `None` and the last line after the last one.
    pub(crate) fn document<F: Fingerprint>(
        &mut self,
    ) -> Result<Option<(Option<String>, Document<F>)>> {
        self.record(|line| {
            let DocumentLine { name, id, fingerprint, stamp, duplicate_of } = parse(line)?;
            let mut document = Document::new(parse_fingerprint(&fingerprint)?, DocId(id));
            (document.stamp, document.duplicate_of) = (stamp, duplicate_of.map(DocId));
            Ok((name.map(Into::into), document))
        })
    }

    fn record<T>(&mut self, read: impl FnOnce(&[u8]) -> Result<T>) -> Result<Option<T>> {
        let record = self.try_record(read);
        record.with_context(|| self.place())
    }

    fn try_record<T>(&mut self, read: impl FnOnce(&[u8]) -> Result<T>) -> Result<Option<T>> {
        let (count, announced) = (self.count, self.header.count);
        if !self.lines.next()? {
            bail!(
                "the dump ends here, with {count} of {announced} entries or documents and without \
                 its last line: dump the database again"
            );
        }
        if count == announced {
            return self.end().map(|()| None);
        }
        let record = read(&self.lines.line).map_err(|error| match parse::<EndLine>(&self.lines.line) {
            Ok(_) => anyhow!(
                "this is the last line, after {count} of the {announced} entries or documents that \
                 line 1 announces: lines are missing, so dump the database again"
            ),
            Err(_) => error,
        })?;
        self.lines.end_line();
        self.count += 1;
        Ok(Some(record))
    }

    /// Checks the last line, and that nothing follows it.
    fn end(&mut self) -> Result<()> {
        let announced = self.header.count;
        let found: EndLine = parse(&self.lines.line).with_context(|| {
            format!("after the {announced} lines that line 1 announces, expected the last line")
        })?;
        let expected = EndLine::new(announced, self.lines.crc32.clone().finalize());
        if (found.count, &found.crc32) != (expected.count, &expected.crc32) {
            bail!(
                "the lines before have the checksum {}, but this one says {} for {} of them: the \
                 dump was changed or damaged, so dump the database again",
                expected.crc32,
                found.crc32,
                found.count
            );
        }
        if self.lines.next()? {
            bail!("something follows the last line: a file holds one dump");
        }
        Ok(())
    }
}

/// The lines of a file.
struct Lines {
    input: Input,
    /// Of all lines up to the last [`end_line`](Self::end_line).
    crc32: crc32fast::Hasher,
    line: Vec<u8>,
    /// Of the last line, from 1 on.
    number: u64,
}

impl Lines {
    /// Reads the next line. Returns false if there is none.
    fn next(&mut self) -> Result<bool> {
        self.number += 1;
        self.line.clear();
        let read = self.input.by_ref().take(MAX_LINE).read_until(b'\n', &mut self.line);
        if read.map_err(input::read_error)? as u64 == MAX_LINE && !self.line.ends_with(b"\n") {
            bail!("the line is longer than {MAX_LINE} bytes: this is not a dump");
        }
        Ok(!self.line.is_empty())
    }

    /// Adds the line to the checksum.
    fn end_line(&mut self) {
        self.crc32.update(&self.line);
    }
}

fn parse<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Result<T> {
    // The line that serde_json counts is always the first.
    serde_json::from_slice(line).map_err(|error| {
        let (text, column) = (error.to_string(), error.column());
        let what = text.split(" at line ").next().unwrap_or_default();
        anyhow!("{what}, at byte {column} of the line")
    })
}

fn parse_fingerprint<F: Fingerprint>(text: &str) -> Result<F> {
    let digits = 2 * F::BYTES;
    match F::parse(text) {
        Ok(fingerprint) if text.len() == 2 + digits && text.starts_with("0x") => Ok(fingerprint),
        _ => bail!("fingerprint {text:?}: expected 0x and {digits} hex digits"),
    }
}
