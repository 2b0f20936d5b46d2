//! A part of a table, decoded.

use std::ops::Range;

use super::table::{PermutedQuery, ProbeQueries, QueryHit, TableSweep};
use crate::base::cpu;
use crate::base::error::Result;
use crate::fingerprint::Word;
use crate::index::tables::layout::{Prefix, Probe};
use crate::index::tables::table::Table;

/// Candidates that are compared before a check for more. An entry of the directory has one or two,
/// so there are nearly never more, and the processor predicts that.
const GROUP: usize = 4;

/// Queries of a region that are answered before a check whether too much is found.
const QUERIES: usize = 64;

/// The fingerprints of a part, with a directory: where the fingerprints begin for each value of the
/// bits after the prefix.
#[derive(Debug, Default)]
pub(super) struct Region<F> {
    /// The fingerprints of the part are followed by at least [`GROUP`] others.
    decoded: Vec<F>,
    /// Where in `decoded` the fingerprints of the part are.
    within: Range<usize>,
    /// Bits of the part's prefix.
    depth: u32,
    /// Bits that choose an entry of the directory.
    bits: u32,
    /// Positions in `decoded`.
    directory: Vec<u32>,
}

impl<F: Word> Region<F> {
    /// Decodes these blocks, which hold the entire part. Returns how many fingerprints it has.
    pub(super) fn load(
        &mut self,
        table: &Table<F>,
        blocks: Range<usize>,
        part: Prefix<F>,
    ) -> Result<usize> {
        self.decoded.clear();
        table.decode(blocks, &mut self.decoded)?;
        let from = self.decoded.partition_point(|&f| f < part.low());
        let to = self.decoded.partition_point(|&f| f <= part.high());
        self.within = from..to.max(from);
        self.decoded.extend([F::ZERO; GROUP]);
        self.depth = part.depth;
        self.bits = self.within.len().checked_ilog2().unwrap_or(0).min(F::BITS - part.depth);
        cpu::with_native_instructions(
            #[inline(always)]
            || self.fill_directory(),
        );
        Ok(self.within.len())
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "a region has far fewer than 2^32")]
    fn fill_directory(&mut self) {
        let Self { decoded, within, depth, bits, directory } = self;
        directory.clear();
        directory.resize((1 << *bits) + 1, within.start as u32);
        for (position, &f) in decoded.iter().enumerate().take(within.end).skip(within.start) {
            directory[directory_index(f, *depth, *bits) + 1] = position as u32 + 1;
        }
        let mut before = 0;
        for end in directory {
            before = before.max(*end);
            *end = before;
        }
    }

    /// Looks up the candidates of these queries.
    pub(super) fn search(
        &self,
        sweep: &TableSweep<'_, F>,
        routes: &[ProbeQueries],
        found: &mut Vec<QueryHit<F>>,
    ) {
        let mut near = Vec::new();
        for route in routes {
            let probe = &sweep.probes[route.probe];
            for queries in sweep.queries[route.queries.clone()].chunks(QUERIES) {
                cpu::with_native_instructions(
                    #[inline(always)]
                    || self.compare(probe, queries, sweep.distance, &mut near),
                );
                let before = found.len();
                for (query, candidate) in near.drain(..) {
                    sweep.report(query, candidate, found);
                }
                sweep.tally.add(found.len() - before);
                if sweep.tally.is_full() {
                    return;
                }
            }
        }
    }

    #[inline(always)]
    fn compare(
        &self,
        probe: &Probe,
        queries: &[PermutedQuery<F>],
        distance: u32,
        near: &mut Vec<(PermutedQuery<F>, F)>,
    ) {
        let mask = F::prefix_mask(probe.depth.into());
        let deep = u32::from(probe.depth) > self.depth;
        for query in queries {
            let low = (query.value ^ probe.flips()) & mask;
            let Range { mut start, end } =
                if deep { self.positions(low, low | !mask) } else { self.within.clone() };
            let is_near = |f: &F| f.distance(query.value) <= distance;
            // The last group may reach beyond `end`: what is near is checked for that.
            while let Some(group) = self.decoded[start..].first_chunk::<GROUP>() {
                if group.iter().fold(false, |any, f| any | is_near(f)) {
                    let candidates = group.iter().take(end.saturating_sub(start));
                    keep(near, *query, candidates.filter(|f| is_near(f) && **f & mask == low));
                }
                start += GROUP;
                if start >= end {
                    break;
                }
            }
        }
    }

    /// Where the fingerprints from `low` to `high` are, and possibly some others.
    #[inline(always)]
    fn positions(&self, low: F, high: F) -> Range<usize> {
        let first = self.directory[directory_index(low, self.depth, self.bits)];
        let last = self.directory[directory_index(high, self.depth, self.bits) + 1];
        first as usize..last as usize
    }
}

/// The `bits` bits after the first `depth` bits, as a number.
#[inline(always)]
fn directory_index<F: Word>(fingerprint: F, depth: u32, bits: u32) -> usize {
    // Two shifts, since one shift by all 64 bits is not defined.
    (fingerprint.wrapping_shl(depth).top64() >> 1 >> (63 - bits)) as usize
}

/// Rarely called: out of the way of the loop.
#[cold]
#[inline(never)]
fn keep<'a, F: Word>(
    near: &mut Vec<(PermutedQuery<F>, F)>,
    query: PermutedQuery<F>,
    found: impl Iterator<Item = &'a F>,
) {
    near.extend(found.map(|&candidate| (query, candidate)));
}
