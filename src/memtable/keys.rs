//! The keys of recent sketches: buckets for each key, which lead to the numbers of documents.

use super::buckets::Buckets;
use crate::fingerprint::{Entry, Fingerprint, Word};
use crate::layout::KeyRule;

/// Low bits of a value in the buckets of a key: the number of the document. The key is above.
pub(super) const NUMBER_BITS: u32 = 24;
const NUMBERS: u64 = (1 << NUMBER_BITS) - 1;

/// Adds the keys of a document that becomes an original with another sketch, so that searches find its
/// number. What it was before stays: searches compare the document itself.
pub(super) fn add_keys<F: Fingerprint>(
    tables: &mut [Buckets<F::Word>],
    number: usize,
    entry: Entry<F>,
    rule: &KeyRule,
) {
    for (key, table) in (0..).zip(tables) {
        let key = key_value(entry.fingerprint, key, rule);
        table.insert(F::Word::from_u128(u128::from(key | number as u64 & NUMBERS)));
    }
}

/// Returns a key as it is in the buckets, without the number.
fn key_value<F: Fingerprint>(sketch: F, key: u32, rule: &KeyRule) -> u64 {
    sketch.key(key, rule.minima) & !NUMBERS
}

/// Returns the numbers of the documents that may share a key with a sketch, each once.
pub(super) fn candidates<F: Fingerprint>(
    tables: &[Buckets<F::Word>],
    sketch: F,
    rule: &KeyRule,
) -> Vec<usize> {
    let mut found = Vec::new();
    for (key, table) in (0..).zip(tables) {
        let low = key_value(sketch, key, rule);
        let word = |value: u64| F::Word::from_u128(value.into());
        let bounds = (word(low), word(low | NUMBERS));
        table.for_each_near(bounds, word(low), F::Word::BITS, |value, _| {
            found.push(usize::try_from(value.top64() & NUMBERS).unwrap_or(0));
        });
    }
    found.sort_unstable();
    found.dedup();
    found
}
