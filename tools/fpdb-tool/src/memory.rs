//! How a command reads a database, and how much memory it may take for that.

use std::fs;
use std::path::Path;

use clap::ValueEnum;
use fpdb::{Access, Fingerprint, Options};

use crate::numbers::parse_size;

/// Options of commands that read a database.
#[derive(clap::Args, Clone, Default)]
pub(crate) struct MemoryArgs {
    /// How the files of the database are read [default: cold if they are longer than the memory
    /// that this process may use, with the limits of its control groups, otherwise cached]
    #[arg(long, value_name = "HOW", value_enum, help_heading = "Memory")]
    access: Option<AccessArg>,

    /// Memory for pages of the files [default: a quarter of the memory that this process may use]
    #[arg(long, value_name = "BYTES", value_parser = parse_size, help_heading = "Memory")]
    page_memory: Option<usize>,

    /// Memory for copies of directories and filters, which pay off after many queries [default: 0,
    /// but 1GiB for import and dedup]
    #[arg(long, value_name = "BYTES", value_parser = parse_size, help_heading = "Memory")]
    index_memory: Option<usize>,
}

/// `--access`
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum AccessArg {
    /// Pages are read into memory when they are first used
    Cached,
    /// The same for a database much larger than memory: single pages, all pages of a query at once
    Cold,
    /// All files are read into memory first
    Resident,
    /// The files are mapped; another program that changes them can end this one
    Mapped,
}

impl MemoryArgs {
    /// Sets these options for the database at `path`, which may be missing.
    pub(crate) fn apply<F: Fingerprint>(&self, options: Options<F>, path: &Path) -> Options<F> {
        let mut options = options.access(match self.access {
            Some(AccessArg::Cached) => Access::Cached,
            Some(AccessArg::Cold) => Access::Cold,
            Some(AccessArg::Resident) => Access::Resident,
            Some(AccessArg::Mapped) => Access::Mapped,
            None => choose(bytes_in(path), fpdb::memory_limit()),
        });
        if let Some(bytes) = self.page_memory {
            options = options.page_memory(bytes as u64);
        }
        if let Some(bytes) = self.index_memory {
            options = options.index_memory(bytes as u64);
        }
        options
    }
}

/// Returns how to read files of this many bytes in a process with this much memory.
fn choose(bytes: u64, memory: u64) -> Access {
    if bytes > memory { Access::Cold } else { Access::Cached }
}

/// Returns the bytes of the files in a folder. Opening the database reports what cannot be read.
fn bytes_in(folder: &Path) -> u64 {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|metadata| metadata.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn database_larger_than_memory_is_read_cold() {
        assert_eq!(choose(100, 100), Access::Cached);
        assert_eq!(choose(101, 100), Access::Cold);
        assert_eq!(bytes_in(Path::new("no/such/folder")), 0);
    }
}
