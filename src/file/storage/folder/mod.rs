//! An open folder of the file system.
//!
//! On Unix, the files of a folder are reached through its handle and not through its path, so they
//! are always in the folder that was opened, even if another one has taken its place. Files that
//! are not regular (links, pipes, devices) are not opened.

#[cfg(not(unix))]
mod paths;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(super) use paths::Folder;
#[cfg(unix)]
pub(super) use unix::Folder;

use std::io;

/// The error for a link, pipe, device or folder in the place of a file.
fn not_a_file() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "it is not a regular file: links, pipes and devices are not opened",
    )
}
