//! Opens a file, or standard input, and decompresses it.

use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result};
use flate2::bufread::GzDecoder;
use indicatif::ProgressBar;

use super::{is_stdin, label, open_file};

/// The first bytes of a Zstandard frame.
pub(super) const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Bytes that show how a file is compressed.
pub(super) const MAGIC: usize = 10;

/// Returns whether the bytes begin like a gzip member. No text begins so.
pub(super) fn is_gzip(head: &[u8]) -> bool {
    head.starts_with(&[0x1f, 0x8b])
}

/// Returns whether the bytes begin like a Zstandard frame, or like one without content, which some
/// programs write first. No text begins so.
pub(super) fn is_zstd(head: &[u8]) -> bool {
    head.starts_with(&ZSTD_MAGIC) || matches!(head, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// Returns whether a file with these first bytes is a zip file.
pub(super) fn is_zip(head: &[u8]) -> bool {
    head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06")
}

/// Refuses a file that is compressed in a way that is not read.
pub(super) fn check_compression(head: &[u8], path: &Path) -> io::Result<()> {
    let (name, command) = match head {
        [b'B', b'Z', b'h', b'1'..=b'9', b'1', b'A', b'Y', b'&', b'S', b'Y', ..] => {
            ("bzip2", "bzip2 -dk")
        }
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => ("xz", "xz -dk"),
        [0x04, 0x22, 0x4d, 0x18, ..] => ("lz4", "lz4 -dk"),
        _ => return Ok(()),
    };
    let file = if is_stdin(path) { "FILE".to_owned() } else { path.display().to_string() };
    Err(io::Error::other(format!(
        "it is compressed with {name}: unpack it first with `{command} {file}`"
    )))
}

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
    rest: Buffered,
}

/// A file that is read in buffers. Decompressors and all that reads a file are compiled once, and
/// not for each way to get its bytes.
type Buffered = Box<dyn BufRead + Send>;

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
        Self::of(Box::new(bar.wrap_read(file)), path, compression, max_ratio)
            .map_err(read_error)
            .with_context(|| format!("cannot read {}", label(path)))
    }

    fn of(
        file: Box<dyn Read + Send>,
        path: &Path,
        compression: Compression,
        max_ratio: u64,
    ) -> io::Result<Self> {
        let taken = Arc::new(AtomicU64::new(0));
        let mut file = Counted { file, taken: Arc::clone(&taken) };
        let magic = take(&mut file, MAGIC)?;
        let ends_in = |ending| path.extension().is_some_and(|extension| extension == ending);
        let (gzip, zstd) = match compression {
            Compression::ByName => (ends_in("gz"), ends_in("zst")),
            Compression::ByContent => {
                check_compression(&magic, path)?;
                (is_gzip(&magic), is_zstd(&magic))
            }
        };
        let file = BufReader::with_capacity(1 << 16, Cursor::new(magic).chain(file));
        let bounded = |plain| {
            let bounded = Bounded { plain, given: 0, taken, max_ratio };
            Box::new(BufReader::with_capacity(1 << 16, bounded))
        };
        let mut rest: Buffered = if gzip {
            bounded(Box::new(Members { member: Some(GzDecoder::new(Box::new(file))) }))
        } else if zstd {
            bounded(unzstd(Box::new(file))?)
        } else {
            Box::new(file)
        };
        let mut head = Vec::with_capacity(HEAD);
        if let Err(error) = rest.by_ref().take(HEAD as u64).read_to_end(&mut head) {
            if head.is_empty() {
                return Err(error);
            }
            // What was read comes first.
            rest = Box::new(BufReader::new(Failed(Some(error))));
        }
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

/// The rest of a file that could not be read on.
struct Failed(Option<io::Error>);

impl Read for Failed {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// The next `count` bytes, or fewer if there are no more.
fn take(reader: &mut dyn Read, count: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(count);
    reader.take(count as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(feature = "zstd")]
fn unzstd(file: Buffered) -> io::Result<Box<dyn Read + Send>> {
    // Reads all frames. By zstd's own limit, a frame cannot need more than 128 MiB of memory.
    Ok(Box::new(zstd::stream::read::Decoder::with_buffer(file)?))
}

#[cfg(not(feature = "zstd"))]
fn unzstd(_: Buffered) -> io::Result<Box<dyn Read + Send>> {
    Err(io::Error::other(
        "it is compressed with zstd, and this build lacks the cargo feature \"zstd\"",
    ))
}

/// Adds to an error of reading that compressed data ended too early, or what it needs, if that is
/// why.
pub(crate) fn read_error(error: io::Error) -> anyhow::Error {
    let text = error.to_string();
    let early = error.kind() == io::ErrorKind::UnexpectedEof || text == "incomplete frame";
    let error = anyhow::Error::new(error);
    if early {
        error.context("the compressed data is truncated")
    } else if text == "Frame requires too much memory for decoding" {
        // zstd's own limit, which its command has as well.
        error.context(
            "it needs more than 128 MiB of memory: unpack it first with `zstd -d --long=31`",
        )
    } else {
        error
    }
}

/// Reads the members of a gzip file. Crawlers write files of several. Zero bytes may follow them,
/// as on tapes.
struct Members {
    /// `None` after the last one.
    member: Option<GzDecoder<Buffered>>,
}

impl Read for Members {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let read = member.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            let follows = next_member(member.get_mut())?;
            let file = self.member.take().filter(|_| follows).map(GzDecoder::into_inner);
            self.member = file.map(GzDecoder::new);
        }
        Ok(0)
    }
}

/// Skips zero bytes. Returns whether another member follows. Fails if something else does.
fn next_member(file: &mut Buffered) -> io::Result<bool> {
    loop {
        let bytes = file.fill_buf()?;
        let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
        match bytes.get(zeros) {
            Some(0x1f) if zeros == 0 => return Ok(true),
            Some(_) => return Err(io::Error::other("bytes that are not gzip follow its content")),
            None if bytes.is_empty() => return Ok(false),
            None => file.consume(zeros),
        }
    }
}

/// Counts the bytes that are read from a file.
struct Counted {
    file: Box<dyn Read + Send>,
    taken: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.taken.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Limits the ratio of uncompressed to compressed bytes.
struct Bounded {
    plain: Box<dyn Read + Send>,
    given: u64,
    taken: Arc<AtomicU64>,
    max_ratio: u64,
}

impl Read for Bounded {
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
