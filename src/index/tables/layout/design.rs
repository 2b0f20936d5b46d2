//! Designs: the table designs of the paper, in which every choice of some parts of the word leads
//! one table.
//!
//! A design cuts the word into equal parts, and each choice of some of them comes first in some
//! tables. What is left of the word can be cut again (Manku, Jain and Das Sarma, WWW 2007, section
//! 3.1.1). If d bits differ, some choice of parts has few of them: of m parts, the j parts with the
//! fewest have at most as many as if the bits were spread evenly. So a *level* of m parts, of which
//! j lead, allows that number in its leading bits, and leaves the others to the next level. At
//! distance 3 it is 0 in all designs here, and a query is one exact prefix per table. Above, the
//! planner flips bits.

use super::staircase::Step;

/// A cut of the word, or of what the level before has left of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Level {
    /// How many parts there are.
    pub(super) parts: u8,
    /// How many of them lead: there is a table, or a group of them, for each choice.
    pub(super) leading: u8,
}

/// The designs by name. Each name ends with the number of tables.
pub(super) const DESIGNS: [(&str, &[Level]); 4] = [
    ("paper-4", &[Level { parts: 4, leading: 1 }]),
    ("paper-10", &[Level { parts: 5, leading: 2 }]),
    ("paper-16", &[Level { parts: 4, leading: 1 }, Level { parts: 4, leading: 1 }]),
    ("paper-20", &[Level { parts: 6, leading: 3 }]),
];

/// A design for words of one width.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Design {
    levels: &'static [Level],
    /// The leads of each table, one per level.
    tables: Vec<Vec<Lead>>,
}

/// The leading bits of a table down to a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Lead {
    /// The number of bits.
    depth: u8,
    /// The highest number of a part that leads at this level.
    last: u8,
}

/// The tables to search, and the steps of each.
pub(super) type Assignment = Vec<(usize, Vec<Step>)>;

/// The cells of a layout, and their order in each table.
pub(super) type Cut = (Vec<u8>, Vec<Vec<usize>>);

impl Design {
    /// Returns the design for words of `bits` bits, and its cells and orders.
    pub(super) fn new(levels: &'static [Level], bits: u8) -> (Self, Cut) {
        let word: Vec<u8> = (0..bits).collect();
        let (orders, tables): (Vec<_>, Vec<_>) = tables(levels, &word).into_iter().unzip();
        (Self { levels, tables }, cells(bits, &orders))
    }

    /// Returns the design that has these cells and orders, if there is one. The four tables of
    /// `paper-4` are a ring, which needs no design.
    pub(super) fn of(bits: u8, cells: &[u8], orders: &[Vec<usize>]) -> Option<Self> {
        let candidates = DESIGNS.iter().skip(1).map(|&(_, levels)| levels);
        // A manifest is read after each flush, so the designs are made only if they can fit.
        let mut fitting = candidates.filter(|levels| tables_of(levels) == orders.len());
        fitting.find_map(|levels| {
            let (design, cut) = Self::new(levels, bits);
            (cut.0 == cells && cut.1 == orders).then_some(design)
        })
    }

    /// Returns the number of leading bits of a table.
    pub(super) fn depth(&self, table: usize) -> Option<u8> {
        Some(self.tables.get(table)?.last()?.depth)
    }

    /// Returns complete ways to search for patterns of up to `distance` errors: one for each number
    /// of parts of each level that are used. Fewer parts than all need fewer tables, which allow
    /// more errors.
    pub(super) fn assignments(&self, distance: u8) -> impl Iterator<Item = Assignment> {
        let mut used = vec![Vec::new()];
        for level in self.levels {
            let longer = |used: &Vec<u8>| {
                let used = used.clone();
                (level.leading..=level.parts).map(move |parts| [&used[..], &[parts]].concat())
            };
            used = used.iter().flat_map(longer).collect();
        }
        used.into_iter().map(move |used| self.assignment(&used, distance))
    }

    /// Returns the search that uses the first `used` parts of each level.
    fn assignment(&self, used: &[u8], distance: u8) -> Assignment {
        let mut most = 0;
        let bounds: Vec<u8> = (self.levels.iter().zip(used))
            .map(|(level, &parts)| {
                most += in_least_loaded(distance - most, parts, level.leading);
                most
            })
            .collect();
        let is_used = |leads: &Vec<Lead>| leads.iter().zip(used).all(|(l, &parts)| l.last < parts);
        let steps = |leads: &Vec<Lead>| {
            leads.iter().zip(&bounds).map(|(l, &most)| Step { depth: l.depth, most }).collect()
        };
        let tables = self.tables.iter().enumerate();
        tables.filter(|(_, leads)| is_used(leads)).map(|(t, leads)| (t, steps(leads))).collect()
    }
}

