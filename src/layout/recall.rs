//! The share of the pairs of a similarity that a rule finds.
//!
//! With a one-bit MinHash recipe, each bit of two fingerprints differs with the probability
//! p = (1 - J) / 2, independently of the others (Li and König, *b-Bit Minwise Hashing*, WWW 2010,
//! with b = 1). So the number of errors in any set of bits is binomial.
//!
//! The steps of a staircase within the table's first cell are its *head*. The first cells of
//! different tables are disjoint, so the errors in them are independent. For each cell, the
//! distribution of its errors is split into those that the head accepts and those that it does not.
//! The convolution of the latter over all cells is the distribution of the errors that no head
//! accepts: [`found_by_heads`].
//!
//! A staircase may have one more step, its *tail*, which reaches into other cells. Then the share
//! has two bounds. It is at most what the heads alone find. It is at least the share of the pairs
//! for which the first table whose head accepts also accepts by its tail: [`found`]. For these, the
//! cells before the table's are conditioned on being refused, and in each cell, the errors in the
//! bits of the tail are counted together with all.

use super::Layout;
use super::staircase::Step;

/// The probability of each number of errors, up to a limit.
type Errors = Vec<f64>;

/// Returns the probability that a bit differs between fingerprints of texts of this similarity.
fn error_rate(similarity: f64) -> f64 {
    (1.0 - similarity.clamp(0.0, 1.0)) / 2.0
}

/// Returns the distribution of the errors in `bits` bits, up to `most`.
fn binomial(bits: u32, p: f64, most: usize) -> Errors {
    let mut errors = vec![0.0; most + 1];
    errors[0] = 1.0;
    for _ in 0..bits {
        for at in (0..=most).rev() {
            let below = if at > 0 { errors[at - 1] } else { 0.0 };
            errors[at] = errors[at] * (1.0 - p) + below * p;
        }
    }
    errors
}

/// Returns the share of the pairs of this similarity that differ in at most `most` of `bits` bits.
pub(super) fn within(bits: u32, most: u8, similarity: f64) -> f64 {
    binomial(bits, error_rate(similarity), most.into()).iter().sum()
}

fn convolved(a: &[f64], b: &[f64]) -> Errors {
    let sum = |at: usize| (0..=at).map(|i| a[i] * b[at - i]).sum();
    (0..a.len()).map(sum).collect()
}

/// Returns the distribution of the errors in the bits of a head that accepts the difference.
fn accepted(head: &[Step], p: f64, most: usize) -> Errors {
    let mut errors = binomial(0, p, most);
    let mut depth = 0;
    for step in head {
        errors = convolved(&errors, &binomial(u32::from(step.depth) - depth, p, most));
        errors.iter_mut().skip(usize::from(step.most) + 1).for_each(|share| *share = 0.0);
        depth = step.depth.into();
    }
    errors
}

/// Returns the share of the pairs of this similarity that differ in at most `distance` bits and
/// that the head of some table accepts. `heads` has a head for each table, or no steps.
pub(super) fn found_by_heads(bits: u32, distance: u8, heads: &[&[Step]], similarity: f64) -> f64 {
    let (p, most) = (error_rate(similarity), usize::from(distance));
    let (mut missed, mut rest) = (binomial(0, p, most), bits);
    // Usually all tables have the same steps.
    let (mut before, mut refused): (&[Step], _) = (&[], Errors::new());
    for &head in heads.iter().filter(|head| !head.is_empty()) {
        let depth = head.last().map_or(0, |step| u32::from(step.depth));
        if head != before {
            let (all, accepted) = (binomial(depth, p, most), accepted(head, p, most));
            refused = all.iter().zip(accepted).map(|(all, some)| all - some).collect();
            before = head;
        }
        missed = convolved(&missed, &refused);
        rest = rest.saturating_sub(depth);
    }
    let missed: f64 = convolved(&missed, &binomial(rest, p, most)).iter().sum();
    within(bits, distance, similarity) - missed
}

/// What is known of a cell's errors: the head of the cell's own table refuses or accepts them.
/// Without steps, nothing is known.
#[derive(Debug, Clone, Copy)]
struct Known<'a> {
    head: &'a [Step],
    refused: bool,
}

/// The probability of each number of errors in the bits of a tail, and of all errors: row by row,
/// one for each number of errors in the tail.
struct Joint {
    most: usize,
    shares: Vec<f64>,
}

