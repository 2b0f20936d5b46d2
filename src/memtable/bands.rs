//! The bands of recent sketches: buckets for each band, which lead to the numbers of documents.

use super::buckets::Buckets;
use crate::fingerprint::{Entry, Fingerprint, Word};
use crate::layout::BandRule;

/// Low bits of a value in the buckets of a band: the number of the document. The band is above.
pub(super) const NUMBER_BITS: u32 = 24;
const NUMBERS: u64 = (1 << NUMBER_BITS) - 1;

/// Adds the bands of a document that becomes an original with another sketch, so that searches find its
/// number. What it was before stays: searches compare the document itself.
pub(super) fn add_bands<F: Fingerprint>(
    tables: &mut [Buckets<F::Word>],
    number: usize,
    entry: Entry<F>,
    rule: &BandRule,
) {
    for (band, table) in (0..).zip(tables) {
        let band = band_value(entry.fingerprint, band, rule);
        table.insert(F::Word::from_u128(u128::from(band | number as u64 & NUMBERS)));
    }
}

/// Returns a band as it is in the buckets, without the number.
fn band_value<F: Fingerprint>(sketch: F, band: u32, rule: &BandRule) -> u64 {
    sketch.band(band, rule.minima) & !NUMBERS
}

/// Returns the numbers of the documents that may share a band with a sketch, each once.
pub(super) fn candidates<F: Fingerprint>(
    tables: &[Buckets<F::Word>],
    sketch: F,
    rule: &BandRule,
) -> Vec<usize> {
    let mut found = Vec::new();
    for (band, table) in (0..).zip(tables) {
        let low = band_value(sketch, band, rule);
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
