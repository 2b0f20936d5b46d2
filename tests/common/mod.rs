//! Shared by the test binaries: random choices from a seed, planted neighbours, and the oracle, a
//! plain set that answers by comparing every entry.

#![allow(dead_code, reason = "each test binary uses its own part of it")]

pub(crate) mod documents;

use std::collections::BTreeSet;

use fpdb::{DocId, Entry, Fingerprint, Match, QueryOptions, Snapshot};

/// The same seed gives the same test on every machine.
#[derive(Debug, Clone)]
pub(crate) struct Rng(fastrand::Rng);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.u64(..)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0.u64(..n.max(1))
    }

    /// Returns a number from `low` to `high`, inclusive.
    pub(crate) fn within(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.below(of.len() as u64)).unwrap()]
    }

    pub(crate) fn fingerprint<F: Fingerprint>(&mut self) -> F {
        let bytes: Vec<u8> = (0..F::BYTES).map(|_| self.0.u8(..)).collect();
        F::read_le(&bytes).unwrap()
    }

    /// Returns a fingerprint with exactly `weight` other bits: anywhere, or all within a narrow
    /// region, which may wrap around the ends, so that every cell of every layout sometimes gets
    /// all errors.
    pub(crate) fn near<F: Fingerprint>(&mut self, fingerprint: F, weight: u32) -> F {
        let start = self.below(F::BITS.into());
        let width = match self.below(3) {
            0 => u64::from(weight),
            1 => u64::from(weight) + self.below(12),
            _ => F::BITS.into(),
        };
        let mut bits = BTreeSet::new();
        while bits.len() < weight as usize {
            bits.insert((start + self.below(width.max(weight.into()))) % u64::from(F::BITS));
        }
        bits.iter().fold(fingerprint, |near, &bit| near.with_flipped(u32::try_from(bit).unwrap()))
    }
}

pub(crate) fn entry<F: Fingerprint>(fingerprint: F, id: u64) -> Entry<F> {
    Entry { fingerprint, id: DocId(id) }
}

/// The entries that a database should hold.
#[derive(Debug, Clone, Default)]
pub(crate) struct Oracle<F: Fingerprint>(pub(crate) BTreeSet<Entry<F>>);

impl<F: Fingerprint> Oracle<F> {
    /// Returns every match, as a query must.
    pub(crate) fn query(&self, fingerprint: F, distance: u32) -> Vec<Match<F>> {
        let near = |e: &Entry<F>| {
            let distance = e.fingerprint.distance(fingerprint);
            Match { distance, fingerprint: e.fingerprint, id: e.id }
        };
        let mut matches: Vec<Match<F>> =
            self.0.iter().map(near).filter(|m| m.distance <= distance).collect();
        matches.sort_unstable();
        matches
    }

    pub(crate) fn nearest(&self, fingerprint: F, distance: u32) -> Option<Match<F>> {
        self.query(fingerprint, distance).first().copied()
    }

    pub(crate) fn ids(&self, fingerprint: F) -> Vec<DocId> {
        self.query(fingerprint, 0).iter().map(|m| m.id).collect()
    }
}

/// Decides in the place of a program that compares texts: about half of what is near is confirmed.
pub(crate) fn is_confirmed<F: Fingerprint>(a: F, b: F) -> bool {
    let low = |fingerprint: F| {
        let mut bytes = Vec::new();
        fingerprint.write_le(&mut bytes);
        bytes.iter().fold(0_u8, |sum, &byte| sum.wrapping_mul(31).wrapping_add(byte))
    };
    (low(a) ^ low(b)).count_ones() < 4
}

/// Compares all answers of a snapshot about one fingerprint, at all distances up to `most`.
#[track_caller]
pub(crate) fn assert_answers<F: Fingerprint>(
    snapshot: &Snapshot<F>,
    oracle: &Oracle<F>,
    fingerprint: F,
    most: u32,
) {
    let all = oracle.query(fingerprint, most);
    for distance in 0..=most {
        let expected = &all[..all.partition_point(|m| m.distance <= distance)];
        let found = snapshot.query(fingerprint, distance).unwrap();
        assert_eq!(found, expected, "query {fingerprint:#x?} within {distance}");
        for limit in [1, 2, expected.len() / 2, expected.len()] {
            let options = QueryOptions::within(distance).limit(limit);
            let found = snapshot.query(fingerprint, options).unwrap();
            let expected = &expected[..limit.min(expected.len())];
            assert_eq!(found, expected, "query {fingerprint:#x?} within {distance}, limit {limit}");
        }
        let nearest = snapshot.nearest(fingerprint, distance).unwrap();
        assert_eq!(
            nearest,
            expected.first().copied(),
            "nearest {fingerprint:#x?} within {distance}"
        );
    }
    let ids = oracle.ids(fingerprint);
    assert_eq!(
        snapshot.contains(fingerprint).unwrap(),
        !ids.is_empty(),
        "contains {fingerprint:#x?}"
    );
    assert_eq!(snapshot.ids(fingerprint).unwrap(), ids, "ids {fingerprint:#x?}");
}

/// Compares all entries and their number.
#[track_caller]
pub(crate) fn assert_entries<F: Fingerprint>(snapshot: &Snapshot<F>, oracle: &Oracle<F>) {
    let mut found: Vec<Entry<F>> = snapshot.iter().map(Result::unwrap).collect();
    if F::BITS > u128::BITS {
        // Sketches come in the order of the keys of their documents.
        found.sort_unstable();
    }
    let expected: Vec<Entry<F>> = oracle.0.iter().copied().collect();
    assert!(found == expected, "iter gives {} entries, not {}", found.len(), expected.len());
    assert_eq!(snapshot.len(), expected.len() as u64);
    assert_eq!(snapshot.is_empty(), expected.is_empty());
}
