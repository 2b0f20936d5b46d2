//! Which of many sets of shingles may be similar to another one.

use std::ops::Range;

use super::Shingles;

/// The most sets of a run, so that the counters of a run stay in the processor's cache.
const MOST_SETS: usize = if cfg!(test) { 1 << 6 } else { 1 << 16 };

/// A shingle is common in a run if more than one in `COMMON` sets has it, but never if at most
/// `FEW` do.
const COMMON: usize = 16;
const FEW: usize = if cfg!(test) { 4 } else { 16 };

/// Counts that are looked at together, because nearly always none is large enough.
const TOGETHER: usize = 64;

/// Many sets of shingles in memory, of which most have much in common, such as the texts of a
/// template.
///
/// Two sets with a and b shingles have a Jaccard similarity of T or more only if they share at
/// least T (a + b) / (1 + T) shingles. Nearly all pairs of a crowd share the common shingles, but
/// fewer in all than that. So the shared shingles that are *not* common are counted, by lists of
/// the sets that have each of them. To this count is added the smaller of the two sets' numbers of
/// common shingles. No similar set is missed, whatever counts as common. Leaving the long lists out
/// of the count is from Sarawagi and Kirpal (*Efficient set joins on similarity predicates*, SIGMOD
/// 2004), who search in them later.
///
/// A search takes a few steps for each shingle of the set, one more for each other set that has the
/// shingle, if it is not common, and a fraction of a nanosecond for each set of the crowd. A set
/// takes 6 bytes for each of its shingles that is not common.
///
/// # Examples
///
/// ```
/// use fpdb_text::jaccard::{Crowd, Shingles};
///
/// let shop = |name| Shingles::of_words(&format!("{name}: we deliver on the next day, free of charge"), 1);
/// let sets = [shop("Blue shoes and green socks"), shop("Red hats")];
/// let mut crowd = Crowd::new(0.8);
/// crowd.extend(sets.iter());
/// let like = shop("Blue shoes and white socks");
/// let found = crowd.candidates(&like);
/// assert_eq!(found.iter().map(|it| it.number).collect::<Vec<_>>(), [0]);
/// assert_eq!((found[0].most, like.jaccard(&sets[0])), (13.0 / 15.0, 13.0 / 15.0));
/// ```
#[derive(Debug)]
pub struct Crowd {
    /// T / (1 + T).
    share: f64,
    /// In the order of the sets.
    runs: Vec<Run>,
    len: usize,
}

/// A set that may be similar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// The sets are numbered from 0, in the order in which they were added.
    pub number: usize,
    /// The similarity is not greater.
    pub most: f64,
}

impl Crowd {
    /// The most shingles of a set that can be added.
    pub const MOST_SHINGLES: usize = 30_000;

    /// Returns an empty crowd, for the search of sets with at least this similarity.
    ///
    /// # Panics
    ///
    /// Panics unless the similarity is greater than 0 and at most 1.
    #[must_use]
    pub fn new(similarity: f64) -> Self {
        assert!(similarity > 0.0 && similarity <= 1.0, "similarity {similarity}: expected up to 1");
        Self { share: similarity / (1.0 + similarity), runs: Vec::new(), len: 0 }
    }

    /// Returns the number of sets.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no sets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the bytes in memory.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.runs.iter().map(Run::memory).sum()
    }

    /// Adds sets. It is best to add a thousand at a time.
    ///
    /// # Panics
    ///
    /// Panics if a set has more than [`MOST_SHINGLES`](Self::MOST_SHINGLES).
    pub fn extend<'a>(&mut self, sets: impl Iterator<Item = &'a Shingles>) {
        let sets: Vec<&Shingles> = sets.collect();
        for sets in sets.chunks(MOST_SETS) {
            let mut run = Run::of(sets, self.share);
            self.len += run.len();
            // Each set is in one merge per doubling.
            while let Some(last) = self.runs.pop() {
                if last.len() > 2 * run.len() || last.len() + run.len() > MOST_SETS {
                    self.runs.push(last);
                    break;
                }
                run = Run::merged(&last, &run, self.share);
            }
            self.runs.push(run);
        }
    }

    /// Returns all sets that are similar to this one, and few others, by number.
    #[must_use]
    pub fn candidates(&self, set: &Shingles) -> Vec<Candidate> {
        let keys: Vec<u32> = set.hashes().iter().map(|&hash| key(hash)).collect();
        let (mut first, mut found, mut counts) = (0, Vec::new(), Vec::new());
        for run in &self.runs {
            run.find(&keys, self.share, &mut counts, |number, most| {
                found.push(Candidate { number: first + number, most });
            });
            first += run.len();
        }
        found
    }
}

