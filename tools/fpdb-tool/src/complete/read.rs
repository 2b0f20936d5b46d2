//! Reading a complete export.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};
use fpdb::{DocId, Document, Entry, Fingerprint};
use indicatif::ProgressBar;
use serde::Deserialize;

use super::{EndLine, Header, Record};
use crate::input::{self, Compression, Input, Line, Lines};

/// Most bytes of a line. The longest name, with all its bytes escaped, takes less than half of it.
const MAX_LINE: usize = 1 << 20;

/// A complete export that is read from its first line to its last.
pub(crate) struct Reader {
    label: String,
    lines: Lines,
    /// Of all lines whose contents were taken.
    crc32: crc32fast::Hasher,
    header: Header,
    /// Entries and documents that were read.
    count: u64,
}

impl Reader {
    /// Reads the first line of a file, or of standard input for `-`.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let label = input::label(path);
        // Each line is checked before the next is read, so a file that never ends is no danger.
        let ratio = u64::MAX;
        let input = Input::open(path, Compression::ByContent, ratio, &ProgressBar::hidden())?;
        let (mut lines, mut crc32) = (Lines::new(input, MAX_LINE), crc32fast::Hasher::new());
        let header = next(&mut lines).and_then(|line| {
            let Some(line) = line else { bail!("it is empty") };
            crc32.update(&line.bytes);
            Header::parse(&line.bytes)
        });
        let header = header.with_context(|| format!("{label}, line 1"))?;
        Ok(Self { label, lines, crc32, header, count: 0 })
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
        format!("{}, line {}", self.label, self.lines.number())
    }

    /// Reads the next entry, or `None` and the last line after the last one.
    pub(crate) fn entry<F: Fingerprint>(&mut self) -> Result<Option<Entry<F>>> {
        self.record(|Record { name, id, fingerprint, stamp, duplicate_of }| {
            if name.is_some() || stamp.is_some() || duplicate_of.is_some() {
                bail!("an entry of a database with user ids has a fingerprint and an id only");
            }
            Ok(Entry { fingerprint: parse_fingerprint(&fingerprint)?, id: DocId(id) })
        })
    }

    /// Reads the next document and its name, or `None` and the last line after the last one.
    pub(crate) fn document<F: Fingerprint>(
        &mut self,
    ) -> Result<Option<(Option<String>, Document<F>)>> {
        self.record(|Record { name, id, fingerprint, stamp, duplicate_of }| {
            let mut document = Document::new(parse_fingerprint(&fingerprint)?, DocId(id));
            (document.stamp, document.duplicate_of) = (stamp, duplicate_of.map(DocId));
            Ok((name.map(Into::into), document))
        })
    }

    fn record<T>(&mut self, take: impl FnOnce(Record<'_>) -> Result<T>) -> Result<Option<T>> {
        self.try_record(take).with_context(|| self.place())
    }

    fn try_record<T>(&mut self, take: impl FnOnce(Record<'_>) -> Result<T>) -> Result<Option<T>> {
        let (count, announced) = (self.count, self.header.count);
        let Some(Line { bytes, .. }) = next(&mut self.lines)? else {
            bail!(
                "the export ends here, with {count} of {announced} entries or documents and without \
                 its last line: export the database again"
            );
        };
        if count == announced {
            return self.end(&bytes).map(|()| None);
        }
        let record = parse(&bytes).and_then(take).map_err(|error| match parse::<EndLine>(&bytes) {
            Ok(_) => anyhow!(
                "this is the last line, after {count} of the {announced} entries or documents that \
                 line 1 announces: lines are missing, so export the database again"
            ),
            Err(_) => error,
        })?;
        self.crc32.update(&bytes);
        self.count += 1;
        Ok(Some(record))
    }

    /// Checks the last line, and that nothing follows it.
    fn end(&mut self, line: &[u8]) -> Result<()> {
        let announced = self.header.count;
        let found: EndLine = parse(line).with_context(|| {
            format!("after the {announced} lines that line 1 announces, expected the last line")
        })?;
        let expected = EndLine::new(announced, self.crc32.clone().finalize());
        if (found.count, &found.crc32) != (expected.count, &expected.crc32) {
            bail!(
                "the lines before have the checksum {}, but this one says {} for {} of them: the \
                 file was changed or damaged, so export the database again",
                expected.crc32,
                found.crc32,
                found.count
            );
        }
        if next(&mut self.lines)?.is_some() {
            bail!("something follows the last line: a file holds one database");
        }
        Ok(())
    }
}

/// Reads the next line, if there is one.
fn next(lines: &mut Lines) -> Result<Option<Line>> {
    let line = lines.next_of_all().map_err(input::read_error)?;
    if line.as_ref().is_some_and(|line| line.too_long) {
        bail!("the line is longer than {MAX_LINE} bytes: export --all writes none that long");
    }
    Ok(line)
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
