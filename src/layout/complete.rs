//! The completeness check: is every pattern of k errors accepted by some table?
//!
//! The steps of all tables divide the word into classes of bits that no step distinguishes. All
//! patterns with the same number of errors in each class are accepted by the same tables. So a
//! depth-first search over these numbers decides, and stops at a counterexample if there is one.

use std::fmt;

/// One step of a table's staircase: at most `most` errors among `bits`, which are bits of the
/// unpermuted word.
#[derive(Debug, Clone, Copy)]
pub(super) struct BitStep {
    pub(super) bits: u128,
    pub(super) most: u32,
}

/// The result of the check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Every pattern is accepted by some table.
    Complete,
    /// No table accepts these patterns.
    Hole(Hole),
    /// The check gave up, because it used all search nodes that were allowed.
    Undecided,
}

/// Error patterns that no table accepts, as a number of errors in each class of bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hole {
    /// Sets of bits and the number of errors in each. Sets without errors are left out.
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

/// Checks whether each pattern of `weight` errors within `word` is accepted by some table, that is,
/// exceeds none of its steps.
///
/// `word` has at least `weight` bits and contains the bits of every step. There are at most 64
/// tables. Every node of the search takes one from `nodes`.
pub(super) fn check(word: u128, tables: &[Vec<BitStep>], weight: u32, nodes: &mut u32) -> Verdict {
    debug_assert!(tables.len() <= 64 && word.count_ones() >= weight);
    let mut search = Search::new(word, tables, weight, *nodes);
    let found = search.descend(0, weight);
    *nodes = search.nodes;
    match found {
        Some(false) => Verdict::Complete,
        Some(true) => Verdict::Hole(search.hole()),
        None => Verdict::Undecided,
    }
}

/// Divides `word` into classes of bits that no step distinguishes.
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
    /// Indexes of the steps whose bits include the class.
    steps: Vec<usize>,
    /// The tables of these steps, one bit per table.
    tables: u64,
}

struct Search {
    classes: Vec<Class>,
    counts: Vec<u32>,
    /// For each step, the errors that it still allows. It is exceeded if this is negative.
    slack: Vec<i64>,
    /// For each step, its bits in classes that are not yet decided.
    open: Vec<i64>,
    /// For each table, the range of its steps. Steps that `weight` errors cannot exceed are left
    /// out.
    tables: Vec<std::ops::Range<usize>>,
    /// Nodes that may still be visited.
    nodes: u32,
}

impl Search {
    fn new(word: u128, tables: &[Vec<BitStep>], weight: u32, nodes: u32) -> Self {
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
        // Classes in the prefixes of many tables come first, because they decide most.
        classes.sort_by_key(|class| (std::cmp::Reverse(class.tables.count_ones()), class.bits));
        Self {
            counts: vec![0; classes.len()],
            classes,
            slack: steps.iter().map(|step| step.most.into()).collect(),
            open: steps.iter().map(|step| step.bits.count_ones().into()).collect(),
            tables: ranges,
            nodes,
        }
    }

    /// Returns whether `left` errors can be put into the classes from `at` on so that no table
    /// accepts. If so, `counts` holds these errors. Returns `None` if the search gave up.
    fn descend(&mut self, at: usize, left: u32) -> Option<bool> {
        self.nodes = self.nodes.checked_sub(1)?;
        let Some(accepting) = self.accepting_tables(at, left) else { return Some(false) };
        if accepting == 0 {
            self.place_rest(left);
            return Some(true);
        }
        let Some(class) = self.classes.get(at) else { return Some(false) };
        let most = class.width.min(left);
        self.close(at);
        for count in (0..=most).rev() {
            self.put(at, count);
            if self.descend(at + 1, left - count)? {
                return Some(true);
            }
            self.take(at, count);
        }
        self.reopen(at);
        Some(false)
    }

    /// Returns the tables that still accept, or `None` if the errors left cannot make all of them
    /// fail.
    fn accepting_tables(&self, at: usize, left: u32) -> Option<u64> {
        let mut accepting = 0u64;
        let mut needed = 0;
        for (table, steps) in self.tables.iter().enumerate() {
            let need = self.errors_to_fail(steps.clone(), left)?;
            if need > 0 {
                accepting |= 1 << table;
                needed += need;
            }
        }
        // One error counts for every table that has its class in a prefix, and for no others.
        let open = self.classes.get(at..).unwrap_or_default();
        let reach =
            open.iter().map(|class| (class.tables & accepting).count_ones()).max().unwrap_or(0);
        (needed <= i64::from(left) * i64::from(reach)).then_some(accepting)
    }

    /// Returns the fewest further errors that make a table fail: 0 if it has failed, `None` if it
    /// cannot fail.
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

    /// Puts the errors left anywhere, once all tables have failed.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::tests::Rng;

    const ENOUGH: u32 = 10_000_000;

    fn step(bits: u128, most: u32) -> BitStep {
        BitStep { bits, most }
    }

    fn accepts(table: &[BitStep], error: u128) -> bool {
        table.iter().all(|step| (step.bits & error).count_ones() <= step.most)
    }

    fn all_of_weight(f: u32, weight: u32) -> impl Iterator<Item = u128> {
        (0u128..1 << f).filter(move |e| e.count_ones() == weight)
    }

