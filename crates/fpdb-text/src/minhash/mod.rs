//! MinHash: sketches of sets, from which the Jaccard similarity of the sets can be estimated.
//!
//! Everything here works on sets of 64-bit feature hashes. What a feature is, and how it was
//! hashed, is the caller's matter, as long as all sketches that are compared agree in it, and
//! features of different content have different hashes: the hashes are mixed here, so they need
//! not look random. A hash that is given twice counts once, and their order does not matter.
//!
//! The Jaccard similarity of two sets is the size of what they share divided by the size of what
//! they have together: 1 for equal sets, 0 for sets without a common element.
//!
//! | sketch | size | estimates Jaccard with a standard error of | good for |
//! | --- | --- | --- | --- |
//! | [`Signature`] | 8 k bytes | sqrt(J (1 - J) / k) | estimates, [`Bands`] |
//! | [`BottomK`] | 8 k bytes | sqrt(J (1 - J) / k) | cheap estimates of large sets |
//! | [`OneBit`] | 8 or 16 bytes | sqrt((1 - J²) / bits), at most | fingerprints of this database |
//! | [`Bands`] | 8 b bytes | - | exact look-up of likely pairs in any map |
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
pub use one_bit::{OneBit, Standing, one_bit};
pub use signature::Signature;
