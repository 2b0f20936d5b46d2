//! How a command opens a database that it writes to.

use fpdb::{Fingerprint, Options};

use crate::args::memory::MemoryArgs;

/// Options of commands that write to a database.
#[derive(clap::Args, Clone, Default)]
pub(crate) struct WritingArgs {
    #[command(flatten)]
    memory: MemoryArgs,

    #[command(flatten)]
    file_system: FileSystemArgs,
}

/// On which file systems to write.
#[derive(clap::Args, Clone, Default)]
pub(crate) struct FileSystemArgs {
    /// Write also on a file system whose locks and syncs may not work, such as NFS, SMB, Ceph, 9P
    /// and FUSE. Two writers at the same time destroy a database
    #[arg(long)]
    trust_file_system: bool,
}

impl WritingArgs {
    /// Sets these options.
    pub(crate) fn apply<F: Fingerprint>(&self, options: Options<F>) -> Options<F> {
        self.file_system.apply(self.memory.apply(options))
    }
}

impl WritingArgs {
    /// Sets what also holds for a small database beside the command's own.
    pub(crate) fn of_another_database<F: Fingerprint>(&self, options: Options<F>) -> Options<F> {
        self.file_system.apply(options)
    }
}

impl FileSystemArgs {
    /// Sets the option.
    pub(crate) fn apply<F: Fingerprint>(&self, options: Options<F>) -> Options<F> {
        options.trust_file_system(self.trust_file_system)
    }
}
