//! One band of the recent sketches: which documents have which value of it.

/// Most values in a bucket, which fills one cache line.
const CAPACITY: usize = 10;

/// Values per bucket, on average.
const LOAD: usize = 9;

/// Bits of a number of a document.
pub(super) const NUMBER_BITS: u32 = 24;
const NUMBERS: u32 = (1 << NUMBER_BITS) - 1;

/// Bits of a hash of a band.
pub(super) const HASH_BITS: u32 = 24;

/// Most buckets. Among more, a hash could not choose.
const MAX_BUCKETS: usize = 1 << HASH_BITS;

/// The numbers of documents by the hash of a band, in a linear hash table: each time that enough
/// values were added, one bucket is split in two. So the buckets are always as full as planned
/// (Litwin, Linear hashing, VLDB 1980), and insertions take about the same time, unless very many
/// documents have the same band, or the memory for the buckets doubles and they are copied there.
#[derive(Debug, Default)]
pub(super) struct BandTable {
    /// Buckets by the low bits of a hash. Those that were split since their number was last a power
    /// of two, and their other halves, which are at the end, are chosen by one bit more.
    buckets: Vec<Bucket>,
    /// The full buckets, in one chain per bucket; and unused ones, which are in the free list.
    full: Vec<Bucket>,
    /// Number, counted from 1, of the first bucket in the free list; 0 if the list is empty.
    unused: u32,
    /// Number of values.
    len: usize,
}

/// Hashes with numbers, 48 bits each.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Bucket {
    /// The high bits of hashes.
    high: [u16; CAPACITY],
    /// Their low bits, and the numbers.
    low: [u32; CAPACITY],
    /// The length, and above it the number, counted from 1, of the next bucket in the chain or in
    /// the free list; 0 at its end.
    len_and_next: u32,
}

const LEN_BITS: u32 = 4;
const LEN_MASK: u32 = (1 << LEN_BITS) - 1;

impl Bucket {
    const EMPTY: Self = Self { high: [0; CAPACITY], low: [0; CAPACITY], len_and_next: 0 };

    fn with_next(next: u32) -> Self {
        Self { len_and_next: next << LEN_BITS, ..Self::EMPTY }
    }

    #[inline]
    fn len(&self) -> usize {
        (self.len_and_next & LEN_MASK) as usize
    }

    #[inline]
    fn next(&self) -> u32 {
        self.len_and_next >> LEN_BITS
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "each part takes the bits that fit")]
    fn push(&mut self, hash: u32, number: u32) {
        let at = self.len();
        self.high[at] = (hash >> 8) as u16;
        self.low[at] = hash << NUMBER_BITS | number & NUMBERS;
        self.len_and_next += 1;
    }

    /// Returns the hashes and the numbers.
    #[inline]
    fn values(&self) -> impl Iterator<Item = (u32, u32)> {
        let values = self.high.iter().zip(&self.low).take(self.len());
        values.map(|(&high, &low)| (u32::from(high) << 8 | low >> NUMBER_BITS, low & NUMBERS))
    }
}

impl BandTable {
    /// Returns the bytes in memory.
    pub(super) fn memory(&self) -> usize {
        // Room for more of them takes no memory before it is used.
        (self.buckets.len() + self.full.len()) * size_of::<Bucket>()
    }

    /// Returns the place of the bucket of a hash.
    #[inline]
    fn place(&self, hash: u32) -> usize {
        let mask = self.buckets.len().next_power_of_two() - 1;
        let place = hash as usize & mask;
        if place < self.buckets.len() { place } else { place & mask >> 1 }
    }

    /// Adds the number of a document. Only the low bits of hash and number count.
    pub(super) fn insert(&mut self, hash: u32, number: u32) {
        if self.len >= self.buckets.len() * LOAD && self.buckets.len() < MAX_BUCKETS {
            self.split();
        }
        self.len += 1;
        self.add(hash & (u32::MAX >> (u32::BITS - HASH_BITS)), number);
    }

