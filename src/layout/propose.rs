//! Which layouts are worth having for a size and a distance, by what they would cost.

use super::Layout;
use super::cost::{Costs, FILTERS, Terms, Work};
use super::tune;
use crate::error::{Error, Result};

/// Blocks that are tried.
const BLOCKS: [usize; 4] = [128, 256, 512, 1024];
/// Proposals that differ by less in everything are alike.
const ALIKE: f64 = 1.03;
/// Largest distance that layouts are proposed for.
const MAX_DISTANCE: u8 = 10;

/// What a layout should be good at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Goal {
    /// Queries of a database in memory take the least time.
    #[default]
    Latency,
    /// The least storage.
    Storage,
    /// Queries of a database on the device take the least time.
    Cold,
}

/// What a layout is proposed for.
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
    distance: u32,
    memory: Option<u64>,
    disk: Option<u64>,
    goal: Goal,
    costs: Costs,
}

impl Needs {
    /// Queries of up to `distance` bits, 0 to 10, among `entries` fingerprints of `bits` bits, 64 or
    /// 128. The goal is latency, there are no limits, and costs are the library's.
    pub fn new(bits: u32, entries: u64, distance: u32) -> Self {
        let (memory, disk) = (None, None);
        Self { bits, entries, distance, memory, disk, goal: Goal::Latency, costs: Costs::default() }
    }

    /// Bytes that index and filters may take in memory.
    pub fn memory(self, bytes: u64) -> Self {
        Self { memory: Some(bytes), ..self }
    }

    /// Bytes that tables may take on disk. Ids come on top.
    pub fn disk(self, bytes: u64) -> Self {
        Self { disk: Some(bytes), ..self }
    }

    /// What to order by.
    pub fn goal(self, goal: Goal) -> Self {
        Self { goal, ..self }
    }

    /// Of the machine that it is for.
    pub fn costs(self, costs: Costs) -> Self {
        Self { costs, ..self }
    }
}

/// A layout, how to write its tables, and what to expect of it on evenly spread data.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Proposal {
    /// The layout; [`Layout::preset`] knows its name.
    pub layout: Layout,
    /// Bytes of a block.
    pub block_size: usize,
    /// Bits a fingerprint and table of the prefix filter.
    pub filter_bits: u32,
    /// Prefixes that a query looks for.
    pub probes: f64,
    /// Of these, left by the filters.
    pub lookups: f64,
    /// Fingerprints that it decodes and compares.
    pub candidates: f64,
    /// Bytes of the tables.
    pub disk_bytes: u64,
    /// Bytes of index and filters, which should be in memory.
    pub memory_bytes: u64,
    /// Microseconds of a query of a database in memory, in one segment, without matches.
    pub query_us: f64,
    /// Pages that a query reads if no block is in memory, planned for that.
    pub cold_reads: f64,
    /// Microseconds that it takes then.
    pub cold_us: f64,
}

/// What [`Layout::plan`] found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Proposals {
    /// Those that no other is as good as in time, storage and memory alike; the best for the goal
    /// first. Empty if the limits allow none.
    pub best: Vec<Proposal>,
    /// How many were looked at,
    pub considered: usize,
    /// and how many of these are beyond the limits of memory or disk.
    pub beyond_limits: usize,
}

impl Layout {
    /// The layouts that are worth having: of the presets, of rings with widths tuned to the number
    /// of entries, and of rings of covering designs, with and without filters, with blocks of 128
    /// to 1024 bytes. Takes less than 0.1 s up to distance 4, about 1 s for 10.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for a width or a distance that no database can have.
    ///
    /// See [`Needs`] for an example.
    pub fn plan(needs: &Needs) -> Result<Proposals> {
        let distance = u8::try_from(needs.distance).ok().filter(|&k| k <= MAX_DISTANCE);
        let distance = distance.ok_or_else(|| {
            Error::invalid(format!("distance {}: expected 0 to {MAX_DISTANCE}", needs.distance))
        })?;
        let (mut all, mut considered) = (Vec::new(), 0);
        for layout in tune::layouts(needs.bits, needs.entries, distance, &needs.costs)? {
            let mut written = ways_to_write(needs, &layout);
            considered += written.len();
            written.retain(|written| written.is_within(needs));
            all.extend(propose(needs, &layout, &written));
        }
        let beyond_limits = considered - all.len();
        Ok(Proposals { best: front(all, needs.goal), considered, beyond_limits })
    }
}

