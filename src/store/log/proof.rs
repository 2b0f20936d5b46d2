//! Distinguishes damage from a torn tail: searches for a later frame that vouches for an invalid
//! one.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crc32fast::Hasher;

use crate::store::log::frame::{COMMIT, HEAD_LEN, Head, MIN_FRAME_LEN, MORE, Seal, WATERMARK};

/// Returns the offset of a complete frame after `invalid` that was written when the log was known
/// to be synced beyond `invalid`. `last_seq` is the last complete commit before.
pub(super) fn find_proof(
    seal: &Seal,
    bytes: &[u8],
    invalid: usize,
    last_seq: u64,
) -> Option<usize> {
    find_frame(seal, bytes, invalid, last_seq, |head| head.durable > invalid as u64)
}

/// Returns the offset of the first complete frame after `invalid` of which `is_wanted` is true.
///
/// It tries every offset, because the damage may have changed a length. Heads are first judged by
/// their fields. For those that might be valid, a checksum is computed in constant time, because
/// the tail can contain (in names) any number of them, made up on purpose.
pub(super) fn find_frame(
    seal: &Seal,
    bytes: &[u8],
    invalid: usize,
    last_seq: u64,
    is_wanted: impl Fn(&Head) -> bool,
) -> Option<usize> {
    let mut checksums = None;
    for at in invalid.checked_add(1)?..=bytes.len().checked_sub(MIN_FRAME_LEN)? {
        let head = Head::decode(bytes.get(at..)?.first_chunk::<HEAD_LEN>()?);
        if !may_follow(&head, at as u64, last_seq) || !is_wanted(&head) {
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

/// Returns whether a frame with this head can be at `at`, after commit `last_seq`.
#[inline]
fn may_follow(head: &Head, at: u64, last_seq: u64) -> bool {
    matches!(head.kind, COMMIT | WATERMARK)
        && head.flags & !MORE == 0
        && head.durable <= at
        && head.seq >= last_seq
}

/// Computes the checksum of any range of the tail without reading the entire range.
///
/// For a CRC, `crc(a ++ b) = shift(crc(a), len(b)) ^ crc(b)`, where `shift` is linear and cheap. So
/// the checksum of a range follows from two checksums that start at the beginning of the tail.
struct RangeChecksums<'a> {
    tail: &'a [u8],
    /// Offset of `tail` in the file.
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

    /// Returns whether the `len` bytes at offset `at` of the file are a frame with a correct
    /// checksum.
    fn holds(&self, seal: &Seal, at: usize, len: usize) -> bool {
        self.check(seal, at, len).unwrap_or(false)
    }

    fn check(&self, seal: &Seal, at: usize, len: usize) -> Option<bool> {
        let begin = at.checked_sub(self.base)?;
        let end = begin.checked_add(len)?.checked_sub(4)?;
        let expected = u32::from_le_bytes(*self.tail.get(end..)?.first_chunk()?);
        // crc(prefix ++ frame)
        //     = shift(crc(prefix), n) ^ crc(frame)
        //     = shift(crc(prefix) ^ prefix_checksum(begin), n) ^ prefix_checksum(end)
        let before = seal.begin(at as u64).finalize() ^ self.prefix_checksum(begin)?;
        let mut hasher = Hasher::new_with_initial(before);
        let covered = end.checked_sub(begin)? as u64;
        hasher.combine(&Hasher::new_with_initial_len(self.prefix_checksum(end)?, covered));
        Some(hasher.finalize() == expected)
    }

    /// Returns the checksum of the first `end` bytes of the tail.
    fn prefix_checksum(&self, end: usize) -> Option<u32> {
        let mark = end / Self::STEP;
        let mut hasher = Hasher::new_with_initial(*self.marks.get(mark)?);
        hasher.update(self.tail.get(mark * Self::STEP..end)?);
        Some(hasher.finalize())
    }
}
