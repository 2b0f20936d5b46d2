//! The fingerprints of a memtable in one bit order, in buckets by their leading bits.

use crate::fingerprint::Word;

/// Most fingerprints per bucket, on average.
const LOAD: usize = 4;

/// Leading bits that select a bucket, at first and at most.
const MIN_BITS: u32 = 4;
const MAX_BITS: u32 = 20;

/// Most fingerprints in a bucket: with 64-bit fingerprints, it fills one cache line.
const CAPACITY: usize = 7;

/// Buckets that are split per insertion while the number of prefixes is being doubled; a divisor of
/// the first number of buckets. More would shorten the time in which searches look in two places.
const SPLIT_TOGETHER: usize = 4;

/// Different fingerprints, unordered within a bucket. A bucket is one cache line, and comparing
/// everything in it costs less than searching for where to begin.
///
/// The number of prefixes doubles when the buckets are full. As writers and readers wait for each
/// insertion, each then splits only a few buckets, so that none moves all fingerprints.
#[derive(Debug)]
pub(super) struct Buckets<F> {
    shift: u32,
    /// One bucket per prefix. Those that are split are empty. There are none before the first
    /// fingerprint.
    buckets: Vec<Bucket<F>>,
    /// While the number of prefixes is being doubled: two buckets for each one that is split,
    /// beginning with the lowest prefix.
    split: Vec<Bucket<F>>,
    /// The full buckets, in one chain per prefix; and unused ones, which are in the free list.
    full: Vec<Bucket<F>>,
    /// Number, counted from 1, of the first bucket in the free list; 0 if the list is empty.
    unused: u32,
    /// Number of fingerprints.
    len: usize,
    /// Number of fingerprints at which the number of prefixes is doubled.
    room: usize,
}

#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Bucket<F> {
    values: [F; CAPACITY],
    len: u32,
    /// Number, counted from 1, of the next bucket in the chain or in the free list; 0 at its end.
    full: u32,
}

impl<F: Word> Bucket<F> {
    const EMPTY: Self = Self { values: [F::ZERO; CAPACITY], len: 0, full: 0 };

    fn values(&self) -> &[F] {
        &self.values[..self.len as usize]
    }
}

impl<F: Word> Buckets<F> {
    /// Makes no buckets yet. Their number grows with the number of fingerprints.
    pub(super) fn new() -> Self {
        let (buckets, split, full) = (Vec::new(), Vec::new(), Vec::new());
        Self { shift: F::BITS, buckets, split, full, unused: 0, len: 0, room: 0 }
    }

    /// Returns the bytes in memory.
    pub(super) fn memory(&self) -> usize {
        // The room for the split buckets takes no memory before it is used.
        let buckets = self.buckets.len() + self.split.len() + self.full.capacity();
        buckets * size_of::<Bucket<F>>()
    }

    #[inline(always)]
    fn prefix(&self, value: F) -> usize {
        // Without buckets, the shift is the entire width, for which it is not defined.
        usize::try_from(value.wrapping_shr(self.shift).to_u128()).unwrap_or(0)
    }

    /// Returns the place of a value among the split buckets, if its bucket is split.
    #[inline(always)]
    fn split_prefix(&self, value: F) -> usize {
        usize::try_from(value.wrapping_shr(self.shift.wrapping_sub(1)).to_u128()).unwrap_or(0)
    }

    /// Adds a fingerprint that is not in the buckets yet.
    pub(super) fn insert(&mut self, value: F) {
        if self.len >= self.room {
            self.grow();
        }
        self.len += 1;
        self.add(value);
    }

    #[inline]
    fn add(&mut self, value: F) {
        let (prefix, split_prefix) = (self.prefix(value), self.split_prefix(value));
        let bucket = match self.split.get_mut(split_prefix) {
            Some(bucket) => bucket,
            None => &mut self.buckets[prefix],
        };
        if bucket.len as usize == CAPACITY {
            let full = std::mem::replace(bucket, Bucket::EMPTY);
            bucket.full = if self.unused > 0 {
                let place = &mut self.full[self.unused as usize - 1];
                std::mem::replace(&mut self.unused, std::mem::replace(place, full).full)
            } else {
                self.full.push(full);
                // This cannot fail in practice: no memory is large enough for 2^32 buckets.
                u32::try_from(self.full.len()).unwrap_or(0)
            };
        }
        bucket.values[bucket.len as usize] = value;
        bucket.len += 1;
    }

