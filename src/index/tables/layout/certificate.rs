//! The proof that the tables of a plan find everything.
//!
//! For a ring, each table is a rotation of the cells. Let cell c have the value v(c), with values
//! that sum to k + 1. Let the table that begins with cell c allow v(c) - 1 errors in this cell,
//! v(c) + v(c + 1) - 1 in the first two, and so on around the ring. Then every pattern of k errors
//! is accepted by some table. For the errors e(c) in the cells, the values v(c) - e(c) sum to 1, so
//! by the cycle lemma (Dvoretzky and Motzkin, 1947) there is a cell from which on all their partial
//! sums are at least 1. The table that begins with it accepts the pattern. It is searched, since
//! its value is at least 1.
//!
//! For a design, some tables must accept what one of its [assignments](super::design) allows.

use super::design::Design;
use super::staircase::Staircase;

/// A searched table of a ring: its first cell, and what it accepts.
pub(super) type RingTable<'a> = (usize, &'a Staircase);

/// Returns whether these tables of a ring accept every pattern of `weight` errors. `false` if the
/// proof does not apply, which says nothing. `cells` are the widths of the ring's cells. The tables
/// are rotations of them.
pub(super) fn is_complete_ring(cells: &[u8], tables: &[RingTable<'_>], weight: u32) -> bool {
    let mut values = vec![0; cells.len()];
    for &(first, stairs) in tables {
        values[first] = most_within(stairs, cells[first]) + 1;
    }
    if values.iter().sum::<u32>() <= weight {
        return false;
    }
    // More than k + 1 proves more than was asked.
    lower(&mut values, weight + 1);
    tables.iter().all(|&(first, stairs)| {
        values[first] == 0 || accepts_all(stairs, &bounds(cells, &values, first))
    })
}

/// Returns whether these tables of a design accept every pattern of `weight` errors. `false` if the
/// proof does not apply, which says nothing. Tables are given by their numbers.
pub(super) fn is_complete_design(
    design: &Design,
    tables: &[(usize, &Staircase)],
    weight: u32,
) -> bool {
    let Ok(weight) = u8::try_from(weight) else { return false };
    design.assignments(weight).any(|assignment| {
        assignment.iter().all(|(number, steps)| {
            let mut bounds: Vec<(u32, u32)> =
                steps.iter().map(|step| (step.depth.into(), step.most.into())).collect();
            bounds.push((u32::MAX, weight.into()));
            tables.iter().any(|(table, stairs)| table == number && accepts_all(stairs, &bounds))
        })
    })
}

/// Lowers values, the last ones first, until they sum to `sum`.
fn lower(values: &mut [u32], sum: u32) {
    let mut over = values.iter().sum::<u32>() - sum;
    for value in values.iter_mut().rev() {
        let less = over.min(*value);
        *value -= less;
        over -= less;
    }
}

/// Returns the bounds of the table that begins with cell `first`: for each of its cells, where it
/// ends, and the most errors up to there.
fn bounds(cells: &[u8], values: &[u32], first: usize) -> Vec<(u32, u32)> {
    let (mut depth, mut sum) = (0, 0);
    let bound = |turn: usize| {
        let cell = (first + turn) % cells.len();
        depth += u32::from(cells[cell]);
        sum += values[cell];
        (depth, sum - 1)
    };
    (0..cells.len()).map(bound).collect()
}

/// Returns the most errors that the staircase allows within the first `depth` bits.
fn most_within(stairs: &Staircase, depth: u8) -> u32 {
    let step = stairs.steps().iter().find(|step| step.depth >= depth);
    step.map_or(0, |step| step.most.into())
}

/// Returns whether the staircase accepts all patterns within these bounds. The errors down to a
/// step are at most those down to the end of the cell that it is in.
fn accepts_all(stairs: &Staircase, bounds: &[(u32, u32)]) -> bool {
    stairs.steps().iter().all(|step| {
        let bound = bounds.iter().find(|&&(depth, _)| depth >= step.depth.into());
        bound.is_none_or(|&(_, most)| u32::from(step.most) >= most)
    })
}

#[cfg(test)]
mod tests {
    use super::super::staircase::Step;
    use super::*;

    fn stairs(cells: &[u8], values: &[u32], first: usize, k: u8) -> Staircase {
        let step = |&(depth, most): &(u32, u32)| Step {
            depth: u8::try_from(depth).unwrap(),
            most: u8::try_from(most).unwrap(),
        };
        let steps = bounds(cells, values, first).iter().map(step).collect();
        Staircase::new(steps, cells.iter().sum(), k)
    }

    fn ring(cells: &[u8], values: &[u32], k: u8) -> Vec<(usize, Staircase)> {
        let searched = (0..cells.len()).filter(|&first| values[first] > 0);
        searched.map(|first| (first, stairs(cells, values, first, k))).collect()
    }

    fn proves(cells: &[u8], tables: &[(usize, Staircase)], weight: u32) -> bool {
        let tables: Vec<RingTable<'_>> = tables.iter().map(|(f, s)| (*f, s)).collect();
        is_complete_ring(cells, &tables, weight)
    }

    #[test]
    fn rings_whose_values_sum_to_one_more_than_the_errors_are_proved() {
        for values in [&[2, 2, 1][..], &[3, 0, 2], &[5, 0, 0], &[1, 1, 3]] {
            let cells = [6, 5, 5];
            let tables = ring(&cells, values, 4);
            assert!(proves(&cells, &tables, 4), "{values:?}");
            assert!(!proves(&cells, &tables, 5), "{values:?}");
        }
    }

    #[test]
    fn what_is_proved_is_true_and_a_ring_with_a_hole_is_not_proved() {
        let cells = [5, 4, 4];
        let values = [2, 1, 1];
        let whole = ring(&cells, &values, 3);
        assert!(proves(&cells, &whole, 3));
        for left_out in 0..3 {
            let mut tables = whole.clone();
            tables.remove(left_out);
            assert!(!proves(&cells, &tables, 3), "{left_out}");
        }
        // A step within a cell that allows less than the ring does.
        for (at, (first, stairs)) in whole.iter().enumerate() {
            for step in stairs.steps().iter().filter(|step| step.most > 0) {
                let mut steps = stairs.steps().to_vec();
                steps.push(Step { depth: step.depth - 1, most: step.most - 1 });
                steps.sort_by_key(|step| step.depth);
                let mut tables = whole.clone();
                tables[at] = (*first, Staircase::new(steps, 13, 3));
                let missed = (0u64..1 << 13).filter(|e| e.count_ones() == 3).any(|error| {
                    !tables.iter().any(|(first, stairs)| {
                        let turned = cells[..*first].iter().sum::<u8>();
                        let word = (error << turned | error >> (13 - turned)) & ((1 << 13) - 1);
                        stairs.accepts(word << 51)
                    })
                });
                assert_eq!(proves(&cells, &tables, 3), !missed, "{step:?} of table {first}");
            }
        }
    }
}
