//! How much memory a command may take to read a database.

use fpdb::{Fingerprint, Options};

use crate::args::numbers::parse_size;

/// Options of commands that read a database.
#[derive(clap::Args, Clone, Default)]
pub(crate) struct MemoryArgs {
    /// Memory for pages of the files and copies of directories and filters [default: most of the
    /// memory that is available]
    #[arg(long, value_name = "BYTES", value_parser = parse_size, help_heading = "Memory")]
    page_memory: Option<usize>,

    /// How much of it copies of directories and filters may take, which pay off after many queries
    /// [default: 0, but seven eighths for import and dedup]
    #[arg(long, value_name = "BYTES", value_parser = parse_size, help_heading = "Memory")]
    index_memory: Option<usize>,
}

impl MemoryArgs {
    /// Sets these options.
    pub(crate) fn apply<F: Fingerprint>(&self, mut options: Options<F>) -> Options<F> {
        if let Some(bytes) = self.page_memory {
            options = options.page_memory(bytes as u64);
        }
        if let Some(bytes) = self.index_memory {
            options = options.index_memory(bytes as u64);
        }
        options
    }
}
