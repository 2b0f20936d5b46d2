//! Sketches of sets, which `fpdb-text` makes of texts and the engine of `fpdb` compares.
//!
//! A [`Sketch`] has two parts. Its *minima* lead from one set to similar ones, because similar sets
//! agree in many of them (Broder 1997). Its *parities* tell how many elements two sets do not share
//! (Odd sketches: Mitzenmacher, Pagh and Pham, WWW 2014). For texts of some hundred features, the
//! parities are four times as exact as the minima.
//!
//! # Examples
//!
//! ```
//! use fpdb_sketch::Sketch;
//!
//! // Values must look random, so they are hashes.
//! let hash = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) ^ number << 7;
//! let sketch = |numbers: std::ops::Range<u64>| {
//!     let values: Vec<u64> = numbers.map(hash).collect();
//!     Sketch::new([7; 128], &values) // the same minima, to keep the example short
//! };
//! let (similarity, error) = sketch(0..500).similarity(&sketch(50..550));
//! assert!((similarity - 450.0 / 550.0).abs() < 4.0 * error && error < 0.02);
//! ```

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![warn(missing_docs)]

// What the modules contain. The engine's test `layering` lists their layers and checks them.
//
// minima parities    the two parts of a sketch
// sketch             a sketch, and its bytes
// similarity         what two sketches tell

mod minima;
mod parities;
mod similarity;
mod sketch;

pub use parities::{Difference, Sampling};
pub use sketch::Sketch;