    /// Splits the next buckets, and begins or ends the doubling of the number of prefixes.
    #[cold]
    fn grow(&mut self) {
        if self.buckets.is_empty() {
            self.shift = F::BITS - MIN_BITS;
            self.buckets = vec![Bucket::EMPTY; 1 << MIN_BITS];
            self.room = LOAD << MIN_BITS;
            return;
        }
        if self.split.capacity() == 0 {
            self.split = Vec::with_capacity(self.buckets.len() * 2);
        }
        (0..SPLIT_TOGETHER).for_each(|_| self.split_next());
        if self.split.len() == self.buckets.len() * 2 {
            self.buckets = std::mem::take(&mut self.split);
            self.shift -= 1;
            let is_last = self.buckets.len() >= 1 << MAX_BITS;
            self.room = if is_last { usize::MAX } else { self.buckets.len() * LOAD };
        }
    }

    fn split_next(&mut self) {
        let mut bucket = std::mem::replace(&mut self.buckets[self.split.len() / 2], Bucket::EMPTY);
        self.split.extend([Bucket::EMPTY; 2]);
        loop {
            bucket.values().iter().for_each(|&value| self.add(value));
            let Some(next) = (bucket.full as usize).checked_sub(1) else { break };
            let number = std::mem::replace(&mut self.unused, bucket.full);
            bucket =
                std::mem::replace(&mut self.full[next], Bucket { full: number, ..Bucket::EMPTY });
        }
    }

    /// Returns whether a fingerprint is in the buckets.
    pub(super) fn contains(&self, value: F) -> bool {
        let split = self.split.get(self.split_prefix(value));
        let mut next = split.or_else(|| self.buckets.get(self.prefix(value)));
        while let Some(bucket) = next {
            if bucket.values().contains(&value) {
                return true;
            }
            next = self.full.get((bucket.full as usize).wrapping_sub(1));
        }
        false
    }

    /// Visits the fingerprints from `low` to `high` that are within `distance` of `query`, in no
    /// particular order.
    #[inline(always)]
    pub(super) fn for_each_near(
        &self,
        (low, high): (F, F),
        query: F,
        distance: u32,
        mut visit: impl FnMut(F, u32),
    ) {
        let (first, last) = (self.prefix(low), self.prefix(high));
        let mut unsplit = first;
        if first < self.split.len() / 2 {
            self.for_each_split((low, high), query, distance, &mut visit);
            unsplit = (self.split.len() / 2).min(last + 1);
        }
        // There are no buckets before the first insertion.
        for bucket in self.buckets.get(unsplit..=last).unwrap_or_default() {
            self.visit_near(bucket, (low, high), query, distance, &mut visit);
        }
    }

    /// Does what [`for_each_near`](Self::for_each_near) does, among the split buckets.
    #[inline(never)]
    fn for_each_split(
        &self,
        (low, high): (F, F),
        query: F,
        distance: u32,
        visit: &mut impl FnMut(F, u32),
    ) {
        let last = self.split_prefix(high).min(self.split.len() - 1);
        for bucket in &self.split[self.split_prefix(low)..=last] {
            self.visit_near(bucket, (low, high), query, distance, visit);
        }
    }

