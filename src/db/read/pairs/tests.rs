use std::ops::ControlFlow;

use super::*;
use crate::db::random::Random;
use crate::db::{Db, Options, Snapshot};
use crate::fingerprint::{DocId, Entry, Sketch, Word};
use crate::index::tables::layout::Layout;
use crate::query::Within;

/// Data sets by name.
fn data<F: Word>(n: usize) -> Vec<(&'static str, Vec<F>)> {
    let mut random = Random(7);
    let uniform = (0..n).map(|_| random.fingerprint()).collect();
    let mut clustered: Vec<F> = Vec::new();
    while clustered.len() < n {
        let centre = random.fingerprint();
        for _ in 0..1 << random.below(8) {
            let errors = random.below(12);
            clustered.push(random.flip(centre, errors));
        }
    }
    let one = random.fingerprint::<F>();
    let all_equal = vec![one; n / 8];
    let crowd = (0..n / 4)
        .map(|_| {
            let errors = random.below(2);
            random.flip(one, errors)
        })
        .collect();
    let mut last = one;
    let chain = (0..n / 2)
        .map(|_| {
            last = random.flip(last, 1);
            last
        })
        .collect();
    let prefix = F::prefix_mask(F::BITS / 2 + 9);
    let one_prefix = (0..n).map(|_| one & prefix | random.fingerprint::<F>() & !prefix);
    let one_prefix = one_prefix.collect();
    // Every bit pair is the only difference of some pair.
    let bits = (0..F::BITS).map(|bit| one ^ F::ONE << bit).collect();
    vec![
        ("uniform", uniform),
        ("clustered", clustered),
        ("all equal", all_equal),
        ("all near each other", crowd),
        ("chain of one-bit steps", chain),
        ("one full prefix", one_prefix),
        ("each bit", bits),
    ]
}

/// All pairs of the entries, compared one by one.
fn brute_force<F: Word>(entries: &[Entry<F>], distance: u32) -> Vec<Pair<F>> {
    let mut sorted = entries.to_vec();
    sorted.sort_unstable();
    let mut pairs = Vec::new();
    for (position, &a) in sorted.iter().enumerate() {
        for &b in &sorted[position + 1..] {
            let found = a.fingerprint.distance(b.fingerprint);
            if found <= distance {
                pairs.push(Pair { a, b, distance: found });
            }
        }
    }
    pairs.sort_unstable();
    pairs
}

fn expanded<F: Word>(snapshot: &Snapshot<F>, distance: u32) -> Vec<Pair<F>> {
    let mut found = Vec::new();
    let visit = |some: Found<'_, F>| {
        match some {
            Found::Pairs(pairs) => found.extend_from_slice(pairs),
            Found::Group { .. } => panic!("groups must be expanded"),
        }
        ControlFlow::Continue(())
    };
    snapshot.pairs(distance).expand(true).memory(1 << 12).visit(visit).unwrap();
    found.sort_unstable();
    found
}

/// The fingerprints with ids from 0.
fn numbered<F: Word>(fingerprints: &[F]) -> Vec<Entry<F>> {
    (0..).map(DocId).zip(fingerprints).map(|(id, &fingerprint)| Entry { fingerprint, id }).collect()
}

fn insert<F: Word>(db: &Db<F>, entries: &[Entry<F>]) {
    let documents: Vec<(F, u64)> = entries.iter().map(|e| (e.fingerprint, e.id.0)).collect();
    db.write(&documents).run().unwrap();
}

fn check_all<F: Word>(options: impl Fn() -> Options<F>, layout: &str, distances: &[u32]) {
    for (name, fingerprints) in data::<F>(600) {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::preset(layout, F::BITS).unwrap();
        let db = options().layout(layout).create(folder.path().join("db")).unwrap();
        let entries = numbered(&fingerprints);
        // Two segments and a memtable.
        let (first, rest) = entries.split_at(entries.len() / 2);
        let (second, third) = rest.split_at(rest.len() / 2);
        for some in [first, second] {
            insert(&db, some);
            db.flush().unwrap();
        }
        insert(&db, third);
        for &distance in distances {
            let expected = brute_force(&entries, distance);
            let snapshot = db.snapshot();
            let found = expanded(&snapshot, distance);
            assert_eq!(found.len(), expected.len(), "{name}, distance {distance}");
            assert_eq!(found, expected, "{name}, distance {distance}");
            let mut counts = vec![0; distance as usize + 1];
            expected.iter().for_each(|pair| counts[pair.distance as usize] += 1);
            assert_eq!(snapshot.pairs(distance).count().unwrap(), counts, "{name}");
        }
    }
}

#[test]
fn every_pair_is_found_once_at_64_bits() {
    check_all(Db::options, "half-2", &[0, 1, 2, 3, 4, 6]);
    check_all(Db::options, "ring-3", &[3, 5, 6, 10]);
    check_all(Db::options, "single", &[0, 3]);
}

#[test]
fn every_pair_is_found_once_at_128_bits() {
    check_all(Options::bits128, "half-2", &[0, 3]);
    check_all(Options::bits128, "ring-3", &[6, 10]);
}

