//! MinHash: fingerprints and sketches of sets, from which the Jaccard similarity of the sets can be
//! estimated.
//!
//! They work on sets of 64-bit feature hashes. The caller decides what a feature is and how it is
//! hashed. All sets that are compared must agree in this, and different features must have
//! different hashes. The hashes need not look random, because they are mixed here. A hash that is
//! given twice counts once, and the order does not matter.
//!
//! The Jaccard similarity of two sets is the size of their intersection divided by the size of
//! their union: 1 for equal sets, 0 for sets without a common element.
//!
//! | | size | estimates Jaccard with a standard error of | good for |
//! | --- | --- | --- | --- |
//! | [`OneBit`] of `u64`, `u128` | 8 or 16 bytes | at most sqrt((1 - J²) / bits) | fingerprints, compared by distance |
//! | [`OneBit`] of [`Sketch`](crate::Sketch) | 228 bytes | about .01 for J = .8 ([more](crate::Sketch::similarity)) | estimates, and bands that likely pairs share |
//! | [`minima()`] | 8 k bytes | sqrt(J (1 - J) / k) | estimates, and [`Bands`] |
//! | [`smallest()`] | 8 k bytes | at most sqrt(J (1 - J) / k) | estimates, exact ones of small sets |
//!
//! A database of sketches finds all pairs of some similarity: it stores 228 bytes of each document,
//! chooses the bands, looks them up, and compares what it finds. Use [`minima()`], [`smallest()`]
//! and [`Bands`] to compute a similarity without a database, or to look for pairs with a system of
//! your own, such as a join of a cluster.
//!
//! # Examples
//!
//! ```
//! use fpdb_text::distance;
//! use fpdb_text::minhash::OneBit;
//!
//! let mut sketch = OneBit::<u64>::new();
//! let mut fingerprint = |features: std::ops::Range<u64>| {
//!     features.for_each(|hash| sketch.push(hash));
//!     sketch.finish().expect("there are features")
//! };
//! let a = fingerprint(0..1000);
//! let b = fingerprint(50..1050); // shares 950 of 1,050
//! assert!(distance(a, b) <= 8); // 3 expected
//! assert!(distance(a, fingerprint(5000..6000)) > 16); // 32 expected
//! ```

mod bands;
mod distinct;
mod minima;
mod one_bit;
mod smallest;

pub use bands::Bands;
pub use minima::{jaccard_of_minima, minima};
pub use one_bit::{OneBit, one_bit};
pub use smallest::{jaccard_of_smallest, smallest};

/// 2^64 divided by the golden ratio, rounded to an odd number. Its multiples are spread evenly.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Permutes the 64-bit values so that each bit of the result depends on all bits of the value. This
/// is the finalizer of SplitMix64, variant 13 of David Stafford's mixers.
#[inline]
pub(crate) const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Returns the value with which the function of this number combines a hash before mixing. The
/// numbers are mixed too, because hashes may be as regular as numbers.
#[inline]
const fn key(function: u64) -> u64 {
    mix(function.wrapping_add(1).wrapping_mul(GOLDEN))
}

/// Returns the share of a sample that two sets have in common, and its standard error; `None` for
/// no sample.
fn with_error(shared: usize, sample: usize) -> Option<(f64, f64)> {
    let share = shared as f64 / sample as f64;
    (sample > 0).then(|| (share, (share * (1.0 - share) / sample as f64).sqrt()))
}

/// Sets of known similarity, for tests.
#[cfg(test)]
mod sets {
    use super::{GOLDEN, mix};

    /// Returns two sets of `size` elements, `shared` of which are in both. Sets of different seeds
    /// have no element in common, and no element is the key of a function.
    pub(super) fn pair(size: u64, shared: u64, seed: u64) -> (Vec<u64>, Vec<u64>) {
        let element = |i: u64| mix(((seed + 1) << 32 | i).wrapping_mul(GOLDEN));
        let a = (0..size).map(element).collect();
        let b = (size - shared..2 * size - shared).map(element).collect();
        (a, b)
    }

    /// Returns the number of elements that two sets of this size must share to have this
    /// similarity, and the similarity that results after rounding.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small sizes")]
    pub(super) fn shared(size: u64, jaccard: f64) -> (u64, f64) {
        let shared = (2.0 * size as f64 * jaccard / (1.0 + jaccard)).round() as u64;
        (shared, shared as f64 / (2 * size - shared) as f64)
    }

    pub(super) const SIMILARITIES: [f64; 7] = [0.0, 0.25, 0.5, 0.8, 0.9, 0.95, 1.0];

    /// Checks that estimates from 128 values are unbiased, and that their variance, and the mean of
    /// the variances that come with them, are the documented one.
    pub(super) fn check_estimates(
        size: u64,
        jaccard: f64,
        estimate: impl Fn(&[u64], &[u64]) -> (f64, f64),
    ) {
        const PAIRS: u32 = 200;
        let (shared, exact) = shared(size, jaccard);
        let of_case = format!("size {size}, J = {exact}");
        let variance = exact * (1.0 - exact) / 128.0;
        let [mut mean, mut spread, mut promised] = [0.0; 3];
        for seed in 0..u64::from(PAIRS) {
            let (a, b) = pair(size, shared, seed);
            let (found, error) = estimate(&a, &b);
            mean += (found - exact) / f64::from(PAIRS);
            spread += (found - exact).powi(2) / f64::from(PAIRS);
            promised += error.powi(2) / f64::from(PAIRS);
        }
        assert!(mean.abs() <= 5.0 * (variance / f64::from(PAIRS)).sqrt(), "{of_case}: {mean}");
        for of_estimates in [spread, promised] {
            let is_documented = (0.6 * variance..=1.5 * variance).contains(&of_estimates);
            assert!(is_documented, "{of_case}: {of_estimates} for {variance}");
        }
    }
}
