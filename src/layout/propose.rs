//! Proposes layouts for a size and a distance or a similarity, by predicted time and storage.

use super::columns;
use super::costs::Costs;
use super::similar::rings;
use super::terms::{FILTERS, Terms, Work};
use super::tune;
use super::{Jaccard, Layout, MatchRule};
use crate::error::Result;

/// Block sizes that are tried.
const BLOCK_SIZES: [usize; 4] = [128, 256, 512, 1024];
/// Factor below which a difference between proposals does not count.
const TOLERANCE: f64 = 1.03;

/// What a layout should be best at.
///
/// # Examples
///
/// ```
/// use fpdb::Layout;
/// use fpdb::layout::{Goal, Needs};
///
/// let needs = Needs::new(64, 10_000_000, 3);
/// let storage = Layout::plan(&needs.clone().goal(Goal::Storage))?;
/// let latency = Layout::plan(&needs.goal(Goal::Latency))?;
/// assert!(storage.best[0].disk_bytes < latency.best[0].disk_bytes);
/// assert!(storage.best[0].query_us > latency.best[0].query_us);
/// # Ok::<(), fpdb::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Goal {
    /// The shortest queries of a database that is in memory.
    #[default]
    Latency,
    /// The least storage on disk.
    Storage,
    /// The shortest queries of a database that must be read from the device.
    Cold,
}

/// The database that [`Layout::plan`] proposes layouts for: its size, what its queries find, and
/// limits.
///
/// # Examples
///
/// ```
/// use fpdb::Layout;
/// use fpdb::layout::{Goal, Needs};
///
/// let needs = Needs::new(64, 10_000_000, 3).disk(200_000_000).goal(Goal::Latency);
/// let proposals = Layout::plan(&needs)?;
/// let best = &proposals.best[0];
/// assert!(best.disk_bytes <= 200_000_000 && best.query_us < 10.0);
/// assert!(proposals.beyond_limits > 0);
/// # Ok::<(), fpdb::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct Needs {
    bits: u32,
    entries: u64,
    wanted: Wanted,
    memory: Option<u64>,
    disk: Option<u64>,
    goal: Goal,
    costs: Costs,
}

/// What queries find.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Wanted {
    Distance(u32),
    Similar(Jaccard),
}

impl Needs {
    /// Describes queries within `distance` (0 to 12 at 64 bits, 0 to 24 at 128) among `entries`
    /// fingerprints of `bits` bits (64 or 128). The goal is latency, there are no limits, and the costs are the defaults.
    pub fn new(bits: u32, entries: u64, distance: u32) -> Self {
        Self::of(bits, entries, Wanted::Distance(distance))
    }

    /// Describes queries for documents of this similarity. Otherwise the same as
    /// [`new`](Self::new).
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::layout::Needs;
    /// use fpdb::{Jaccard, Layout};
    ///
    /// let needs = Needs::similar(128, 10_000_000, Jaccard::at_least(0.8));
    /// let best = &Layout::plan(&needs)?.best[0];
    /// assert!(best.rule.found_at(0.8) >= 0.95);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn similar(bits: u32, entries: u64, jaccard: Jaccard) -> Self {
        Self::of(bits, entries, Wanted::Similar(jaccard))
    }

    fn of(bits: u32, entries: u64, wanted: Wanted) -> Self {
        let (memory, disk) = (None, None);
        Self { bits, entries, wanted, memory, disk, goal: Goal::Latency, costs: Costs::default() }
    }

    /// Sets a limit for the bytes of index and filters, which should be in memory. Default: none.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::Layout;
    /// use fpdb::layout::Needs;
    ///
    /// let needs = Needs::new(64, 10_000_000, 3).memory(20_000_000);
    /// assert!(Layout::plan(&needs)?.best.iter().all(|p| p.memory_bytes <= 20_000_000));
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn memory(self, bytes: u64) -> Self {
        Self { memory: Some(bytes), ..self }
    }

    /// Sets a limit for the bytes of the tables on disk. Ids come on top. Default: none.
    pub fn disk(self, bytes: u64) -> Self {
        Self { disk: Some(bytes), ..self }
    }

    /// Sets what the layout should be best at. Default: [`Goal::Latency`].
    pub fn goal(self, goal: Goal) -> Self {
        Self { goal, ..self }
    }

    /// Sets the costs of the machine. Default: [`Costs::default`].
    pub fn costs(self, costs: Costs) -> Self {
        Self { costs, ..self }
    }
}

