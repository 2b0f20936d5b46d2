//! Recent sketches, searched by their bands.

use std::ops::RangeInclusive;

use super::{Memtable, Recent};
use crate::base::cpu;
use crate::fingerprint::{DocId, Entry, Fingerprint};
use crate::index::bands::SketchTest;
use crate::index::bands::{NumberSet, for_each_number};

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
    /// Passes the documents that match a sketch to `visit`, each once, with the place of the
    /// sketch: the originals at the last of `commits` that one of these commits made what they are.
    /// Many sketches take less time together, because those of one crowd are compared with the same
    /// documents.
    pub(crate) fn for_each_similar(
        &self,
        sketches: &[F],
        test: &SketchTest<'_>,
        commits: RangeInclusive<u64>,
        mut visit: impl FnMut(usize, Similar<F>),
    ) {
        let inner = self.read();
        let before = inner.commits.partition_point(|commit| commit.seq < *commits.start());
        let commits =
            u32::try_from(before).unwrap_or(u32::MAX)..inner.commits_until(*commits.end());
        let documents = inner.documents.len();
        let mut led_to: Vec<NumberSet> = match &inner.recent {
            Recent::Bands(bands) if test.shares_band => {
                let sketches: Vec<_> = sketches.iter().filter_map(F::sketch).collect();
                bands.candidates(&sketches, documents)
            }
            _ => sketches.iter().map(|_| NumberSet::all(documents)).collect(),
        };
        cpu::with_native_instructions(
            #[inline(always)]
            || {
                for_each_number(
                    &mut led_to,
                    #[inline(always)]
                    |number, place| {
                        let original = inner.documents.original(number, &commits);
                        let Some((fingerprint, id, commit)) = original else { return };
                        let distance = test.distance_in_band(&sketches[place], fingerprint);
                        if let Some(distance) = distance {
                            let seq = inner.commits[commit as usize].seq;
                            let fingerprint = *fingerprint;
                            visit(place, Similar { distance, fingerprint, id, seq });
                        }
                    },
                );
            },
        );
    }

    /// Returns the nearest (and lowest) of the matching documents that a commit after `seq` made
    /// what they are, and that `accept` accepts.
    pub(crate) fn newer_similar(
        &self,
        sketch: F,
        test: &SketchTest<'_>,
        seq: u64,
        accept: impl Fn(Entry<F>) -> bool,
    ) -> Option<Similar<F>> {
        if self.last_seq() <= seq {
            return None;
        }
        let mut nearest: Option<Similar<F>> = None;
        self.for_each_similar(&[sketch], test, seq + 1..=u64::MAX, |_, found| {
            let Similar { fingerprint, id, .. } = found;
            if nearest.is_none_or(|nearest| found < nearest) && accept(Entry { fingerprint, id }) {
                nearest = Some(found);
            }
        });
        nearest
    }
}
