//! Sets of small numbers: of documents, or of pages, to which bands lead.

/// A set of numbers below a bound: a list if they are few, and a bit for each number below the
/// bound if they are many, which takes less time and memory then. Millions of documents can share a
/// band.
#[derive(Debug, Default)]
pub(crate) struct NumberSet {
    /// May have numbers twice until it is [sorted](Self::sort).
    list: Vec<u32>,
    /// Most numbers in the list.
    most: usize,
    /// Words that the bits take.
    words: usize,
    bits: Vec<u64>,
}

impl NumberSet {
    /// Makes an empty set for numbers below `bound`.
    pub(crate) fn new(bound: usize) -> Self {
        let words = bound.div_ceil(u64::BITS as usize);
        Self { words, most: 2 * words, ..Self::default() }
    }

    /// Makes the set of all numbers below `bound`.
    pub(crate) fn all(bound: usize) -> Self {
        let mut set = Self::new(bound);
        (0..u32::try_from(bound).unwrap_or(u32::MAX)).for_each(|number| set.insert(number));
        set
    }

    /// Adds a number, which is below the bound.
    #[inline(always)]
    pub(crate) fn insert(&mut self, number: u32) {
        match self.bits.get_mut(number as usize / u64::BITS as usize) {
            Some(word) => *word |= 1 << (number % u64::BITS),
            None if self.list.len() < self.most => self.list.push(number),
            None => self.spill(number),
        }
    }

    #[cold]
    fn spill(&mut self, number: u32) {
        self.use_bits();
        self.insert(number);
    }

    /// Changes the list into bits.
    fn use_bits(&mut self) {
        if self.bits.is_empty() {
            self.bits = vec![0; self.words];
            std::mem::take(&mut self.list).into_iter().for_each(|number| self.insert(number));
        }
    }

    /// Adds the numbers of another set, which has the same bound.
    pub(crate) fn add(&mut self, other: &Self) {
        other.list.iter().for_each(|&number| self.insert(number));
        if !other.bits.is_empty() {
            self.use_bits();
            self.bits.iter_mut().zip(&other.bits).for_each(|(word, more)| *word |= more);
        }
    }

    /// Passes each number to `visit`, ascending.
    #[inline(always)]
    pub(crate) fn for_each(self, mut visit: impl FnMut(u32)) {
        for_each_number(&mut [self], |number, _| visit(number));
    }

    fn sort(&mut self) {
        self.list.sort_unstable();
        self.list.dedup();
    }
}

/// Passes each number of each set to `visit`, with the place of the set. Numbers that are close to
/// each other and in many sets are visited together, so that what they stand for is in the cache.
#[inline(always)]
pub(crate) fn for_each_number(sets: &mut [NumberSet], mut visit: impl FnMut(u32, usize)) {
    for (set, place) in sets.iter_mut().zip(0..) {
        set.sort();
        set.list.iter().for_each(|&number| visit(number, place));
    }
    let words = sets.iter().map(|set| set.bits.len()).max().unwrap_or(0);
    for (word, first) in (0..words).zip((0..).step_by(u64::BITS as usize)) {
        for (set, place) in sets.iter().zip(0..) {
            let mut bits = set.bits.get(word).copied().unwrap_or(0);
            while bits != 0 {
                visit(first + bits.trailing_zeros(), place);
                bits &= bits - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn few_numbers_and_many_are_each_visited_once_ascending() {
        let cases: [(&[u32], usize); 5] = [
            (&[], 0),
            (&[7, 5, 7], 1000),
            (&[7, 129, 5, 7, 0, 129, 1], 130),
            (&[0, 0, 0, 0], 1),
            (&[63, 64, 63, 127, 64], 128),
        ];
        let mut sets = Vec::new();
        let mut all = BTreeSet::new();
        for ((numbers, bound), place) in cases.into_iter().zip(0..) {
            let set = || {
                let mut set = NumberSet::new(bound);
                numbers.iter().for_each(|&number| set.insert(number));
                set
            };
            let mut visited = Vec::new();
            set().for_each(|number| visited.push(number));
            let expected: BTreeSet<u32> = numbers.iter().copied().collect();
            assert_eq!(visited, expected.iter().copied().collect::<Vec<_>>());
            all.extend(expected.iter().map(|&number| (number, place)));
            sets.push(set());
        }
        assert!(sets[1].bits.is_empty() && !sets[2].bits.is_empty());
        let mut both = NumberSet::new(130);
        for other in [&[3, 2][..], &[100, 7, 101, 8, 102], &[3, 129]] {
            let mut set = NumberSet::new(130);
            other.iter().for_each(|&number| set.insert(number));
            both.add(&set);
        }
        let mut visited = Vec::new();
        both.for_each(|number| visited.push(number));
        assert_eq!(visited, [2, 3, 7, 8, 100, 101, 102, 129]);
        let mut visited = Vec::new();
        for_each_number(&mut sets, |number, place| visited.push((number, place)));
        visited.sort_unstable();
        assert_eq!(visited, all.into_iter().collect::<Vec<_>>());
    }
}
