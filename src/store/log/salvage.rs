//! Reads what is left of a damaged log, for a repair.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::file::codec::header::FileHeader;
use crate::fingerprint::Fingerprint;
use crate::store::log::Op;
use crate::store::log::frame::{COMMIT, FIRST_FRAME, Frame, MORE, Seal};
use crate::store::log::proof::find_frame;
use crate::store::log::reader::decode_ops;

/// What is left of a log.
#[derive(Debug)]
pub(crate) struct Salvaged<F> {
    /// Commits with their numbers, which ascend. Of a commit at the edge of damage, operations may
    /// be missing.
    pub commits: Vec<(u64, Vec<Op<F>>)>,
    /// Bytes that are not in any frame, but before a frame or the known end.
    pub lost: u64,
}

/// Reads all frames whose checksums are correct, wherever they are. `end` is where the log ends, if
/// that is known; then nothing after it counts.
///
/// The time is linear in the length of the file, but for the number of damaged places.
pub(crate) fn salvage<F: Fingerprint>(
    bytes: &[u8],
    header: &FileHeader,
    end: Option<u64>,
) -> Salvaged<F> {
    let len = end.and_then(|end| usize::try_from(end).ok());
    let known = len.unwrap_or(bytes.len());
    let bytes = bytes.get(..known).unwrap_or(bytes);
    let (seal, mut salvaged) = (Seal::new(header), Salvaged { commits: Vec::new(), lost: 0 });
    let (mut at, mut last_seq, mut pending) = (FIRST_FRAME, 0, None);
    while at < bytes.len() {
        let Some(frame) = seal.open(bytes, at) else {
            pending = None;
            let next = find_frame(&seal, bytes, at, last_seq, |_| true);
            // Without a known end, bytes after the last frame are what a crash leaves.
            let end = next.or(len.map(|_| bytes.len())).unwrap_or(at);
            salvaged.lost += (end - at) as u64;
            at = next.unwrap_or(bytes.len());
            continue;
        };
        at += frame.len();
        last_seq = last_seq.max(frame.head.seq);
        if frame.head.kind == COMMIT {
            apply(&frame, &mut pending, &mut salvaged);
        }
    }
    salvaged.lost += known.saturating_sub(bytes.len().max(FIRST_FRAME)) as u64;
    salvaged
}

/// Adds the operations of a frame to the commit in progress.
fn apply<F: Fingerprint>(
    frame: &Frame<'_>,
    pending: &mut Option<Vec<Op<F>>>,
    salvaged: &mut Salvaged<F>,
) {
    let mut ops = pending.take().unwrap_or_default();
    if decode_ops(frame, &mut ops).is_err() {
        salvaged.lost += frame.len() as u64;
        return;
    }
    if frame.head.flags & MORE != 0 {
        *pending = Some(ops);
        return;
    }
    salvaged.commits.push((frame.head.seq, ops));
}