/// What is stored of a shingle. If two have the same key, there are more candidates.
fn key(hash: u64) -> u32 {
    (hash >> 32) as u32
}

/// Returns how many shingles two sets must share if they have `sizes` together.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a size")]
fn least_shared(share: f64, sizes: usize) -> usize {
    // The similarity of two sets may be rounded up.
    (share * sizes as f64 - 1e-6).ceil() as usize
}

/// Returns the similarity of two sets with so many shingles in both and in either.
fn of_sizes(shared: usize, all: usize) -> f64 {
    if all == 0 { 1.0 } else { shared as f64 / all as f64 }
}

/// Sets that were added one after another.
#[derive(Debug)]
struct Run {
    /// The number of shingles of each set, and how many of these are common.
    sizes: Vec<u16>,
    common_of: Vec<u16>,
    /// The keys that are common, each once.
    common: Keys,
    /// The other keys of all sets, and the number of the set for each.
    own: Keys,
    sets: Vec<u16>,
    /// For each set, the number of its common shingles minus its own part, T / (1 + T) of its size,
    /// of the number that must be shared.
    start: Vec<i16>,
}

impl Run {
    #[expect(clippy::cast_possible_truncation, reason = "there are at most 2^16 sets")]
    fn of(sets: &[&Shingles], share: f64) -> Self {
        assert!(sets.iter().all(|set| set.len() <= Crowd::MOST_SHINGLES), "a set is too large");
        let of_set = |(number, set): (usize, &&Shingles)| {
            let keys: Vec<_> =
                set.hashes().iter().map(|&hash| (key(hash), number as u16)).collect();
            keys
        };
        let mut keys: Vec<(u32, u16)> = sets.iter().enumerate().flat_map(of_set).collect();
        keys.sort_unstable();
        let sizes = sets.iter().map(|set| set.len() as u16).collect();
        Self::new(&keys, sizes, vec![0; sets.len()], Vec::new(), share)
    }

    #[expect(clippy::cast_possible_truncation, reason = "there are at most 2^16 sets")]
    fn merged(a: &Self, b: &Self, share: f64) -> Self {
        let of_a = a.own.keys.iter().copied().zip(a.sets.iter().copied());
        let of_b = b.own.keys.iter().copied().zip(b.sets.iter().map(|set| set + a.len() as u16));
        let mut keys: Vec<(u32, u16)> = of_a.chain(of_b).collect();
        // Two sorted parts take linear time.
        keys.sort();
        let mut common = [&a.common.keys[..], &b.common.keys].concat();
        common.sort();
        common.dedup();
        let sizes = [&a.sizes[..], &b.sizes].concat();
        Self::new(&keys, sizes, [&a.common_of[..], &b.common_of].concat(), common, share)
    }

    /// Takes the keys of sets but for those that are known to be common, sorted.
    #[expect(clippy::cast_possible_truncation, reason = "no set has more than 30,000 shingles")]
    fn new(
        keys: &[(u32, u16)],
        sizes: Vec<u16>,
        mut common_of: Vec<u16>,
        known: Vec<u32>,
        share: f64,
    ) -> Self {
        let limit = (sizes.len() / COMMON).max(FEW);
        let (mut own, mut sets, mut new) = (Vec::new(), Vec::new(), Vec::new());
        for same in keys.chunk_by(|a, b| a.0 == b.0) {
            let is_known = known.binary_search(&same[0].0).is_ok();
            if is_known || same.len() > limit {
                same.iter().for_each(|&(_, set)| common_of[usize::from(set)] += 1);
                new.extend((!is_known).then_some(same[0].0));
            } else {
                own.extend(same.iter().map(|it| it.0));
                sets.extend(same.iter().map(|it| it.1));
            }
        }
        let mut common = known;
        common.append(&mut new);
        common.sort();
        let start = |(&size, &common): (&u16, &u16)| {
            i32::from(common) as i16 - (share * f64::from(size)) as i16
        };
        let start = sizes.iter().zip(&common_of).map(start).collect();
        own.shrink_to_fit();
        sets.shrink_to_fit();
        Self { sizes, common_of, common: Keys::new(common), own: Keys::new(own), sets, start }
    }

