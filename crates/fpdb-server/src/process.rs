//! What the system says about this process, and its threads.

use std::thread::{self, JoinHandle};
use std::{fs, io};

/// Starts a thread with this name. The work is boxed; otherwise the code that starts a thread would
/// be compiled again for each type of work and each width.
pub(crate) fn spawn(
    name: String,
    work: Box<dyn FnOnce() + Send + 'static>,
) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name).spawn(work)
}

/// The memory and the open files of this process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Process {
    /// Bytes in memory that are no pages of files.
    pub(crate) allocated: u64,
    /// Bytes in memory, with the pages of files that are mapped.
    pub(crate) resident: u64,
    pub(crate) open_files: u64,
}

impl Process {
    /// Asks the system. `None` where it does not say so in `/proc`, as Linux does.
    pub(crate) fn now() -> Option<Self> {
        let status = fs::read_to_string("/proc/self/status").ok()?;
        let bytes = |name: &str| {
            let value = status.lines().find_map(|line| line.strip_prefix(name))?;
            Some(value.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
        };
        // The folder itself is open while it is read.
        let open_files = fs::read_dir("/proc/self/fd").ok()?.count().saturating_sub(1) as u64;
        Some(Self { allocated: bytes("RssAnon:")?, resident: bytes("VmRSS:")?, open_files })
    }
}
