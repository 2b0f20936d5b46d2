//! Section heads: where a section's ids begin, how they are encoded, and which fingerprints each of
//! its id groups has.

use crate::file::codec::bits::low_word;
use crate::file::codec::bytes::PutFields;

/// Id groups per section, except in the last section, which may have fewer.
pub(super) const GROUPS: usize = 48;

/// Length of a head in bytes: a cache line.
pub(super) const HEAD_LEN: usize = 64;

/// Offset in the head of the group ends' deviations from a straight line.
const DEVIATIONS: usize = 17;

/// The flag in the width's byte that says that some fingerprint has several ids.
const LISTS: u8 = 1 << 7;

/// Returns where a group would end if all groups of the section had the same size. `scale` is the
/// number of fingerprints that 48 such groups would have.
#[inline]
fn on_line(scale: u16, group: usize) -> u64 {
    (group as u64 + 1) * u64::from(scale) / GROUPS as u64
}

/// A head as it is in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head<'a>(pub(super) &'a [u8; HEAD_LEN]);

impl Head<'_> {
    /// Returns the lowest id.
    #[inline]
    pub(super) fn base(&self) -> u64 {
        low_word(self.0, 0)
    }

    /// Returns the offset in the file at which the section's data begins.
    #[inline]
    pub(super) fn start(&self) -> usize {
        usize::try_from(low_word(self.0, 8) & u64::MAX >> 16).unwrap_or(usize::MAX)
    }

    #[inline]
    fn scale(&self) -> u16 {
        (low_word(self.0, 8) >> 48) as u16
    }

    /// Returns the bits of each id, at most 127.
    #[inline]
    pub(super) fn width(&self) -> u32 {
        u32::from(self.0[16] & !LISTS)
    }

    /// Returns whether some fingerprint of the section has several ids.
    #[inline]
    pub(super) fn has_lists(&self) -> bool {
        self.0[16] & LISTS != 0
    }

    /// Returns whether the ends of the groups are at the start of the section's data, because they
    /// do not fit into the head.
    #[inline]
    pub(super) fn is_wide(&self) -> bool {
        self.scale() == 0
    }

    /// Returns the number of fingerprints up to the end of `group` in a head that is not wide. Any
    /// result is possible if the head is not as the builder writes it.
    #[inline]
    pub(super) fn end(&self, group: usize) -> u64 {
        let deviation = match self.0.get(DEVIATIONS + group) {
            Some(&byte) => i64::from(byte.cast_signed()),
            // Only the last group has none.
            None => 0,
        };
        on_line(self.scale(), group).wrapping_add_signed(deviation)
    }
}

/// A head that is being written.
#[derive(Debug)]
pub(super) struct NewHead {
    scale: u16,
    deviations: [u8; HEAD_LEN - DEVIATIONS],
}

impl NewHead {
    /// Creates the head of groups with these ends, which are wide if they are too irregular.
    pub(super) fn new(ends: &[u32]) -> Self {
        Self::narrow(ends).unwrap_or(Self { scale: 0, deviations: [0; HEAD_LEN - DEVIATIONS] })
    }

    fn narrow(ends: &[u32]) -> Option<Self> {
        let (groups, total) = (ends.len() as u64, u64::from(*ends.last()?));
        // Exact for a full section, so that its last group needs no deviation.
        let scale = u16::try_from(total * GROUPS as u64 / groups).ok()?;
        let mut deviations = [0; HEAD_LEN - DEVIATIONS];
        for ((group, &end), deviation) in ends.iter().enumerate().zip(&mut deviations) {
            let difference = i64::from(end) - on_line(scale, group).cast_signed();
            *deviation = i8::try_from(difference).ok()?.cast_unsigned();
        }
        (scale > 0).then_some(Self { scale, deviations })
    }

    pub(super) fn is_wide(&self) -> bool {
        self.scale == 0
    }

    /// Appends the head of a section whose data begins at `start`.
    pub(super) fn put(
        &self,
        start: u64,
        base: u64,
        width: u32,
        has_lists: bool,
        heads: &mut Vec<u8>,
    ) {
        debug_assert!(start >> 48 == 0, "no file has 256 TiB");
        heads.put_u64(base);
        heads.put_u64(start | u64::from(self.scale) << 48);
        let flag = if has_lists { LISTS } else { 0 };
        heads.put_u8(u8::try_from(width).unwrap_or(0) | flag);
        heads.extend_from_slice(&self.deviations);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(sizes: impl IntoIterator<Item = u32>) -> Vec<u32> {
        let add = |sum: &mut u32, size| {
            *sum += size;
            Some(*sum)
        };
        sizes.into_iter().scan(0, add).collect()
    }

    #[track_caller]
    fn assert_narrow(ends: &[u32]) {
        let mut bytes = Vec::new();
        NewHead::new(ends).put((1 << 48) - 1, u64::MAX - 7, 64, true, &mut bytes);
        let head = Head(bytes.first_chunk().unwrap());
        assert_eq!((bytes.len(), head.base(), head.width()), (HEAD_LEN, u64::MAX - 7, 64));
        assert_eq!(head.start(), (1 << 48) - 1);
        assert!(head.has_lists() && !head.is_wide());
        for (group, &end) in ends.iter().enumerate() {
            assert_eq!(head.end(group), u64::from(end), "group {group} of {ends:?}");
        }
    }

    #[test]
    fn head_holds_the_ends_of_groups_of_similar_sizes() {
        for groups in 1..=48 {
            assert_narrow(&ends((0..groups).map(|group| 20 + group * 7 % 11)));
            assert_narrow(&ends((0..groups).map(|_| 1)));
            assert_narrow(&ends((0..groups).map(|_| 1365)));
        }
        assert_narrow(&ends((0..48).map(|group| if group < 24 { 20 } else { 30 })));
    }

    #[test]
    fn head_is_written_as_in_the_format_example() {
        let mut bytes = Vec::new();
        NewHead::new(&ends([21, 22, 20])).put(64, 7, 10, false, &mut bytes);
        assert_eq!(bytes, crate::format_example::example("section head"));
    }

    #[test]
    fn head_is_wide_if_the_groups_differ_too_much() {
        for sizes in [vec![1366; 48], vec![1366], vec![1, 300], vec![300, 1, 1, 1]] {
            assert!(NewHead::new(&ends(sizes.iter().copied())).is_wide(), "{sizes:?}");
        }
    }
}
