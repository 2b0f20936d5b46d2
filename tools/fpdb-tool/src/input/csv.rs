//! Tables: comma- or tab-separated values below a header row, as in RFC 4180.

use std::io::{self, BufRead};

use anyhow::{Result, bail};
use clap::ValueEnum;
use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use super::decompress::{Input, read_error};
use super::document::Document;
use super::ndjson::no_stamp;

/// `--quote`: how values are quoted
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quote {
    /// As with double, but a row is refused whose quotes seem to enclose other rows: in TSV, if all
    /// its lines have as many tabs as a row; in CSV and TSV, if it has more than 10000 lines
    Auto,
    /// A value that begins with a quote ends at the next one, and may have line endings. Two quotes
    /// within it are one
    Double,
    /// Values have no quotes, as most programs write TSV: a quote is like any other character
    None,
}

/// Lines of a row after which its quotes are probably a mistake.
const MAX_LINES: usize = 10_000;

/// A row of a table.
#[derive(Debug, Default)]
pub(super) struct Row {
    /// The bytes in the file, including the line ending if there is one.
    pub(super) raw: Vec<u8>,
    /// The values without quotes, concatenated.
    values: Vec<u8>,
    /// The end of each value in `values`.
    ends: Vec<usize>,
    /// The line on which the row starts, counted from 1.
    pub(super) line: u64,
}

impl Row {
    pub(super) fn columns(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn value(&self, column: usize) -> Option<&[u8]> {
        let begin = if column == 0 { 0 } else { *self.ends.get(column - 1)? };
        self.values.get(begin..*self.ends.get(column)?)
    }
}

/// Reads the rows of a file. Skips blank lines between them.
pub(super) struct Rows {
    input: Input,
    csv: Reader,
    max_row: usize,
}

impl Rows {
    /// Reads the rows of a file, each at most `max_row` bytes long.
    pub(super) fn new(mut input: Input, delimiter: u8, quote: Quote, max_row: usize) -> Self {
        if input.head().starts_with(b"\xef\xbb\xbf") {
            input.skip(3);
        }
        // A quote is special only at the start of a value; elsewhere it is part of the value.
        let csv = ReaderBuilder::new().delimiter(delimiter).quoting(quote != Quote::None).build();
        Self { input, csv, max_row }
    }

    /// Returns the line on which the last row ends, or that reading has reached.
    pub(super) fn line(&self) -> u64 {
        self.csv.line()
    }

    /// Returns the next row. Nothing follows an error, because the start of the next row is
    /// unknown.
    pub(super) fn next_row(&mut self) -> Result<Option<Row>> {
        self.skip_blank_lines().map_err(read_error)?;
        let mut row = Row { line: self.csv.line(), ..Row::default() };
        row.values.resize(1 << 12, 0);
        row.ends.resize(1 << 5, 0);
        let (mut written, mut columns) = (0, 0);
        loop {
            let bytes = fill(&mut self.input).map_err(read_error)?;
            let at_end = bytes.is_empty();
            if at_end && row.raw.is_empty() {
                return Ok(None);
            }
            // A line ending, which the last line may lack, ends the row, except within quotes.
            let bytes = if at_end { b"\n" } else { bytes };
            let (result, read, wrote, ended) =
                self.csv.read_record(bytes, &mut row.values[written..], &mut row.ends[columns..]);
            (written, columns) = (written + wrote, columns + ended);
            if at_end && matches!(result, ReadRecordResult::InputEmpty) {
                bail!(
                    "the quotes of the row that begins on line {} are never closed: give --quote \
                     none if the table has no quotes",
                    row.line
                );
            }
            if !at_end {
                row.raw.extend_from_slice(&bytes[..read]);
                self.input.consume(read);
            }
            if row.raw.len() > self.max_row {
                bail!("a row of more than {} bytes (--max-line)", self.max_row);
            }
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => row.values.resize(row.values.len() * 2, 0),
                ReadRecordResult::OutputEndsFull => row.ends.resize(row.ends.len() * 2, 0),
                ReadRecordResult::Record => break,
                ReadRecordResult::End => return Ok(None),
            }
        }
        if row.raw.ends_with(b"\r")
            && fill(&mut self.input).map_err(read_error)?.first() == Some(&b'\n')
        {
            self.take_byte(&mut row.raw);
        }
        row.values.truncate(written);
        row.ends.truncate(columns);
        Ok(Some(row))
    }

    /// Skips blank lines before a row. The parser would count them as part of the row.
    fn skip_blank_lines(&mut self) -> io::Result<()> {
        while matches!(fill(&mut self.input)?.first(), Some(b'\r' | b'\n')) {
            self.take_byte(&mut Vec::new());
        }
        Ok(())
    }

    /// Takes the next byte, a line ending, without the parser, but counts the line for it.
    fn take_byte(&mut self, raw: &mut Vec<u8>) {
        if let Ok([byte, ..]) = self.input.fill_buf() {
            let byte = *byte;
            raw.push(byte);
            self.input.consume(1);
            if byte == b'\n' {
                self.csv.set_line(self.csv.line() + 1);
            }
        }
    }
}

