//! `--html`: what a command found, for a person who looks at it.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use fpdb_dedup::html::{Report, grouped};

use crate::input;

/// The file of `--html`.
pub(super) struct HtmlFile {
    file: File,
    label: String,
}

impl HtmlFile {
    /// Creates the file, if one was asked for. It must not be one of the input files.
    pub(super) fn create(path: Option<&Path>, files: &[PathBuf]) -> Result<Option<Self>> {
        let Some(path) = path else { return Ok(None) };
        if path.as_os_str() == "-" {
            bail!("standard output is for what the command prints: give --html a file");
        }
        input::check_apart("--html", path, files)?;
        let label = path.display().to_string();
        let file = File::create(path).with_context(|| format!("cannot create {label}"))?;
        Ok(Some(Self { file, label }))
    }

    pub(super) fn write(mut self, report: &Report) -> Result<()> {
        let written = self.file.write_all(report.document().as_bytes());
        written.with_context(|| format!("cannot write {}", self.label))
    }
}

/// Returns the names and values that are not 0, and the first `always` of them in any case.
pub(super) fn figures(numbers: &[(&str, u64)], always: usize) -> Vec<(String, String)> {
    let shown = numbers.iter().enumerate().filter(|(place, it)| *place < always || it.1 > 0);
    shown.map(|(_, (name, number))| ((*name).to_owned(), grouped(*number))).collect()
}
