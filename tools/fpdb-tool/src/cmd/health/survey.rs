//! One pass over entries sorted by fingerprint, in constant memory.
//!
//! Bits and prefixes are counted over distinct fingerprints: a page that occurs a million times says
//! nothing about the recipe, and is reported as a hot fingerprint.

use fpdb::{DocId, Entry, Fingerprint};

use super::bits::BitCounts;

/// The number of fingerprints in the sample for correlations.
const SAMPLE: usize = 1 << 17;
/// The number of leading bits in a prefix.
pub(super) const PREFIX_BITS: u32 = 16;
/// The number of hot fingerprints and prefixes kept.
const HOT: usize = 10;

/// A fingerprint that many entries have, or a prefix that many fingerprints have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hot<T> {
    pub(super) value: T,
    pub(super) count: u64,
    /// The first entry with it.
    pub(super) example: DocId,
}

/// The result of a pass.
pub(super) struct Surveyed<F> {
    pub(super) entries: u64,
    pub(super) distinct: u64,
    /// The number of distinct fingerprints in which each bit is set, the least significant bit first.
    pub(super) ones: Vec<u64>,
    /// The number of fingerprints whose halves are equal.
    pub(super) equal_halves: u64,
    /// The number of fingerprints whose halves are opposites.
    pub(super) opposite_halves: u64,
    /// In descending order of frequency.
    pub(super) hot_fingerprints: Vec<Hot<F>>,
    pub(super) hot_prefixes: Vec<Hot<F>>,
    /// How many times more often two distinct fingerprints share a prefix than two random ones do.
    /// `None` for fewer than two.
    pub(super) prefix_skew: Option<f64>,
    /// Distinct fingerprints, all or chosen at random.
    pub(super) sample: Vec<F>,
}

/// The pass.
pub(super) struct Survey<F> {
    entries: u64,
    distinct: u64,
    ones: BitCounts<F>,
    equal_halves: u64,
    opposite_halves: u64,
    fingerprint: Option<Hot<F>>,
    prefix: Option<Hot<F>>,
    hot_fingerprints: Vec<Hot<F>>,
    hot_prefixes: Vec<Hot<F>>,
    /// The number of pairs of distinct fingerprints that share a prefix.
    prefix_pairs: f64,
    sample: Reservoir<F>,
}

impl<F: Fingerprint> Survey<F> {
    pub(super) fn new() -> Self {
        Self {
            entries: 0,
            distinct: 0,
            ones: BitCounts::new(),
            equal_halves: 0,
            opposite_halves: 0,
            fingerprint: None,
            prefix: None,
            hot_fingerprints: Vec::new(),
            hot_prefixes: Vec::new(),
            prefix_pairs: 0.0,
            sample: Reservoir::new(SAMPLE),
        }
    }

    /// Adds the next entry. Entries are sorted by fingerprint.
    pub(super) fn add(&mut self, entry: Entry<F>) {
        self.entries += 1;
        if let Some(group) = self.fingerprint.as_mut().filter(|g| g.value == entry.fingerprint) {
            group.count += 1;
            return;
        }
        let group = Hot { value: entry.fingerprint, count: 1, example: entry.id };
        if let Some(done) = self.fingerprint.replace(group) {
            keep(&mut self.hot_fingerprints, done);
        }
        self.add_distinct(entry);
    }

    fn add_distinct(&mut self, entry: Entry<F>) {
        let Entry { fingerprint, id } = entry;
        self.distinct += 1;
        self.ones.add(fingerprint);
        let half = F::BITS / 2;
        let differ = (fingerprint ^ fingerprint >> half) & !F::prefix_mask(half);
        self.equal_halves += u64::from(differ == F::ZERO);
        self.opposite_halves += u64::from(differ == !F::prefix_mask(half));
        self.sample.add(fingerprint);

        let value = fingerprint & F::prefix_mask(PREFIX_BITS);
        if let Some(group) = self.prefix.as_mut().filter(|group| group.value == value) {
            group.count += 1;
            return;
        }
        self.end_prefix(Some(Hot { value, count: 1, example: id }));
    }

