//! The fingerprints of a memtable in one bit order, in buckets by their leading bits.

use crate::fingerprint::Fingerprint;

/// Most fingerprints per bucket, on average.
const LOAD: usize = 4;

/// Leading bits that select a bucket, at first and at most.
const MIN_BITS: u32 = 4;
const MAX_BITS: u32 = 20;

/// Most fingerprints in a bucket: with 64-bit fingerprints, it fills one cache line.
const CAPACITY: usize = 7;

/// Different fingerprints, unordered within a bucket. A bucket is one cache line, and comparing
/// everything in it costs less than searching for where to begin.
#[derive(Debug)]
pub(super) struct Buckets<F> {
    shift: u32,
    /// First one bucket per prefix, then the full ones. Each full bucket is linked from the one
    /// that replaced it. Empty before the first fingerprint.
    all: Vec<Bucket<F>>,
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
    /// Index of the full bucket that this one replaced; 0 if there is none.
    full: u32,
}

impl<F: Fingerprint> Bucket<F> {
    const EMPTY: Self = Self { values: [F::ZERO; CAPACITY], len: 0, full: 0 };

    fn values(&self) -> &[F] {
        &self.values[..self.len as usize]
    }
}

impl<F: Fingerprint> Buckets<F> {
    /// Makes no buckets yet. Their number grows with that of the fingerprints.
    pub(super) fn new() -> Self {
        Self { shift: F::BITS, all: Vec::new(), len: 0, room: 0 }
    }

    /// Makes empty buckets for all prefixes of this many bits.
    fn with_bits(bits: u32) -> Self {
        let prefixes = 1 << bits;
        // With random fingerprints, one bucket in twenty overflows.
        let mut all = Vec::with_capacity(prefixes + prefixes / 8);
        all.resize(prefixes, Bucket::EMPTY);
        let room = if bits < MAX_BITS { prefixes * LOAD } else { usize::MAX };
        Self { shift: F::BITS - bits, all, len: 0, room }
    }

    /// Doubles the number of prefixes. For all insertions together, this moves each fingerprint
    /// about once.
    #[cold]
    fn grow(&mut self) {
        let bits = (F::BITS - self.shift + 1).max(MIN_BITS);
        let old = std::mem::replace(self, Self::with_bits(bits));
        for &value in old.all.iter().flat_map(Bucket::values) {
            self.insert(value);
        }
    }

    /// Returns the bytes in memory.
    pub(super) fn memory(&self) -> usize {
        self.all.capacity() * size_of::<Bucket<F>>()
    }

    #[inline(always)]
    fn prefix(&self, value: F) -> usize {
        // Without buckets, the shift is the entire width, for which it is not defined.
        usize::try_from(value.wrapping_shr(self.shift).to_u128()).unwrap_or(0)
    }

    /// Adds a fingerprint that is not in the buckets yet.
    pub(super) fn insert(&mut self, value: F) {
        if self.len == self.room {
            self.grow();
        }
        self.len += 1;
        let prefix = self.prefix(value);
        if self.all[prefix].len as usize == CAPACITY {
            // This cannot fail in practice: no memory is large enough for 2^32 buckets.
            let full = u32::try_from(self.all.len()).unwrap_or(0);
            self.all.push(self.all[prefix]);
            self.all[prefix] = Bucket { full, ..Bucket::EMPTY };
        }
        let bucket = &mut self.all[prefix];
        bucket.values[bucket.len as usize] = value;
        bucket.len += 1;
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
        if self.all.is_empty() {
            return;
        }
        for prefix in self.prefix(low)..=self.prefix(high) {
            let mut bucket = &self.all[prefix];
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
                bucket = &self.all[bucket.full as usize];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near<F: Fingerprint>(buckets: &Buckets<F>, bounds: (F, F), query: F, k: u32) -> Vec<F> {
        let mut found = Vec::new();
        buckets.for_each_near(bounds, query, k, |value, d| {
            assert_eq!(d, value.distance(query));
            found.push(value);
        });
        found.sort_unstable();
        found
    }

    fn check<F: Fingerprint>() {
        for count in [1, 64, 65, 300, 3000] {
            let mut buckets = Buckets::<F>::new();
            // Most share their leading bits, which makes long chains with neighbours in them.
            let values: Vec<F> = (0..count)
                .map(|i| F::from_u128(if i % 3 == 0 { i << 50 | i } else { i }))
                .collect();
            values.iter().for_each(|&value| buckets.insert(value));
            let all = near(&buckets, (F::ZERO, F::MAX), F::ZERO, F::BITS);
            assert_eq!(all.len(), values.len());
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
