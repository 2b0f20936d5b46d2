//! The sum of hashed, weighted features: the part that all recipes share.
//!
//! Weights are integers, so that the sums, and with them the fingerprint, depend neither on the
//! order of the features nor on how a machine rounds.

/// Below this number of distinct features a text has no fingerprint: so few say little about it,
/// and pages that have nothing in common but a short title would be taken for each other.
const MIN_FEATURES: usize = 4;

/// What a [`Recipe`](super::Recipe) makes of a text.
///
/// # Examples
///
/// ```
/// use fpdb::text::Recipe;
///
/// let found = Recipe::named("words/1")?.fingerprint("one two three");
/// assert_eq!((found.fingerprint, found.features), (None, 3));
/// # Ok::<(), fpdb::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
#[non_exhaustive]
pub struct Simhash {
    /// The fingerprint; `None` if the text has fewer than four distinct features, which is too
    /// few to tell texts apart by.
    pub fingerprint: Option<u64>,
    /// The number of distinct features found in the text.
    pub features: usize,
}

impl Simhash {
    /// Sums up features, each given once: its hash and its weight, which must not be negative.
    ///
    /// Bit i is set iff the weights of the features whose hash has bit i set exceed those of the
    /// others. A tie gives 0.
    pub(super) fn of(features: impl Iterator<Item = (u64, i64)>) -> Self {
        let mut sums = [0i64; 64];
        let mut count = 0;
        for (hash, weight) in features {
            count += 1;
            for (bit, sum) in sums.iter_mut().enumerate() {
                *sum += if hash >> bit & 1 == 1 { weight } else { -weight };
            }
        }
        let bits =
            sums.iter().enumerate().fold(0, |bits, (i, &sum)| bits | u64::from(sum > 0) << i);
        Self { fingerprint: (count >= MIN_FEATURES).then_some(bits), features: count }
    }
}

/// A weight as a whole number of 2^-`fraction_bits`.
#[expect(clippy::cast_possible_truncation, reason = "weights are far below 2^31, fractions too")]
pub(super) fn fixed_point(weight: f64, fraction_bits: u32) -> i64 {
    (weight * (1u64 << fraction_bits) as f64).round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bit_is_set_iff_its_weight_is_the_greater_part() {
        let features = [(0b0011, 3), (0b0101, 2), (0b1001, 1), (0b0000, 1)];
        // Bit 0: 6 against 1; bit 1: 3 against 4; bit 2: 2 against 5; bit 3: 1 against 6.
        assert_eq!(Simhash::of(features.into_iter()).fingerprint, Some(0b0001));
        let tie = [(0b10, 2), (0b10, 2), (0b01, 1), (0b01, 3)];
        assert_eq!(Simhash::of(tie.into_iter()).fingerprint, Some(0));
        let top = [(1 << 63, 2), (1 << 63, 2), (0, 1), (1, 1)];
        assert_eq!(Simhash::of(top.into_iter()).fingerprint, Some(1 << 63));
    }

    #[test]
    fn fewer_than_four_features_make_no_fingerprint() {
        for count in 0..6 {
            let found = Simhash::of((0..count).map(|_| (u64::MAX, 1)));
            assert_eq!(found.features as u64, count);
            assert_eq!(found.fingerprint, (count >= 4).then_some(u64::MAX));
        }
    }

    #[test]
    fn weights_are_rounded_to_the_nearest() {
        assert_eq!(fixed_point(1.0, 16), 65_536);
        assert_eq!(fixed_point(2.5849625, 16), 169_408); // 169 408.1
        assert_eq!(fixed_point(0.75, 1), 2);
    }
}
