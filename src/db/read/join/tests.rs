use std::ops::ControlFlow;

use super::*;
use crate::base::error::ErrorKind;
use crate::db::random::Random;
use crate::db::read::pairs::Pair;
use crate::db::{Db, Join, Options};
use crate::fingerprint::Word;
use crate::fingerprint::{DocId, Entry};
use crate::index::tables::layout::Layout;

/// Data sets by name: the fingerprints of the database that is searched, and of the other.
fn data<F: Word>(n: usize) -> Vec<(&'static str, Vec<F>, Vec<F>)> {
    let mut random = Random(11);
    let uniform: Vec<F> = (0..n).map(|_| random.fingerprint()).collect();
    let mut clustered: Vec<F> = Vec::new();
    while clustered.len() < n {
        let centre = random.fingerprint();
        for _ in 0..1 << random.below(7) {
            let errors = random.below(10);
            clustered.push(random.flip(centre, errors));
        }
    }
    let one = random.fingerprint::<F>();
    let all_equal = vec![one; n / 8];
    let prefix = F::prefix_mask(F::BITS / 2 + 9);
    let one_prefix: Vec<F> =
        (0..n).map(|_| one & prefix | random.fingerprint::<F>() & !prefix).collect();
    let sets = [
        ("uniform", uniform),
        ("clustered", clustered),
        ("all equal", all_equal),
        ("one full prefix", one_prefix),
    ];
    sets.map(|(name, all)| {
        // Some have an entry at each distance, some have none, and some are equal to others.
        let near = all.iter().step_by(3).map(|&f| {
            let errors = random.below(5);
            random.flip(f, errors)
        });
        let mut other: Vec<F> = near.collect();
        other.extend((0..n / 6).map(|_| random.fingerprint::<F>()));
        other.extend_from_within(..n / 20);
        (name, all, other)
    })
    .into()
}

/// Fills a new database: two segments and a memtable, and removals in the last two. Returns its
/// live entries.
fn filled<F: Word>(db: &Db<F>, fingerprints: &[F]) -> Vec<Entry<F>> {
    let entries: Vec<Entry<F>> = (0..)
        .map(DocId)
        .zip(fingerprints)
        .map(|(id, &fingerprint)| Entry { fingerprint, id })
        .collect();
    let mut live = Vec::new();
    for (round, some) in entries.chunks(entries.len().div_ceil(3)).enumerate() {
        let documents: Vec<(F, u64)> = some.iter().map(|e| (e.fingerprint, e.id.0)).collect();
        db.write(&documents).run().unwrap();
        let removed = live.iter().step_by(7).copied().collect::<Vec<Entry<F>>>();
        removed.iter().for_each(|e| assert!(db.remove_entry(e.fingerprint, e.id).unwrap()));
        live.retain(|entry| !removed.contains(entry));
        live.extend_from_slice(some);
        if round < 2 {
            db.flush().unwrap();
        }
    }
    live
}

/// All pairs in the order of a join, compared one by one.
fn brute_force<F: Word>(a: &[Entry<F>], b: &[Entry<F>], distance: u32) -> Vec<Pair<F>> {
    let mut pairs = Vec::new();
    for &b in b {
        for &a in a {
            let found = a.fingerprint.distance(b.fingerprint);
            if found <= distance {
                pairs.push(Pair { a, b, distance: found });
            }
        }
    }
    pairs.sort_unstable_by_key(|pair| (pair.b, pair.distance, pair.a));
    pairs
}

/// What `visit` or `nearest` passes on, with its report checked. The other side has `entries`.
fn found<F: Word>(join: &Join<'_, F>, distance: u32, entries: u64, nearest: bool) -> Vec<Pair<F>> {
    let mut found = Vec::new();
    let visit = |pairs: &[Pair<F>]| {
        assert!(!pairs.is_empty() && pairs.len() <= 16);
        found.extend_from_slice(pairs);
        ControlFlow::Continue(())
    };
    let report = if nearest { join.nearest(visit) } else { join.visit(visit) }.unwrap();
    let mut counts = vec![0; distance as usize + 1];
    found.iter().for_each(|pair| counts[pair.distance as usize] += 1);
    let documents = found.chunk_by(|a, b| a.b == b.b).count() as u64;
    let expected = JoinReport { pairs: counts, documents, entries, is_stopped: false };
    assert_eq!(report, expected);
    found
}

fn check_all<F: Word>(options: impl Fn() -> Options<F>, layout: &str, distances: &[u32]) {
    for (name, fingerprints, others) in data::<F>(600) {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::preset(layout, F::BITS).unwrap();
        let create =
            |name| options().layout(layout.clone()).create(folder.path().join(name)).unwrap();
        let (a, b) = (create("a"), create("b"));
        let (entries, others) = (filled(&a, &fingerprints), filled(&b, &others));
        let (a, b) = (a.snapshot(), b.snapshot());
        for (number, &distance) in distances.iter().enumerate() {
            let expected = brute_force(&entries, &others, distance);
            assert!(!expected.is_empty());
            // From a batch per fingerprint to one batch.
            for memory in [1, 1 << 12, 1 << 15, 512 << 20] {
                let mut nearest = expected.clone();
                nearest.dedup_by_key(|pair| pair.b);
                for join in [a.join(&b, distance), a.join_list(others.clone(), distance)] {
                    let join = join.memory(memory).threads(1 + number % 3);
                    for (is_nearest, expected) in [(false, &expected), (true, &nearest)] {
                        let found = found(&join, distance, b.len(), is_nearest);
                        assert!(found == *expected, "{name}, {distance}, {memory} bytes");
                    }
                }
            }
        }
    }
}