/// Returns the next bytes, or none at the end.
fn fill(input: &mut Input) -> io::Result<&[u8]> {
    // The borrow of `fill_buf` must end before the next attempt, so a loop cannot return it.
    while let Err(error) = input.fill_buf() {
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    input.fill_buf()
}

/// The header row of a table: the columns with a document's id and text and, if it is requested,
/// its stamp.
pub(super) struct Header {
    id: usize,
    text: usize,
    /// The column and its name.
    stamp: Option<(usize, String)>,
    columns: usize,
}

impl Header {
    pub(super) fn new(row: &Row, id: &str, text: &str, stamp: Option<&str>) -> Result<Self> {
        let names: Vec<_> = (0..row.columns())
            .map(|column| String::from_utf8_lossy(row.value(column).unwrap_or_default()))
            .collect();
        let column = |wanted: &str| match names.iter().position(|name| name == wanted) {
            Some(at) if names[at + 1..].iter().any(|name| name == wanted) => {
                bail!("the header has two columns {wanted:?}")
            }
            Some(at) => Ok(at),
            None => {
                bail!("the header has no column {wanted:?}; its columns are {}", names.join(", "))
            }
        };
        let stamp = stamp.map(|name| Ok::<_, anyhow::Error>((column(name)?, name.to_owned())));
        let (stamp, columns) = (stamp.transpose()?, names.len());
        Ok(Self { id: column(id)?, text: column(text)?, stamp, columns })
    }

    /// Refuses a row whose quotes seem to enclose other rows.
    pub(super) fn check_lines(&self, row: &Row, delimiter: u8) -> Result<(), String> {
        let mut lines =
            row.raw.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
        let is_row = |line: &[u8]| {
            let delimiters = line.iter().filter(|&&byte| byte == delimiter).count();
            delimiters + 1 == self.columns
        };
        let count = lines.clone().count();
        let are_rows = delimiter == b'\t' && self.columns > 1 && count > 1 && lines.all(is_row);
        if are_rows || count > MAX_LINES {
            return Err(format!(
                "a quote makes one row of {count} lines: give --quote none if the table has no \
                 quotes, and --quote double if this is right"
            ));
        }
        Ok(())
    }

    /// Returns the document of a row. The error says what is wrong with the row.
    pub(super) fn document(&self, row: &Row) -> Result<Document, String> {
        if row.columns() != self.columns {
            return Err(format!("{} values in a table of {} columns", row.columns(), self.columns));
        }
        let value = |column| {
            let value = row.value(column).unwrap_or_default().to_vec();
            String::from_utf8(value)
                .map_err(|e| format!("invalid UTF-8 in column {}", column + 1) + &after(&e))
        };
        let stamp = self.stamp.as_ref().map(|(column, name)| {
            let stamp = value(*column)?.parse();
            stamp.map_err(|_| no_stamp(name))
        });
        let text = row.value(self.text).unwrap_or_default();
        let text = match fpdb_web::nearly_utf8(text) {
            Some(text) => text.into_owned(),
            None => value(self.text)?,
        };
        Ok(Document::new(value(self.id)?, text, stamp.transpose()?))
    }
}

fn after(error: &std::string::FromUtf8Error) -> String {
    format!(", after {} bytes of it", error.utf8_error().valid_up_to())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::decompress::Compression;
    use super::*;

    /// Returns the next of a series of numbers that look random.
    fn random(state: &mut u64) -> usize {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(*state >> 40).unwrap()
    }

    fn rows(bytes: &[u8]) -> Result<Vec<Row>> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, bytes).unwrap();
        let bar = indicatif::ProgressBar::hidden();
        let input = Input::open(Path::new(&file), Compression::ByContent, 1, &bar).unwrap();
        let mut rows = Rows::new(input, b',', Quote::Double, 1 << 20);
        std::iter::from_fn(|| rows.next_row().transpose()).collect()
    }

    /// The crate `csv` reads the same rows, and only the bytes of blank lines are lost.
    #[test]
    fn rows_agree_with_another_reader_and_keep_every_byte() {
        let alphabet = [b'a', b',', b'"', b'"', b'\n', b'\r', b'b'];
        let (mut state, mut compared) = (1, 0);
        for _ in 0..3000 {
            let length = random(&mut state) % 25;
            let bytes: Vec<u8> =
                (0..length).map(|_| alphabet[random(&mut state) % alphabet.len()]).collect();
            let Ok(rows) = rows(&bytes) else { continue };
            let mut other = csv::ReaderBuilder::new();
            let other = other.has_headers(false).flexible(true).from_reader(bytes.as_slice());
            let other: Vec<_> = other.into_byte_records().map(Result::unwrap).collect();
            let values = |row: &Row| {
                (0..row.columns()).map(|i| row.value(i).unwrap().to_vec()).collect::<Vec<_>>()
            };
            let found: Vec<_> = rows.iter().map(values).collect();
            let expected: Vec<Vec<_>> =
                other.iter().map(|row| row.iter().map(<[u8]>::to_vec).collect()).collect();
            assert_eq!(found, expected, "{:?}", String::from_utf8_lossy(&bytes));
            let raw: Vec<u8> = rows.iter().flat_map(|row| row.raw.clone()).collect();
            let mut rest = raw.as_slice();
            for byte in &bytes {
                match rest.split_first() {
                    Some((first, others)) if first == byte => rest = others,
                    _ => assert!(matches!(byte, b'\r' | b'\n'), "{bytes:?} {raw:?}"),
                }
            }
            assert!(rest.is_empty(), "{bytes:?} {raw:?}");
            compared += 1;
        }
        assert!(compared > 1000, "{compared}");
    }

    #[test]
    fn line_numbers_count_lines_within_and_between_rows() {
        let found = rows(b"id,text\r\n\r\n1,\"a\r\nb\"\n\n\n2,c").unwrap();
        let lines: Vec<_> = found.iter().map(|row| row.line).collect();
        assert_eq!(lines, [1, 3, 7]);
        assert_eq!(found[1].raw, b"1,\"a\r\nb\"\n");
        assert!(rows(b"id\n1\n\"2\n3\n").unwrap_err().to_string().contains("never closed"));
    }
}
