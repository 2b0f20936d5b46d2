//! Opens a file, or standard input, and decompresses it.

#[cfg(not(feature = "zstd"))]
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result};
use flate2::bufread::MultiGzDecoder;
use indicatif::ProgressBar;

use super::{is_stdin, label, open_file};

/// The first bytes of a gzip member, and of a Zstandard frame. No text starts with them.
pub(super) const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
pub(super) const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The largest ratio of a compressed list's content to its size, where no option sets it. A list
/// that exceeds it is a mistake, because lists are read into memory.
pub(crate) const MAX_RATIO: u64 = 1000;

/// Bytes of the content that [`Input::head`] returns.
const HEAD: usize = 1024;

/// Uncompressed bytes up to which the ratio is not limited, because they take only a moment.
pub(super) const RATIO_FREE: u64 = 64 << 20;

/// How to recognize a compressed file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    /// By its first bytes. For text, also from standard input.
    ByContent,
    /// By its name's ending, `.gz` or `.zst`. For binary data, which may start with any bytes.
    ByName,
}

/// The uncompressed content of a file.
pub(crate) struct Input {
    head: Cursor<Vec<u8>>,
    rest: Box<dyn BufRead + Send>,
}

impl Input {
    /// Opens a file, or standard input for `-`. The bar counts the bytes read from it. Reading
    /// fails once there are more than `max_ratio` bytes per compressed byte.
    pub(crate) fn open(
        path: &Path,
        compression: Compression,
        max_ratio: u64,
        bar: &ProgressBar,
    ) -> Result<Self> {
        let file: Box<dyn Read + Send> =
            if is_stdin(path) { Box::new(io::stdin()) } else { Box::new(open_file(path)?) };
        Self::of(bar.wrap_read(file), path, compression, max_ratio)
            .map_err(read_error)
            .with_context(|| format!("cannot read {}", label(path)))
    }

    fn of(
        file: impl Read + Send + 'static,
        path: &Path,
        compression: Compression,
        max_ratio: u64,
    ) -> io::Result<Self> {
        let taken = Arc::new(AtomicU64::new(0));
        let mut file = Counted { file, taken: Arc::clone(&taken) };
        let magic = take(&mut file, ZSTD_MAGIC.len())?;
        let ends_in = |ending| path.extension().is_some_and(|extension| extension == ending);
        let (gzip, zstd) = match compression {
            Compression::ByName => (ends_in("gz"), ends_in("zst")),
            Compression::ByContent => {
                (magic.starts_with(&GZIP_MAGIC), magic.starts_with(&ZSTD_MAGIC))
            }
        };
        let file = BufReader::with_capacity(1 << 16, Cursor::new(magic).chain(file));
        let mut rest: Box<dyn BufRead + Send> = if gzip {
            // Reads all members, because crawlers write files of several.
            let plain = MultiGzDecoder::new(file);
            Box::new(BufReader::with_capacity(
                1 << 16,
                Bounded { plain, given: 0, taken, max_ratio },
            ))
        } else if zstd {
            let plain = unzstd(file)?;
            Box::new(BufReader::with_capacity(
                1 << 16,
                Bounded { plain, given: 0, taken, max_ratio },
            ))
        } else {
            Box::new(file)
        };
        let head = take(&mut rest, HEAD)?;
        Ok(Self { head: Cursor::new(head), rest })
    }

    /// Returns the first bytes, up to one KiB. For use before any is read.
    pub(crate) fn head(&self) -> &[u8] {
        self.head.get_ref()
    }

    /// Skips the first bytes, which are a byte order mark.
    pub(crate) fn skip(&mut self, bytes: u64) {
        self.head.set_position(bytes);
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.head.read(buffer)?;
        if read > 0 || buffer.is_empty() { Ok(read) } else { self.rest.read(buffer) }
    }
}

impl BufRead for Input {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let in_head = self.head.position() < self.head.get_ref().len() as u64;
        if in_head { self.head.fill_buf() } else { self.rest.fill_buf() }
    }

    fn consume(&mut self, bytes: usize) {
        let in_head = self.head.position() < self.head.get_ref().len() as u64;
        if in_head { self.head.consume(bytes) } else { self.rest.consume(bytes) }
    }
}

/// The next `count` bytes, or fewer if there are no more.
fn take(reader: &mut impl Read, count: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(count);
    reader.take(count as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(feature = "zstd")]
fn unzstd(file: impl BufRead + Send + 'static) -> io::Result<impl Read + Send + 'static> {
    // Reads all frames. By zstd's own limit, a frame cannot need more than 128 MiB of memory.
    zstd::stream::read::Decoder::with_buffer(file)
}

#[cfg(not(feature = "zstd"))]
fn unzstd(_: impl BufRead + Send + 'static) -> io::Result<File> {
    Err(io::Error::other(
        "it is compressed with zstd, and this build lacks the cargo feature \"zstd\"",
    ))
}

/// Adds to an error of reading that compressed data ended too early, if it did.
pub(crate) fn read_error(error: io::Error) -> anyhow::Error {
    let early = error.kind() == io::ErrorKind::UnexpectedEof;
    let early = early || error.to_string() == "incomplete frame";
    let error = anyhow::Error::new(error);
    if early { error.context("the compressed data is truncated") } else { error }
}

/// Counts the bytes that are read from a file.
struct Counted<R> {
    file: R,
    taken: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.taken.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Limits the ratio of uncompressed to compressed bytes.
struct Bounded<R> {
    plain: R,
    given: u64,
    taken: Arc<AtomicU64>,
    max_ratio: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.plain.read(buffer)?;
        self.given += read as u64;
        let fair = self.taken.load(Ordering::Relaxed).saturating_mul(self.max_ratio);
        if self.given > fair.max(RATIO_FREE) {
            return Err(io::Error::other(format!(
                "it grows to more than {} times its size (--max-ratio), {} bytes so far",
                self.max_ratio, self.given
            )));
        }
        Ok(read)
    }
}
