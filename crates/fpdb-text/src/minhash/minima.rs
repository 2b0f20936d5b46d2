//! The classic MinHash: the minimum of a set under each of k hash functions.

use super::{key, mix, with_error};

/// Returns the minima of a set of feature hashes under `k` hash functions, or `None` for the empty
/// set.
///
/// Under each function, two sets have the same minimum with probability J, their Jaccard similarity
/// (Broder, *On the resemblance and containment of documents*, 1997). [`jaccard_of_minima`]
/// estimates J from the minima of two sets, and [`Bands`](super::Bands) finds likely pairs among
/// many.
///
/// Function i hashes a feature's hash h as mix(h ^ key(i)), where mix is a permutation of the
/// 64-bit values, so no two features have the same value. The first minima do not depend on `k`,
/// and the values never change with a version of this crate. The time is `k` mixes per feature, of
/// which [`OneBit`](super::OneBit) needs little more than one for texts of some hundred features.
/// The result has 8 `k` bytes.
///
/// # Examples
///
/// ```
/// use fpdb_text::Recipe;
/// use fpdb_text::minhash::{jaccard_of_minima, minima};
///
/// let recipe = Recipe::named("pairs/1")?;
/// let [a, b] = ["The cat sat on the mat.", "The cat sat on the sofa."].map(|text| {
///     minima(recipe.features(text).hashes(), 128).expect("the text has words")
/// });
/// assert_eq!(a.len(), 128);
/// let (similarity, error) = jaccard_of_minima(&a, &b).expect("there are minima");
/// assert!((similarity - 4.0 / 6.0).abs() < 3.0 * error && error < 0.05);
///
/// assert_eq!(minima(&[1, 2, 3], 4), minima(&[3, 2, 1, 1], 4));
/// assert_eq!(minima(&[], 128), None);
/// # Ok::<(), fpdb_text::Error>(())
/// ```
#[must_use]
pub fn minima(hashes: &[u64], k: usize) -> Option<Vec<u64>> {
    let of_function = |key: u64| hashes.iter().map(|hash| mix(hash ^ key)).min();
    (0..k as u64).map(|function| of_function(key(function))).collect()
}

/// Returns the estimated Jaccard similarity of two sets, from their [`minima`], and the standard
/// error of the estimate; `None` if there are no minima.
///
/// The estimate J is the share of the k functions under which the minima are equal. It is unbiased,
/// and its standard error is sqrt(J (1 - J) / k): at most 0.044 for k = 128. If all minima are
/// equal, or none, that is 0, but the similarity may differ from the estimate by up to 3 / k (with
/// 95 % confidence).
///
/// If the numbers of minima differ, the functions that both have count.
///
/// # Examples
///
/// ```
/// use fpdb_text::minhash::{jaccard_of_minima, minima};
///
/// let [a, b] = [0..900, 100..1000].map(|set| minima(&Vec::from_iter(set), 256).unwrap());
/// let (similarity, error) = jaccard_of_minima(&a, &b).unwrap();
/// assert!((similarity - 0.8).abs() < 3.0 * error); // 800 of 1,000
/// assert_eq!(jaccard_of_minima(&a, &a), Some((1.0, 0.0)));
/// assert_eq!(jaccard_of_minima(&a, &[]), None);
/// ```
#[must_use]
pub fn jaccard_of_minima(a: &[u64], b: &[u64]) -> Option<(f64, f64)> {
    let equal = a.iter().zip(b).filter(|(a, b)| a == b).count();
    with_error(equal, a.len().min(b.len()))
}

#[cfg(test)]
mod tests {
    use super::super::sets::{SIMILARITIES, check_estimates, pair};
    use super::*;

    fn of(k: usize, hashes: &[u64]) -> Vec<u64> {
        minima(hashes, k).unwrap()
    }

    #[test]
    fn estimates_are_unbiased_with_the_documented_error() {
        for size in [5, 20, 100, 300] {
            for jaccard in SIMILARITIES {
                let estimate = |a: &[u64], b: &[u64]| jaccard_of_minima(&of(128, a), &of(128, b));
                check_estimates(size, jaccard, |a, b| estimate(a, b).unwrap());
            }
        }
    }

    #[test]
    fn order_and_repetition_make_no_difference() {
        let (a, _) = pair(50, 0, 3);
        let twice: Vec<_> = a.iter().rev().chain(&a).copied().collect();
        assert_eq!(of(32, &a), of(32, &twice));
    }

    #[test]
    fn more_functions_do_not_change_the_first_ones() {
        let (a, b) = pair(20, 10, 8);
        assert_eq!(of(16, &a), of(64, &a)[..16]);
        assert_eq!(
            jaccard_of_minima(&of(16, &a), &of(64, &b)),
            jaccard_of_minima(&of(64, &a), &of(16, &b))
        );
    }

    /// Users store the values, which a plain Python program computed, too.
    #[test]
    fn values_are_frozen() {
        let of_three =
            [4_455_725_808_831_290_745, 658_006_869_215_568_080, 2_030_074_137_839_920_733];
        assert_eq!(of(3, &[1, 2, 3]), of_three);
    }

    #[test]
    fn no_functions_give_no_minima_and_no_estimate() {
        assert_eq!((minima(&[1], 0), minima(&[], 1)), (Some(vec![]), None));
        assert_eq!(jaccard_of_minima(&[], &[]), None);
    }
}
