//! Random reads of 4 KiB from a file, past the system's cache: the limit of the device.
//!
//! They use Linux's asynchronous reads. Threads would spend more time to wake each other than the
//! device takes.

#![expect(unsafe_code, reason = "the standard library has no asynchronous reads")]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use peers::random::Random;

const PAGE: usize = 4096;
/// The most reads at once.
const MOST: usize = 64;

/// The kernel's `struct iocb` on a little-endian machine.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Request {
    data: u64,
    key: u32,
    rw_flags: u32,
    /// 0 is `IOCB_CMD_PREAD`.
    opcode: u16,
    priority: i16,
    file: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    result_file: u32,
}

/// The kernel's `struct io_event`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Done {
    data: u64,
    request: u64,
    result: i64,
    result2: i64,
}

/// A file and the reads from it that are under way.
pub struct Device {
    file: File,
    pages: usize,
    random: Random,
    context: libc::c_ulong,
    requests: Box<[Request; MOST]>,
    /// One page more than there are reads, because the pages that are used begin at a multiple of
    /// their length.
    buffer: Vec<u8>,
}

impl Device {
    pub fn open(path: &Path) -> Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.read(true).custom_flags(libc::O_DIRECT).open(path);
        let file = file.with_context(|| format!("cannot read {} directly", path.display()))?;
        let pages = file.metadata()?.len() as usize / PAGE;
        ensure!(pages > 0, "{} is shorter than a page", path.display());
        let mut context: libc::c_ulong = 0;
        // SAFETY: the kernel writes the number of a new context into the variable.
        check(unsafe { libc::syscall(libc::SYS_io_setup, MOST, &raw mut context) })?;
        let (random, requests) = (Random(pages as u64), Box::new([Request::default(); MOST]));
        let buffer = vec![0; (MOST + 1) * PAGE];
        Ok(Self { file, pages, random, context, requests, buffer })
    }

    /// Begins a read of a random page into each of these places of the buffer.
    fn submit(&mut self, places: impl Iterator<Item = usize>) -> Result<()> {
        let start = self.buffer.as_mut_ptr().addr().next_multiple_of(PAGE);
        let mut begun = [std::ptr::null_mut(); MOST];
        let mut count = 0;
        for place in places {
            self.requests[place] = Request {
                data: place as u64,
                file: self.file.as_raw_fd() as u32,
                buffer: (start + place * PAGE) as u64,
                bytes: PAGE as u64,
                offset: (self.random.below(self.pages) * PAGE) as i64,
                ..Request::default()
            };
            begun[count] = &raw mut self.requests[place];
            count += 1;
        }
        // SAFETY: the requests are in `self`, and their buffers are parts of `self.buffer` that
        // nobody else uses. Both stay where they are until `drop` has waited for all reads.
        let calls =
            unsafe { libc::syscall(libc::SYS_io_submit, self.context, count, begun.as_mut_ptr()) };
        ensure!(check(calls)? == count, "the system did not begin all reads");
        Ok(())
    }

    /// Waits until at least this many reads have ended, and returns the places of all that have.
    fn wait(&self, least: usize) -> Result<Vec<usize>> {
        let mut done = [Done::default(); MOST];
        // SAFETY: the kernel writes at most as many events as the array has.
        let count = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.context,
                least,
                MOST,
                done.as_mut_ptr(),
                std::ptr::null::<libc::timespec>(),
            )
        };
        let done = &done[..check(count)?];
        ensure!(done.iter().all(|done| done.result == PAGE as i64), "a read failed");
        Ok(done.iter().map(|done| done.data as usize).collect())
    }

    /// Returns how many pages can be read in a second if this many reads are always under way.
    pub fn reads_per_second(&mut self, at_once: usize, time: Duration) -> Result<f64> {
        let (start, mut reads) = (Instant::now(), 0);
        self.submit(0..at_once)?;
        while start.elapsed() < time {
            let ended = self.wait(1)?;
            reads += ended.len();
            self.submit(ended.into_iter())?;
        }
        let mut left = at_once;
        while left > 0 {
            let ended = self.wait(1)?.len();
            reads += ended;
            left -= ended;
        }
        Ok(reads as f64 / start.elapsed().as_secs_f64())
    }

    /// Returns the median time, in microseconds, to read this many pages at once.
    pub fn together(&mut self, at_once: usize, time: Duration) -> Result<f64> {
        let (begin, mut times) = (Instant::now(), Vec::new());
        while begin.elapsed() < time || times.is_empty() {
            let start = Instant::now();
            self.submit(0..at_once)?;
            self.wait(at_once)?;
            times.push(start.elapsed());
        }
        times.sort_unstable();
        Ok(times[times.len() / 2].as_secs_f64() * 1e6)
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: waits for all reads of the context, which is not used afterwards.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.context) };
    }
}

/// Returns the result of a system call, or its error.
fn check(result: libc::c_long) -> Result<usize> {
    let result = usize::try_from(result).map_err(|_| io::Error::last_os_error());
    result.context("asynchronous reads failed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_reads_end_and_a_short_file_is_an_error() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, vec![7; 16 * PAGE + 1]).unwrap();
        let mut device = Device::open(&path).unwrap();
        assert!(device.reads_per_second(MOST, Duration::from_millis(5)).unwrap() > 0.0);
        assert!(device.together(3, Duration::from_millis(5)).unwrap() > 0.0);
        let start = device.buffer.as_mut_ptr().addr().next_multiple_of(PAGE);
        let first = start - device.buffer.as_ptr().addr();
        assert!(device.buffer[first..first + 3 * PAGE].iter().all(|&byte| byte == 7));
        std::fs::write(&path, "short").unwrap();
        assert!(Device::open(&path).is_err());
    }
}
