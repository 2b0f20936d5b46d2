//! Lists the files that arguments name, and the files in folders.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::builder::{OsStringValueParser, TypedValueParser};

use super::is_stdin;

/// Returns the files in the order of the arguments.
///
/// For a folder, returns all regular files in it and in its subfolders. They are sorted by name,
/// with the files of a subfolder in the place of its name. What programs write beside data sets is
/// left out: see [`is_data`]. Links are followed, except to a folder that contains them. A folder
/// is read when its turn comes.
pub(crate) struct Walk {
    /// The remaining steps, the next one last.
    stack: Vec<Step>,
    /// The real paths of the folders that contain the next entry.
    within: Vec<PathBuf>,
}

enum Step {
    /// An argument, which is returned even if it is not a regular file.
    Argument(PathBuf),
    /// An entry of a folder.
    Entry(PathBuf),
    /// The end of a folder.
    Leave,
}

impl Walk {
    pub(crate) fn new(arguments: &[PathBuf]) -> Self {
        let stack = arguments.iter().rev().cloned().map(Step::Argument).collect();
        Self { stack, within: Vec::new() }
    }

    /// Starts a folder, unless the path to it passes through the folder itself.
    fn enter(&mut self, folder: &Path) -> Result<()> {
        let failed = || format!("cannot read folder {}", folder.display());
        let real = folder.canonicalize().with_context(failed)?;
        if self.within.contains(&real) {
            return Ok(());
        }
        let mut names = fs::read_dir(folder)
            .and_then(|entries| {
                entries.map(|entry| Ok(entry?.file_name())).collect::<Result<Vec<_>, _>>()
            })
            .with_context(failed)?;
        names.retain(|name| is_data(name.as_encoded_bytes()));
        names.sort_unstable();
        self.within.push(real);
        self.stack.push(Step::Leave);
        self.stack.extend(names.iter().rev().map(|name| Step::Entry(folder.join(name))));
        Ok(())
    }
}

/// Returns whether a file or folder of this name holds data, as Spark and Arrow decide it: a name
/// that starts with a dot or an underscore does not, except for a folder of a partition, such as
/// `_day=1`.
fn is_data(name: &[u8]) -> bool {
    !name.starts_with(b".") && (!name.starts_with(b"_") || name.contains(&b'='))
}

impl Iterator for Walk {
    type Item = Result<PathBuf>;

    fn next(&mut self) -> Option<Result<PathBuf>> {
        loop {
            let (path, is_argument) = match self.stack.pop()? {
                Step::Leave => {
                    self.within.pop();
                    continue;
                }
                Step::Argument(path) if is_stdin(&path) => return Some(Ok(path)),
                Step::Argument(path) => (path, true),
                Step::Entry(path) => (path, false),
            };
            let failed = || format!("cannot open {}", path.display());
            match fs::metadata(&path).with_context(failed) {
                Err(error) => return Some(Err(error)),
                Ok(metadata) if metadata.is_dir() => {
                    if let Err(error) = self.enter(&path) {
                        return Some(Err(error));
                    }
                }
                // An argument may be a pipe. A pipe in a folder would only block the run.
                Ok(metadata) if is_argument || metadata.is_file() => return Some(Ok(path)),
                Ok(_) => {}
            }
        }
    }
}

/// Returns the id of a document that is a file: its path as given, with `/` between folders.
pub(crate) fn id_of(path: &Path) -> String {
    let text = name_of(path.as_os_str());
    if cfg!(windows) { text.replace('\\', "/") } else { text }
}

/// Returns a path or an argument as a name, which is UTF-8. Other bytes are written as in URLs,
/// `%E9`, as the URLs of archives are, so that different paths stay different.
pub(crate) fn name_of(path: &OsStr) -> String {
    let mut name = String::with_capacity(path.len());
    for chunk in path.as_encoded_bytes().utf8_chunks() {
        name.push_str(chunk.valid());
        name.extend(chunk.invalid().iter().map(|byte| format!("%{byte:02X}")));
    }
    name
}

/// Parses an argument that is the name of a document.
pub(crate) fn name_parser() -> impl TypedValueParser<Value = String> {
    OsStringValueParser::new().map(|name| name_of(&name))
}