    fn len(&self) -> usize {
        self.sizes.len()
    }

    fn memory(&self) -> usize {
        let numbers = self.sets.len() + 3 * self.sizes.len();
        self.common.memory() + self.own.memory() + numbers * size_of::<u16>()
    }

    /// Passes the sets that may be similar to the one with these keys to `visit`, and how similar
    /// they may be.
    fn find(
        &self,
        keys: &[u32],
        share: f64,
        counts: &mut Vec<i16>,
        mut visit: impl FnMut(usize, f64),
    ) {
        counts.clone_from(&self.start);
        let mut common = 0;
        for &key in keys {
            if !self.common.places(key).is_empty() {
                common += 1;
                continue;
            }
            for &set in &self.sets[self.own.places(key)] {
                let count = &mut counts[usize::from(set)];
                *count = count.saturating_add(1);
            }
        }
        // The number that must be shared is at least the sum of the two parts.
        let least = i16::try_from(least_shared(share, keys.len())).unwrap_or(i16::MAX);
        for (part, some) in counts.chunks(TOGETHER).enumerate() {
            if !some.iter().fold(false, |any, &count| any | (count >= least)) {
                continue;
            }
            for (place, &count) in some.iter().enumerate().filter(|it| *it.1 >= least) {
                let number = part * TOGETHER + place;
                let (size, of_other) = (self.sizes[number].into(), self.common_of[number]);
                let own = i32::from(count) - i32::from(self.start[number]);
                let own = usize::try_from(own).unwrap_or(0);
                let shared = (own + common.min(of_other.into())).min(size).min(keys.len());
                if shared >= least_shared(share, size + keys.len()) {
                    visit(number, of_sizes(shared, size + keys.len() - shared));
                }
            }
        }
    }
}

/// Keys in ascending order, and where those with the same leading bits begin.
#[derive(Debug)]
struct Keys {
    keys: Vec<u32>,
    begins: Vec<u32>,
    /// The number of other bits.
    shift: u32,
}

impl Keys {
    fn new(keys: Vec<u32>) -> Self {
        // Eight keys, on average, are searched.
        let bits = (keys.len() / 8).max(1).ilog2();
        let shift = u32::BITS - bits;
        let mut begins = vec![0; (1 << bits) + 1];
        keys.iter().for_each(|&key| begins[leading(key, shift) + 1] += 1);
        let mut sum = 0;
        for begin in &mut begins {
            sum += *begin;
            *begin = sum;
        }
        Self { keys, begins, shift }
    }

    /// Returns where this key is.
    fn places(&self, key: u32) -> Range<usize> {
        let place = leading(key, self.shift);
        let (begin, end) = (self.begins[place] as usize, self.begins[place + 1] as usize);
        let some = &self.keys[begin..end];
        let first = some.partition_point(|&it| it < key);
        let same = some[first..].partition_point(|&it| it == key);
        begin + first..begin + first + same
    }

    fn memory(&self) -> usize {
        (self.keys.len() + self.begins.len()) * size_of::<u32>()
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a key has 32 bits")]
fn leading(key: u32, shift: u32) -> usize {
    (u64::from(key) >> shift) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            crate::hash::xxh3(&self.0.to_le_bytes())
        }

        fn below(&mut self, bound: usize) -> usize {
            usize::try_from(self.next() % bound as u64).unwrap()
        }
    }

    /// Texts of some templates, each with words of its own, of which some are frequent; and for a
    /// part of them others that have a little more or less, so that the similarities lie on both
    /// sides of the threshold.
    fn sets(random: &mut Random, templates: usize, count: usize) -> Vec<Shingles> {
        let hash =
            |kind: usize, number: usize| crate::hash::xxh3(&(kind << 32 | number).to_le_bytes());
        let mut sets: Vec<Vec<u64>> = Vec::new();
        while sets.len() < count {
            let (template, own) = (random.below(templates), random.below(20));
            let size = 10 + 25 * template;
            let mut set: Vec<u64> = (0..size).map(|number| hash(template, number)).collect();
            let rank = |random: &mut Random| random.below(400) * random.below(400) / 400;
            set.extend((0..own).map(|_| hash(99, rank(random))));
            set.extend((0..own / 2).map(|_| random.next()));
            if random.below(3) == 0 {
                // A part of it, and more than it.
                let part = set.len() - random.below(1 + set.len() / 3);
                sets.push(set[..part].to_vec());
                let more = [&set[..], &[random.next(), random.next()]].concat();
                sets.push(more);
            }
            sets.push(set);
        }
        // Those that are alike need not be neighbours.
        for place in (1..sets.len()).rev() {
            sets.swap(place, random.below(place + 1));
        }
        sets.into_iter().map(Shingles::of_hashes).collect()
    }

