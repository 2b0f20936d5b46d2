//! A set of hashes that grows. Sometimes, it says that it has a hash that it does not have.

/// Bits per hash, and how many of them a hash sets. Of 8,000 hashes that are not in a filter, one
/// seems to be.
const BITS: usize = 24;
const PROBES: u64 = 6;
/// Hashes in the first filter. Each further one has twice as many.
const FIRST: usize = 1 << 12;

/// Bloom filters (Bloom, 1970), each twice as large as the one before it.
#[derive(Debug, Default)]
pub(crate) struct BandSet {
    filters: Vec<Vec<u64>>,
    /// How many more hashes the last filter takes.
    room: usize,
}

impl BandSet {
    pub(crate) fn insert(&mut self, hash: u64) {
        if self.room == 0 {
            self.room = FIRST << self.filters.len();
            self.filters.push(vec![0; self.room * BITS / 64]);
        }
        self.room -= 1;
        if let Some(filter) = self.filters.last_mut() {
            for bit in bits(hash, filter.len()) {
                filter.get_mut(bit / 64).into_iter().for_each(|word| *word |= 1 << (bit % 64));
            }
        }
    }

    pub(crate) fn may_contain(&self, hash: u64) -> bool {
        let is_set = |filter: &Vec<u64>| {
            let word = |bit: usize| filter.get(bit / 64).copied().unwrap_or(0);
            bits(hash, filter.len()).all(|bit| word(bit) >> (bit % 64) & 1 == 1)
        };
        self.filters.iter().any(is_set)
    }

    /// Returns the bytes in memory.
    pub(crate) fn memory(&self) -> usize {
        self.filters.iter().map(|filter| size_of_val(&filter[..])).sum()
    }
}

/// Returns the bits of a hash in a filter of this many words.
fn bits(hash: u64, words: usize) -> impl Iterator<Item = usize> {
    let step = hash.rotate_left(32) | 1;
    (0..PROBES).map(move |probe| {
        let mixed = hash.wrapping_add(probe.wrapping_mul(step));
        let bit = (u128::from(mixed) * (words as u128 * 64)) >> 64;
        usize::try_from(bit).unwrap_or(0)
    })
}
