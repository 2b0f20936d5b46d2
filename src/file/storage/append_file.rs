//! A file of the file system that is being written.

#![expect(clippy::disallowed_types, reason = "writes files, as the storage of a folder does")]

use std::fs::File;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use super::page::PAGE;

use crate::base::parallel::lock;

/// A file opened for appending.
#[derive(Debug)]
pub(super) struct AppendFile {
    file: Arc<File>,
    /// The length. Held during an append, which may need several system calls. A sync does not wait
    /// for it.
    len: Mutex<u64>,
    write_back: Mutex<WriteBack>,
    /// Whether the system is to drop the file's pages once they are on the device.
    is_dropped: Arc<AtomicBool>,
    /// Whether it can do that without being asked. Not every kernel and file system can.
    #[cfg(target_os = "linux")]
    drops_itself: AtomicBool,
}

impl AppendFile {
    /// Writes to an empty file that was opened for appending.
    pub(super) fn new(file: File) -> Self {
        Self {
            file: Arc::new(file),
            len: Mutex::default(),
            write_back: Mutex::default(),
            is_dropped: Arc::default(),
            #[cfg(target_os = "linux")]
            drops_itself: AtomicBool::new(true),
        }
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    pub(super) fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let mut len = lock(&self.len);
        (&*self.file).write_all(bytes)?;
        *len += bytes.len() as u64;
        Ok(())
    }

    /// Appends bytes that will not be read again soon. After the next sync, the system keeps no
    /// page of the file.
    pub(super) fn append_once(&self, bytes: &[u8]) -> io::Result<()> {
        self.is_dropped.store(true, Relaxed);
        let mut len = lock(&self.len);
        // If the last page were written before it is complete, the next append would have to read
        // it.
        let end = (*len + bytes.len() as u64) / PAGE as u64 * PAGE as u64;
        let entire = usize::try_from(end.saturating_sub(*len)).unwrap_or(0);
        let (pages, rest) = bytes.split_at(entire.min(bytes.len()));
        self.write_once(pages)?;
        (&*self.file).write_all(rest)?;
        *len += bytes.len() as u64;
        Ok(())
    }

    #[cfg(target_os = "linux")]
    fn write_once(&self, mut bytes: &[u8]) -> io::Result<()> {
        use rustix::io::Errno;
        while !bytes.is_empty() && self.drops_itself.load(Relaxed) {
            let part = [io::IoSlice::new(bytes)];
            // At the end of the file.
            match rustix::io::pwritev2(&self.file, &part, u64::MAX, super::open_file::DONT_CACHE) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
                Err(Errno::INTR) => {}
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.drops_itself.store(false, Relaxed),
                Err(e) => return Err(e.into()),
            }
        }
        (&*self.file).write_all(bytes)
    }

    #[cfg(not(target_os = "linux"))]
    fn write_once(&self, bytes: &[u8]) -> io::Result<()> {
        (&*self.file).write_all(bytes)
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        lock(&self.write_back).wait()?;
        // The promise includes the file's length, and the file has nearly always grown, so
        // `sync_data` would save nothing. Some file systems have also been seen to lose a length
        // after it.
        self.file.sync_all()?;
        drop_pages(&self.file, &self.is_dropped);
        Ok(())
    }

    /// Begins to write what was appended to the device.
    pub(super) fn write_back(&self) {
        lock(&self.write_back).begin(&self.file, &self.is_dropped);
    }
}

/// Has the system drop the pages that are on the device, unless it is to keep them.
fn drop_pages(file: &File, is_dropped: &AtomicBool) {
    if is_dropped.load(Relaxed) {
        // This is a hint.
        #[cfg(target_os = "linux")]
        let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
        #[cfg(not(target_os = "linux"))]
        let _ = file;
    }
}

/// A sync that a thread of its own does, so that the device works while the file grows.
#[derive(Debug, Default)]
struct WriteBack {
    running: Option<JoinHandle<io::Result<()>>>,
    /// The system reports a failure only once, so it is kept for the next real sync.
    failed: Option<io::Error>,
}

impl WriteBack {
    /// Begins a sync unless one is running or has failed.
    fn begin(&mut self, file: &Arc<File>, is_dropped: &Arc<AtomicBool>) {
        if self.running.as_ref().is_some_and(|running| !running.is_finished()) {
            return;
        }
        self.collect();
        if self.failed.is_none() {
            let (file, is_dropped) = (file.clone(), is_dropped.clone());
            let thread = std::thread::Builder::new().name("fpdb-write-back".into());
            let running = thread.spawn(move || {
                file.sync_data()?;
                drop_pages(&file, &is_dropped);
                Ok(())
            });
            self.running = running.ok();
        }
    }

    /// Waits for the running sync.
    fn collect(&mut self) {
        let Some(running) = self.running.take() else { return };
        let panicked = || Err(io::Error::other("the thread that syncs has panicked"));
        self.failed = running.join().unwrap_or_else(|_| panicked()).err().or(self.failed.take());
    }

    /// Waits for the running sync, and returns an error if any sync has failed.
    fn wait(&mut self) -> io::Result<()> {
        self.collect();
        self.failed.take().map_or(Ok(()), Err)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Syncing this device fails.
    #[test]
    fn failure_of_a_write_back_is_reported_by_the_next_sync() {
        let mut write_back = WriteBack::default();
        write_back.begin(&Arc::new(File::open("/dev/null").unwrap()), &Arc::default());
        assert!(write_back.wait().is_err());
        write_back.wait().unwrap();
    }
}
