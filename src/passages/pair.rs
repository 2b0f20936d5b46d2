//! Two numbers as one record, which can be sorted in scratch files.

/// Returns the record of two numbers. Records are ordered by the first, and then by the second.
#[inline]
pub(super) fn pair(first: u64, second: u64) -> u128 {
    u128::from(first) << 64 | u128::from(second)
}

/// Returns the two numbers of a record.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the low half is wanted")]
pub(super) fn numbers(pair: u128) -> (u64, u64) {
    ((pair >> 64) as u64, pair as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_ordered_by_both_numbers_and_have_both() {
        let mut all = vec![(1, 0), (0, u64::MAX), (u64::MAX, 0), (0, 0), (1, u64::MAX)];
        let mut pairs: Vec<u128> = all.iter().map(|&(first, second)| pair(first, second)).collect();
        all.sort_unstable();
        pairs.sort_unstable();
        assert_eq!(pairs.into_iter().map(numbers).collect::<Vec<_>>(), all);
    }
}