    /// Visits the fingerprints of a bucket and of the full ones that it replaced.
    #[inline(always)]
    fn visit_near<'a>(
        &'a self,
        mut bucket: &'a Bucket<F>,
        (low, high): (F, F),
        query: F,
        distance: u32,
        visit: &mut impl FnMut(F, u32),
    ) {
        loop {
            // One branch for the bucket, not one per value: nearly always none is near.
            let distances = bucket.values.map(|value| value.distance(query));
            if distances.iter().any(|&d| d <= distance) {
                for (&value, d) in bucket.values().iter().zip(distances) {
                    if d <= distance && (low..=high).contains(&value) {
                        visit(value, d);
                    }
                }
            }
            if bucket.full == 0 {
                break;
            }
            bucket = &self.full[bucket.full as usize - 1];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near<F: Word>(buckets: &Buckets<F>, bounds: (F, F), query: F, k: u32) -> Vec<F> {
        let mut found = Vec::new();
        buckets.for_each_near(bounds, query, k, |value, d| {
            assert_eq!(d, value.distance(query));
            found.push(value);
        });
        found.sort_unstable();
        found
    }

    fn check<F: Word>() {
        for count in (1..=140).chain([300, 3000]) {
            let mut buckets = Buckets::<F>::new();
            // Most share their leading bits, which makes long chains with neighbours in them.
            let values: Vec<F> = (0..count)
                .map(|i| F::from_u128(if i % 3 == 0 { i << 50 | i } else { i }))
                .collect();
            values.iter().for_each(|&value| buckets.insert(value));
            let all = near(&buckets, (F::ZERO, F::MAX), F::ZERO, F::BITS);
            assert_eq!(all.len(), values.len());
            assert!(values.iter().all(|&value| buckets.contains(value)));
            assert!(!buckets.contains(F::from_u128(1 << 50)));
            for (low, high) in [(0, u128::MAX), (0, 200), (17, 17), (100, 99 << 50), (400, 900)] {
                let bounds = (F::from_u128(low), F::from_u128(high));
                for k in 0..4 {
                    let query = F::from_u128(0b1_0110);
                    let expected: Vec<F> = values
                        .iter()
                        .copied()
                        .filter(|&v| bounds.0 <= v && v <= bounds.1 && v.distance(query) <= k)
                        .collect();
                    let mut expected = expected;
                    expected.sort_unstable();
                    assert_eq!(near(&buckets, bounds, query, k), expected);
                }
            }
        }
    }

    #[test]
    fn everything_near_in_a_range_is_found_in_overflowing_buckets() {
        check::<u64>();
        check::<u128>();
    }

    #[test]
    fn each_insertion_splits_only_a_few_buckets() {
        let mut buckets = Buckets::<u64>::new();
        let (mut doublings, mut before) = (0, 0);
        for i in 1..20_000u64 {
            buckets.insert(i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let split = buckets.split.len();
            assert!(split == 0 || split == before || split == before + 8, "{before} {split}");
            doublings += u64::from(split == 8);
            before = split;
        }
        assert_eq!(doublings, 9);
        assert_eq!(near(&buckets, (0, u64::MAX), 0, 64).len(), 19_999);
    }

    #[test]
    fn full_buckets_are_used_again_after_a_split() {
        let mut buckets = Buckets::<u64>::new();
        // Only one prefix in 16 occurs, so most fingerprints are in full buckets.
        (0..20_000u64).for_each(|i| buckets.insert(i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 4));
        assert_eq!(near(&buckets, (0, u64::MAX), 0, 64).len(), 20_000);
        assert!(buckets.full.len() <= 20_000 / CAPACITY);
    }

    #[test]
    fn unused_slots_are_never_found() {
        let mut buckets = Buckets::<u64>::new();
        assert!(near(&buckets, (0, u64::MAX), 0, 3).is_empty());
        buckets.insert(u64::MAX);
        assert!(near(&buckets, (0, u64::MAX), 0, 3).is_empty());
    }

    #[test]
    fn memory_follows_the_number_of_fingerprints() {
        let mut buckets = Buckets::<u64>::new();
        assert_eq!(buckets.memory(), 0);
        for (i, n) in (1..50_000u64).zip(1..) {
            buckets.insert(i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let least = 16 * size_of::<Bucket<u64>>();
            assert!(buckets.memory() <= (60 * n).max(2 * least), "{n}");
        }
    }

    #[test]
    fn bucket_is_one_cache_line() {
        assert_eq!((size_of::<Bucket<u64>>(), size_of::<Bucket<u128>>()), (64, 128));
    }
}
