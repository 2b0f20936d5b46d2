//! Where elements lie within the one that has the most prose around it: between its paragraphs,
//! in a box of its own, or at the end.

use super::places::Place;
use super::units::{Sums, Unit, at};

/// Where elements lie within the *reader*, the element that has the most prose around it.
#[derive(Debug)]
pub(super) struct Inside {
    pub(super) reader: usize,
    /// For each element within: its ancestor that is a child of the reader, and the levels from
    /// there.
    pub(super) branches: Vec<(usize, i16)>,
    /// The prose in children of the reader that are like each other, and in all like elements.
    pub(super) kin: Vec<u64>,
    pub(super) likes: Vec<u64>,
    pub(super) digits: Sums,
}

impl Inside {
    pub(super) fn new(units: &[Unit], places: &[Place], prose: &Sums, reader: usize) -> Self {
        let mut branches: Vec<(usize, i16)> = Vec::with_capacity(places.len());
        let kinds = places.iter().map(|place| place.like).max().unwrap_or_default() + 1;
        let (mut kin, mut likes) = (vec![0; kinds], vec![0; kinds]);
        let add = |sums: &mut Vec<u64>, like: usize, size: u64| {
            if let Some(sum) = sums.get_mut(like) {
                *sum += size;
            }
        };
        for (element, place) in places.iter().enumerate() {
            let above = at(&branches, place.parent);
            branches.push(match element {
                0 => (0, 0),
                _ if place.parent == reader => (element, 1),
                _ if above.1 > 0 => (above.0, above.1.saturating_add(1)),
                _ => (0, 0),
            });
            if element > 0 && place.parent == reader {
                add(&mut kin, place.like, prose.between(place.first, place.end));
            }
        }
        for (index, unit) in units.iter().enumerate() {
            let like = at(places, unit.element).like;
            add(&mut likes, like, prose.between(index, index + 1));
        }
        let digits = Sums::new(units.iter().map(|unit| u64::from(unit.digits)));
        Self { reader, branches, kin, likes, digits }
    }
}
