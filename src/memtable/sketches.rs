//! Recent sketches, searched by their bands.

use super::Memtable;
use super::bands::{NUMBER_BITS, candidates};
use crate::fingerprint::{DocId, Document, Entry, Fingerprint};
use crate::layout::{Orders, SketchTest};

/// A document that matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Similar<F> {
    pub distance: u32,
    pub fingerprint: F,
    pub id: DocId,
    /// The commit that made it what it is.
    pub seq: u64,
}

impl<F: Fingerprint> Memtable<F> {
    /// Returns the documents that match a sketch at commit `seq`, each once.
    pub(crate) fn similar(&self, sketch: F, test: &SketchTest<'_>, seq: u64) -> Vec<Similar<F>> {
        let inner = self.read();
        let matching = |(changed, document): (u64, Document<F>)| {
            let distance = test.distance(sketch, document.fingerprint)?;
            let Entry { fingerprint, id } = document.entry()?;
            Some(Similar { distance, fingerprint, id, seq: changed })
        };
        let originals = |number| inner.documents.at(number, seq).and_then(matching);
        let is_small = inner.documents.len() < 1 << NUMBER_BITS;
        match &self.orders {
            Orders::Bands(rule) if test.shares_band && is_small => {
                candidates(&inner.tables, sketch, rule).into_iter().filter_map(originals).collect()
            }
            _ => (0..inner.documents.len()).filter_map(originals).collect(),
        }
    }

    /// Returns the nearest (and lowest) of the matching documents that a commit after `seq` made what
    /// they are, and that `accept` accepts.
    pub(crate) fn newer_similar(
        &self,
        sketch: F,
        test: &SketchTest<'_>,
        seq: u64,
        accept: impl Fn(Entry<F>) -> bool,
    ) -> Option<Similar<F>> {
        let similar = self.similar(sketch, test, u64::MAX).into_iter();
        let counts = |found: &Similar<F>| {
            let Similar { fingerprint, id, .. } = *found;
            found.seq > seq && accept(Entry { fingerprint, id })
        };
        similar.filter(counts).min()
    }
}
