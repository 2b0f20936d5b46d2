//! Predicts what a query reads: candidates, blocks and pages.

use std::collections::HashMap;
use std::ops::Add;

use super::Probe;
use super::plan::TablePlan;
use super::terms::{Leaves, PAGE};
use crate::fingerprint::Word;

/// What a query is expected to read.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Reads {
    /// Fingerprints with the prefixes that are looked up.
    pub(super) candidates: f64,
    /// Blocks that are decoded.
    pub(super) blocks: f64,
    /// Pages that these blocks are in.
    pub(super) pages: f64,
}

impl Add for Reads {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            candidates: self.candidates + other.candidates,
            blocks: self.blocks + other.blocks,
            pages: self.pages + other.pages,
        }
    }
}

/// The queries of which pages are counted: so many, or fewer if there are many probes.
const QUERIES: usize = 64;
const PROBES: usize = 1 << 16;

impl Leaves {
    /// Returns what all lookups in a table are expected to read, if the fingerprints are evenly
    /// spread.
    pub(super) fn reads(&self, table: &TablePlan) -> Reads {
        let each = table.probes().iter().map(|probe| {
            let depth = probe.depth.into();
            // The wanted fingerprints begin anywhere in a block.
            let candidates = self.below(depth);
            let blocks = self.passing(depth) + candidates / self.size().in_block;
            Reads { candidates, blocks, pages: 0.0 }
        });
        Reads { pages: self.pages(table.probes()), ..each.fold(Reads::default(), Reads::add) }
    }

    /// Returns how many pages of a table are read. Lookups whose flips are in low bits share a
    /// page, so this counts the pages of some queries.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn pages(&self, probes: &[Probe]) -> f64 {
        let pages = (self.size().blocks / PAGE).max(1.0);
        let queries = (PROBES / probes.len().max(1)).clamp(1, QUERIES);
        let read = (1..=queries as u64).map(|query| {
            let query = query.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            self.pages_of(probes, query, pages)
        });
        read.sum::<f64>() / queries as f64
    }

    /// Returns how many of `pages` pages one query reads.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "positions from 0 up"
    )]
    fn pages_of(&self, probes: &[Probe], query: u64, pages: f64) -> f64 {
        // For each page, the probability that no lookup reads it.
        let mut unread: HashMap<u64, f64> = HashMap::new();
        let mut inside = 0.0;
        for probe in probes {
            let depth = u32::from(probe.depth);
            let passing = self.passing(depth);
            let prefix = (query ^ probe.flips::<u64>()) & u64::prefix_mask(depth.min(64));
            let start = prefix as f64 / 2f64.powi(64) * pages;
            let end = start + pages * 2f64.powi(-depth.cast_signed());
            let (first, last) = (start as u64, end.min(pages - 1.0) as u64);
            *unread.entry(first).or_insert(1.0) *= 1.0 - passing;
            if last > first {
                *unread.entry(last).or_insert(1.0) *= 1.0 - passing;
                inside += (last - first - 1) as f64 * passing;
            }
        }
        inside + unread.values().map(|unread| 1.0 - unread).sum::<f64>()
    }
}
