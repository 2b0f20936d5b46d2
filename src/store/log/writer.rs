//! Writes one log.

use std::sync::Arc;

use crate::base::error::{Error, Result};
use crate::file::codec::header::{FileHeader, FileKind};
use crate::file::storage::WriteFile;
use crate::fingerprint::Fingerprint;
use crate::store::log::frame::{self, Head, Seal};
use crate::store::log::{MAX_COMMIT_LEN, MAX_NAME_LEN, Op, Start};

/// Bytes of operations after which a frame ends and the commit continues in another one. Far below
/// what readers accept.
const PAYLOAD_LIMIT: usize = 1 << 20;

/// The only writer of a log. Frames are first appended in memory, and then written many at a time.
#[derive(Debug)]
pub(crate) struct LogWriter {
    file: Arc<dyn WriteFile>,
    seal: Seal,
    bits: u32,
    len: u64,
    last_seq: u64,
    durable: u64,
    payload_limit: usize,
    commit_limit: u64,
    /// The frames that are not yet written.
    unwritten: Vec<u8>,
}

/// Frames that were appended but are not yet written to the file. After an error it is unknown how
/// much of them was written, and the log must not be used any more.
#[derive(Debug)]
pub(crate) struct Unwritten {
    file: Arc<dyn WriteFile>,
    bytes: Vec<u8>,
    /// Offset of their end in the log.
    pub end: u64,
}

impl Unwritten {
    /// Writes the frames, and makes the log durable up to their end.
    pub(crate) fn write_and_sync(&self) -> Result<()> {
        if !self.bytes.is_empty() {
            self.file.append(&self.bytes)?;
        }
        self.file.sync()
    }

    /// Returns an error if the log's file was removed or replaced.
    pub(crate) fn check_name(&self) -> Result<()> {
        self.file.check_name()
    }
}

/// Stands for the file of a log that has not begun.
#[derive(Debug)]
struct NoFile;

impl NoFile {
    fn error() -> Error {
        Error::invalid("the log has not begun")
    }
}

impl WriteFile for NoFile {
    fn append(&self, _: &[u8]) -> Result<()> {
        Err(Self::error())
    }

    fn sync(&self) -> Result<()> {
        Err(Self::error())
    }

    fn check_name(&self) -> Result<()> {
        Err(Self::error())
    }
}

impl LogWriter {
    /// Stands for a log until it [begins](Self::begin). Nothing can be written to it.
    pub(crate) fn not_begun(header: &FileHeader) -> Self {
        Self {
            file: Arc::new(NoFile),
            seal: Seal::new(header),
            bits: header.bits,
            len: 0,
            // No commit follows it.
            last_seq: u64::MAX,
            durable: 0,
            payload_limit: PAYLOAD_LIMIT,
            commit_limit: MAX_COMMIT_LEN,
            unwritten: Vec::new(),
        }
    }

    /// Begins a log in an empty file, and syncs it.
    pub(crate) fn begin(
        file: Arc<dyn WriteFile>,
        header: FileHeader,
        start: Start,
    ) -> Result<Self> {
        debug_assert_eq!(header.kind, FileKind::Log);
        let seal = Seal::new(&header);
        let mut bytes = header.encode();
        seal.write_start(start, &mut bytes);
        file.append(&bytes)?;
        file.sync()?;
        let len = bytes.len() as u64;
        Ok(Self {
            file,
            seal,
            bits: header.bits,
            len,
            last_seq: start.last_seq,
            durable: len,
            payload_limit: PAYLOAD_LIMIT,
            commit_limit: MAX_COMMIT_LEN,
            unwritten: Vec::new(),
        })
    }

    /// Sets another payload limit, so that small commits are split.
    #[cfg(test)]
    pub(super) fn with_payload_limit(mut self, limit: usize) -> Self {
        self.payload_limit = limit;
        self
    }

    /// Sets another limit for the bytes of a commit's operations.
    #[cfg(test)]
    pub(super) fn with_commit_limit(mut self, limit: u64) -> Self {
        self.commit_limit = limit;
        self
    }

