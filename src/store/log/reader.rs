//! Reads one log: all of its complete commits, and how far it is valid.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use crate::base::error::{Error, Result};
use crate::file::codec::header::FileHeader;
use crate::fingerprint::Fingerprint;
use crate::store::log::frame::{self, FIRST_FRAME, Frame, Seal};
use crate::store::log::op::MIN_LEN;
use crate::store::log::proof::find_proof;
use crate::store::log::{Op, Start};

/// What a log is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadMode {
    /// To recover, as the next writer after a crash. Every complete commit counts. Commits that are
    /// not known to be durable must be written again before any reader sees them.
    Recover,
    /// To read while another process writes. Only commits before the durable offset count, because
    /// a crash must not undo what a reader has seen.
    Follow,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogContents<F> {
    /// `None` if the file is so short that it was never synced. Then it never held a commit, unless
    /// the caller knows otherwise.
    pub start: Option<Start>,
    /// Complete commits with their numbers, which are consecutive.
    pub commits: Vec<(u64, Vec<Op<F>>)>,
    /// Where the last complete commit or watermark ends; 0 without `start`.
    pub valid_end: u64,
    /// The log is known to be synced up to this offset, which is at most `valid_end`.
    pub durable: u64,
    /// Whether `valid_end` is followed by bytes that are not known to be meaningless.
    pub torn: bool,
}

/// Reads a log from the bytes of its entire file.
///
/// `known_end` is the end that the next log's first frame or the manifest has recorded, if there is
/// one. Then the log must be valid exactly up to there, all of it counts as durable, and what
/// follows is ignored.
///
/// The time is linear in the length of the file, whatever it contains.
///
/// # Errors
///
/// [`Corruption`](crate::ErrorKind::Corruption) at the first damaged frame, if it was synced or is
/// before `known_end`. A torn tail is not an error. [`Unsupported`](crate::ErrorKind::Unsupported)
/// for another format version.
pub(crate) fn read_log<F: Fingerprint>(
    bytes: &[u8],
    path: &Path,
    header: &FileHeader,
    known_end: Option<u64>,
    mode: ReadMode,
) -> Result<LogContents<F>> {
    debug_assert_eq!(F::BITS, header.bits);
    read_frames(bytes, header, known_end)
        .map(|replay| replay.finish(bytes, known_end, mode))
        .map_err(|error| error.at_path(path))
}

fn read_frames<F: Fingerprint>(
    bytes: &[u8],
    header: &FileHeader,
    known_end: Option<u64>,
) -> Result<Replay<F>> {
    let known_len = known_end.and_then(|end| usize::try_from(end).ok());
    let bytes = known_len.and_then(|len| bytes.get(..len)).unwrap_or(bytes);
    let mut replay = Replay::default();
    let mut at = 0;
    if bytes.len() >= FIRST_FRAME {
        let seal = Seal::new(header);
        header.expect(bytes)?;
        replay.begin(seal.open_start(bytes)?);
        at = FIRST_FRAME;
        while let Some(frame) = seal.open(bytes, at) {
            replay.apply(&frame)?;
            at += frame.len();
        }
        check_tail(&seal, bytes, at, replay.last_seq)?;
    }
    match known_end {
        Some(end) if end != replay.valid_end => Err(Error::corruption(format!(
            "the log is damaged: {end} bytes were recorded, {} are valid",
            replay.valid_end
        ))
        .at_offset(at as u64)),
        _ => Ok(replay),
    }
}

/// Requires that no frame after the invalid bytes at `at` vouches for them.
fn check_tail(seal: &Seal, bytes: &[u8], at: usize, last_seq: u64) -> Result<()> {
    match find_proof(seal, bytes, at, last_seq) {
        None => Ok(()),
        Some(proof) => Err(Error::corruption(format!(
            "a damaged log frame was durable, as the frame at byte {proof} proves"
        ))
        .at_offset(at as u64)),
    }
}

/// The commits read so far.
#[derive(Debug)]
struct Replay<F> {
    start: Option<Start>,
    commits: Vec<(u64, Vec<Op<F>>)>,
    /// Where each commit ends.
    ends: Vec<u64>,
    /// The operations of a commit whose last frame was not read yet.
    pending: Option<Vec<Op<F>>>,
    last_seq: u64,
    valid_end: u64,
    durable: u64,
}

impl<F> Default for Replay<F> {
    fn default() -> Self {
        Self {
            start: None,
            commits: Vec::new(),
            ends: Vec::new(),
            pending: None,
            last_seq: 0,
            valid_end: 0,
            durable: 0,
        }
    }
}

impl<F: Fingerprint> Replay<F> {
    fn begin(&mut self, start: Start) {
        self.start = Some(start);
        self.last_seq = start.last_seq;
        self.valid_end = FIRST_FRAME as u64;
    }

    /// Applies the next frame. Its checksum is correct, so if anything is wrong with it, that is
    /// not a torn write.
    fn apply(&mut self, frame: &Frame<'_>) -> Result<()> {
        if frame.head.durable > frame.at {
            return Err(frame.corruption("log frame vouches for bytes after it"));
        }
        match frame.head.kind {
            frame::COMMIT => self.apply_commit(frame)?,
            frame::WATERMARK => self.apply_watermark(frame)?,
            kind => return Err(frame.corruption(format!("log frame of unexpected kind {kind}"))),
        }
        self.durable = self.durable.max(frame.head.durable);
        Ok(())
    }

    fn apply_commit(&mut self, frame: &Frame<'_>) -> Result<()> {
        let head = frame.head;
        if Some(head.seq) != self.last_seq.checked_add(1) || head.flags & !frame::MORE != 0 {
            return Err(frame.corruption(format!(
                "commit {} (flags {}) cannot follow {}",
                head.seq, head.flags, self.last_seq
            )));
        }
        let mut ops = self.pending.take().unwrap_or_default();
        decode_ops(frame, &mut ops)?;
        if head.flags & frame::MORE != 0 {
            self.pending = Some(ops);
            return Ok(());
        }
        self.commits.push((head.seq, ops));
        self.ends.push(frame.end());
        self.last_seq = head.seq;
        self.valid_end = frame.end();
        Ok(())
    }

    fn apply_watermark(&mut self, frame: &Frame<'_>) -> Result<()> {
        let head = frame.head;
        let plain = (head.flags, head.count, head.seq) == (0, 0, self.last_seq);
        if !plain || !frame.payload.is_empty() || self.pending.is_some() {
            return Err(frame.corruption("watermark out of place"));
        }
        self.valid_end = frame.end();
        Ok(())
    }

    fn finish(mut self, bytes: &[u8], known_end: Option<u64>, mode: ReadMode) -> LogContents<F> {
        let durable = known_end.unwrap_or(self.durable.min(self.valid_end));
        if mode == ReadMode::Follow {
            self.commits.truncate(self.ends.partition_point(|&end| end <= durable));
        }
        LogContents {
            start: self.start,
            commits: self.commits,
            valid_end: self.valid_end,
            durable,
            torn: known_end.is_none() && self.valid_end < bytes.len() as u64,
        }
    }
}

pub(super) fn decode_ops<F: Fingerprint>(frame: &Frame<'_>, ops: &mut Vec<Op<F>>) -> Result<()> {
    let count = usize::from(frame.head.count);
    ops.reserve(count.min(frame.payload.len() / MIN_LEN));
    let mut fields = frame.fields();
    for _ in 0..count {
        ops.push(Op::decode(&mut fields)?);
    }
    fields.finish("commit")
}