#[test]
fn joins_find_what_brute_force_finds_at_64_bits() {
    check_all(Db::options, "half-2", &[0, 3, 6]);
    check_all(Db::options, "ring-3", &[3, 10]);
}

#[test]
fn joins_find_what_brute_force_finds_at_128_bits() {
    check_all(Options::bits128, "half-2", &[0, 3, 6]);
    check_all(Options::bits128, "ring-3", &[10]);
}

#[test]
fn a_join_with_itself_finds_each_pair_from_both_sides_and_each_entry() {
    for (name, fingerprints, _) in data::<u64>(300) {
        let folder = tempfile::tempdir().unwrap();
        let db = Db::options().create(folder.path().join("db")).unwrap();
        let live = filled(&db, &fingerprints);
        let snapshot = db.snapshot();
        let found = found(&snapshot.join(&snapshot, 3).memory(1 << 13), 3, snapshot.len(), false);
        assert!(found == brute_force(&live, &live, 3), "{name}");
        let pairs: u64 = snapshot.pairs(3).count().unwrap().iter().sum();
        assert_eq!(found.len() as u64, 2 * pairs + live.len() as u64, "{name}");
    }
}

#[test]
fn after_a_break_the_report_says_which_entries_are_done() {
    for (name, fingerprints, others) in data::<u64>(300) {
        let folder = tempfile::tempdir().unwrap();
        let create = |name| Db::options().create(folder.path().join(name)).unwrap();
        let (a, b) = (create("a"), create("b"));
        let (entries, mut others) = (filled(&a, &fingerprints), filled(&b, &others));
        others.sort_unstable();
        let expected = brute_force(&entries, &others, 3);
        let (a, b) = (a.snapshot(), b.snapshot());
        for most in 1..5 {
            let (mut found, mut visits) = (Vec::new(), 0);
            let report = a.join(&b, 3).memory(1 << 13).visit(|pairs| {
                found.extend_from_slice(pairs);
                visits += 1;
                if visits == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            let report = report.unwrap();
            assert!(report.is_stopped && visits == most, "{name}");
            assert_eq!(found, expected[..found.len()], "{name}");
            assert_eq!(report.pairs.iter().sum::<u64>(), found.len() as u64);
            assert_eq!(report.documents, found.chunk_by(|a, b| a.b == b.b).count() as u64);
            let done = &others[..usize::try_from(report.entries).unwrap()];
            let of_done = expected.iter().filter(|pair| done.contains(&pair.b)).count();
            assert!(of_done <= found.len() && found.len() < of_done + 300, "{name}");
        }
    }
}

#[test]
fn a_cancelled_join_fails() {
    let folder = tempfile::tempdir().unwrap();
    let db = Db::options().create(folder.path().join("db")).unwrap();
    filled(&db, &(0..90).collect::<Vec<u64>>());
    let snapshot = db.snapshot().on_progress(|_| ControlFlow::Break(()));
    let (join, go_on) = (snapshot.join(&snapshot, 3), |_: &[Pair]| ControlFlow::Continue(()));
    for result in [join.visit(go_on), join.nearest(go_on)] {
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Cancelled);
    }
}

#[test]
fn a_join_with_an_empty_database_finds_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let create = |name| Db::options().create(folder.path().join(name)).unwrap();
    let (a, b) = (create("a"), create("b"));
    filled(&a, &[1, 2, 3]);
    let (a, b) = (a.snapshot(), b.snapshot());
    assert!(found(&a.join(&b, 3), 3, b.len(), false).is_empty());
    assert!(found(&b.join(&a, 3), 3, a.len(), true).is_empty());
}

#[test]
fn an_entry_that_is_in_a_list_twice_is_passed_on_twice() {
    let folder = tempfile::tempdir().unwrap();
    let db = Db::options().create(folder.path().join("db")).unwrap();
    let live = filled(&db, &[1, 2, 3]);
    let entry = |fingerprint, id| Entry { fingerprint, id: DocId(id) };
    let list = vec![entry(3, 9), entry(u64::MAX, 7), entry(3, 8), entry(3, 9)];
    let snapshot = db.snapshot();
    let mut found = Vec::new();
    let report = snapshot.join_list(list.clone(), 1).visit(|pairs| {
        found.extend_from_slice(pairs);
        ControlFlow::Continue(())
    });
    assert_eq!(found, brute_force(&live, &list, 1));
    assert_eq!(report.unwrap().documents, 3);
}