/// A layout, how to write its tables, and its predicted size and speed for evenly spread data.
///
/// # Examples
///
/// ```
/// use fpdb::Layout;
/// use fpdb::layout::Needs;
///
/// for proposal in Layout::plan(&Needs::new(64, 10_000_000, 3))?.best {
///     println!("{}: {} bytes, {:.2} us", proposal.layout, proposal.disk_bytes, proposal.query_us);
/// }
/// # Ok::<(), fpdb::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Proposal {
    /// The layout. [`Layout::preset`] accepts its name.
    pub layout: Layout,
    /// The match rule of the database.
    pub rule: MatchRule,
    /// Bytes of a block.
    pub block_size: usize,
    /// Bits of the prefix filter per fingerprint, per table. 0 means no filter.
    pub filter_bits: u32,
    /// Prefixes that a query probes.
    pub probes: f64,
    /// Probes that the filters leave to be looked up.
    pub lookups: f64,
    /// Fingerprints that a query decodes and compares.
    pub candidates: f64,
    /// Bytes of the tables on disk.
    pub disk_bytes: u64,
    /// Bytes of directories, filters and columns, which should be in memory.
    pub memory_bytes: u64,
    /// Microseconds of a query without matches, for a database of one segment that is in memory.
    pub query_us: f64,
    /// Pages that a query reads if no block is in memory, with a plan made for that.
    pub cold_reads: f64,
    /// Microseconds of such a query.
    pub cold_us: f64,
}

/// The layouts that [`Layout::plan`] proposes.
///
/// # Examples
///
/// ```
/// use fpdb::Layout;
/// use fpdb::layout::Needs;
///
/// let proposals = Layout::plan(&Needs::new(64, 10_000_000, 3).disk(1))?;
/// assert!(proposals.best.is_empty());
/// assert_eq!(proposals.beyond_limits, proposals.considered);
/// # Ok::<(), fpdb::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Proposals {
    /// The Pareto-optimal proposals, the best for the goal first: no other proposal is at least as
    /// good in time, storage and memory together. Empty if no layout is within the limits.
    pub best: Vec<Proposal>,
    /// Number of proposals that were considered.
    pub considered: usize,
    /// Number of considered proposals that are beyond the limits of memory or disk.
    pub beyond_limits: usize,
}

impl Layout {
    /// Proposes the layouts that are worth having for these needs.
    ///
    /// It considers the presets, and rings with widths tuned to the number of entries, each with
    /// and without filters and with blocks of 128 to 1024 bytes. This takes less than 0.1 s up to
    /// distance 4, and about 1 s for distance 10.
    ///
    /// # Errors
    ///
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a width or a distance that no
    /// database can have.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::Layout;
    /// use fpdb::layout::Needs;
    ///
    /// let proposals = Layout::plan(&Needs::new(64, 10_000_000, 3))?;
    /// let best = &proposals.best[0];
    /// assert_eq!(Layout::preset(best.layout.name(), 64)?, best.layout);
    /// assert!(Layout::plan(&Needs::new(64, 10_000_000, 13)).is_err());
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn plan(needs: &Needs) -> Result<Proposals> {
        let (mut all, mut considered) = (Vec::new(), 0);
        for (layout, rule) in layouts(needs)? {
            let mut formats = table_formats(needs, &layout, &rule);
            considered += formats.len();
            formats.retain(|format| format.is_within(needs));
            all.extend(propose(needs, &layout, &rule, &formats));
        }
        let beyond_limits = considered - all.len();
        Ok(Proposals { best: pareto_front(all, needs.goal), considered, beyond_limits })
    }
}

