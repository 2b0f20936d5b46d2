//! Writes one log.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::codec::header::{FileHeader, FileKind};
use crate::error::{Error, ErrorKind, Result};
use crate::fingerprint::Fingerprint;
use crate::log::frame::{self, Head, Seal};
use crate::log::{MAX_NAME_LEN, Op, Start};
use crate::storage::{Storage, WriteFile};

/// Bytes of operations after which a frame is closed and the commit goes on in another. Far below
/// what readers accept: it bounds the memory held for writing.
const PAYLOAD_LIMIT: usize = 1 << 20;

/// The one writer of one log.
#[derive(Debug)]
pub(crate) struct LogWriter {
    file: Arc<dyn WriteFile>,
    seal: Seal,
    bits: u32,
    len: u64,
    last_seq: u64,
    durable: AtomicU64,
    payload_limit: usize,
    buffer: Vec<u8>,
    failure: Option<Error>,
}

impl LogWriter {
    /// Creates the log file `name` and syncs it; its name is durable after the caller's
    /// [`sync_dir`](Storage::sync_dir).
    pub(crate) fn create(
        storage: &dyn Storage,
        name: &str,
        header: FileHeader,
        start: Start,
    ) -> Result<Self> {
        Self::begin(storage.create(name)?, header, start)
    }

    /// Begins the log in an empty file.
    pub(super) fn begin(
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
            durable: AtomicU64::new(len),
            payload_limit: PAYLOAD_LIMIT,
            buffer: Vec::new(),
            failure: None,
        })
    }

    /// The same with another payload limit, so that small commits are split.
    #[cfg(test)]
    pub(super) fn with_payload_limit(mut self, limit: usize) -> Self {
        self.payload_limit = limit;
        self
    }

    /// Appends commit `seq`, which must be the last one's successor, and returns the log's new
    /// length: once the file is synced that far the commit is durable.
    ///
    /// After an error of the storage the writer refuses everything.
    pub(crate) fn append<F: Fingerprint>(&mut self, seq: u64, ops: &[Op<F>]) -> Result<u64> {
        debug_assert_eq!(F::BITS, self.bits);
        if Some(seq) != self.last_seq.checked_add(1) {
            return Err(Error::invalid(format!("commit {seq} cannot follow {}", self.last_seq)));
        }
        if ops.iter().any(|op| op.name().is_some_and(|name| name.len() > MAX_NAME_LEN)) {
            return Err(Error::invalid(format!("a name has more than {MAX_NAME_LEN} bytes")));
        }
        // One value for all frames: a frame vouches for nothing of its own commit.
        let durable = self.durable();
        let mut rest = ops;
        loop {
            let (now, later) = rest.split_at(fitting(rest, self.payload_limit));
            self.append_part(seq, durable, now, !later.is_empty())?;
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        self.last_seq = seq;
        Ok(self.len)
    }

    /// Appends a frame that only tells how far the log is durable, and returns the new length.
    pub(crate) fn append_watermark(&mut self) -> Result<u64> {
        let (seq, durable) = (self.last_seq, self.durable());
        let kind = frame::WATERMARK;
        self.append_frame(Head { len: 0, kind, flags: 0, count: 0, seq, durable }, |_| {})?;
        Ok(self.len)
    }

    /// Bytes appended, the offset of the next frame.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The log is synced at least up to this offset.
    pub(crate) fn durable(&self) -> u64 {
        self.durable.load(Ordering::Acquire)
    }

    /// Records that a sync which began when the log had `len` bytes has succeeded. Frames written
    /// from now on vouch for these bytes.
    pub(crate) fn set_durable(&self, len: u64) {
        debug_assert!(len <= self.len);
        self.durable.fetch_max(len, Ordering::AcqRel);
    }

    /// The file, so that the leader of a group of commits can sync it while others append.
    pub(crate) fn sync_handle(&self) -> Arc<dyn WriteFile> {
        Arc::clone(&self.file)
    }

    fn append_part<F: Fingerprint>(
        &mut self,
        seq: u64,
        durable: u64,
        ops: &[Op<F>],
        more: bool,
    ) -> Result<()> {
        let flags = if more { frame::MORE } else { 0 };
        let count = u16::try_from(ops.len()).unwrap_or(u16::MAX);
        self.append_frame(Head { len: 0, kind: frame::COMMIT, flags, count, seq, durable }, |out| {
            ops.iter().for_each(|op| op.encode(out));
        })
    }

    fn append_frame(&mut self, head: Head, payload: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        if let Some(failure) = &self.failure {
            return Err(failure.repeat_as(ErrorKind::Poisoned, "an earlier write failed: "));
        }
        self.buffer.clear();
        self.seal.write(head, self.len, payload, &mut self.buffer);
        self.file.append(&self.buffer).inspect_err(|error| {
            self.failure = Some(error.repeat_as(error.kind(), ""));
        })?;
        self.len += self.buffer.len() as u64;
        Ok(())
    }
}

/// How many of `ops` go into one frame: at least one, if there is one.
fn fitting<F: Fingerprint>(ops: &[Op<F>], payload_limit: usize) -> usize {
    let mut len = 0;
    let fits = |op: &&Op<F>| {
        len += op.encoded_len();
        len <= payload_limit
    };
    ops.iter().take(usize::from(u16::MAX)).take_while(fits).count().max(1).min(ops.len())
}
