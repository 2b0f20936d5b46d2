//! The bands of recent sketches: buckets for each band, which lead to the numbers of documents.

use super::buckets::Buckets;
use crate::fingerprint::Sketch;
use crate::index::bands::BandRule;
use crate::index::bands::NumberSet;

/// Low bits of a value in the buckets of a band: the number of the document. The band is above.
const NUMBER_BITS: u32 = 24;
const NUMBERS: u64 = (1 << NUMBER_BITS) - 1;

/// The bands of the originals that were changed here.
#[derive(Debug)]
pub(super) struct RecentBands {
    rule: BandRule,
    /// The documents with each band.
    tables: Vec<Buckets<u64>>,
}

impl RecentBands {
    pub(super) fn new(rule: BandRule) -> Self {
        Self { rule, tables: (0..rule.bands).map(|_| Buckets::new()).collect() }
    }

    /// Returns about how many bytes this occupies.
    pub(super) fn memory(&self) -> usize {
        self.tables.iter().map(Buckets::memory).sum()
    }

    /// Adds the bands of a document that becomes an original with another sketch, so that searches
    /// find its number. What it was before stays: searches compare the document itself.
    pub(super) fn add(&mut self, number: usize, sketch: &Sketch) {
        for (band, table) in (0..).zip(&mut self.tables) {
            table.insert(band_value(sketch, band, &self.rule) | number as u64 & NUMBERS);
        }
    }

    /// Returns, for each sketch, the numbers of the documents that may share a band with it.
    /// `documents` is the number of all documents. If several sketches have the same band, it is
    /// looked up once.
    pub(super) fn candidates(&self, sketches: &[&Sketch], documents: usize) -> Vec<NumberSet> {
        if documents >= 1 << NUMBER_BITS {
            return sketches.iter().map(|_| NumberSet::all(documents)).collect();
        }
        let mut found: Vec<_> = sketches.iter().map(|_| NumberSet::new(documents)).collect();
        let mut bands = Vec::with_capacity(sketches.len());
        for (band, table) in (0..).zip(&self.tables) {
            let value = |sketch: &&Sketch| band_value(sketch, band, &self.rule);
            bands.clear();
            bands.extend(sketches.iter().map(value).zip(0..));
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
}

/// Returns a band as it is in the buckets, without the number. The bands of a crowd agree in their
/// first minima, which are their leading bits. After the multiplication, the leading bits depend on
/// all bits, so each band has buckets of its own.
fn band_value(sketch: &Sketch, band: u32, rule: &BandRule) -> u64 {
    sketch.band(band, rule.minima).wrapping_mul(0x9e37_79b9_7f4a_7c15) & !NUMBERS
}

/// Adds the numbers of the documents with a band.
fn add_numbers(table: &Buckets<u64>, low: u64, found: &mut NumberSet) {
    table.for_each_between(low, low | NUMBERS, |value| {
        found.insert(u32::try_from(value & NUMBERS).unwrap_or(0));
    });
}
