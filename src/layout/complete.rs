//! The completeness check: is every pattern of k errors accepted by some table?
//!
//! The steps of all tables cut the word into classes of bits that no step tells apart. Patterns
//! that put as many errors into each class share one fate, so a depth-first search over those
//! counts decides, and ends at a counterexample if there is one.

use std::fmt;

/// One step of a table's staircase: at most `most` errors among `bits`, given in the unpermuted
/// word's order.
#[derive(Debug, Clone, Copy)]
pub(super) struct BitStep {
    pub(super) bits: u128,
    pub(super) most: u32,
}

/// What the check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Every pattern is accepted by some table.
    Complete,
    /// These are accepted by none.
    Hole(Hole),
    /// Given up after [`MAX_NODES`].
    Undecided,
}

/// Error patterns that no table accepts: so many errors in each class of bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hole {
    /// Sets of bits and the number of errors in each; sets without error are left out.
    pub(super) errors: Vec<(u128, u32)>,
}

impl fmt::Display for Hole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (bits, count)) in self.errors.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{count} wrong of bits {bits:#x}")?;
        }
        Ok(())
    }
}

/// Search nodes after which the check gives up: some 20 ms. Only layouts of a user's own making,
/// with dozens of cells and tables, come near it.
const MAX_NODES: u32 = 200_000;

/// Whether every pattern of `weight` errors within `word` exceeds no step of some table.
///
/// `word` has at least `weight` bits; every step's bits lie within it; at most 64 tables.
pub(super) fn check(word: u128, tables: &[Vec<BitStep>], weight: u32) -> Verdict {
    debug_assert!(tables.len() <= 64 && word.count_ones() >= weight);
    let mut search = Search::new(word, tables, weight);
    match search.descend(0, weight) {
        _ if search.nodes > MAX_NODES => Verdict::Undecided,
        false => Verdict::Complete,
        true => Verdict::Hole(search.hole()),
    }
}

/// Cuts `word` into classes that no step tells apart.
fn refine<'a>(word: u128, steps: impl Iterator<Item = &'a BitStep>) -> Vec<u128> {
    let mut classes = vec![word];
    for step in steps {
        let cut = |class: u128| [class & step.bits, class & !step.bits];
        classes = classes.into_iter().flat_map(cut).filter(|&class| class != 0).collect();
    }
    classes
}

struct Class {
    bits: u128,
    width: u32,
    /// Steps (by index) whose bits include the class, and the tables they belong to.
    steps: Vec<usize>,
    tables: u64,
}

struct Search {
    classes: Vec<Class>,
    counts: Vec<u32>,
    /// Per step: errors that it still allows (negative: exceeded), bits in classes not yet decided.
    slack: Vec<i64>,
    open: Vec<i64>,
    /// Per table: its steps, as a range of step indexes. Steps that `weight` errors cannot exceed
    /// are left out.
    tables: Vec<std::ops::Range<usize>>,
    nodes: u32,
}

impl Search {
    fn new(word: u128, tables: &[Vec<BitStep>], weight: u32) -> Self {
        let mut steps = Vec::new();
        let mut ranges = Vec::with_capacity(tables.len());
        for table in tables {
            let first = steps.len();
            steps.extend(table.iter().filter(|step| step.most < weight).copied());
            ranges.push(first..steps.len());
        }
        let mut classes: Vec<Class> = refine(word, steps.iter())
            .into_iter()
            .map(|bits| class_of(bits, &steps, &ranges))
            .collect();
        // Classes in many tables' prefixes first: they decide most.
        classes.sort_by_key(|class| (std::cmp::Reverse(class.tables.count_ones()), class.bits));
        Self {
            counts: vec![0; classes.len()],
            classes,
            slack: steps.iter().map(|step| step.most.into()).collect(),
            open: steps.iter().map(|step| step.bits.count_ones().into()).collect(),
            tables: ranges,
            nodes: 0,
        }
    }

    /// Whether `left` errors can be put into the classes from `at` on so that no table accepts;
    /// leaves the counts behind if so.
    fn descend(&mut self, at: usize, left: u32) -> bool {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return true;
        }
        let Some(alive) = self.alive_if_hopeful(at, left) else { return false };
        if alive == 0 {
            self.place_rest(left);
            return true;
        }
        let Some(class) = self.classes.get(at) else { return false };
        let most = class.width.min(left);
        self.close(at);
        for count in (0..=most).rev() {
            self.put(at, count);
            if self.descend(at + 1, left - count) {
                return true;
            }
            self.take(at, count);
        }
        self.reopen(at);
        false
    }

    /// The tables that accept so far; `None` if the errors left cannot make all of them fail.
    fn alive_if_hopeful(&self, at: usize, left: u32) -> Option<u64> {
        let mut alive = 0u64;
        let mut needed = 0;
        for (table, steps) in self.tables.iter().enumerate() {
            let need = self.errors_to_fail(steps.clone(), left)?;
            if need > 0 {
                alive |= 1 << table;
                needed += need;
            }
        }
        // One error counts towards every table that has its class in a prefix, and no more.
        let open = self.classes.get(at..).unwrap_or_default();
        let reach = open.iter().map(|class| (class.tables & alive).count_ones()).max().unwrap_or(0);
        (needed <= i64::from(left) * i64::from(reach)).then_some(alive)
    }

    /// Least further errors with which a table fails: 0 if it has; `None` if it cannot.
    fn errors_to_fail(&self, steps: std::ops::Range<usize>, left: u32) -> Option<i64> {
        steps
            .filter(|&step| self.slack[step] < i64::from(left).min(self.open[step]).max(0))
            .map(|step| (self.slack[step] + 1).max(0))
            .min()
    }

    fn close(&mut self, at: usize) {
        for &step in &self.classes[at].steps {
            self.open[step] -= i64::from(self.classes[at].width);
        }
    }

    fn reopen(&mut self, at: usize) {
        for &step in &self.classes[at].steps {
            self.open[step] += i64::from(self.classes[at].width);
        }
    }

    fn put(&mut self, at: usize, count: u32) {
        self.counts[at] = count;
        for &step in &self.classes[at].steps {
            self.slack[step] -= i64::from(count);
        }
    }

    fn take(&mut self, at: usize, count: u32) {
        self.counts[at] = 0;
        for &step in &self.classes[at].steps {
            self.slack[step] += i64::from(count);
        }
    }

    /// All tables have failed: the rest may go anywhere.
    fn place_rest(&mut self, mut left: u32) {
        for (count, class) in self.counts.iter_mut().zip(&self.classes) {
            let more = left.min(class.width - *count);
            *count += more;
            left -= more;
        }
    }

    fn hole(&self) -> Hole {
        let errors = self.classes.iter().zip(&self.counts);
        let mut errors: Vec<_> =
            errors.filter(|&(_, &count)| count > 0).map(|(c, &count)| (c.bits, count)).collect();
        errors.sort_by_key(|&(bits, _)| std::cmp::Reverse(bits));
        Hole { errors }
    }
}

fn class_of(bits: u128, steps: &[BitStep], ranges: &[std::ops::Range<usize>]) -> Class {
    let inside: Vec<usize> = (0..steps.len()).filter(|&s| steps[s].bits & bits != 0).collect();
    let tables = ranges
        .iter()
        .enumerate()
        .filter(|(_, range)| inside.iter().any(|step| range.contains(step)))
        .fold(0, |mask, (table, _)| mask | 1 << table);
    Class { bits, width: bits.count_ones(), steps: inside, tables }
}
