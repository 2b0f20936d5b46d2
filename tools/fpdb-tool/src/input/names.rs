//! Reads lists of names: one per line.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use fpdb::Key;
use indicatif::ProgressBar;

use super::decompress::{Compression, Input, read_error};
use super::kind::Kind;
use super::lines::Lines;
use super::piece::{At, Place};

/// Calls `act` with each name of these files, one file after the other, and its place. A name is a
/// line without its line ending. Blank lines are skipped. Stops at the first error.
pub(crate) fn for_each(
    files: &[PathBuf],
    max_ratio: u64,
    bar: &ProgressBar,
    mut act: impl FnMut(&str, &Place) -> Result<()>,
) -> Result<()> {
    files.iter().try_for_each(|path| for_each_in(path, max_ratio, bar, &mut act))
}

fn for_each_in(
    path: &Path,
    max_ratio: u64,
    bar: &ProgressBar,
    act: &mut impl FnMut(&str, &Place) -> Result<()>,
) -> Result<()> {
    let file: Arc<str> = Arc::from(super::label(path));
    let input = Input::open(path, Compression::ByContent, max_ratio, bar)?;
    Kind::Lines.check(input.head(), false).with_context(|| file.to_string())?;
    let most = Key::MAX_NAME_LEN;
    let mut lines = Lines::new(input, most);
    loop {
        let line = lines.next_line().map_err(read_error);
        let place = Place { file: Arc::clone(&file), at: At::Line(lines.number()) };
        let Some(line) = line.with_context(|| format!("cannot read {place}"))? else {
            return Ok(());
        };
        if line.too_long {
            bail!("{place}: a line of more than {most} bytes is not a name");
        }
        let name = line.bytes.strip_suffix(b"\n").unwrap_or(&line.bytes);
        let name = name.strip_suffix(b"\r").unwrap_or(name);
        let name = std::str::from_utf8(name).with_context(|| format!("{place}: not UTF-8"))?;
        act(name, &place)?;
    }
}
