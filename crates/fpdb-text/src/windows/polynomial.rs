//! Hashes of all runs of a text: polynomials modulo a prime.

use super::words::Words;
use crate::hash::xxh3_with_seed;

/// 2^64 - 59, the largest prime below 2^64. Modulo 2^64 instead, runs that look alike have equal
/// hashes whatever the base is: the Thue-Morse sequence of any two words, and the one with the two
/// exchanged.
pub(super) const PRIME: u64 = u64::MAX - 58;

/// Hashes runs of at most so many words.
#[derive(Debug, Clone)]
pub(super) struct Polynomial {
    /// The powers of the base, from the one of 0 on.
    powers: Vec<u64>,
}

impl Polynomial {
    /// Returns the polynomial in the base that belongs to a seed. The base is the hash of the empty
    /// string: no word is empty.
    pub(super) fn new(seed: u64, most_words: usize) -> Self {
        let base = xxh3_with_seed(b"", seed) % PRIME;
        let powers = std::iter::successors(Some(1), |&power| Some(multiply_add(power, base, 0)));
        Self { powers: powers.take(most_words.max(1) + 1).collect() }
    }

    /// Returns the values of the polynomial of the words before each word, and then of all words.
    pub(super) fn before(&self, words: &Words) -> Vec<u64> {
        let (base, mut value) = (self.powers[1], 0);
        let values = words.hashes().map(|hash| {
            value = multiply_add(value, base, hash);
            value
        });
        std::iter::once(0).chain(values).collect()
    }

    /// Returns the hash of a run of this many words, from the values before its first word and
    /// after its last one.
    #[inline]
    pub(super) fn hash(&self, before: u64, after: u64, words: usize) -> u64 {
        hash_of_run(before, after, self.powers[words])
    }

    pub(super) fn power(&self, words: usize) -> u64 {
        self.powers[words]
    }
}

/// Returns the hash of a run of words, from the values before its first word and after its last
/// one, and the power of the base for its number of words.
#[inline]
pub(super) fn hash_of_run(before: u64, after: u64, power: u64) -> u64 {
    let before = multiply_add(before, power, 0);
    let below = if after < before { PRIME } else { 0 };
    let mut x = after.wrapping_sub(before).wrapping_add(below);
    for _ in 0..2 {
        x ^= x >> 32;
        x = x.wrapping_mul(0xd6e8_feb8_6659_fd93);
    }
    x ^ x >> 32
}

/// Returns a * b + c modulo the prime, where a and b are less than it.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the halves of a product are wanted")]
fn multiply_add(a: u64, b: u64, c: u64) -> u64 {
    // 2^64 is 59 modulo the prime.
    let product = u128::from(a) * u128::from(b) + u128::from(c);
    let sum = u128::from((product >> 64) as u64) * 59 + u128::from(product as u64);
    // The upper half is now below 60, and if this overflows, what is left is small.
    let (low, is_over) = (sum as u64).overflowing_add((sum >> 64) as u64 * 59);
    let low = low + if is_over { 59 } else { 0 };
    if low >= PRIME { low - PRIME } else { low }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_wide_numbers() {
        let edges = [0, 1, 2, 58, 59, 60, 1 << 32, 1 << 63, PRIME - 2, PRIME - 1];
        let random = (0..2000u64).map(|i| xxh3_with_seed(b"", i) % PRIME);
        let all: Vec<u64> = edges.into_iter().chain(random).collect();
        for (i, &a) in all.iter().enumerate() {
            for &b in all.iter().take(60).chain(all.get(i)) {
                for c in [0, 1, 59, PRIME, u64::MAX, a] {
                    let product =
                        (u128::from(a) * u128::from(b) + u128::from(c)) % u128::from(PRIME);
                    assert_eq!(u128::from(multiply_add(a, b, c)), product, "{a} {b} {c}");
                }
            }
        }
    }
}