/// Returns the layouts to consider, each with the rule of a database that has it.
fn layouts(needs: &Needs) -> Result<Vec<(Layout, MatchRule)>> {
    let &Needs { bits, entries, wanted, .. } = needs;
    match wanted {
        Wanted::Distance(distance) => {
            let rule = MatchRule::within(bits, distance)?;
            let layouts = tune::layouts(bits, entries, rule.distance_u8(), &needs.costs)?;
            Ok(layouts.into_iter().map(|layout| (layout, rule.clone())).collect())
        }
        Wanted::Similar(jaccard) => {
            // The best one, or why there is none.
            let _ = Layout::similar(bits, jaccard, entries)?;
            let similar = |ring: Layout| ring.similar_in(jaccard, entries).ok();
            Ok(rings(bits).filter_map(similar).map(|found| (found.layout, found.rule)).collect())
        }
    }
}

/// A way to write the tables, and the bytes that they take.
#[derive(Debug, Clone, Copy)]
struct TableFormat {
    block_size: usize,
    filter_bits: u32,
    columns: bool,
    disk: f64,
    memory: f64,
}

impl TableFormat {
    fn terms(&self, costs: &Costs, cold_share: f64) -> Terms {
        let Self { block_size, filter_bits, columns, .. } = *self;
        let costs = costs.clone().cold(cold_share);
        Terms { block_size, filter_bits, columns, costs, ..Terms::default() }
    }

    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn is_within(&self, needs: &Needs) -> bool {
        let within =
            |bytes: f64, limit: Option<u64>| limit.is_none_or(|limit| bytes <= limit as f64);
        within(self.disk, needs.disk) && within(self.memory, needs.memory)
    }
}

/// Returns the ways to write a layout's tables for this rule, without filters that would be of no
/// use.
fn table_formats(needs: &Needs, layout: &Layout, rule: &MatchRule) -> Vec<TableFormat> {
    if rule.needs_columns() {
        return BLOCK_SIZES.map(|block_size| with_columns(needs, layout, block_size)).to_vec();
    }
    let mut formats = Vec::new();
    for (block_size, filter_bits) in BLOCK_SIZES.into_iter().flat_map(|b| FILTERS.map(|f| (b, f))) {
        let mut format =
            TableFormat { block_size, filter_bits, columns: false, disk: 0.0, memory: 0.0 };
        let terms = format.terms(&needs.costs, 0.0);
        let mut filters = 0.0;
        for table in 0..layout.tables() {
            let size = terms.table(needs.bits, needs.entries, layout.filter_depth(table).into());
            format.disk += size.bytes();
            format.memory += size.index + size.filter;
            filters += size.filter;
        }
        if filter_bits == 0 || filters > 0.0 {
            formats.push(format);
        }
    }
    formats
}

/// Returns the format of table 0 in blocks of this size, and columns.
fn with_columns(needs: &Needs, layout: &Layout, block_size: usize) -> TableFormat {
    let mut format =
        TableFormat { block_size, filter_bits: 0, columns: true, disk: 0.0, memory: 0.0 };
    let size = format.terms(&needs.costs, 0.0).table(needs.bits, needs.entries, 0);
    format.memory =
        size.index + layout.tables() as f64 * columns::bytes(needs.entries, size.in_block);
    format.disk = size.bytes() - size.index + format.memory;
    format
}

