//! The bands of recent sketches: buckets for each band, which lead to the numbers of documents.

use super::buckets::Buckets;
use crate::fingerprint::{Entry, Fingerprint, Word};
use crate::index::bands::BandRule;
use crate::index::bands::NumberSet;

/// Low bits of a value in the buckets of a band: the number of the document. The band is above.
pub(super) const NUMBER_BITS: u32 = 24;
const NUMBERS: u64 = (1 << NUMBER_BITS) - 1;

/// Adds the bands of a document that becomes an original with another sketch, so that searches find
/// its number. What it was before stays: searches compare the document itself.
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

/// Returns a band as it is in the buckets, without the number. The bands of a crowd agree in their
/// first minima, which are their leading bits. After the multiplication, the leading bits depend on
/// all bits, so each band has buckets of its own.
fn band_value<F: Fingerprint>(sketch: F, band: u32, rule: &BandRule) -> u64 {
    sketch.band(band, rule.minima).wrapping_mul(0x9e37_79b9_7f4a_7c15) & !NUMBERS
}

/// Returns, for each sketch, the numbers of the documents that may share a band with it.
/// `documents` is the number of all documents. If several sketches have the same band, it is looked
/// up once.
pub(super) fn candidates<F: Fingerprint>(
    tables: &[Buckets<F::Word>],
    sketches: &[F],
    rule: &BandRule,
    documents: usize,
) -> Vec<NumberSet> {
    let mut found: Vec<_> = sketches.iter().map(|_| NumberSet::new(documents)).collect();
    let mut bands = Vec::with_capacity(sketches.len());
    for (band, table) in (0..).zip(tables) {
        bands.clear();
        bands.extend(sketches.iter().map(|&sketch| band_value(sketch, band, rule)).zip(0..));
        bands.sort_unstable();
        for same in bands.chunk_by(|a, b| a.0 == b.0) {
            match *same {
                [(low, place)] => add_numbers(table, low, &mut found[place]),
                [(low, _), ..] => {
                    let mut of_band = NumberSet::new(documents);
                    add_numbers(table, low, &mut of_band);
                    same.iter().for_each(|&(_, place)| found[place].add(&of_band));
                }
                [] => {}
            }
        }
    }
    found
}

/// Adds the numbers of the documents with a band.
fn add_numbers<W: Word>(table: &Buckets<W>, low: u64, found: &mut NumberSet) {
    let word = |value: u64| W::from_u128(value.into());
    table.for_each_between(word(low), word(low | NUMBERS), |value| {
        found.insert(u32::try_from(value.top64() & NUMBERS).unwrap_or(0));
    });
}
