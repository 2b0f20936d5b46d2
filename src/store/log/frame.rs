//! Frames: a head, a payload, and a checksum that also covers the file's identity and the offset.
//!
//! ```text
//! len u32 | kind u8 | flags u8 | count u16 | seq u64 | durable u64 | payload | crc32
//! ```

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use byteorder::{ByteOrder, LE};

use crate::base::error::{Error, Result};
use crate::file::codec::bytes::{Fields, PutFields};
use crate::file::codec::header::{FileHeader, HEADER_LEN};
use crate::store::log::Start;

/// Bytes before the payload.
pub(super) const HEAD_LEN: usize = 24;
const CRC_LEN: usize = 4;
/// Bytes of a frame without payload.
pub(super) const MIN_FRAME_LEN: usize = HEAD_LEN + CRC_LEN;
/// Bytes of the longest frame that a reader accepts.
pub(super) const MAX_FRAME_LEN: usize = 16 << 20;

/// Bytes of the `Start` frame. Its payload is the previous log and its end.
const START_LEN: usize = MIN_FRAME_LEN + 16;
/// Offset of the first frame after `Start`.
pub(crate) const FIRST_FRAME: usize = HEADER_LEN + START_LEN;

/// Kind of the first frame. The payload is the previous log's number and end; `seq` is its last
/// commit.
pub(super) const START: u8 = 1;
/// Kind of a frame with `count` operations of commit `seq`.
pub(super) const COMMIT: u8 = 2;
/// Kind of a frame that only has `durable`, after commit `seq`.
pub(super) const WATERMARK: u8 = 3;

/// Flag of all frames of a commit but the last: the next frame continues the same commit.
pub(super) const MORE: u8 = 1;

/// The fields before the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    /// Bytes of the entire frame.
    pub len: u32,
    pub kind: u8,
    pub flags: u8,
    /// Operations in the payload.
    pub count: u16,
    pub seq: u64,
    /// The log is known to be synced up to this offset, which is never beyond the frame itself.
    pub durable: u64,
}

impl Head {
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.put_u32(self.len);
        out.put_u8(self.kind);
        out.put_u8(self.flags);
        out.put_u16(self.count);
        out.put_u64(self.seq);
        out.put_u64(self.durable);
    }

    /// Reads the fields, which are not verified yet.
    #[inline]
    pub(super) fn decode(bytes: &[u8; HEAD_LEN]) -> Self {
        Self {
            len: LE::read_u32(&bytes[0..4]),
            kind: bytes[4],
            flags: bytes[5],
            count: LE::read_u16(&bytes[6..8]),
            seq: LE::read_u64(&bytes[8..16]),
            durable: LE::read_u64(&bytes[16..24]),
        }
    }

    /// Returns the frame's length, if a frame can have this length with `remaining` bytes left in
    /// the file.
    #[inline]
    pub(super) fn bounded_len(&self, remaining: usize) -> Option<usize> {
        let len = usize::try_from(self.len).ok()?;
        (MIN_FRAME_LEN..=MAX_FRAME_LEN.min(remaining)).contains(&len).then_some(len)
    }
}

/// A frame whose checksum is correct.
#[derive(Debug)]
pub(super) struct Frame<'a> {
    pub head: Head,
    pub payload: &'a [u8],
    /// Offset of the frame in the file.
    pub at: u64,
}

impl<'a> Frame<'a> {
    pub(super) fn len(&self) -> usize {
        MIN_FRAME_LEN + self.payload.len()
    }

    pub(super) fn end(&self) -> u64 {
        self.at + u64::from(self.head.len)
    }

    pub(super) fn fields(&self) -> Fields<'a> {
        Fields::new(self.payload, self.at + HEAD_LEN as u64)
    }

    /// Makes an error at the frame, for a complete frame with impossible content.
    pub(super) fn corruption(&self, message: impl Into<String>) -> Error {
        Error::corruption(message).at_offset(self.at)
    }
}

/// Computes and checks the checksums of one log's frames.
#[derive(Debug)]
pub(super) struct Seal {
    identity: crc32fast::Hasher,
}

impl Seal {
    pub(super) fn new(header: &FileHeader) -> Self {
        let mut identity = crc32fast::Hasher::new();
        identity.update(&header.identity());
        Self { identity }
    }

    /// Starts the checksum of a frame at offset `at`, before its own bytes.
    pub(super) fn begin(&self, at: u64) -> crc32fast::Hasher {
        let mut hasher = self.identity.clone();
        hasher.update(&at.to_le_bytes());
        hasher
    }

    /// Appends a frame to `out`. It will be at offset `at` of its file. `head.len` is filled in.
    pub(super) fn write(
        &self,
        head: Head,
        at: u64,
        payload: impl FnOnce(&mut Vec<u8>),
        out: &mut Vec<u8>,
    ) {
        let begin = out.len();
        head.encode(out);
        payload(out);
        let len = u32::try_from(out.len() - begin + CRC_LEN).unwrap_or(u32::MAX);
        let frame = out.get_mut(begin..).unwrap_or_default();
        if let Some(field) = frame.first_chunk_mut() {
            *field = len.to_le_bytes();
        }
        let mut hasher = self.begin(at);
        hasher.update(frame);
        out.put_u32(hasher.finalize());
    }

    /// Appends the first frame to `out`, which holds the file header.
    pub(super) fn write_start(&self, start: Start, out: &mut Vec<u8>) {
        let seq = start.last_seq;
        let head = Head { len: 0, kind: START, flags: 0, count: 0, seq, durable: 0 };
        let payload = |out: &mut Vec<u8>| {
            out.put_u64(start.previous_log);
            out.put_u64(start.previous_end);
        };
        self.write(head, HEADER_LEN as u64, payload, out);
    }

    /// Reads the first frame. It was synced before anything named the log, so it must be there.
    pub(super) fn open_start(&self, bytes: &[u8]) -> Result<Start> {
        let damaged = || Error::corruption("the log's first frame is damaged");
        let frame =
            self.open(bytes, HEADER_LEN).ok_or_else(|| damaged().at_offset(HEADER_LEN as u64))?;
        let head = frame.head;
        if (head.kind, head.flags, head.count, head.durable) != (START, 0, 0, 0) {
            return Err(frame.corruption("the log's first frame has the wrong kind"));
        }
        let mut fields = frame.fields();
        let previous_log = fields.u64("previous log")?;
        let previous_end = fields.u64("previous log's end")?;
        fields.finish("first frame")?;
        Ok(Start { previous_log, previous_end, last_seq: head.seq })
    }

    /// Returns the frame at offset `at` of the log `bytes`, if there is a complete one.
    pub(super) fn open<'a>(&self, bytes: &'a [u8], at: usize) -> Option<Frame<'a>> {
        let rest = bytes.get(at..)?;
        let head = Head::decode(rest.first_chunk()?);
        let (covered, crc) = rest.get(..head.bounded_len(rest.len())?)?.split_last_chunk()?;
        let mut hasher = self.begin(at as u64);
        hasher.update(covered);
        let payload = covered.get(HEAD_LEN..)?;
        (hasher.finalize() == u32::from_le_bytes(*crc)).then_some(Frame {
            head,
            payload,
            at: at as u64,
        })
    }
}