    #[inline]
    fn add(&mut self, hash: u32, number: u32) {
        let place = self.place(hash);
        let bucket = &mut self.buckets[place];
        if bucket.len() == CAPACITY {
            let full = *bucket;
            *bucket = Bucket::with_next(match self.unused.checked_sub(1) {
                Some(unused) => {
                    let unused = std::mem::replace(&mut self.full[unused as usize], full);
                    std::mem::replace(&mut self.unused, unused.next())
                }
                None => {
                    self.full.push(full);
                    // This cannot fail in practice: as many buckets take 2^34 bytes.
                    u32::try_from(self.full.len()).unwrap_or(0)
                }
            });
        }
        bucket.push(hash, number);
    }

    /// Adds a bucket, and moves those values into it that are in another one so far.
    fn split(&mut self) {
        let added = self.buckets.len();
        self.buckets.push(Bucket::EMPTY);
        let Some(bits) = added.checked_ilog2() else { return };
        let mut bucket = std::mem::replace(&mut self.buckets[added - (1 << bits)], Bucket::EMPTY);
        loop {
            bucket.values().for_each(|(hash, number)| self.add(hash, number));
            let Some(next) = bucket.next().checked_sub(1) else { break };
            let unused = Bucket::with_next(std::mem::replace(&mut self.unused, bucket.next()));
            bucket = std::mem::replace(&mut self.full[next as usize], unused);
        }
    }

    /// Visits the numbers with a hash, in no particular order.
    #[inline]
    pub(super) fn for_each(&self, hash: u32, mut visit: impl FnMut(u32)) {
        let mut next = self.buckets.get(self.place(hash));
        while let Some(bucket) = next {
            let same = bucket.values().filter(|&(other, _)| other == hash);
            same.for_each(|(_, number)| visit(number));
            next = self.full.get((bucket.next() as usize).wrapping_sub(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(table: &BandTable, hash: u32) -> Vec<u32> {
        let mut numbers = Vec::new();
        table.for_each(hash, |number| numbers.push(number));
        numbers.sort_unstable();
        numbers
    }

    /// Hashes of which some are very frequent, and many share their low bits.
    fn hash(number: u32) -> u32 {
        let hash = match number % 4 {
            0 => 5,
            1 => number << 12,
            _ => number.wrapping_mul(0x9e37_79b9) >> 8,
        };
        hash & (u32::MAX >> (u32::BITS - HASH_BITS))
    }

    #[test]
    fn every_number_is_found_by_its_hash_alone_after_any_number_of_splits() {
        let mut table = BandTable::default();
        let mut expected = std::collections::BTreeMap::<u32, Vec<u32>>::new();
        assert_eq!(numbers(&table, 5), []);
        for number in 0..5000 {
            table.insert(hash(number), number);
            expected.entry(hash(number)).or_default().push(number);
            if number < 300 || number % 500 == 0 {
                assert!(expected.iter().all(|(&hash, all)| numbers(&table, hash) == *all));
                assert_eq!(numbers(&table, 7), []);
            }
        }
        // The greatest number and hash have all of their bits.
        table.insert(u32::MAX, NUMBERS);
        assert_eq!(numbers(&table, u32::MAX >> (u32::BITS - HASH_BITS)), [NUMBERS]);
    }

    #[test]
    fn memory_follows_the_number_of_values() {
        let mut table = BandTable::default();
        assert_eq!(table.memory(), 0);
        for number in 0..100_000_u32 {
            table.insert(number.wrapping_mul(0x9e37_79b9) >> 8, number);
            let len = number as usize + 1;
            assert!(table.memory() <= 12 * len + 64, "{len}");
        }
    }

    #[test]
    fn full_buckets_are_used_again_after_a_split() {
        let mut table = BandTable::default();
        // Only one low value in 16 occurs, so most values are in full buckets.
        (0..20_000).for_each(|number| table.insert(number << 4, number));
        assert!(table.full.len() <= 20_000 / CAPACITY);
    }

    #[test]
    fn bucket_is_one_cache_line() {
        assert_eq!(size_of::<Bucket>(), 64);
    }
}
