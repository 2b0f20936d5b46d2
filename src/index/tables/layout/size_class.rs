//! Classes of sizes. All segments of a class share plans, which are made for its middle.

/// A size class contains the numbers that share their highest bit and this many bits after it.
/// Segments have finer classes. Memtables grow through the classes, and must not wait for plans.
pub(crate) const SEGMENT_BITS: u32 = 2;
pub(crate) const MEMTABLE_BITS: u32 = 0;

/// Returns the number of the size class of `n`: the position of the highest bit, and the `bits`
/// bits below it.
#[inline]
pub(crate) fn class(n: u64, bits: u32) -> usize {
    let Some(high) = n.checked_ilog2() else { return 0 };
    let below = (n << (63 - high) << 1) >> 1 >> (63 - bits);
    ((high as usize + 1) << bits) + usize::try_from(below).unwrap_or(0)
}

/// Returns the middle of the size class of `n`.
pub(crate) fn middle(n: u64, bits: u32) -> u64 {
    let rest = n.checked_ilog2().unwrap_or(0).saturating_sub(bits);
    (n >> rest << rest) + ((1 << rest) >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_made_for_the_middle_of_its_size_class() {
        for (n, whole, quarter) in
            [(0, 0, 0), (1, 1, 1), (2, 3, 2), (7, 6, 7), (8, 12, 9), (1023, 768, 960)]
        {
            assert_eq!((middle(n, 0), middle(n, 2)), (whole, quarter), "{n}");
        }
        assert!(middle(u64::MAX, 2) > u64::MAX / 16 * 15);
    }

    #[test]
    fn all_sizes_of_a_class_have_the_same_middle() {
        let sizes =
            (0..5000).chain((0..64).flat_map(|bit| [1 << bit, 3 << bit >> 1, u64::MAX >> bit]));
        for n in sizes {
            for bits in [SEGMENT_BITS, MEMTABLE_BITS] {
                assert_eq!(class(n, bits), class(middle(n, bits), bits), "{n}");
                assert!(class(n, bits) <= class(u64::MAX, bits));
            }
            assert!(class(n, 2) <= class(n.saturating_add(1), 2));
        }
    }
}
