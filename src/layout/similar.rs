//! The choice of a layout and a match rule for a similarity.

use super::Layout;
use super::columns::{self, KEY_BITS};
use super::design::split_evenly;
use super::jaccard::Jaccard;
use super::presets::ring_of;
use super::recall::{self, within};
use super::rule::MatchRule;
use super::staircase::{Staircase, Step};
use super::terms::{FILTERS, Leaves, Terms, Work};
use super::trie::Trie;
use crate::error::{Error, Result};

/// Most unrelated fingerprints that may match a query, on average.
const MAX_FALSE_MATCHES: f64 = 1e-6;
/// Most tables that are considered.
const MAX_TABLES: u8 = 8;
/// Factor by which the storage of one more table must divide the time to be worth it.
const TABLE_PENALTY: f64 = 1.3;
/// Most lookups of a query in one table.
const MAX_PROBES: f64 = 2_000.0;

/// Most of the pairs that a tail may lose: so much the computed recall may be too low.
const MAX_LOST: f64 = 0.01;

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

    /// Finds the cheapest rule: in columns, or with or without a filter.
    fn best_similar(&self, jaccard: Jaccard, entries: u64) -> Option<SimilarLayout> {
        let weighed = |terms: Terms| {
            let mut found = self.with_similar(jaccard, entries, &terms)?;
            found.weighed = found.work.ns * TABLE_PENALTY.powf(self.storage(entries, &terms));
            Some(found)
        };
        if columns::columns_pay(self.bits()) {
            return weighed(Terms { columns: true, ..Terms::default() });
        }
        let with = |filter_bits| weighed(Terms { filter_bits, ..Terms::default() });
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
        let mut heads: Vec<(Work, Vec<Step>)> = heads(width, entries)
            .map(|steps| {
                let stairs = Staircase::new(steps.clone(), self.bits, largest);
                (Trie::new(&stairs, &leaves).work, steps)
            })
            .filter(|(work, _)| work.probes <= MAX_PROBES)
            .collect();
        heads.sort_by(|a, b| a.0.ns.total_cmp(&b.0.ns));
        let choice = Choice { layout: self, jaccard, entries, terms, homes: &homes };
        let mut best: Option<(Work, Vec<Vec<Step>>)> = None;
        for (work, head) in heads {
            // A tail only adds to the work of a head.
            if best.as_ref().is_some_and(|(least, _)| least.ns <= work.ns) {
                break;
            }
            let found = choice.with_head(work, &head, largest);
            if let Some(found) = found
                && best.as_ref().is_none_or(|(least, _)| found.0.ns < least.ns)
            {
                best = Some(found);
            }
        }
        let (work, tables) = best?;
        // The greater the distance, the more is found.
        let too_small = distances.partition_point(|&distance| !choice.reaches(&tables, distance));
        let distance = *distances.get(too_small)?;
        let least = Work { ns: terms.costs.query_ns, ..Work::default() };
        let work = homes.iter().fold(least, |sum, _| sum + work);
        let rule = MatchRule::similar(self, distance, jaccard, tables);
        let (layout, filter_bits) = (self.clone(), terms.filter_bits);
        Some(SimilarLayout { layout, rule, filter_bits, work, weighed: work.ns })
    }
}

/// The choice of the steps for a layout.
struct Choice<'a> {
    layout: &'a Layout,
    jaccard: Jaccard,
    entries: u64,
    terms: &'a Terms,
    /// The tables that are searched.
    homes: &'a [usize],
}

impl Choice<'_> {
    /// Returns the steps of all tables.
    fn tables(&self, steps: &[Step]) -> Vec<Vec<Step>> {
        let of = |table| if self.homes.contains(&table) { steps.to_vec() } else { Vec::new() };
        (0..self.layout.tables()).map(of).collect()
    }

    /// Returns whether enough is found within this distance.
    fn reaches(&self, tables: &[Vec<Step>], distance: u8) -> bool {
        let found = recall::found(self.layout, distance, tables, self.jaccard.similarity());
        let below = |steps: &Vec<Step>| steps.iter().all(|step| step.most < distance);
        found >= self.jaccard.expected_recall() && tables.iter().all(below)
    }

    /// Returns the work in one table and the steps of all tables, if tables with this head find
    /// enough. In columns, the steps end with the tail that leaves fewest candidates.
    fn with_head(&self, work: Work, head: &[Step], distance: u8) -> Option<(Work, Vec<Vec<Step>>)> {
        let tables = self.tables(head);
        if !self.reaches(&tables, distance) {
            return None;
        }
        if !self.terms.columns {
            return Some((work, tables));
        }
        let heads: Vec<&[Step]> = tables.iter().map(Vec::as_slice).collect();
        let bits = self.layout.bits();
        let most_found = recall::found_by_heads(bits, distance, &heads, self.jaccard.similarity());
        let &Step { depth, most } = head.last()?;
        let buckets = columns::bucket_bits(self.entries).max(depth);
        let end = buckets + KEY_BITS;
        for tail_most in most + 3..distance.min(most + 16) {
            let tail = Step { depth: end, most: tail_most };
            let steps = [head, &[tail]].concat();
            if u32::from(end) >= bits || !self.is_worth(depth, most, tail) {
                continue;
            }
            let tables = self.tables(&steps);
            let found = recall::found(self.layout, distance, &tables, self.jaccard.similarity());
            if found < self.jaccard.expected_recall().max(most_found - MAX_LOST) {
                continue;
            }
            // Nearly all rows that are compared have as many errors in the head as it allows.
            let share = columns::share_within((end - depth).into(), (tail_most - most).into());
            let more = (share - columns::CANDIDATES) * self.terms.candidate_ns();
            return Some((Work { ns: work.ns + work.entries * more, ..work }, tables));
        }
        None
    }

    /// Returns whether this tail may lose few enough pairs, as if tables did not overlap.
    fn is_worth(&self, depth: u8, most: u8, tail: Step) -> bool {
        let beyond = u32::from(tail.depth - depth);
        recall::within(beyond, tail.most - most, self.jaccard.similarity()) > 1.0 - 2.0 * MAX_LOST
    }
}

/// Returns the layouts to choose from.
fn rings(bits: u32) -> impl Iterator<Item = Layout> {
    let width = if bits > 64 { 128 } else { 64 };
    (1..=MAX_TABLES).map(move |tables| ring_of(width, split_evenly(width, tables)))
}

/// Returns the distances, ascending, that enough pairs are within and few unrelated ones.
fn distances(bits: u32, jaccard: Jaccard, entries: u64) -> impl Iterator<Item = u8> {
    let near = move |distance, similarity| within(bits, distance, similarity);
    (0..=MatchRule::max_distance(bits))
        .skip_while(move |&d| near(d, jaccard.similarity()) < jaccard.expected_recall())
        .take_while(move |&d| near(d, 0.0) * entries as f64 <= MAX_FALSE_MATCHES)
}

/// Returns the heads of one or two steps within `width` bits that are worth trying: after them,
/// about one entry is left, or up to a thousand.
fn heads(width: u8, entries: u64) -> impl Iterator<Item = Vec<Step>> {
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