/// Returns the number of tables of a design: the product of the numbers of choices.
fn tables_of(levels: &[Level]) -> usize {
    let choices = |level: &Level| {
        let parts = usize::from(level.parts);
        (0..level.leading.into())
            .fold(1, |choices, chosen| choices * (parts - chosen) / (chosen + 1))
    };
    levels.iter().map(choices).product()
}

/// Returns the most errors that the `leading` parts with the fewest errors can have, of `parts`
/// parts with `errors` errors together.
fn in_least_loaded(errors: u8, parts: u8, leading: u8) -> u8 {
    let fuller = errors % parts;
    leading * (errors / parts) + leading.saturating_sub(parts - fuller)
}

/// The order of a table's bits, of which bit 0 is the most significant one of the word.
type BitsInOrder = Vec<u8>;

/// Returns the order of each table that these levels give to the bits of `word`, and its leads.
fn tables(levels: &[Level], word: &[u8]) -> Vec<(BitsInOrder, Vec<Lead>)> {
    let Some((level, deeper)) = levels.split_first() else {
        return vec![(word.to_vec(), Vec::new())];
    };
    let mut tables_of = Vec::new();
    let parts = split(word, level.parts);
    for set in choices(level.parts, level.leading) {
        let (lead, rest) = led_by(&parts, &set);
        let depth = narrow(lead.len());
        let first = Lead { depth, last: set.last().copied().map_or(0, narrow) };
        for (order, leads) in tables(deeper, &rest) {
            let below = leads.iter().map(|lead| Lead { depth: depth + lead.depth, ..*lead });
            let leads = [first].into_iter().chain(below).collect();
            tables_of.push(([&lead[..], &order].concat(), leads));
        }
    }
    tables_of
}

/// Splits bits into parts as equal as possible, the larger ones first.
fn split(bits: &[u8], parts: u8) -> Vec<&[u8]> {
    let mut left = bits;
    let next = |width: u8| left.split_off(..width.into()).unwrap_or_default();
    split_evenly(narrow(bits.len()), parts).into_iter().map(next).collect()
}

/// Splits `value` into `n` shares as equal as possible, the larger ones first.
pub(super) fn split_evenly(value: u8, n: u8) -> Vec<u8> {
    (0..n).map(|share| value / n + u8::from(share < value % n)).collect()
}

/// Returns all choices of `size` parts, in lexical order.
fn choices(parts: u8, size: u8) -> Vec<Vec<usize>> {
    let sets = (0u32..1 << parts).filter(|set| set.count_ones() == u32::from(size));
    let members = |set| (0..parts.into()).filter(|part| set >> part & 1 == 1).collect();
    let mut sets: Vec<Vec<usize>> = sets.map(members).collect();
    sets.sort();
    sets
}

/// Returns the bits of the parts in `set`, which lead, and the bits of the other parts. Both follow
/// the ring of parts. The lead begins where it spans the fewest parts, so that a set of neighbours
/// gives a rotation.
fn led_by(parts: &[&[u8]], set: &[usize]) -> (BitsInOrder, BitsInOrder) {
    let count = parts.len();
    let span = |first: &usize| set.iter().map(|part| (part + count - first) % count).max();
    let first = set.iter().copied().min_by_key(span).unwrap_or(0);
    let end = first + span(&first).unwrap_or(0) + 1;
    let around = |start: usize, leads: bool| {
        let parts_around = (start..start + count).map(|part| part % count);
        let some = parts_around.filter(|part| set.contains(part) == leads);
        some.flat_map(|part| parts[part].iter().copied()).collect()
    };
    (around(first, true), around(end, false))
}

/// Cuts the word into the fewest cells of which these orders consist.
fn cells(bits: u8, orders: &[BitsInOrder]) -> Cut {
    let follows = |bit: u8, order: &BitsInOrder| {
        order.windows(2).any(|pair| pair == [bit.wrapping_sub(1), bit])
    };
    let begins = |bit: &u8| !orders.iter().all(|order| follows(*bit, order));
    let starts: Vec<u8> = (0..bits).filter(begins).collect();
    let ends = starts.iter().skip(1).chain([&bits]);
    let widths = starts.iter().zip(ends).map(|(start, end)| end - start).collect();
    let cell_of = |bit: &u8| starts.binary_search(bit).ok();
    (widths, orders.iter().map(|order| order.iter().filter_map(cell_of).collect()).collect())
}

