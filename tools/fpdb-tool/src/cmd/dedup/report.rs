//! The report of a run: a record a duplicate, then the summary.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::output::json_line;

/// What a run did, in documents. Each one read is novel, a duplicate or skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Summary {
    r#type: &'static str,
    read: u64,
    novel: u64,
    duplicates: u64,
    /// Without a fingerprint: too short, or bad.
    skipped: u64,
    /// Of those skipped, the lines, rows, files and records that should be documents and are none.
    bad: u64,
    /// Records of archives that are not about a page. They do not count as read.
    ignored: u64,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { read, novel, duplicates, skipped, bad, .. } = self;
        write!(f, "read {read}: {novel} novel, {duplicates} duplicates, {skipped} skipped")?;
        if *bad > 0 {
            write!(f, " ({bad} of them bad)")?;
        }
        Ok(())
    }
}

#[derive(Serialize)]
struct Duplicate<'a> {
    r#type: &'static str,
    id: &'a str,
    duplicate_of: &'a str,
    distance: u32,
}

/// Counts, and writes the records to a file if there is to be one.
pub(super) struct Report {
    file: Option<BufWriter<File>>,
    label: String,
    too_short: u64,
    summary: Summary,
}

impl Report {
    /// A report to a file, which is replaced, or to nowhere.
    pub(super) fn create(path: Option<&Path>) -> Result<Self> {
        let label = path.map(|path| path.display().to_string()).unwrap_or_default();
        let file = path.map(File::create).transpose();
        let file = file.with_context(|| format!("cannot create {label}"))?;
        let summary = Summary {
            r#type: "summary",
            read: 0,
            novel: 0,
            duplicates: 0,
            skipped: 0,
            bad: 0,
            ignored: 0,
        };
        Ok(Self { file: file.map(BufWriter::new), label, too_short: 0, summary })
    }

    pub(super) fn novel(&mut self) {
        self.summary.novel += 1;
    }

    pub(super) fn too_short(&mut self) {
        self.too_short += 1;
    }

    /// Notes how many bad and ignored records there were so far.
    pub(super) fn met(&mut self, bad: u64, ignored: u64) {
        (self.summary.bad, self.summary.ignored) = (bad, ignored);
    }

    pub(super) fn duplicate(&mut self, id: &str, duplicate_of: &str, distance: u32) -> Result<()> {
        self.summary.duplicates += 1;
        let record = Duplicate { r#type: "duplicate", id, duplicate_of, distance };
        self.write(|file| json_line(file, &record))
    }

    /// Hands what is written so far to the system.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.write(Write::flush)
    }

    /// Writes the summary, which says that the run came to its end.
    pub(super) fn finish(mut self) -> Result<Summary> {
        let mut summary = self.summary;
        summary.skipped = self.too_short + summary.bad;
        summary.read = summary.novel + summary.duplicates + summary.skipped;
        self.write(|file| json_line(file, &summary))?;
        self.flush()?;
        Ok(summary)
    }

    fn write(&mut self, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        write(file).with_context(|| format!("cannot write {}", self.label))
    }
}
