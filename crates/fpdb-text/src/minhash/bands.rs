//! Banded locality-sensitive hashing: signatures that agree in an entire band get an equal key.

use super::signature::Signature;
use super::{key, mix};
use crate::error::{Error, Result};

/// Cuts a [`Signature`] of `bands` · `rows` functions into bands, and makes a key from each band.
///
/// Two documents of Jaccard similarity J have a key in common with probability 1 - (1 -
/// J^rows)^bands. This is an S-shaped curve of J that is steepest near
/// [`threshold`](Self::threshold). With more rows a match needs more similarity; with more bands
/// there are more matches. The keys can be looked up in any map from keys to documents. A match is
/// a candidate, whose signature or text is then compared. The keys can also be stored as
/// fingerprints and queried at distance 0.
///
/// # Examples
///
/// ```
/// use fpdb_text::minhash::{Bands, Signature};
///
/// let bands = Bands::new(20, 5)?; // signatures of 100 functions
/// let keys = |features: std::ops::Range<u64>| -> Vec<u64> {
///     let mut signature = Signature::new(100);
///     signature.extend(features);
///     bands.keys(&signature).collect()
/// };
/// let (a, b, c) = (keys(0..1000), keys(30..1030), keys(5000..6000));
/// assert_eq!(a.len(), 20);
/// assert!(a.iter().zip(&b).any(|(a, b)| a == b)); // J = 0.94
/// assert!(a.iter().zip(&c).all(|(a, c)| a != c)); // J = 0
///
/// assert!(bands.probability(0.3) < 0.05);
/// assert!(bands.probability(0.8) > 0.999);
/// assert_eq!(Bands::new(16, 4)?.threshold(), 0.5);
/// # Ok::<(), fpdb_text::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bands {
    bands: usize,
    rows: usize,
}

impl Bands {
    /// Returns bands of this number, each with this number of rows.
    ///
    /// # Errors
    ///
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if one of the numbers is 0, or if
    /// their product is above 65,536.
    pub fn new(bands: usize, rows: usize) -> Result<Self> {
        match bands.checked_mul(rows) {
            Some(1..=65_536) => Ok(Self { bands, rows }),
            _ => Err(Error::invalid(format!(
                "{bands} bands of {rows} rows: their product must be 1 to 65,536"
            ))),
        }
    }

    /// Returns the key of each band, in order. Keys of different bands differ, except by accident
    /// with a probability of 2^-64.
    ///
    /// A signature with fewer functions than `bands` · `rows` gives only the keys of the bands that
    /// it fills. Additional functions are not used.
    pub fn keys(&self, signature: &Signature) -> impl Iterator<Item = u64> {
        let bands = signature.minima().chunks_exact(self.rows).take(self.bands);
        (0..).zip(bands).map(|(band, minima)| {
            minima.iter().fold(key(band), |key, minimum| mix(key ^ minimum).wrapping_add(key))
        })
    }

    /// Returns the probability that two documents of this Jaccard similarity have a key in common:
    /// 1 - (1 - J^rows)^bands.
    #[must_use]
    pub fn probability(&self, jaccard: f64) -> f64 {
        1.0 - (1.0 - jaccard.powf(self.rows as f64)).powf(self.bands as f64)
    }

    /// Returns the similarity near which the curve is steepest: (1 / bands)^(1 / rows).
    #[must_use]
    pub fn threshold(&self) -> f64 {
        (self.bands as f64).recip().powf((self.rows as f64).recip())
    }
}

#[cfg(test)]
mod tests {
    use super::super::sets::{pair, shared};
    use super::*;

    fn keys(bands: Bands, hashes: &[u64]) -> Vec<u64> {
        let mut signature = Signature::new(bands.bands * bands.rows);
        signature.extend(hashes.iter().copied());
        bands.keys(&signature).collect()
    }

    #[test]
    fn share_of_pairs_with_a_common_key_follows_the_curve() {
        const PAIRS: u32 = 300;
        for (bands, rows) in [(1, 1), (8, 4), (16, 2), (4, 8)] {
            let bands = Bands::new(bands, rows).unwrap();
            for jaccard in [0.25, 0.5, 0.8, 0.95] {
                let (shared, exact) = shared(60, jaccard);
                let met = (0..u64::from(PAIRS)).filter(|&seed| {
                    let (a, b) = pair(60, shared, seed);
                    keys(bands, &a).iter().zip(keys(bands, &b)).any(|(a, b)| *a == b)
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
    fn equal_bands_at_different_positions_have_different_keys() {
        let all = keys(Bands::new(10, 3).unwrap(), &[]); // all minima are 2^64 - 1
        let mut distinct = all.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), all.len());
    }

    #[test]
    fn a_key_depends_on_every_row_of_its_band() {
        let bands = Bands::new(1, 4).unwrap();
        let of = |n| {
            let mut signature = Signature::new(n);
            signature.push(1);
            bands.keys(&signature).collect::<Vec<_>>()
        };
        assert_eq!(of(4).len(), 1);
        assert_eq!(of(3).len(), 0);
        assert_ne!(keys(bands, &[1]), keys(bands, &[2]));
        assert_eq!(of(4), of(5));
    }

    #[test]
    fn invalid_numbers_of_bands_and_rows_are_refused() {
        for (bands, rows) in [(0, 4), (4, 0), (1 << 20, 1), (usize::MAX, 2)] {
            assert!(Bands::new(bands, rows).is_err());
        }
    }

    #[test]
    fn curve_goes_from_0_to_1() {
        let bands = Bands::new(12, 7).unwrap();
        assert_eq!((bands.probability(0.0), bands.probability(1.0)), (0.0, 1.0));
        assert!((0.3..0.7).contains(&bands.probability(bands.threshold())));
    }
}
