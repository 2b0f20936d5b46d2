//! Sets of known similarity, for the tests of all sketches.

use super::mix::{GOLDEN, mix};

/// Returns two sets of `size` elements, `shared` of which are in both. Sets of different seeds have
/// no element in common.
pub(super) fn pair(size: u64, shared: u64, seed: u64) -> (Vec<u64>, Vec<u64>) {
    let element = |i: u64| mix((seed << 32 | i).wrapping_mul(GOLDEN));
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
