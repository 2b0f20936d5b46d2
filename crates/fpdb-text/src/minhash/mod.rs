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
//! | [`OneBit`] of | size | estimates Jaccard with a standard error of at most | good for |
//! | --- | --- | --- | --- |
//! | `u64`, `u128` | 8 or 16 bytes | sqrt((1 - J²) / bits) | fingerprints, compared by distance |
//! | [`Sketch`](crate::Sketch) | 96 bytes | sqrt((1 - J) (J + 1/63) / 128) | estimates, and keys that likely pairs share |
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

mod one_bit;

pub use one_bit::{OneBit, one_bit};

/// 2^64 divided by the golden ratio, rounded to an odd number. Its multiples are spread evenly.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Permutes the 64-bit values so that each bit of the result depends on all bits of the value. This
/// is the finalizer of SplitMix64, variant 13 of David Stafford's mixers.
#[inline]
const fn mix(value: u64) -> u64 {
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

/// Sets of known similarity, for tests.
#[cfg(test)]
mod sets {
    use super::{GOLDEN, mix};

    /// Returns two sets of `size` elements, `shared` of which are in both. Sets of different seeds have
    /// no element in common, and no element is the key of a function.
    pub(super) fn pair(size: u64, shared: u64, seed: u64) -> (Vec<u64>, Vec<u64>) {
        let element = |i: u64| mix(((seed + 1) << 32 | i).wrapping_mul(GOLDEN));
        let a = (0..size).map(element).collect();
        let b = (size - shared..2 * size - shared).map(element).collect();
        (a, b)
    }

    /// Returns the number of elements that two sets of this size must share to have this similarity,
    /// and the similarity that results after rounding.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small sizes")]
    pub(super) fn shared(size: u64, jaccard: f64) -> (u64, f64) {
        let shared = (2.0 * size as f64 * jaccard / (1.0 + jaccard)).round() as u64;
        (shared, shared as f64 / (2 * size - shared) as f64)
    }

    pub(super) const SIMILARITIES: [f64; 7] = [0.0, 0.25, 0.5, 0.8, 0.9, 0.95, 1.0];
}
