//! Reads the lines of a file with their numbers and all their bytes.

use std::io::{self, BufRead};

use super::decompress::Input;

/// A line as it is in the file, including its line ending if there is one.
pub(crate) struct Line {
    pub(crate) bytes: Vec<u8>,
    /// Counted from 1.
    pub(crate) number: u64,
    /// The line is longer than the limit, and `bytes` has only its start.
    pub(crate) too_long: bool,
}

impl Line {
    pub(super) fn is_blank(&self) -> bool {
        self.bytes.trim_ascii().is_empty()
    }
}

/// Reads the lines of one file.
pub(crate) struct Lines {
    input: Input,
    max_line: usize,
    number: u64,
    /// The line returned last was too long, and its rest must be skipped.
    in_rest: bool,
}

impl Lines {
    /// Reads the lines of a file, each at most `max_line` bytes long without its line ending.
    pub(crate) fn new(input: Input, max_line: usize) -> Self {
        Self { input, max_line, number: 0, in_rest: false }
    }

    /// Returns the number of the line returned last, or of the line that could not be read.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the next line that is not blank.
    pub(super) fn next_line(&mut self) -> io::Result<Option<Line>> {
        loop {
            let line = self.next_of_all()?;
            if line.as_ref().is_none_or(|line| line.too_long || !line.is_blank()) {
                return Ok(line);
            }
        }
    }

    /// Returns the next line, even if it is blank.
    pub(crate) fn next_of_all(&mut self) -> io::Result<Option<Line>> {
        self.number += 1;
        if self.in_rest {
            self.input.skip_until(b'\n')?;
        }
        let line = self.read_line()?;
        self.in_rest = line.too_long && !line.bytes.ends_with(b"\n");
        Ok(Some(line).filter(|line| !line.bytes.is_empty()))
    }

    fn read_line(&mut self) -> io::Result<Line> {
        let mut bytes = Vec::new();
        // Leaves room for a line ending of two bytes. With one more byte, the line is too long.
        let limit = (self.max_line as u64).saturating_add(2);
        io::Read::take(&mut self.input, limit).read_until(b'\n', &mut bytes)?;
        let content = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let content = content.strip_suffix(b"\r").unwrap_or(content);
        let too_long = content.len() > self.max_line;
        Ok(Line { bytes, number: self.number, too_long })
    }
}
