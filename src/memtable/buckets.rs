//! The fingerprints of one table's order, in buckets by their leading bits.

use crate::fingerprint::Fingerprint;

/// Fingerprints a bucket holds on average when the memtable is full.
const LOAD: usize = 4;

/// Places of a bucket: with 64-bit fingerprints it fills one cache line.
const PLACES: usize = 7;

/// Different fingerprints, which a search reads without order: a bucket is one line of memory, and
/// to compare all that is in it costs less than to look for where to begin.
#[derive(Debug)]
pub(super) struct Buckets<F> {
    shift: u32,
    /// First one for each prefix; then those that were full, each named by the one after it.
    all: Vec<Bucket<F>>,
}

#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Bucket<F> {
    values: [F; PLACES],
    len: u32,
    /// The bucket that was here before and is full; 0 if none is.
    full: u32,
}

impl<F: Fingerprint> Bucket<F> {
    const EMPTY: Self = Self { values: [F::ZERO; PLACES], len: 0, full: 0 };

    fn values(&self) -> &[F] {
        &self.values[..self.len as usize]
    }
}

impl<F: Fingerprint> Buckets<F> {
    /// For about `capacity` fingerprints; more make it slower.
    pub(super) fn new(capacity: usize) -> Self {
        let bits = (capacity / LOAD).max(1).ilog2().min(20);
        let prefixes = 1 << bits;
        // Of random fingerprints, one bucket in twenty needs a second.
        let mut all = Vec::with_capacity(prefixes + prefixes / 8);
        all.resize(prefixes, Bucket::EMPTY);
        Self { shift: F::BITS - bits, all }
    }

    /// Bytes in memory.
    pub(super) fn memory(&self) -> usize {
        self.all.capacity() * size_of::<Bucket<F>>()
    }

    #[inline(always)]
    fn prefix(&self, value: F) -> usize {
        // A shift by the whole width (one bucket) is not defined for the type.
        let prefix = if self.shift == F::BITS { F::ZERO } else { value >> self.shift };
        usize::try_from(prefix.to_u128()).unwrap_or(0)
    }

    /// Adds a fingerprint that is not there.
    pub(super) fn insert(&mut self, value: F) {
        let prefix = self.prefix(value);
        if self.all[prefix].len as usize == PLACES {
            // A memtable of so many entries is beyond all memory.
            let full = u32::try_from(self.all.len()).unwrap_or(0);
            self.all.push(self.all[prefix]);
            self.all[prefix] = Bucket { full, ..Bucket::EMPTY };
        }
        let bucket = &mut self.all[prefix];
        bucket.values[bucket.len as usize] = value;
        bucket.len += 1;
    }

    /// Visits those from `low` to `high` that are within `distance` of `query`, in no order.
    #[inline(always)]
    pub(super) fn for_each_near(
        &self,
        (low, high): (F, F),
        query: F,
        distance: u32,
        mut visit: impl FnMut(F, u32),
    ) {
        for prefix in self.prefix(low)..=self.prefix(high) {
            let mut bucket = &self.all[prefix];
            loop {
                // No branch for each: nearly always all are far.
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

    fn crowded<F: Fingerprint>() {
        for capacity in [1, 64, 1 << 12] {
            let mut buckets = Buckets::<F>::new(capacity);
            // Most share their leading bits: long chains, with neighbours in them.
            let values: Vec<F> = (0..300u128)
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
    fn of_a_range_all_that_is_near_is_found_however_crowded_a_bucket_is() {
        crowded::<u64>();
        crowded::<u128>();
    }

    #[test]
    fn a_place_that_was_never_filled_is_no_fingerprint() {
        let buckets = Buckets::<u64>::new(100);
        assert!(near(&buckets, (0, u64::MAX), 0, 3).is_empty());
    }

    #[test]
    fn a_bucket_is_one_line_of_memory() {
        assert_eq!((size_of::<Bucket<u64>>(), size_of::<Bucket<u128>>()), (64, 128));
    }
}