/// Predicts the size and speed of a layout, for each way to write it.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate, from 0 up"
)]
fn propose(
    needs: &Needs,
    layout: &Layout,
    rule: &MatchRule,
    formats: &[TableFormat],
) -> Vec<Proposal> {
    let warm_and_cold = |f: &TableFormat| [0.0, 1.0].map(|share| f.terms(&needs.costs, share));
    let terms: Vec<Terms> = formats.iter().flat_map(warm_and_cold).collect();
    let works = layout.works_by(rule, needs.entries, &terms);
    let (works, _) = works.as_chunks::<2>();
    let proposal = |(format, [warm, cold]): (&TableFormat, &[Work; 2])| Proposal {
        layout: layout.clone(),
        rule: rule.clone(),
        block_size: format.block_size,
        filter_bits: format.filter_bits,
        probes: warm.probes,
        lookups: warm.lookups,
        candidates: warm.entries,
        disk_bytes: format.disk as u64,
        memory_bytes: format.memory as u64,
        query_us: warm.ns / 1e3,
        cold_reads: cold.pages,
        cold_us: cold.ns / 1e3,
    };
    formats.iter().zip(works).map(proposal).collect()
}

/// Returns the Pareto-optimal proposals, the best for the goal first.
fn pareto_front(mut all: Vec<Proposal>, goal: Goal) -> Vec<Proposal> {
    let time = |p: &Proposal| if goal == Goal::Cold { p.cold_us } else { p.query_us };
    let (disk, memory) = (|p: &Proposal| p.disk_bytes as f64, |p: &Proposal| p.memory_bytes as f64);
    match goal {
        Goal::Storage => {
            all.sort_by(|a, b| disk(a).total_cmp(&disk(b)).then(time(a).total_cmp(&time(b))))
        }
        _ => all.sort_by(|a, b| time(a).total_cmp(&time(b)).then(disk(a).total_cmp(&disk(b)))),
    }
    let mut best: Vec<Proposal> = Vec::new();
    for p in all {
        let as_good = |q: &Proposal| {
            time(q) <= time(&p) * TOLERANCE
                && disk(q) <= disk(&p) * TOLERANCE
                && memory(q) <= memory(&p) * TOLERANCE
        };
        if !best.iter().any(as_good) {
            best.push(p);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_proposal_is_pareto_optimal_and_within_the_limits() {
        for goal in [Goal::Latency, Goal::Storage, Goal::Cold] {
            let needs = Needs::new(64, 1 << 24, 3).disk(500 << 20).memory(150 << 20).goal(goal);
            let found = Layout::plan(&needs).unwrap();
            assert!(found.best.len() > 3 && found.beyond_limits > 0, "{}", found.best.len());
            for p in &found.best {
                assert!(p.disk_bytes <= 500 << 20 && p.memory_bytes <= 150 << 20);
                assert_eq!(Layout::preset(p.layout.name(), 64).unwrap(), p.layout);
                let better = |q: &&Proposal| {
                    q.disk_bytes < p.disk_bytes
                        && q.memory_bytes < p.memory_bytes
                        && (q.query_us < p.query_us && q.cold_us < p.cold_us)
                };
                assert_eq!(found.best.iter().find(better), None);
            }
        }
    }

    #[test]
    fn two_tables_with_a_filter_are_best_for_distance_3() {
        let found = Layout::plan(&Needs::new(64, 1 << 23, 3).disk(130_000_000)).unwrap();
        let best = &found.best[0];
        assert_eq!((best.layout.tables(), best.filter_bits), (2, 8), "{best:?}");
    }

    #[test]
    fn impossible_needs_are_refused() {
        assert!(Layout::plan(&Needs::new(32, 1000, 3)).is_err());
        assert!(Layout::plan(&Needs::new(64, 1000, 13)).is_err());
        assert!(Layout::plan(&Needs::new(64, 1 << 20, 3).disk(1)).unwrap().best.is_empty());
    }

    #[test]
    fn every_size_distance_and_width_has_proposals() {
        for (bits, entries, distance) in
            [(64, 0, 0), (64, 1, 10), (64, u64::MAX, 1), (128, 1 << 30, 2)]
        {
            let best = Layout::plan(&Needs::new(bits, entries, distance)).unwrap().best;
            assert!(best.iter().all(|p| p.query_us.is_finite()) && !best.is_empty());
        }
    }
}
