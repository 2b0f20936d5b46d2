//! MinHash with one hash function: the k smallest values of a set.

use super::{key, mix, with_error};

/// Returns the `k` smallest values of a set of feature hashes under one hash function, in ascending
/// order; fewer if the set is smaller.
///
/// The k smallest values of the union of two sets are a uniform sample of it, and the k smallest of
/// each set determine them (Broder 1997; also called bottom-k). [`jaccard_of_smallest`]
/// estimates the sets' Jaccard similarity from them. It is as exact as from as many
/// [`minima`](super::minima()), and exact for small sets, at one mix per feature; but the values
/// have no fixed places, so they make no [`Bands`](super::Bands).
///
/// The values never change with a version of this crate. The time is that of sorting the set.
///
/// # Examples
///
/// ```
/// use fpdb_text::minhash::{jaccard_of_smallest, smallest};
///
/// let [a, b] = [0..9000, 1000..10_000].map(|set| smallest(&Vec::from_iter(set), 128));
/// assert_eq!(a.len(), 128);
/// let (similarity, error) = jaccard_of_smallest(&a, &b, 128).unwrap();
/// assert!((similarity - 0.8).abs() < 3.0 * error); // 8,000 of 10,000
///
/// let [a, b] = [smallest(&[1, 2, 3, 3], 128), smallest(&[2, 3, 4], 128)];
/// assert_eq!(a.len(), 3);
/// assert_eq!(jaccard_of_smallest(&a, &b, 128), Some((0.5, 0.0))); // exactly
/// ```
#[must_use]
pub fn smallest(hashes: &[u64], k: usize) -> Vec<u64> {
    let mut values: Vec<_> = hashes.iter().map(|hash| mix(hash ^ key(0))).collect();
    values.sort_unstable();
    values.dedup();
    values.truncate(k);
    values
}

/// Returns the estimated Jaccard similarity of two sets, from the [`smallest`] `k` values of each,
/// and the standard error of the estimate; `None` if both sets are empty or `k` is 0.
///
/// The estimate J is the share of the k smallest values of the union that are in both sets. It is
/// unbiased, and its standard error is at most sqrt(J (1 - J) / k): 0.044 for k = 128. If both sets
/// have fewer than k values, J is exact, and the error is 0. (As for
/// [`jaccard_of_minima`](super::jaccard_of_minima), an error of 0 of larger sets stands for up to 3
/// / k.)
///
/// Values beyond the first `k` of a set do not count.
///
/// # Examples
///
/// ```
/// use fpdb_text::Recipe;
/// use fpdb_text::minhash::{jaccard_of_smallest, smallest};
///
/// let recipe = Recipe::named("pairs/1")?;
/// let [a, b] = ["The cat sat on the mat.", "The cat sat on the sofa."]
///     .map(|text| smallest(recipe.features(text).hashes(), 128));
/// assert_eq!(jaccard_of_smallest(&a, &b, 128), Some((4.0 / 6.0, 0.0)));
/// assert_eq!(jaccard_of_smallest(&a, &[], 128), Some((0.0, 0.0)));
/// assert_eq!(jaccard_of_smallest(&[], &[], 128), None);
/// # Ok::<(), fpdb_text::Error>(())
/// ```
#[must_use]
pub fn jaccard_of_smallest(a: &[u64], b: &[u64], k: usize) -> Option<(f64, f64)> {
    let are_complete = a.len() < k && b.len() < k;
    let (mut a, mut b) = (&a[..k.min(a.len())], &b[..k.min(b.len())]);
    let (mut shared, mut all) = (0, 0);
    while all < if are_complete { usize::MAX } else { k } {
        let smaller = match (a.first(), b.first()) {
            (Some(left), Some(right)) => left.min(right),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => break,
        };
        let (in_a, in_b) = (a.first() == Some(smaller), b.first() == Some(smaller));
        shared += usize::from(in_a && in_b);
        all += 1;
        (a, b) = (&a[usize::from(in_a)..], &b[usize::from(in_b)..]);
    }
    let (similarity, error) = with_error(shared, all)?;
    Some((similarity, if are_complete { 0.0 } else { error }))
}

#[cfg(test)]
mod tests {
    use super::super::sets::{SIMILARITIES, check_estimates, pair, shared};
    use super::*;

    fn estimate(a: &[u64], b: &[u64]) -> (f64, f64) {
        jaccard_of_smallest(&smallest(a, 128), &smallest(b, 128), 128).unwrap()
    }

    #[test]
    fn estimates_of_large_sets_are_unbiased_with_the_documented_error() {
        for jaccard in SIMILARITIES {
            check_estimates(1000, jaccard, estimate);
        }
    }

    #[test]
    fn estimates_of_small_sets_are_exact() {
        for size in [1, 5, 20, 64, 127] {
            for jaccard in SIMILARITIES {
                let (shared, exact) = shared(size, jaccard);
                let (a, b) = pair(size, shared, 1);
                assert_eq!(estimate(&a, &b), (exact, 0.0));
            }
        }
    }

    /// A small set is known as a whole, the other one is not.
    #[test]
    fn sets_of_different_sizes_are_compared_without_bias() {
        let errors = (0..200).map(|seed| {
            let (a, _) = pair(500, 0, seed);
            estimate(&a, &a[..100]).0 - 0.2
        });
        let mean = errors.sum::<f64>() / 200.0;
        assert!(mean.abs() < 5.0 * (0.16 / 128.0 / 200.0_f64).sqrt(), "{mean}");
    }

    #[test]
    fn order_and_repetition_make_no_difference_and_the_smallest_are_kept() {
        let (a, _) = pair(300, 0, 3);
        let twice: Vec<_> = a.iter().rev().chain(&a).copied().collect();
        assert_eq!(smallest(&a, 40), smallest(&twice, 40));
        assert_eq!(smallest(&a, 40), smallest(&a, 300)[..40]);
        assert!(smallest(&a, 300).is_sorted_by(|a, b| a < b));
    }

    /// Users store the values, which a plain Python program computed, too.
    #[test]
    fn values_are_frozen() {
        let of_three = [4_455_725_808_831_290_745, 8_349_077_792_257_542_819];
        assert_eq!(smallest(&[1, 2, 3], 2), of_three);
    }
}
