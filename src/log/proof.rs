//! Tells damage from a torn tail: looks for a later frame that vouches for an invalid one.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crc32fast::Hasher;

use crate::log::frame::{COMMIT, HEAD_LEN, Head, MIN_FRAME_LEN, MORE, Seal, WATERMARK};

/// The offset of a whole frame after `invalid` that was written when the log was known to be synced
/// beyond `invalid`. `last_seq`: the last whole commit before.
///
/// Looks at every offset, for the damage may have hit a length. Heads are judged by their fields
/// first; those that might be true cost a checksum in constant time, as the tail can hold (in
/// names) as many of them as somebody cares to make up.
pub(super) fn find_proof(
    seal: &Seal,
    bytes: &[u8],
    invalid: usize,
    last_seq: u64,
) -> Option<usize> {
    let mut checksums = None;
    for at in invalid.checked_add(1)?..=bytes.len().checked_sub(MIN_FRAME_LEN)? {
        let head = Head::decode(bytes.get(at..)?.first_chunk::<HEAD_LEN>()?);
        if !vouches(&head, invalid as u64, at as u64, last_seq) {
            continue;
        }
        let Some(len) = head.bounded_len(bytes.len() - at) else { continue };
        let checksums = checksums.get_or_insert_with(|| RangeChecksums::new(bytes, invalid));
        if checksums.holds(seal, at, len) {
            return Some(at);
        }
    }
    None
}

/// Whether a frame at `at` with this head would prove that the bytes at `invalid` were synced.
#[inline]
fn vouches(head: &Head, invalid: u64, at: u64, last_seq: u64) -> bool {
    matches!(head.kind, COMMIT | WATERMARK)
        && head.flags & !MORE == 0
        && head.durable > invalid
        && head.durable <= at
        && head.seq >= last_seq
}

/// Gives the checksum of any range of the tail without going through all of the range.
///
/// For a CRC, `crc(a ++ b) = shift(crc(a), len(b)) ^ crc(b)`, with `shift` linear and cheap: two
/// checksums counted from the tail's beginning give that of what lies between them.
struct RangeChecksums<'a> {
    tail: &'a [u8],
    /// Where `tail` begins in the file.
    base: usize,
    /// The checksum of the tail's first `i * STEP` bytes.
    marks: Vec<u32>,
}

impl<'a> RangeChecksums<'a> {
    const STEP: usize = 512;

    fn new(bytes: &'a [u8], base: usize) -> Self {
        let tail = bytes.get(base..).unwrap_or_default();
        let mut hasher = Hasher::new();
        let mut marks = vec![0];
        for chunk in tail.chunks_exact(Self::STEP) {
            hasher.update(chunk);
            marks.push(hasher.clone().finalize());
        }
        Self { tail, base, marks }
    }

    /// Whether the `len` bytes at `at` of the file are a frame with a true checksum.
    fn holds(&self, seal: &Seal, at: usize, len: usize) -> bool {
        self.check(seal, at, len).unwrap_or(false)
    }

    fn check(&self, seal: &Seal, at: usize, len: usize) -> Option<bool> {
        let begin = at.checked_sub(self.base)?;
        let end = begin.checked_add(len)?.checked_sub(4)?;
        let expected = u32::from_le_bytes(*self.tail.get(end..)?.first_chunk()?);
        // crc(prefix ++ frame) = shift(crc(prefix), n) ^ crc(frame)
        //                      = shift(crc(prefix) ^ upto(begin), n) ^ upto(end)
        let before = seal.begin(at as u64).finalize() ^ self.upto(begin)?;
        let mut hasher = Hasher::new_with_initial(before);
        let covered = end.checked_sub(begin)? as u64;
        hasher.combine(&Hasher::new_with_initial_len(self.upto(end)?, covered));
        Some(hasher.finalize() == expected)
    }

    /// The checksum of the tail's first `end` bytes.
    fn upto(&self, end: usize) -> Option<u32> {
        let mark = end / Self::STEP;
        let mut hasher = Hasher::new_with_initial(*self.marks.get(mark)?);
        hasher.update(self.tail.get(mark * Self::STEP..end)?);
        Some(hasher.finalize())
    }
}
