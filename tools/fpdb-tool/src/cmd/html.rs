//! `--html`: what a command found, for a person who looks at it.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use fpdb_dedup::html::{Report, grouped};

use crate::input;

/// The file of `--html`. It is written under another name, and gets its own once it is complete. So
/// a run that fails leaves an earlier page as it was.
pub(super) struct HtmlFile {
    path: PathBuf,
    /// `None` once it has its own name.
    unfinished: Option<(File, PathBuf)>,
}

impl HtmlFile {
    /// Checks where the file will be, if one was asked for: it must not be one of the input files,
    /// or one of the others that the command writes.
    pub(super) fn check<'a>(
        path: Option<&Path>,
        inputs: &[PathBuf],
        others: impl IntoIterator<Item = &'a Path>,
    ) -> Result<()> {
        let Some(path) = path else { return Ok(()) };
        if path.as_os_str() == "-" {
            bail!("standard output is for what the command prints: give --html a file");
        }
        input::check_apart("--html", path, inputs)?;
        let is_in = |other: &Path| {
            let full =
                |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path)).ok();
            full(path).is_some_and(|path| full(other).is_some_and(|other| path.starts_with(other)))
        };
        match others.into_iter().find(|other| is_in(other)) {
            Some(other) => bail!("--html must not be {} or in it", other.display()),
            None if path.is_dir() => bail!("{} is a folder: give --html a file", path.display()),
            None => Ok(()),
        }
    }

    /// Creates the file, if one was asked for.
    pub(super) fn create(path: Option<&Path>) -> Result<Option<Self>> {
        let Some(path) = path else { return Ok(None) };
        let mut name = path.as_os_str().to_owned();
        name.push(".unfinished");
        let unfinished = PathBuf::from(name);
        let file = File::create(&unfinished)
            .with_context(|| format!("cannot create {}", unfinished.display()))?;
        Ok(Some(Self { path: path.to_owned(), unfinished: Some((file, unfinished)) }))
    }

    /// Returns the folder in which it is.
    pub(super) fn folder(&self) -> &Path {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        folder.unwrap_or(Path::new("."))
    }

    pub(super) fn write(mut self, report: &Report) -> Result<()> {
        let Some((mut file, unfinished)) = self.unfinished.take() else { return Ok(()) };
        let written = file.write_all(report.document().as_bytes());
        let done = written.and_then(|()| std::fs::rename(&unfinished, &self.path));
        done.inspect_err(|_| drop(std::fs::remove_file(&unfinished)))
            .with_context(|| format!("cannot write {}", self.path.display()))
    }
}

impl Drop for HtmlFile {
    fn drop(&mut self) {
        if let Some((_, unfinished)) = &self.unfinished {
            // What is left of a run that has failed, and has said why.
            let _ = std::fs::remove_file(unfinished);
        }
    }
}

/// Returns the names and values that are not 0, and the first `always` of them in any case.
pub(super) fn figures(numbers: &[(&str, u64)], always: usize) -> Vec<(String, String)> {
    let shown = numbers.iter().enumerate().filter(|(place, it)| *place < always || it.1 > 0);
    shown.map(|(_, (name, number))| ((*name).to_owned(), grouped(*number))).collect()
}
