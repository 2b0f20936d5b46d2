//! A part of a table, decoded.

use std::ops::Range;

use super::{Asked, Found, Lead, Part, Sweep};
use crate::cpu;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::layout::Probe;
use crate::table::Table;

/// Candidates that are compared before it is seen whether there are more. A directory's entry has
/// one or two, so nearly always there are not, and a processor guesses that.
const GROUP: usize = 4;

/// The fingerprints of a part, and for each value of the bits behind its prefix where they begin.
#[derive(Debug, Default)]
pub(super) struct Region<F> {
    /// At least [`GROUP`] more than those in the part follow.
    decoded: Vec<F>,
    /// Those of `decoded` that are in the part.
    within: Range<usize>,
    /// Length of the part's prefix.
    depth: u32,
    /// Bits that the directory tells apart.
    bits: u32,
    /// Places in `decoded`.
    directory: Vec<u32>,
}

impl<F: Fingerprint> Region<F> {
    /// Decodes these blocks, which hold the whole part.
    pub(super) fn load(
        &mut self,
        table: &Table<F>,
        blocks: Range<usize>,
        part: Part<F>,
    ) -> Result<()> {
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
        Ok(())
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "a region has far fewer than 2^32")]
    fn fill_directory(&mut self) {
        let Self { decoded, within, depth, bits, directory } = self;
        directory.clear();
        directory.resize((1 << *bits) + 1, within.start as u32);
        for (place, &f) in decoded.iter().enumerate().take(within.end).skip(within.start) {
            directory[cell(f, *depth, *bits) + 1] = place as u32 + 1;
        }
        let mut before = 0;
        for end in directory {
            before = before.max(*end);
            *end = before;
        }
    }

    /// Looks up what the probes of these queries may find here.
    pub(super) fn search(&self, sweep: &Sweep<'_, F>, leads: &[Lead], found: &mut Vec<Found<F>>) {
        let mut near = Vec::new();
        for lead in leads {
            let probe = &sweep.probes[lead.probe];
            cpu::with_native_instructions(
                #[inline(always)]
                || self.look_up(probe, &sweep.asked[lead.asked.clone()], sweep.distance, &mut near),
            );
            for (asked, candidate) in near.drain(..) {
                sweep.report(asked, candidate, found);
            }
        }
    }

    #[inline(always)]
    fn look_up(
        &self,
        probe: &Probe<F>,
        among: &[Asked<F>],
        distance: u32,
        near: &mut Vec<(Asked<F>, F)>,
    ) {
        let mask = F::prefix_mask(probe.depth.into());
        let deep = u32::from(probe.depth) > self.depth;
        for asked in among {
            let low = (asked.value ^ probe.flips) & mask;
            let Range { mut start, end } =
                if deep { self.place(low, low | !mask) } else { self.within.clone() };
            let is_near = |f: &F| f.distance(asked.value) <= distance;
            // The last group may be more than there are; that is sorted out for what is near.
            while let Some(group) = self.decoded[start..].first_chunk::<GROUP>() {
                if group.iter().fold(false, |any, f| any | is_near(f)) {
                    let candidates = group.iter().take(end.saturating_sub(start));
                    keep(near, *asked, candidates.filter(|f| is_near(f) && **f & mask == low));
                }
                start += GROUP;
                if start >= end {
                    break;
                }
            }
        }
    }

    /// Where all fingerprints from `low` to `high`, and maybe more, are.
    #[inline(always)]
    fn place(&self, low: F, high: F) -> Range<usize> {
        let first = self.directory[cell(low, self.depth, self.bits)];
        let last = self.directory[cell(high, self.depth, self.bits) + 1];
        first as usize..last as usize
    }
}

/// The `bits` bits behind the first `depth` ones, as a number.
#[inline(always)]
fn cell<F: Fingerprint>(fingerprint: F, depth: u32, bits: u32) -> usize {
    // In two shifts: one of all 64 bits cannot be.
    (fingerprint.wrapping_shl(depth).top64() >> 1 >> (63 - bits)) as usize
}

/// Rarely called: out of the way of the loop.
#[cold]
#[inline(never)]
fn keep<'a, F: Fingerprint>(
    near: &mut Vec<(Asked<F>, F)>,
    asked: Asked<F>,
    found: impl Iterator<Item = &'a F>,
) {
    near.extend(found.map(|&candidate| (asked, candidate)));
}
