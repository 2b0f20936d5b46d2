//! Reads documents from files of many formats, and lists of fingerprints, from plain or compressed
//! files or standard input.
//!
//! Documents are read in two steps. A reader (`reader`) takes [pieces](piece::Piece) from a
//! file, in order. Then the rules (`piece`) convert each piece to a document, on any thread. The
//! [`pool`] connects these steps, and applies the command's function to each document. At its end,
//! commands take the results in order from the [`Intake`].

mod csv;
mod decompress;
mod document;
pub(crate) mod fingerprints;
mod intake;
mod kind;
mod lines;
pub(crate) mod names;
mod ndjson;
mod piece;
pub(crate) mod pool;
mod reader;
mod source;
pub(crate) mod walk;
pub(crate) mod web;
mod zip;

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

pub(crate) use decompress::{Compression, Input, MAX_RATIO, read_error};
pub(crate) use document::Document;
pub(crate) use intake::{Intake, Item, Printed};
pub(crate) use kind::{DocumentFormat, InputFormat, all_begin, is_html, is_list_of_entries};
pub(crate) use lines::{Line, Lines};
pub(crate) use source::{DocumentArgs, all_cores, parse_threads};

/// Fails if one of these files cannot be opened. Called before a database is created for their
/// contents.
pub(crate) fn check_all(files: &[PathBuf]) -> Result<()> {
    files.iter().filter(|path| !is_stdin(path)).try_for_each(|path| {
        // A pipe must not be opened twice: its writer would mistake the first close for the last.
        let metadata =
            path.metadata().with_context(|| format!("cannot open {}", path.display()))?;
        if metadata.is_file() { open_file(path).map(drop) } else { Ok(()) }
    })
}

/// Fails if a file that will be written is one of these input files or in one of these folders.
pub(crate) fn check_apart(what: &str, path: &Path, files: &[PathBuf]) -> Result<()> {
    // The file may not exist yet, but its folder does.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).canonicalize();
    let is_in = |file: &&PathBuf| match (file.canonicalize(), &folder) {
        (Ok(file), Ok(folder)) if file.is_dir() => folder.starts_with(&file),
        (Ok(file), _) => path.canonicalize().is_ok_and(|path| path == file),
        _ => false,
    };
    match files.iter().find(is_in) {
        Some(file) if file.is_dir() => {
            bail!("{what} would be in {}, which is an input", file.display())
        }
        Some(file) => bail!("{what} would replace {}, which is an input", file.display()),
        None => Ok(()),
    }
}

/// Opens an input. What a command prints must not go to the same file: it would be read again, or
/// was emptied by the shell before.
fn open_file(path: &Path) -> Result<File> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    if is_standard_output(&file).unwrap_or(false) {
        bail!("{} is an input, and the standard output as well", path.display());
    }
    Ok(file)
}

/// Returns whether a regular file is the standard output.
#[cfg(unix)]
fn is_standard_output(file: &File) -> std::io::Result<bool> {
    use std::os::fd::AsFd as _;
    use std::os::unix::fs::MetadataExt as _;

    let input = file.metadata()?;
    let output = File::from(std::io::stdout().as_fd().try_clone_to_owned()?).metadata()?;
    Ok(input.is_file() && (input.dev(), input.ino()) == (output.dev(), output.ino()))
}

/// Other systems do not say.
#[cfg(not(unix))]
fn is_standard_output(_: &File) -> std::io::Result<bool> {
    Ok(false)
}

/// Returns the name of a file in messages.
pub(crate) fn label(path: &Path) -> String {
    if is_stdin(path) { "standard input".to_owned() } else { path.display().to_string() }
}

pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}