impl Joint {
    /// Returns the joint distribution for a cell of `width` bits, the first `in_tail` of which
    /// belong to the tail.
    fn of_cell(
        Known { head, refused }: Known<'_>,
        (width, in_tail): (u32, u32),
        p: f64,
        tail_most: usize,
        most: usize,
    ) -> Self {
        // By whether a step of the head was exceeded.
        let place = |exceeded: usize, tail: usize, all: usize| {
            (exceeded * (tail_most + 1) + tail) * (most + 1) + all
        };
        let mut now = vec![0.0; 2 * (tail_most + 1) * (most + 1)];
        now[place(0, 0, 0)] = 1.0;
        for bit in 0..width {
            let mut next = vec![0.0; now.len()];
            let step = head.iter().find(|step| u32::from(step.depth) == bit + 1);
            for exceeded in 0..2 {
                for tail in 0..=tail_most {
                    for all in tail..=most {
                        let share = now[place(exceeded, tail, all)];
                        for (error, p) in [(0, 1.0 - p), (1, p)] {
                            let tail = tail + if bit < in_tail { error } else { 0 };
                            let all = all + error;
                            if share == 0.0 || tail > tail_most || all > most {
                                continue;
                            }
                            let exceeds = step.is_some_and(|step| all > step.most.into());
                            next[place(exceeded.max(usize::from(exceeds)), tail, all)] += share * p;
                        }
                    }
                }
            }
            now = next;
        }
        let size = (tail_most + 1) * (most + 1);
        let (accepted, exceeded) = now.split_at(size);
        Self { most, shares: if refused { exceeded } else { accepted }.to_vec() }
    }

    /// Adds an independent cell, whose errors are not in the tail.
    fn add_outside(&mut self, errors: &[f64]) {
        for row in self.shares.chunks_mut(self.most + 1) {
            row.copy_from_slice(&convolved(row, errors));
        }
    }

    /// Adds an independent cell.
    fn add(&mut self, other: &Self) {
        let len = self.most + 1;
        let rows = self.shares.len() / len;
        let mut sum = vec![0.0; self.shares.len()];
        for a in 0..rows {
            for b in 0..rows - a {
                let both = convolved(
                    &self.shares[a * len..(a + 1) * len],
                    &other.shares[b * len..(b + 1) * len],
                );
                let row = &mut sum[(a + b) * len..(a + b + 1) * len];
                row.iter_mut().zip(both).for_each(|(share, more)| *share += more);
            }
        }
        self.shares = sum;
    }
}

/// Returns a lower bound of the share of the pairs of this similarity that match by the steps of
/// these tables: the exact share, if no table has a tail.
pub(super) fn found(layout: &Layout, distance: u8, tables: &[Vec<Step>], similarity: f64) -> f64 {
    let heads: Vec<&[Step]> =
        tables.iter().enumerate().map(|(table, steps)| split(layout, table, steps).0).collect();
    let tails = (0..).zip(tables).any(|(table, steps)| split(layout, table, steps).1.is_some());
    if !tails {
        return found_by_heads(layout.bits(), distance, &heads, similarity);
    }
    let searched = (0..tables.len()).filter(|&table| !tables[table].is_empty());
    searched.map(|table| first_found(layout, distance, &heads, tables, table, similarity)).sum()
}

/// Returns the share of the pairs that this table accepts, and the head of no table before it.
fn first_found(
    layout: &Layout,
    distance: u8,
    heads: &[&[Step]],
    tables: &[Vec<Step>],
    table: usize,
    similarity: f64,
) -> f64 {
    let (p, most) = (error_rate(similarity), usize::from(distance));
    let (_, tail) = split(layout, table, &tables[table]);
    let (mut left, tail_most) =
        tail.map_or((0, 0), |tail| (u32::from(tail.depth), usize::from(tail.most)));
    let (mut joint, mut outside) = (None::<Joint>, binomial(0, p, most));
    for &cell in layout.order(table) {
        let width = u32::from(layout.cells()[usize::from(cell)]);
        let home = (0..heads.len()).find(|&t| !heads[t].is_empty() && layout.order(t)[0] == cell);
        let home = home.filter(|&home| home <= table);
        let head = home.map_or(&[][..], |home| heads[home]);
        let known = Known { head, refused: home.is_some_and(|home| home < table) };
        let in_tail = left.min(width);
        left -= in_tail;
        let rows = if in_tail > 0 { tail_most } else { 0 };
        let errors = Joint::of_cell(known, (width, in_tail), p, rows, most);
        match &mut joint {
            _ if in_tail == 0 => outside = convolved(&outside, &errors.shares),
            Some(joint) => joint.add(&errors),
            None => joint = Some(errors),
        }
    }
    match joint {
        Some(mut joint) => {
            joint.add_outside(&outside);
            joint.shares.iter().sum()
        }
        None => outside.iter().sum(),
    }
}

/// Divides the steps of a table into its head, within its first cell, and its tail.
pub(super) fn split<'s>(
    layout: &Layout,
    table: usize,
    steps: &'s [Step],
) -> (&'s [Step], Option<Step>) {
    match steps.split_last() {
        Some((&last, head)) if last.depth > layout.first_cell(table) => (head, Some(last)),
        _ => (steps, None),
    }
}
