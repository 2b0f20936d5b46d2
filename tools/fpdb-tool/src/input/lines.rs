//! Lines of a file, with their numbers and all their bytes.

use std::io::BufRead;
use std::path::Path;

use anyhow::{Context, Result};
use indicatif::ProgressBar;

use super::Gzip;

/// A line, with its end as it is in the file.
pub(crate) struct Line {
    pub(crate) bytes: Vec<u8>,
    /// From 1.
    pub(crate) number: u64,
}

impl Line {
    pub(crate) fn is_blank(&self) -> bool {
        self.bytes.trim_ascii().is_empty()
    }
}

/// The lines of one file, from the first on.
pub(crate) struct Lines {
    reader: Box<dyn BufRead>,
    label: String,
    number: u64,
}

impl Lines {
    pub(crate) fn open(path: &Path, bar: &ProgressBar) -> Result<Self> {
        let reader = super::open(path, Gzip::ByContent, bar)?;
        Ok(Self { reader, label: super::label(path), number: 0 })
    }

    /// Where a line stands, for messages.
    pub(crate) fn place(&self, number: u64) -> String {
        format!("{}, line {number}", self.label)
    }

    /// The next line that is not blank.
    pub(crate) fn next_line(&mut self) -> Result<Option<Line>> {
        loop {
            let mut bytes = Vec::new();
            self.number += 1;
            let read = self.reader.read_until(b'\n', &mut bytes);
            read.with_context(|| format!("cannot read {}", self.place(self.number)))?;
            let line = Line { bytes, number: self.number };
            if line.bytes.is_empty() {
                return Ok(None);
            }
            if !line.is_blank() {
                return Ok(Some(line));
            }
        }
    }

    /// Adds lines to `batch` until it has `count` of them or about `bytes` bytes. Says whether
    /// there may be more; if it fails, the lines before the failure are in the batch.
    pub(crate) fn fill(
        &mut self,
        batch: &mut Vec<Line>,
        count: usize,
        bytes: usize,
    ) -> Result<bool> {
        let mut room = bytes;
        while batch.len() < count && room > 0 {
            let Some(line) = self.next_line()? else { return Ok(false) };
            room = room.saturating_sub(line.bytes.len());
            batch.push(line);
        }
        Ok(true)
    }
}
