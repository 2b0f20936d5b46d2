//! What the tool reads: lines, fingerprints, documents; from plain or gzipped files or standard
//! input.

pub(crate) mod documents;
pub(crate) mod fingerprints;
pub(crate) mod lines;
mod size;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use flate2::bufread::MultiGzDecoder;
use indicatif::ProgressBar;

pub(crate) use size::parse_size;

/// The first two bytes of a gzip file. No text begins with them.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// How a file is known to be gzipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gzip {
    /// By its first bytes: for text, from standard input too.
    ByContent,
    /// By the ending `.gz`: for binary data, which may begin with any bytes.
    ByName,
}

/// Opens a file, or standard input for `-`, for reading what is in it, unzipped. Bytes taken from
/// the file are counted on the bar.
pub(crate) fn open(path: &Path, gzip: Gzip, bar: &ProgressBar) -> Result<Box<dyn BufRead>> {
    let file: Box<dyn Read> =
        if is_stdin(path) { Box::new(io::stdin()) } else { Box::new(open_file(path)?) };
    let mut file = BufReader::with_capacity(1 << 16, bar.wrap_read(file));
    let zipped = match gzip {
        Gzip::ByName => path.extension().is_some_and(|extension| extension == "gz"),
        Gzip::ByContent => peek(&mut file)
            .with_context(|| format!("cannot read {}", label(path)))?
            .starts_with(&GZIP_MAGIC),
    };
    // All members: a file of several, as crawls make them, goes on after the first.
    Ok(if zipped { Box::new(BufReader::new(MultiGzDecoder::new(file))) } else { Box::new(file) })
}

/// Fails if one of these files cannot be opened: before a database is made for what they hold.
pub(crate) fn check_all(files: &[PathBuf]) -> Result<()> {
    files.iter().filter(|path| !is_stdin(path)).try_for_each(|path| open_file(path).map(drop))
}

fn open_file(path: &Path) -> Result<File> {
    File::open(path).with_context(|| format!("cannot open {}", path.display()))
}

/// How a file is called in messages.
pub(crate) fn label(path: &Path) -> String {
    if is_stdin(path) { "standard input".to_owned() } else { path.display().to_string() }
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The bytes to come next, without taking them.
fn peek(reader: &mut impl BufRead) -> io::Result<&[u8]> {
    // Not `fill_buf` in a loop over `Interrupted`: the borrow would have to end in between.
    while let Err(error) = reader.fill_buf() {
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    reader.fill_buf()
}