    /// Appends commit `seq`, which must follow the last commit, and returns the new length of the
    /// log. Once the log is written and synced up to this length, the commit is durable.
    pub(crate) fn append<F: Fingerprint>(&mut self, seq: u64, ops: &[Op<F>]) -> Result<u64> {
        debug_assert_eq!(F::BITS, self.bits);
        if Some(seq) != self.last_seq.checked_add(1) {
            return Err(Error::invalid(format!("commit {seq} cannot follow {}", self.last_seq)));
        }
        if ops.iter().any(|op| op.name_len().is_some_and(|len| len > MAX_NAME_LEN)) {
            return Err(Error::invalid(format!("a name has more than {MAX_NAME_LEN} bytes")));
        }
        let len: u64 = ops.iter().map(|op| op.encoded_len() as u64).sum();
        if len > self.commit_limit {
            let limit = self.commit_limit;
            let message = format!(
                "the batch takes {len} bytes in the log, but at most {limit} are allowed: split it"
            );
            return Err(Error::invalid(message));
        }
        // The same value for all frames: a frame never vouches for bytes of its own commit.
        let durable = self.durable();
        let mut rest = ops;
        loop {
            let (now, later) = rest.split_at(fitting(rest, self.payload_limit));
            self.append_part(seq, durable, now, !later.is_empty());
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        self.last_seq = seq;
        Ok(self.len)
    }

    /// Appends a frame that only states how far the log is durable.
    pub(crate) fn append_watermark(&mut self) {
        let (seq, durable) = (self.last_seq, self.durable());
        let kind = frame::WATERMARK;
        self.append_frame(Head { len: 0, kind, flags: 0, count: 0, seq, durable }, |_| {});
    }

    /// Writes what was appended. After an error it is unknown how much was written, and the log
    /// must not be used any more.
    pub(crate) fn write(&mut self) -> Result<()> {
        self.file.append(&self.unwritten)?;
        self.unwritten.clear();
        Ok(())
    }

    /// Takes the appended frames. The caller must write them before anything else is written.
    pub(crate) fn take(&mut self) -> Unwritten {
        let (file, bytes) = (Arc::clone(&self.file), std::mem::take(&mut self.unwritten));
        Unwritten { file, bytes, end: self.len }
    }

    /// Returns the number of bytes appended, which is the offset of the next frame.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Returns the offset up to which the log is known to be synced.
    pub(crate) fn durable(&self) -> u64 {
        self.durable
    }

    /// Records that the log was synced up to `end`. Frames appended from now on vouch for these
    /// bytes.
    pub(crate) fn set_durable(&mut self, end: u64) {
        debug_assert!(end <= self.len);
        self.durable = self.durable.max(end);
    }

    fn append_part<F: Fingerprint>(&mut self, seq: u64, durable: u64, ops: &[Op<F>], more: bool) {
        let flags = if more { frame::MORE } else { 0 };
        let count = u16::try_from(ops.len()).unwrap_or(u16::MAX);
        self.append_frame(
            Head { len: 0, kind: frame::COMMIT, flags, count, seq, durable },
            |out| {
                ops.iter().for_each(|op| op.encode(out));
            },
        );
    }

    fn append_frame(&mut self, head: Head, payload: impl FnOnce(&mut Vec<u8>)) {
        let begin = self.unwritten.len();
        self.seal.write(head, self.len, payload, &mut self.unwritten);
        self.len += (self.unwritten.len() - begin) as u64;
    }
}

/// Returns how many of `ops` go into one frame: at least one, if there is one.
fn fitting<F: Fingerprint>(ops: &[Op<F>], payload_limit: usize) -> usize {
    let mut len = 0;
    let fits = |op: &&Op<F>| {
        len += op.encoded_len();
        len <= payload_limit
    };
    ops.iter().take(usize::from(u16::MAX)).take_while(fits).count().max(1).min(ops.len())
}