/// How tables may be written, and the bytes that they take.
struct Written {
    block_size: usize,
    filter_bits: u32,
    disk: f64,
    memory: f64,
}

impl Written {
    fn terms(&self, costs: &Costs, cold_share: f64) -> Terms {
        let Self { block_size, filter_bits, .. } = *self;
        Terms { block_size, filter_bits, costs: costs.clone().cold(cold_share), ..Terms::default() }
    }

    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn is_within(&self, needs: &Needs) -> bool {
        let within =
            |bytes: f64, limit: Option<u64>| limit.is_none_or(|limit| bytes <= limit as f64);
        within(self.disk, needs.disk) && within(self.memory, needs.memory)
    }
}

/// The ways to write a layout's tables, but for filters that would be as none.
fn ways_to_write(needs: &Needs, layout: &Layout) -> Vec<Written> {
    let mut ways = Vec::new();
    for (block_size, filter_bits) in BLOCKS.into_iter().flat_map(|b| FILTERS.map(|f| (b, f))) {
        let mut written = Written { block_size, filter_bits, disk: 0.0, memory: 0.0 };
        let terms = written.terms(&needs.costs, 0.0);
        let mut filters = 0.0;
        for table in 0..layout.tables() {
            let size = terms.table(needs.bits, needs.entries, layout.filter_depth(table).into());
            written.disk += size.bytes();
            written.memory += size.index + size.filter;
            filters += size.filter;
        }
        if filter_bits == 0 || filters > 0.0 {
            ways.push(written);
        }
    }
    ways
}

/// What to expect of a layout, for each way to write it.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate, from 0 up"
)]
fn propose(needs: &Needs, layout: &Layout, written: &[Written]) -> Vec<Proposal> {
    let warm_and_cold = |w: &Written| [0.0, 1.0].map(|share| w.terms(&needs.costs, share));
    let terms: Vec<Terms> = written.iter().flat_map(warm_and_cold).collect();
    let works = layout.works(needs.entries, needs.distance, &terms);
    let (works, _) = works.as_chunks::<2>();
    let proposal = |(written, [warm, cold]): (&Written, &[Work; 2])| Proposal {
        layout: layout.clone(),
        block_size: written.block_size,
        filter_bits: written.filter_bits,
        probes: warm.probes,
        lookups: warm.lookups,
        candidates: warm.entries,
        disk_bytes: written.disk as u64,
        memory_bytes: written.memory as u64,
        query_us: warm.ns / 1e3,
        cold_reads: cold.pages,
        cold_us: cold.ns / 1e3,
    };
    written.iter().zip(works).map(proposal).collect()
}

/// Those that none before in the goal's order is as good as.
fn front(mut all: Vec<Proposal>, goal: Goal) -> Vec<Proposal> {
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
            time(q) <= time(&p) * ALIKE
                && disk(q) <= disk(&p) * ALIKE
                && memory(q) <= memory(&p) * ALIKE
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
    fn nothing_proposed_is_worse_than_another_or_beyond_the_limits() {
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
    fn a_few_tables_with_a_filter_are_the_choice_for_small_distances() {
        let found = Layout::plan(&Needs::new(64, 1 << 23, 3).disk(130_000_000)).unwrap();
        let best = &found.best[0];
        assert_eq!((best.layout.tables(), best.filter_bits), (2, 8), "{best:?}");
    }

    #[test]
    fn impossible_needs_are_refused() {
        assert!(Layout::plan(&Needs::new(32, 1000, 3)).is_err());
        assert!(Layout::plan(&Needs::new(64, 1000, 11)).is_err());
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
