//! MinHash: sketches of sets, from which the Jaccard similarity of the sets can be estimated.
//!
//! All sketches work on sets of 64-bit feature hashes. The caller decides what a feature is and how
//! it is hashed. All sketches that are compared must agree in this, and different features must
//! have different hashes. The hashes need not look random, because they are mixed here. A hash that
//! is given twice counts once, and the order does not matter.
//!
//! The Jaccard similarity of two sets is the size of their intersection divided by the size of
//! their union: 1 for equal sets, 0 for sets without a common element.
//!
//! | sketch | size | estimates Jaccard with a standard error of | good for |
//! | --- | --- | --- | --- |
//! | [`Signature`] | 8 k bytes | sqrt(J (1 - J) / k) | estimates, [`Bands`] |
//! | [`BottomK`] | 8 k bytes | sqrt(J (1 - J) / k) | cheap estimates of large sets |
//! | [`OneBit`] | 8 or 16 bytes | sqrt((1 - J²) / bits), at most | fingerprints, compared by distance |
//! | [`Bands`] | 8 b bytes | - | exact lookup of likely pairs in any map |
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
mod bottom;
mod mix;
mod one_bit;
#[cfg(test)]
mod sets;
mod signature;

pub use bands::Bands;
pub use bottom::BottomK;
pub use one_bit::{OneBit, Winner, one_bit};
pub use signature::Signature;