    fn missed(f: u32, tables: &[Vec<BitStep>], weight: u32) -> bool {
        all_of_weight(f, weight).any(|e| !tables.iter().any(|table| accepts(table, e)))
    }

    /// Cells of random widths, and tables with random orders of them and random staircases.
    fn random_tables(rng: &mut Rng, f: u32, weight: u32) -> Vec<Vec<BitStep>> {
        let mut cells: Vec<u128> = vec![(1 << f) - 1];
        for _ in 0..1 + rng.below(5) {
            let cut = (1u128 << rng.below(f)) - 1;
            cells = cells.iter().flat_map(|c| [c & cut, c & !cut]).filter(|&c| c != 0).collect();
        }
        let table = |rng: &mut Rng| {
            let mut order = cells.clone();
            for i in (1..order.len()).rev() {
                order.swap(i, rng.below(u32::try_from(i).unwrap() + 1) as usize);
            }
            let (mut bits, mut most) = (0, rng.below(2));
            let mut steps = Vec::new();
            for cell in order {
                bits |= cell;
                if rng.below(2) == 0 {
                    steps.push(step(bits, most));
                    most += rng.below(weight + 1);
                }
            }
            steps
        };
        (0..1 + rng.below(6)).map(|_| table(rng)).collect()
    }

    #[test]
    fn verdict_equals_brute_force() {
        let mut rng = Rng::new(7);
        let (mut complete, mut holes) = (0, 0);
        for _ in 0..600 {
            let f = 12 + rng.below(3);
            let weight = rng.below(5);
            let tables = random_tables(&mut rng, f, weight);
            let missed = missed(f, &tables, weight);
            match check((1 << f) - 1, &tables, weight, &mut ENOUGH.clone()) {
                Verdict::Complete => {
                    assert!(!missed, "{tables:x?} weight {weight}");
                    complete += 1;
                }
                Verdict::Hole(hole) => {
                    assert!(missed, "{tables:x?} weight {weight}: {hole}");
                    assert_is_hole(&hole, &tables, weight);
                    holes += 1;
                }
                Verdict::Undecided => panic!("undecided"),
            }
        }
        assert!(complete > 100 && holes > 100, "{complete} complete, {holes} with a hole");
    }

    /// Puts the errors on the lowest bits of each class.
    fn assert_is_hole(hole: &Hole, tables: &[Vec<BitStep>], weight: u32) {
        let mut error = 0u128;
        for &(bits, count) in &hole.errors {
            let positions = (0..128).filter(|bit| bits >> bit & 1 == 1).take(count as usize);
            error |= positions.fold(0, |e, bit| e | 1 << bit);
        }
        assert_eq!(error.count_ones(), weight);
        assert!(!tables.iter().any(|table| accepts(table, error)), "{hole}");
    }

    /// Cells from the low end, with thresholds.
    fn ring(cells: &[(u32, u32)]) -> Vec<Vec<BitStep>> {
        let start = |i: usize| cells[..i].iter().map(|c| c.0).sum::<u32>();
        let mask = |i: usize| ((1u128 << cells[i].0) - 1) << start(i);
        let table = |home: usize| {
            let (mut bits, mut sum) = (0, 0);
            let step = |turn: usize| {
                let cell = (home + turn) % cells.len();
                bits |= mask(cell);
                sum += cells[cell].1;
                step(bits, sum - 1)
            };
            (0..cells.len()).map(step).collect()
        };
        (0..cells.len()).filter(|&home| cells[home].1 > 0).map(table).collect()
    }

    #[test]
    fn a_ring_accepts_each_pattern_in_exactly_one_table() {
        let mut rng = Rng::new(8);
        for _ in 0..40 {
            let cells: Vec<(u32, u32)> =
                (0..2 + rng.below(3)).map(|_| (2 + rng.below(3), rng.below(3))).collect();
            let f: u32 = cells.iter().map(|c| c.0).sum();
            let sum: u32 = cells.iter().map(|c| c.1).sum();
            let Some(weight) = sum.checked_sub(1).filter(|&k| k < f) else { continue };
            let tables = ring(&cells);
            for error in all_of_weight(f, weight) {
                let accepted = tables.iter().filter(|table| accepts(table, error)).count();
                assert_eq!(accepted, 1, "{cells:?} {error:x}");
            }
            let word = (1 << f) - 1;
            assert_eq!(check(word, &tables, weight, &mut ENOUGH.clone()), Verdict::Complete);
            let more = check(word, &tables, weight + 1, &mut ENOUGH.clone());
            assert!(matches!(more, Verdict::Hole(_)), "{cells:?}");
        }
    }

    #[test]
    fn hole_names_the_bits_with_errors() {
        let halves = [vec![step(0xff00, 0)], vec![step(0xff, 1)]];
        let verdict = check(0xffff, &halves, 3, &mut ENOUGH.clone());
        let Verdict::Hole(hole) = verdict else { panic!("{verdict:?}") };
        assert_eq!(hole.to_string(), "1 wrong of bits 0xff00, 2 wrong of bits 0xff");
        assert_eq!(check(0xffff, &halves, 2, &mut ENOUGH.clone()), Verdict::Complete);
    }

    #[test]
    fn check_is_undecided_when_it_runs_out_of_nodes() {
        let halves = [vec![step(0xff00, 0)], vec![step(0xff, 1)]];
        assert_eq!(check(0xffff, &halves, 3, &mut 1), Verdict::Undecided);
    }
}
