//! The bands of recent sketches: a table for each band, which leads to the numbers of documents.

use super::band_table::{BandTable, HASH_BITS, NUMBER_BITS};
use crate::fingerprint::Sketch;
use crate::index::bands::BandRule;
use crate::index::bands::NumberSet;

/// The bands of the originals that were changed here.
#[derive(Debug)]
pub(super) struct RecentBands {
    rule: BandRule,
    /// The documents with each band.
    tables: Vec<BandTable>,
}

impl RecentBands {
    pub(super) fn new(rule: BandRule) -> Self {
        Self { rule, tables: (0..rule.bands).map(|_| BandTable::default()).collect() }
    }

    /// Returns about how many bytes this occupies.
    pub(super) fn memory(&self) -> usize {
        self.tables.iter().map(BandTable::memory).sum()
    }

    /// Adds the bands of a document that becomes an original with another sketch, so that searches
    /// find its number. What it was before stays: searches compare the document itself.
    pub(super) fn add(&mut self, number: u32, sketch: &Sketch) {
        for (band, table) in (0..).zip(&mut self.tables) {
            table.insert(hash_of(sketch, band, &self.rule), number);
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
            let hash = |sketch: &&Sketch| hash_of(sketch, band, &self.rule);
            bands.clear();
            bands.extend(sketches.iter().map(hash).zip(0..));
            bands.sort_unstable();
            for same in bands.chunk_by(|a, b| a.0 == b.0) {
                match *same {
                    [(hash, place)] => table.for_each(hash, |number| found[place].insert(number)),
                    [(hash, _), ..] => {
                        let mut of_band = NumberSet::new(documents);
                        table.for_each(hash, |number| of_band.insert(number));
                        same.iter().for_each(|&(_, place)| found[place].add(&of_band));
                    }
                    [] => {}
                }
            }
        }
        found
    }
}

/// Returns the hash of a band, which is in the leading bits. All bits of the hash depend on all of
/// them: the bands of a crowd agree in their first minima, and a band may have few.
fn hash_of(sketch: &Sketch, band: u32, rule: &BandRule) -> u32 {
    let band = sketch.band(band, rule.minima);
    let hash = (band ^ band >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    u32::try_from(hash >> (u64::BITS - HASH_BITS)).unwrap_or(0)
}
