//! What the tool reads: documents from files of many kinds, and lists of fingerprints; from plain
//! or compressed files or standard input.
//!
//! Documents take two steps. A reader (`reader`) takes [records](document::Record) from a file, in
//! order; the rules (`document`) make a document of each, on any thread. In between, and
//! afterwards, what a command makes of a document, stands the [`pool`]; at its end the [`Intake`],
//! from which commands take the results in order.

mod csv;
mod decompress;
mod document;
pub(crate) mod fingerprints;
mod intake;
mod kind;
pub(crate) mod lines;
mod ndjson;
#[cfg(feature = "parquet")]
mod parquet;
pub(crate) mod pool;
mod reader;
mod size;
mod source;
mod text;
pub(crate) mod walk;
pub(crate) mod web;

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

pub(crate) use decompress::{Compression, Input};
pub(crate) use document::Document;
pub(crate) use intake::{Intake, Item};
pub(crate) use kind::{From, Source, is_html};
pub(crate) use size::parse_size;
pub(crate) use source::{DocumentArgs, all_cores, parse_threads};

/// Fails if one of these files cannot be opened: before a database is made for what they hold.
pub(crate) fn check_all(files: &[PathBuf]) -> Result<()> {
    files.iter().filter(|path| !is_stdin(path)).try_for_each(|path| {
        // A pipe is not opened twice: who writes to it would take the first close for the last.
        let metadata =
            path.metadata().with_context(|| format!("cannot open {}", path.display()))?;
        if metadata.is_file() { open_file(path).map(drop) } else { Ok(()) }
    })
}

/// Fails if something that is to be written would be read: it is one of these files or lies in one
/// of these folders.
pub(crate) fn check_apart(what: &str, path: &Path, files: &[PathBuf]) -> Result<()> {
    // It may not be there yet, but its folder is.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).canonicalize();
    let is_in = |file: &&PathBuf| match (file.canonicalize(), &folder) {
        (Ok(file), Ok(folder)) if file.is_dir() => folder.starts_with(&file),
        (Ok(file), _) => path.canonicalize().is_ok_and(|path| path == file),
        _ => false,
    };
    match files.iter().find(is_in) {
        Some(file) if file.is_dir() => {
            bail!("{what} would lie in {}, which is to be read", file.display())
        }
        Some(file) => bail!("{what} would replace {}, which is to be read", file.display()),
        None => Ok(()),
    }
}

fn open_file(path: &Path) -> Result<File> {
    File::open(path).with_context(|| format!("cannot open {}", path.display()))
}

/// How a file is called in messages.
pub(crate) fn label(path: &Path) -> String {
    if is_stdin(path) { "standard input".to_owned() } else { path.display().to_string() }
}

pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}
