//! The choice of a layout and a match rule for a similarity.

use super::Layout;
use super::cost::{FILTERS, Leaves, Terms, Work};
use super::design::split_evenly;
use super::jaccard::{Jaccard, found};
use super::rule::MatchRule;
use super::staircase::{Staircase, Step};
use super::trie::Trie;
use super::tune::ring_of;
use crate::error::{Error, Result};

/// Most unrelated fingerprints that may match a query, on average.
const MAX_FALSE_MATCHES: f64 = 1e-6;
/// Most tables that are considered.
const MAX_TABLES: u8 = 8;
/// Factor by which the storage of one more table must divide the time to be worth it.
const TABLE_PENALTY: f64 = 1.3;
/// Most lookups of a query in one table.
const MAX_PROBES: f64 = 2_000.0;

/// A layout with a rule by similarity.
#[derive(Debug, Clone)]
pub(crate) struct SimilarLayout {
    pub(crate) layout: Layout,
    pub(crate) rule: MatchRule,
    pub(crate) filter_bits: u32,
    /// What a query is expected to do.
    pub(crate) work: Work,
    /// The time, multiplied by the penalty for storage.
    weighed: f64,
}

impl Layout {
    /// Chooses the layout, the rule and the filter for this similarity: of the rings of up to eight
    /// tables the one for which predicted time × 1.3^(storage / storage of one table) is least.
    pub(crate) fn similar(bits: u32, jaccard: Jaccard, entries: u64) -> Result<SimilarLayout> {
        jaccard.check()?;
        let found = rings(bits).filter_map(|ring| ring.best_similar(jaccard, entries));
        let best = found.min_by(|a, b| a.weighed.total_cmp(&b.weighed));
        best.ok_or_else(|| cannot(bits, jaccard, entries))
    }

    /// Does the same for the tables of this layout.
    pub(crate) fn similar_in(&self, jaccard: Jaccard, entries: u64) -> Result<SimilarLayout> {
        jaccard.check()?;
        self.best_similar(jaccard, entries).ok_or_else(|| {
            Error::invalid(format!(
                "the tables of layout {self} cannot find {jaccard} among {entries} documents: \
                 leave the layout out"
            ))
        })
    }

    /// Finds the cheapest rule, with or without a filter.
    fn best_similar(&self, jaccard: Jaccard, entries: u64) -> Option<SimilarLayout> {
        let with = |filter_bits| {
            let terms = Terms { filter_bits, ..Terms::default() };
            let mut found = self.with_similar(jaccard, entries, &terms)?;
            found.weighed = found.work.ns * TABLE_PENALTY.powf(self.storage(entries, &terms));
            Some(found)
        };
        let found = FILTERS.into_iter().filter_map(with);
        found.min_by(|a, b| a.weighed.total_cmp(&b.weighed))
    }

    /// Finds the cheapest rule: all tables have the same steps. `None` if none reaches the recall.
    fn with_similar(&self, jaccard: Jaccard, entries: u64, terms: &Terms) -> Option<SimilarLayout> {
        let distances: Vec<u8> = distances(self.bits(), jaccard, entries).collect();
        let homes = self.homes();
        let width = homes.iter().map(|&table| self.first_cell(table)).min()?;
        let largest = *distances.last()?;
        let depth = self.filter_depth(homes.first().copied()?);
        let leaves = Leaves::new(terms, self.bits(), entries, depth.into(), self.tables());
        let mut candidates: Vec<(Work, Vec<Step>)> = candidates(width, entries)
            .map(|steps| {
                let stairs = Staircase::new(steps.clone(), self.bits, largest);
                (Trie::new(&stairs, &leaves).work, steps)
            })
            .filter(|(work, _)| work.probes <= MAX_PROBES)
            .collect();
        candidates.sort_by(|a, b| a.0.ns.total_cmp(&b.0.ns));
        for (work, steps) in candidates {
            let tables = |steps: &Vec<Step>| -> Vec<Vec<Step>> {
                let of = |table| if homes.contains(&table) { steps.clone() } else { Vec::new() };
                (0..self.tables()).map(of).collect()
            };
            let tables = tables(&steps);
            let reaches = |distance: &u8| {
                let found = found(self.bits(), *distance, Some(&tables), jaccard.similarity());
                found >= jaccard.expected_recall() && steps.iter().all(|s| s.most < *distance)
            };
            // The largest distance finds most.
            if !reaches(&largest) {
                continue;
            }
            if let Some(&distance) = distances.iter().find(|distance| reaches(distance)) {
                let least = Work { ns: terms.costs.least_ns(), ..Work::default() };
                let work = homes.iter().fold(least, |sum, _| sum + work);
                let rule = MatchRule::similar(self.bits(), distance, jaccard, tables);
                let filter_bits = terms.filter_bits;
                let layout = self.clone();
                return Some(SimilarLayout { layout, rule, filter_bits, work, weighed: work.ns });
            }
        }
        None
    }
}

/// Returns the layouts to choose from.
pub(super) fn rings(bits: u32) -> impl Iterator<Item = Layout> {
    let width = if bits > 64 { 128 } else { 64 };
    (1..=MAX_TABLES).map(move |tables| ring_of(width, split_evenly(width, tables)))
}

/// Returns the distances, ascending, that enough pairs are within and few unrelated ones.
fn distances(bits: u32, jaccard: Jaccard, entries: u64) -> impl Iterator<Item = u8> {
    let near = move |distance, similarity| found(bits, distance, None, similarity);
    (0..=MatchRule::max_distance(bits))
        .skip_while(move |&d| near(d, jaccard.similarity()) < jaccard.expected_recall())
        .take_while(move |&d| near(d, 0.0) * entries as f64 <= MAX_FALSE_MATCHES)
}

/// Returns the staircases of one or two steps within `width` bits that are worth trying: after them,
/// about one entry is left, or up to a thousand.
fn candidates(width: u8, entries: u64) -> impl Iterator<Item = Vec<Step>> {
    let to_one_entry = u8::try_from(entries.max(1).ilog2()).unwrap_or(0);
    let depths = to_one_entry.saturating_sub(10).max(6)..=width.min(to_one_entry + 6).max(6);
    depths.flat_map(|depth| {
        let one = (0..5).map(move |most| vec![Step { depth, most }]);
        let two = (depth.saturating_sub(9).max(4)..depth).flat_map(move |first| {
            (0..4)
                .map(move |most| vec![Step { depth: first, most }, Step { depth, most: most + 1 }])
        });
        one.chain(two)
    })
}

fn cannot(bits: u32, jaccard: Jaccard, entries: u64) -> Error {
    let remedy = if bits > 64 { "ask for a higher similarity" } else { "use 128 bits" };
    Error::invalid(format!(
        "{jaccard} cannot be found with {bits} bits among {entries} documents, without more than \
         one false match in a million queries: {remedy}, or a lower recall"
    ))
}