fn narrow(number: usize) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn design(name: &str, bits: u8) -> (Design, Cut) {
        let (_, levels) = DESIGNS.into_iter().find(|(other, _)| *other == name).unwrap();
        Design::new(levels, bits)
    }

    /// The numbers of tables and of leading bits in section 3.1.1 of the paper.
    #[test]
    fn designs_have_the_tables_and_leading_bits_of_the_paper() {
        for (name, tables, leading) in [
            ("paper-4", 4, 16..=16),
            ("paper-10", 10, 25..=26),
            ("paper-16", 16, 28..=28),
            ("paper-20", 20, 31..=33),
        ] {
            let (design, _) = design(name, 64);
            let depths: Vec<u8> = (0..tables).map(|table| design.depth(table).unwrap()).collect();
            assert!(design.depth(tables).is_none());
            assert_eq!(tables_of(design.levels), tables);
            let [least, most] = [depths.iter().min(), depths.iter().max()].map(|d| *d.unwrap());
            assert_eq!(least..=most, leading, "{name}");
        }
    }

    #[test]
    fn sets_of_neighbours_lead_rotations() {
        let (_, (cells, orders)) = design("paper-10", 64);
        assert_eq!(cells, [13, 13, 13, 13, 12]);
        assert_eq!(orders[0], [0, 1, 2, 3, 4]);
        assert_eq!(orders[2], [3, 0, 1, 2, 4]);
        assert_eq!(orders[3], [4, 0, 1, 2, 3]);
        assert_eq!(orders[6], [4, 1, 2, 3, 0]);
        let (_, (cells, orders)) = design("paper-16", 64);
        assert_eq!(cells, [4; 16]);
        assert_eq!(orders[0], (0..16).collect::<Vec<_>>());
        assert_eq!(orders[1], [0, 1, 2, 3, 7, 8, 9, 10, 11, 12, 13, 14, 15, 4, 5, 6]);
    }

    #[test]
    fn up_to_three_errors_need_no_flips_and_fewer_errors_fewer_tables() {
        for (name, tables) in [
            ("paper-4", [1, 2, 3, 4]),
            ("paper-10", [1, 3, 6, 10]),
            ("paper-16", [1, 4, 9, 16]),
            ("paper-20", [1, 4, 10, 20]),
        ] {
            let (design, _) = design(name, 64);
            for (distance, tables) in (0..).zip(tables) {
                let is_exact = |assignment: &Assignment| {
                    assignment.iter().flat_map(|(_, steps)| steps).all(|step| step.most == 0)
                };
                let exact = design.assignments(distance).filter(is_exact).map(|a| a.len());
                assert_eq!(exact.min(), Some(tables), "{name} {distance}");
            }
        }
    }

    #[test]
    fn least_loaded_parts_have_as_many_errors_as_in_the_worst_distribution() {
        fn worst(errors: u8, parts: u8, leading: u8, loads: &mut Vec<u8>) -> u8 {
            if loads.len() + 1 == usize::from(parts) {
                let mut loads = [&loads[..], &[errors]].concat();
                loads.sort_unstable();
                return loads[..leading.into()].iter().sum();
            }
            (0..=errors)
                .map(|load| {
                    loads.push(load);
                    let most = worst(errors - load, parts, leading, loads);
                    loads.pop();
                    most
                })
                .max()
                .unwrap()
        }
        for parts in 1..=6 {
            for leading in 1..=parts {
                for errors in 0..=8 {
                    let found = in_least_loaded(errors, parts, leading);
                    let worst = worst(errors, parts, leading, &mut Vec::new());
                    assert_eq!(found, worst, "{errors} {parts} {leading}");
                }
            }
        }
    }

    /// Returns whether a pattern exceeds no step. Bit i of the pattern is bit i of the word, from
    /// the most significant one on.
    fn accepts(order: &[u8], steps: &[Step], pattern: u32) -> bool {
        steps.iter().all(|step| {
            let leading = order[..step.depth.into()].iter();
            leading.filter(|&&bit| pattern >> bit & 1 == 1).count() <= step.most.into()
        })
    }

    #[test]
    fn every_pattern_in_a_small_word_is_accepted_by_some_table_of_every_assignment() {
        let more: [&[Level]; 3] = [
            &[Level { parts: 5, leading: 2 }, Level { parts: 3, leading: 1 }],
            &[Level { parts: 4, leading: 1 }; 2],
            &[Level { parts: 3, leading: 2 }, Level { parts: 2, leading: 1 }],
        ];
        for levels in DESIGNS.into_iter().map(|(_, levels)| levels).chain(more) {
            for bits in [13, 16] {
                let word: Vec<u8> = (0..bits).collect();
                let orders: Vec<BitsInOrder> =
                    tables(levels, &word).into_iter().map(|(order, _)| order).collect();
                let (design, _) = Design::new(levels, bits);
                for distance in 0..=6 {
                    for assignment in design.assignments(distance) {
                        let of_weight = |p: &u32| p.count_ones() == u32::from(distance);
                        let missed = (0u32..1 << bits).filter(of_weight).find(|&pattern| {
                            !assignment
                                .iter()
                                .any(|(t, steps)| accepts(&orders[*t], steps, pattern))
                        });
                        assert_eq!(missed, None, "{levels:?} {bits} bits, {distance}");
                    }
                }
            }
        }
    }
}
