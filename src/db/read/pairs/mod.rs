//! All pairs of a snapshot: regions are searched in parallel, and ids are added to what they find.

mod entries;
mod found;
mod search;
mod sketches;
mod visitor;
mod words;

use std::sync::{Mutex, PoisonError};

use entries::EntriesOfPairs;
pub use found::{Found, Pair, PairsReport};
pub(crate) use search::{PairOptions, Search};
pub(crate) use visitor::Visit;
use visitor::{PAIRS, Sink, Visitor};

use crate::base::error::Result;
use crate::fingerprint::{Fingerprint, PerWidth, Sketch, Word};
use crate::query::View;

impl<F: Fingerprint> Search<'_, F> {
    /// Passes everything that is found to `visit`, some thousand pairs at a time. Several threads
    /// search, and call `visit` one at a time.
    pub(crate) fn visit(&self, visit: &mut Visit<'_, F>) -> Result<PairsReport> {
        let visitor = Visitor::new(visit, self.distance());
        let sink = Sink {
            group: &|fingerprint, ids, _| match self.options.expand {
                true => visitor.all_of_group(fingerprint, ids),
                false => visitor.group(fingerprint, ids),
            },
            pairs: &|pairs| self.add_ids(pairs, &visitor),
            between: &|a, b, distance| {
                visitor.between(a, b, distance, self.options.expand);
                Ok(())
            },
        };
        self.run(&sink, &|| visitor.is_stopped())?;
        Ok(visitor.report())
    }

    /// Returns the number of pairs of entries at each distance, from 0. Entries with equal
    /// fingerprints are counted as pairs at distance 0.
    pub(crate) fn count(&self) -> Result<Vec<u64>> {
        let counts = Mutex::new(vec![0; self.distance().min(F::BITS) as usize + 1]);
        let add = |more: &mut dyn Iterator<Item = (u32, u64)>| {
            let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
            more.for_each(|(distance, pairs)| counts[distance as usize] += pairs);
        };
        let is_shared = self.reader.read(Self::kind().is_shared);
        let sink = Sink {
            group: &|_, ids, before| {
                let count = ids.len() as u64;
                add(&mut [(0, count * before + count * count.saturating_sub(1) / 2)].into_iter());
                Ok(())
            },
            between: &|a, b, distance| {
                add(&mut [(distance, (a.len() * b.len()) as u64)].into_iter());
                Ok(())
            },
            pairs: &|pairs| {
                if !is_shared {
                    add(&mut pairs.iter().map(|&(_, _, distance)| (distance, 1)));
                    return Ok(());
                }
                let entries = EntriesOfPairs::read(self.reader, pairs, usize::MAX)?;
                let count = |fingerprint| entries.of(fingerprint).len() as u64;
                add(&mut pairs.iter().map(|&(a, b, distance)| (distance, count(a) * count(b))));
                Ok(())
            },
        };
        let options = PairOptions { expand: false, ..self.options };
        Self { options, ..*self }.run(&sink, &|| false)?;
        Ok(counts.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Finds what there is, until it is stopped.
    fn run(&self, sink: &Sink<'_, F>, is_stopped: &(dyn Fn() -> bool + Sync)) -> Result<()> {
        (Self::kind().run)(self, sink, is_stopped)
    }

    fn kind() -> Kind<F> {
        F::choose::<Kinds>(of_words(), of_words(), OF_SKETCHES)
    }

    fn add_ids(&self, pairs: &[(F, F, u32)], visitor: &Visitor<'_, '_, F>) -> Result<()> {
        let limit = if self.options.expand { usize::MAX } else { 1 };
        let entries = EntriesOfPairs::read(self.reader, pairs, limit)?;
        let mut some = Vec::with_capacity(PAIRS.min(pairs.len()));
        for &(a, b, distance) in pairs {
            for &a in entries.of(a) {
                for &b in entries.of(b) {
                    visitor.push(&mut some, Pair { a, b, distance });
                }
            }
        }
        visitor.pairs(&some);
        Ok(())
    }
}

type Run<F> = fn(&Search<'_, F>, &Sink<'_, F>, &(dyn Fn() -> bool + Sync)) -> Result<()>;

/// How pairs are searched in databases of one type of fingerprint.
struct Kind<F: Fingerprint> {
    run: Run<F>,
    /// Whether several entries may share a fingerprint, or none may have it any more.
    is_shared: fn(&View<'_, F>) -> bool,
}

struct Kinds;

impl PerWidth for Kinds {
    type At<F: Fingerprint> = Kind<F>;
}

const fn of_words<W: Word>() -> Kind<W> {
    Kind { run: words::run, is_shared: words::is_shared }
}

const OF_SKETCHES: Kind<Sketch> = Kind { run: sketches::run, is_shared: |_| false };

#[cfg(test)]
mod tests;
