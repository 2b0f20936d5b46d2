//! Locality-sensitive hashing of minima: sets that agree in an entire band share a hash.

use super::{key, mix};
use crate::error::{Error, Result};

/// Cuts [`minima`](super::minima()) into `b` bands of `r` rows, and hashes each band.
///
/// Two sets of Jaccard similarity J agree in all rows of a band with probability J^r, so they share
/// the hash of at least one band with [probability](Self::probability) 1 - (1 - J^r)^b. This is an
/// S-shaped curve of J, which is steepest near the [threshold](Self::threshold) (1/b)^(1/r)
/// (Leskovec, Rajaraman and Ullman, *Mining of Massive Datasets*, section 3.4). With more rows a
/// match needs more similarity; with more bands there are more matches. The hashes can be looked up
/// in any map or table. A match is a candidate, whose minima or texts are then compared.
///
/// # Examples
///
/// ```
/// use std::collections::HashMap;
///
/// use fpdb_text::minhash::{Bands, minima};
///
/// let bands = Bands::new(20, 5)?;
/// let sets = [0..1000, 5000..6000, 30..1030];
/// let mut first = HashMap::new();
/// let mut likely = Vec::new();
/// for (id, set) in sets.into_iter().enumerate() {
///     let minima = minima(&Vec::from_iter(set), bands.minima()).expect("a set of numbers");
///     for hash in bands.hashes(&minima) {
///         let earlier = *first.entry(hash).or_insert(id);
///         likely.extend((earlier != id).then_some((earlier, id)));
///     }
/// }
/// likely.dedup();
/// assert_eq!(likely, [(0, 2)]); // J = 0.94
///
/// assert!(bands.probability(0.94) > 0.9999 && bands.probability(0.3) < 0.05);
/// assert_eq!(Bands::new(16, 4)?.threshold(), 0.5);
/// # Ok::<(), fpdb_text::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Bands {
    b: usize,
    r: usize,
}

/// The largest number of minima.
const MAX_MINIMA: usize = 65_536;

impl Bands {
    /// Returns `b` bands of `r` rows each.
    ///
    /// # Errors
    ///
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if one of them is 0, or if their
    /// product is above 65,536.
    pub fn new(b: usize, r: usize) -> Result<Self> {
        match b.checked_mul(r) {
            Some(1..=MAX_MINIMA) => Ok(Self { b, r }),
            _ => Err(Error::invalid(format!(
                "{b} bands of {r} rows: there must be 1 to {MAX_MINIMA} rows in all"
            ))),
        }
    }

    /// Returns the number of minima in all bands.
    #[must_use]
    pub fn minima(&self) -> usize {
        self.b * self.r
    }

    /// Returns the probability that two sets of this Jaccard similarity share the hash of a band.
    #[must_use]
    pub fn probability(&self, jaccard: f64) -> f64 {
        1.0 - (1.0 - jaccard.powf(self.r as f64)).powf(self.b as f64)
    }

    /// Returns the similarity near which the probability rises the most steeply.
    #[must_use]
    pub fn threshold(&self) -> f64 {
        (self.b as f64).recip().powf((self.r as f64).recip())
    }

    /// Returns the hash of each band, in order. Those of different bands differ, except by accident
    /// with a probability of 2^-64.
    ///
    /// Fewer minima give the hashes of the bands that they fill. More than [`minima`](Self::minima)
    /// are not used. The hashes never change with a version of this crate.
    pub fn hashes(&self, minima: &[u64]) -> impl Iterator<Item = u64> {
        let bands = minima.chunks_exact(self.r).take(self.b);
        (0..).zip(bands).map(|(band, rows)| {
            rows.iter().fold(key(band), |hash, row| mix(hash ^ row).wrapping_add(hash))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::minima;
    use super::super::sets::{pair, shared};
    use super::*;

    fn hashes(bands: Bands, set: &[u64]) -> Vec<u64> {
        bands.hashes(&minima(set, bands.minima()).unwrap()).collect()
    }

    #[test]
    fn share_of_pairs_with_a_common_hash_is_the_probability() {
        const PAIRS: u32 = 300;
        for (b, r) in [(1, 1), (8, 4), (16, 2), (4, 8)] {
            let bands = Bands::new(b, r).unwrap();
            for jaccard in [0.25, 0.5, 0.8, 0.95] {
                let (shared, exact) = shared(60, jaccard);
                let met = (0..u64::from(PAIRS)).filter(|&seed| {
                    let (x, y) = pair(60, shared, seed);
                    hashes(bands, &x).iter().zip(hashes(bands, &y)).any(|(x, y)| *x == y)
                });
                let share = met.count() as f64 / f64::from(PAIRS);
                let expected = bands.probability(exact);
                let error = (expected * (1.0 - expected) / f64::from(PAIRS)).sqrt();
                assert!(
                    (share - expected).abs() <= 4.0 * error + 1e-3,
                    "{bands:?}, J = {exact}: {share} for {expected}"
                );
            }
        }
    }

    #[test]
    fn equal_bands_at_different_places_have_different_hashes() {
        let all: Vec<_> = Bands::new(10, 3).unwrap().hashes(&[7; 30]).collect();
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!((all.len(), distinct.len()), (10, 10));
    }

    #[test]
    fn a_hash_depends_on_every_row_of_its_band() {
        let bands = Bands::new(2, 3).unwrap();
        let of = |rows: &[u64]| bands.hashes(rows).collect::<Vec<_>>();
        let all = of(&[1, 2, 3, 4, 5, 6]);
        for row in 0..6 {
            let mut rows = [1, 2, 3, 4, 5, 6];
            rows[row] ^= 1 << 40;
            let equal: Vec<_> = of(&rows).iter().zip(&all).map(|(x, y)| x == y).collect();
            assert_eq!(equal, [row >= 3, row < 3]);
        }
        assert_eq!(of(&[1, 2, 3, 4, 5]), all[..1]);
        assert_eq!(of(&[1, 2, 3, 4, 5, 6, 7, 8, 9]), all);
    }

    #[test]
    fn impossible_numbers_of_bands_and_rows_are_refused() {
        for (b, r) in [(0, 4), (4, 0), (1 << 20, 1), (usize::MAX, 2)] {
            assert!(Bands::new(b, r).unwrap_err().to_string().contains("rows"));
        }
    }

    #[test]
    fn probability_goes_from_0_to_1_and_is_in_between_at_the_threshold() {
        let bands = Bands::new(12, 7).unwrap();
        assert_eq!((bands.probability(0.0), bands.probability(1.0)), (0.0, 1.0));
        assert!((0.3..0.7).contains(&bands.probability(bands.threshold())));
    }

    /// Users store the values, which a plain Python program computed, too.
    #[test]
    fn values_are_frozen() {
        let bands = Bands::new(2, 2).unwrap();
        let expected = [17_293_055_603_369_016_802, 5_873_105_916_586_491_263];
        assert_eq!(bands.hashes(&[1, 2, 3, 4]).collect::<Vec<_>>(), expected);
    }
}
