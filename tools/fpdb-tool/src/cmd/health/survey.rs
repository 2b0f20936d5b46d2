//! One pass over entries sorted by fingerprint, in constant memory.
//!
//! Bits are judged by distinct fingerprints: a page that occurs a million times says nothing about
//! the recipe, and is reported as a hot fingerprint.

use fastrand::Rng;
use fpdb::{DocId, Entry, Fingerprint};

/// The number of distinct fingerprints in the sample by which bits are judged.
const SAMPLE: usize = 1 << 17;

/// A fingerprint, and how many entries have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Group<F> {
    pub(super) fingerprint: F,
    pub(super) entries: u64,
    /// The first of them.
    pub(super) example: DocId,
}

/// The pass, and what it found.
pub(super) struct Survey<F> {
    pub(super) entries: u64,
    pub(super) hottest: Option<Group<F>>,
    /// Distinct fingerprints, all or chosen at random.
    pub(super) sample: Reservoir<F>,
    last: Option<Group<F>>,
}

impl<F: Fingerprint> Survey<F> {
    pub(super) fn new() -> Self {
        Self { entries: 0, hottest: None, sample: Reservoir::new(SAMPLE), last: None }
    }

    /// Adds the next entry. Entries are sorted by fingerprint.
    pub(super) fn add(&mut self, entry: Entry<F>) {
        self.entries += 1;
        let Entry { fingerprint, id } = entry;
        let group = match self.last.filter(|group| group.fingerprint == fingerprint) {
            Some(group) => Group { entries: group.entries + 1, ..group },
            None => {
                self.sample.add(fingerprint);
                Group { fingerprint, entries: 1, example: id }
            }
        };
        self.last = Some(group);
        if self.hottest.is_none_or(|hottest| hottest.entries < group.entries) {
            self.hottest = Some(group);
        }
    }
}

/// A random sample of a series of unknown length, in which each item has the same chance (Vitter's
/// algorithm R). The same series gives the same sample.
pub(super) struct Reservoir<T> {
    pub(super) kept: Vec<T>,
    pub(super) seen: u64,
    capacity: usize,
    random: Rng,
}

impl<T> Reservoir<T> {
    pub(super) fn new(capacity: usize) -> Self {
        Self { kept: Vec::new(), seen: 0, capacity, random: Rng::with_seed(0) }
    }

    pub(super) fn add(&mut self, item: T) {
        self.seen += 1;
        if self.kept.len() < self.capacity {
            self.kept.push(item);
            return;
        }
        let at = usize::try_from(self.random.u64(..self.seen)).unwrap_or(usize::MAX);
        if let Some(kept) = self.kept.get_mut(at) {
            *kept = item;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn largest_group_is_found_wherever_it_is() {
        for (values, expected) in [
            (&[5u64, 5, 6, 7][..], (5, 2, 0)),
            (&[4, 5, 5, 5, 6, 6], (5, 3, 1)),
            (&[1, 2, 2, 9, 9, 9], (9, 3, 3)),
        ] {
            let mut survey = Survey::new();
            for (id, &fingerprint) in (0..).zip(values) {
                survey.add(Entry { fingerprint, id: DocId(id) });
            }
            let (fingerprint, entries, id) = expected;
            let group = Group { fingerprint, entries, example: DocId(id) };
            assert_eq!(survey.hottest, Some(group));
        }
    }

    #[test]
    fn sample_covers_the_series() {
        let mut reservoir = Reservoir::new(1000);
        (0..10_000u32).for_each(|i| reservoir.add(i));
        for tenth in 0..10 {
            let kept = reservoir.kept.iter().filter(|&i| i / 1000 == tenth).count();
            assert!((60..140).contains(&kept), "{tenth}: {kept}");
        }
    }
}