#[test]
fn removed_entries_are_in_no_pair_before_and_after_a_restart() {
    for (name, fingerprints) in data::<u64>(600) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        let mut db = Db::options().create(&path).unwrap();
        let entries = numbered(&fingerprints);
        let (first, second) = entries.split_at(entries.len() / 2);
        insert(&db, first);
        db.flush().unwrap();
        insert(&db, second);
        let mut random = Random(3);
        let mut live = entries.clone();
        for round in 0..3 {
            live.retain(|entry| {
                let stays = random.below(5) > 0;
                assert!(stays || db.remove_entry(entry.fingerprint, entry.id).unwrap());
                stays
            });
            if round == 1 {
                db.flush().unwrap();
            }
            assert_eq!(expanded(&db.snapshot(), 3), brute_force(&live, 3), "{name}");
            db.close().unwrap();
            db = Db::open(&path).unwrap();
            assert_eq!(expanded(&db.snapshot(), 3), brute_force(&live, 3), "{name}");
        }
    }
}

#[test]
fn groups_stand_for_all_pairs_of_entries_with_equal_fingerprints() {
    let mut fingerprints = vec![5u64; 40];
    fingerprints.extend([4, 4, 1 << 40]);
    let folder = tempfile::tempdir().unwrap();
    let db = Db::options().create(folder.path().join("db")).unwrap();
    insert(&db, &numbered(&fingerprints));
    let (mut ids, mut pairs) = (Vec::new(), Vec::new());
    let report = db.snapshot().pairs(3).visit(|found| {
        match found {
            Found::Group { fingerprint, ids: some } => {
                ids.extend(some.iter().map(|id| (fingerprint, id.0)));
            }
            Found::Pairs(some) => pairs.extend_from_slice(some),
        }
        ControlFlow::Continue(())
    });
    let report = report.unwrap();
    let expected = (40..42).map(|id| (4, id)).chain((0..40).map(|id| (5, id)));
    assert!(ids.into_iter().eq(expected));
    // 40 ids come in parts of 16 here.
    assert_eq!(report.groups, 1 + 3);
    let entry = |fingerprint, id| Entry { fingerprint, id: DocId(id) };
    let near = |a: Entry<u64>, b: Entry<u64>| Pair {
        a,
        b,
        distance: a.fingerprint.distance(b.fingerprint),
    };
    pairs.sort_unstable();
    assert_eq!(
        pairs,
        [
            near(entry(4, 40), entry(5, 0)),
            near(entry(4, 40), entry(1 << 40, 42)),
            near(entry(5, 0), entry(1 << 40, 42)),
        ]
    );
    assert_eq!(report.pairs, [0, 1, 1, 1]);
}

/// Sketches of two templates, which share bands, and random ones. Some are equal.
fn sketches() -> Vec<Sketch> {
    let mut rng = fastrand::Rng::with_seed(5);
    let templates = [0; 2].map(|_: u8| std::array::from_fn::<u64, 128, _>(|_| rng.u64(..)));
    let mut sketches: Vec<Sketch> = Vec::new();
    for number in 0..180 {
        let minima = match templates.get(number % 4) {
            Some(template) => {
                let other = rng.usize(0..60);
                let mut minima = *template;
                (0..other).for_each(|_| minima[rng.usize(..128)] = rng.u64(..));
                minima
            }
            None => std::array::from_fn(|_| rng.u64(..)),
        };
        let again = (rng.u32(..4) == 0).then(|| sketches.get(rng.usize(..=number)).copied());
        sketches.push(again.flatten().unwrap_or_else(|| Sketch::new(minima, &[1, 2, 3])));
    }
    sketches
}

#[test]
fn a_crowd_of_sketches_that_does_not_fit_in_memory_has_the_same_pairs_and_groups() {
    let db = Options::sketches().background(false).in_memory().unwrap();
    for (number, &sketch) in sketches().iter().enumerate() {
        let _ = db.insert(sketch, number as u64).unwrap();
        if number % 70 == 69 {
            db.flush().unwrap();
        }
    }
    let snapshot = db.snapshot();
    let found = |memory: u64, expand: bool| {
        let (mut pairs, mut groups) = (Vec::new(), Vec::new());
        let search = snapshot.pairs(Within::Rule).memory(memory).threads(2).expand(expand);
        let report = search.visit(|found| {
            match found {
                Found::Pairs(some) => pairs.extend_from_slice(some),
                Found::Group { fingerprint, ids } => groups.push((fingerprint, ids.to_vec())),
            }
            ControlFlow::Continue(())
        });
        pairs.sort_unstable();
        groups.sort_unstable();
        (pairs, groups, report.unwrap(), search.count().unwrap())
    };
    for expand in [false, true] {
        let all = found(u64::MAX, expand);
        assert!(all.0.len() > 100, "{}", all.0.len());
        assert_eq!(all.1.is_empty(), expand);
        assert_eq!(found(0, expand), all);
    }
}
