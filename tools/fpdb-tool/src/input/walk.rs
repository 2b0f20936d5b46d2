//! The files that arguments name: themselves, and all that are in folders.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::is_stdin;

/// The files, in the order of the arguments. Of a folder, all regular files in it and in its
/// folders, sorted by name, each folder in the place of its name; not those whose names begin with
/// a dot, nor what is in such folders. Links are followed, but not back to a folder that they lie
/// in. Folders are read when their turn comes.
pub(crate) struct Walk {
    /// What is still to be looked at, the next one last; and the ends of folders begun.
    stack: Vec<Step>,
    /// The folders that the next entry lies in, by their real paths.
    within: Vec<PathBuf>,
}

enum Step {
    /// An argument, taken whatever it is.
    Given(PathBuf),
    /// What lies in a folder.
    Found(PathBuf),
    /// The end of a folder.
    Leave,
}

impl Walk {
    pub(crate) fn new(arguments: &[PathBuf]) -> Self {
        let stack = arguments.iter().rev().cloned().map(Step::Given).collect();
        Self { stack, within: Vec::new() }
    }

    /// Begins a folder, unless this path to it leads through itself.
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
        names.retain(|name| !name.as_encoded_bytes().starts_with(b"."));
        names.sort_unstable();
        self.within.push(real);
        self.stack.push(Step::Leave);
        self.stack.extend(names.iter().rev().map(|name| Step::Found(folder.join(name))));
        Ok(())
    }
}

impl Iterator for Walk {
    type Item = Result<PathBuf>;

    fn next(&mut self) -> Option<Result<PathBuf>> {
        loop {
            let (path, given) = match self.stack.pop()? {
                Step::Leave => {
                    self.within.pop();
                    continue;
                }
                Step::Given(path) if is_stdin(&path) => return Some(Ok(path)),
                Step::Given(path) => (path, true),
                Step::Found(path) => (path, false),
            };
            let failed = || format!("cannot open {}", path.display());
            match fs::metadata(&path).with_context(failed) {
                Err(error) => return Some(Err(error)),
                Ok(metadata) if metadata.is_dir() => {
                    if let Err(error) = self.enter(&path) {
                        return Some(Err(error));
                    }
                }
                // Given, it may also be a pipe; found, that would only keep everybody waiting.
                Ok(metadata) if given || metadata.is_file() => return Some(Ok(path)),
                Ok(_) => {}
            }
        }
    }
}

/// The id of a document that is a file: its path as given, with `/` between folders.
pub(crate) fn id_of(path: &Path) -> Result<String> {
    let text = path.to_str().context("its path, which is its id, is no UTF-8")?;
    Ok(if cfg!(windows) { text.replace('\\', "/") } else { text.to_owned() })
}