    #[test]
    fn every_similar_set_is_a_candidate_and_few_others_are() {
        let mut random = Random(3);
        for (templates, similarity) in [(1, 0.8), (1, 0.55), (3, 0.8), (5, 0.9), (2, 1.0), (4, 0.7)]
        {
            let sets = sets(&mut random, templates, 500);
            let mut crowd = Crowd::new(similarity);
            let mut rest = &sets[..];
            while !rest.is_empty() {
                let (some, other) = rest.split_at(rest.len().min(1 + random.below(40)));
                crowd.extend(some.iter());
                rest = other;
            }
            assert_eq!(crowd.len(), sets.len());
            assert!(crowd.runs.iter().all(|run| run.len() <= MOST_SETS));
            assert!(crowd.runs.len() <= 2 * sets.len() / MOST_SETS + 6, "{}", crowd.runs.len());
            let (mut similar, mut candidates, mut compared) = (0, 0, 0);
            for set in &sets {
                let found = crowd.candidates(set);
                assert!(found.is_sorted_by(|a, b| a.number < b.number));
                let mut next = found.iter().peekable();
                for (number, other) in sets.iter().enumerate() {
                    let exact = set.jaccard(other);
                    let candidate = next.next_if(|it| it.number == number);
                    if exact >= similarity {
                        similar += 1;
                        assert!(candidate.is_some(), "{number} has {exact} of {similarity}");
                    }
                    assert!(
                        candidate.is_none_or(|it| it.most >= exact && it.most >= similarity - 1e-6)
                    );
                }
                candidates += found.len();
                compared += sets.len();
            }
            assert!(similar > sets.len());
            // Of sets as small as these, common shingles alone may suffice.
            assert!(candidates - similar <= compared / 3, "{candidates} of {compared}, {similar}");
        }
    }

    #[test]
    fn sets_that_share_nothing_but_what_is_common_are_found_if_that_suffices() {
        let common: Vec<u64> =
            (0..300u64).map(|number| crate::hash::xxh3(&number.to_le_bytes())).collect();
        let own = |seed: u64, count: u64| {
            let mut random = Random(seed);
            Shingles::of_hashes(
                common.iter().copied().chain((0..count).map(|_| random.next())).collect(),
            )
        };
        let sets: Vec<Shingles> =
            (0..200).map(|seed| own(seed, if seed % 10 == 0 { 13 } else { 61 })).collect();
        let mut crowd = Crowd::new(0.8);
        crowd.extend(sets.iter());
        // 300 / (361 + 313 - 300) = 0.802, and 300 / 422 = 0.711.
        let found = crowd.candidates(&own(1000, 61));
        let numbers: Vec<usize> = found.iter().map(|it| it.number).collect();
        assert_eq!(numbers, (0..200).step_by(10).collect::<Vec<_>>());
    }

    #[test]
    fn a_crowd_takes_six_bytes_for_each_shingle_that_is_not_common() {
        let mut random = Random(5);
        let mut crowd = Crowd::new(0.8);
        assert!(crowd.is_empty() && crowd.candidates(&Shingles::default()).is_empty());
        let sets: Vec<Shingles> = (0..MOST_SETS)
            .map(|_| {
                let own = (0..60).map(|_| random.next());
                Shingles::of_hashes((0..300).map(|it| it << 40).chain(own).collect())
            })
            .collect();
        crowd.extend(sets.iter());
        let own = 60 * MOST_SETS;
        assert!(crowd.memory() <= 7 * own + 2000, "{} for {own}", crowd.memory());
    }

    #[test]
    #[should_panic(expected = "a set is too large")]
    fn a_set_that_is_too_large_is_refused() {
        let large = Shingles::of_hashes((0..=Crowd::MOST_SHINGLES as u64).collect());
        Crowd::new(0.8).extend([&large].into_iter());
    }
}