    fn end_prefix(&mut self, next: Option<Hot<F>>) {
        if let Some(done) = std::mem::replace(&mut self.prefix, next) {
            let count = done.count as f64;
            self.prefix_pairs += count * (count - 1.0) / 2.0;
            keep(&mut self.hot_prefixes, done);
        }
    }

    pub(super) fn finish(mut self) -> Surveyed<F> {
        if let Some(done) = self.fingerprint.take() {
            keep(&mut self.hot_fingerprints, done);
        }
        self.end_prefix(None);
        let n = self.distinct as f64;
        let expected = n * (n - 1.0) / 2.0 / f64::from(1u32 << PREFIX_BITS);
        Surveyed {
            entries: self.entries,
            distinct: self.distinct,
            ones: self.ones.finish(),
            equal_halves: self.equal_halves,
            opposite_halves: self.opposite_halves,
            hot_fingerprints: self.hot_fingerprints,
            hot_prefixes: self.hot_prefixes,
            prefix_skew: (self.distinct > 1).then(|| self.prefix_pairs / expected),
            sample: self.sample.kept,
        }
    }
}

/// Inserts a group into the hottest if it is one of them. They are in descending order of count,
/// then in the order of insertion.
fn keep<F>(hottest: &mut Vec<Hot<F>>, group: Hot<F>) {
    let at = hottest.partition_point(|kept| kept.count >= group.count);
    if at < HOT {
        hottest.insert(at, group);
        hottest.truncate(HOT);
    }
}

/// A random sample of a series of unknown length, in which each item has the same chance (Vitter's
/// algorithm R). The same series gives the same sample.
pub(super) struct Reservoir<T> {
    pub(super) kept: Vec<T>,
    capacity: usize,
    pub(super) seen: u64,
    random: u64,
}

impl<T> Reservoir<T> {
    pub(super) fn new(capacity: usize) -> Self {
        Self { kept: Vec::new(), capacity, seen: 0, random: 0 }
    }

    pub(super) fn add(&mut self, item: T) {
        self.seen += 1;
        if self.kept.len() < self.capacity {
            self.kept.push(item);
            return;
        }
        let product = u128::from(self.next_random()) * u128::from(self.seen);
        let at = usize::try_from(product >> 64).unwrap_or(usize::MAX);
        if let Some(kept) = self.kept.get_mut(at) {
            *kept = item;
        }
    }

    /// The generator splitmix64.
    fn next_random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn survey<F: Fingerprint>(values: &[F]) -> Surveyed<F> {
        let mut survey = Survey::new();
        for (id, &fingerprint) in (0..).zip(values) {
            survey.add(Entry { fingerprint, id: DocId(id) });
        }
        survey.finish()
    }

    #[test]
    fn groups_are_counted_including_the_last() {
        let found = survey(&[0u64, 1, 1, 1 << 48, 2 << 48, 2 << 48]);
        assert_eq!((found.entries, found.distinct), (6, 4));
        let hot = |value, count, id| Hot { value, count, example: DocId(id) };
        assert_eq!(
            found.hot_fingerprints,
            [hot(1, 2, 1), hot(2 << 48, 2, 4), hot(0, 1, 0), hot(1 << 48, 1, 3)]
        );
        assert_eq!(found.hot_prefixes, [hot(0, 2, 0), hot(1 << 48, 1, 3), hot(2 << 48, 1, 4)]);
        assert_eq!(found.prefix_skew, Some(65536.0 / 6.0));
        assert_eq!(found.ones[0], 1);
    }

    #[test]
    fn halves_are_compared_at_both_widths() {
        let found = survey(&[0u64, 5 << 32 | 5, 5 << 32 | 7, !0 << 32]);
        assert_eq!((found.equal_halves, found.opposite_halves), (2, 1));
        let found = survey(&[7u128 << 64 | 7, 8 << 64 | 9, !0 << 64]);
        assert_eq!((found.equal_halves, found.opposite_halves), (1, 1));
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
