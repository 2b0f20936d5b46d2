//! Match rules by similarity: every operation answers what the rule says, whatever finds it.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use crate::storage::Sim;
use crate::{Db, DocId, Entry, Fingerprint, Found, Jaccard, Layout, Options, Outcome, Within};

/// The rule as storage-format.md defines it.
struct Truth {
    distance: u32,
    /// For each table with steps: the leading bits of each step, the last of these bits, and the
    /// limit.
    tables: Vec<Vec<(u128, u128, u32)>>,
}

impl Truth {
    fn of<F: Fingerprint>(db: &Db<F>) -> Self {
        let description = db.description();
        let (layout, rule) = (&description.layout, &description.rule);
        // The bits of a table in order.
        let bits = |table: usize| -> Vec<u128> {
            let width = |cell: u16| u32::from(layout.cells()[usize::from(cell)]);
            let of_cell = |&cell: &u16| {
                let start: u32 = (0..cell).map(width).sum();
                (start..start + width(cell)).map(|bit| 1 << (F::BITS - 1 - bit))
            };
            layout.order(table).iter().flat_map(of_cell).collect()
        };
        let table = |table: usize| {
            let bits = bits(table);
            let step = |&(depth, most): &(u8, u8)| {
                let bits = &bits[..depth.into()];
                (bits.iter().sum::<u128>(), bits[bits.len() - 1], most.into())
            };
            rule.steps(table).iter().map(step).collect::<Vec<_>>()
        };
        let tables = (0..layout.tables()).map(table).filter(|steps| !steps.is_empty());
        Self { distance: rule.distance(), tables: tables.collect() }
    }

    fn matches<F: Fingerprint>(&self, a: F, b: F) -> bool {
        let error = (a ^ b).to_u128();
        let allows = |&(bits, _, most): &(u128, u128, u32)| (error & bits).count_ones() <= most;
        a.distance(b) <= self.distance && self.tables.iter().any(|steps| steps.iter().all(allows))
    }

    /// Errors on both sides of every step: each table has as many errors in the first bits of a
    /// step as it allows, or one more, and more only where it refuses them anyway. The others are
    /// elsewhere, and one is often the last bit of a step, which shows where it ends.
    fn errors<F: Fingerprint>(&self, rng: &mut fastrand::Rng) -> Vec<F> {
        let mut errors = Vec::new();
        for total in 0..=self.distance + 1 {
            for refusing in 0..1u32 << self.tables.len() {
                let (mut error, mut free) = (0u128, F::MAX.to_u128());
                for (number, steps) in self.tables.iter().enumerate() {
                    let &(bits, last, most) = &steps[rng.usize(..steps.len())];
                    let refuses = refusing >> number & 1;
                    let before = error.count_ones();
                    if error.count_ones() < total && rng.bool() && most + refuses > 0 {
                        error |= last;
                    }
                    let count = (most + refuses).saturating_sub(error.count_ones() - before);
                    add(rng, &mut error, bits, count, total);
                    free &= if refuses == 1 { u128::MAX } else { !bits };
                }
                add(rng, &mut error, free, total, total);
                errors.push(F::from_u128(error));
            }
        }
        errors
    }
}

/// Adds up to `count` errors among `bits`, so that there are up to `total`.
fn add(rng: &mut fastrand::Rng, error: &mut u128, bits: u128, count: u32, total: u32) {
    let mut free: Vec<u32> = (0..128).filter(|bit| (bits & !*error) >> bit & 1 == 1).collect();
    rng.shuffle(&mut free);
    let count = count.min(total.saturating_sub(error.count_ones()));
    free.into_iter().take(count as usize).for_each(|bit| *error |= 1 << bit);
}

fn may_scan<F: Fingerprint>(jaccard: Jaccard, expected: u64) -> Options<F> {
    let options = Options::default().storage(Sim::new()).background(false);
    options.similar(jaccard).expected_entries(expected)
}

fn options<F: Fingerprint>(jaccard: Jaccard, expected: u64) -> Options<F> {
    may_scan(jaccard, expected).never_scan()
}

/// A database with crowds of fingerprints around a few centres, in segments and in a memtable.
fn crowded<F: Fingerprint>(options: Options<F>, rng: &mut fastrand::Rng) -> (Db<F>, Vec<F>) {
    let db = options.create("db").unwrap();
    let truth = Truth::of(&db);
    let mut all = BTreeSet::new();
    for _ in 0..2 {
        let centre = F::from_u128(rng.u128(..));
        all.insert(centre);
        let errors = truth.errors::<F>(rng);
        let kept = errors.iter().filter(|_| rng.u8(..4) > 0);
        all.extend(kept.map(|&error| centre ^ error));
    }
    let all: Vec<F> = all.into_iter().collect();
    let mut shuffled: Vec<(F, u64)> = all.iter().copied().zip(0..).collect();
    rng.shuffle(&mut shuffled);
    // The second segment is so much smaller than the first that they are not merged.
    let (first, rest) = shuffled.split_at(shuffled.len() / 4 * 3);
    let (second, recent) = rest.split_at(rest.len() / 5 * 4);
    for part in [first, second] {
        let _ = db.write(part).run().unwrap();
        db.flush().unwrap();
    }
    let _ = db.write(recent).run().unwrap();
    assert_eq!(db.stats().segments.len(), 2);
    (db, all)
}

fn check<F: Fingerprint>(options: Options<F>) {
    let mut rng = fastrand::Rng::with_seed(10_000_000);
    let (db, all) = crowded(options, &mut rng);
    let truth = Truth::of(&db);
    let snapshot = db.snapshot();
    let near = |query: F| -> Vec<F> {
        all.iter().copied().filter(|&other| truth.matches(query, other)).collect()
    };
    let mut queries: Vec<F> = all.iter().copied().step_by(7).collect();
    queries.extend((0..20).map(|_| F::from_u128(rng.u128(..))));
    let answers = snapshot.query_batch(&queries, Within::Rule).unwrap();
    let (mut found_some, mut refused_some) = (false, false);
    for (&query, answer) in queries.iter().zip(answers.iter()) {
        let expected = near(query);
        let matches = snapshot.query(query, Within::Rule).unwrap();
        let mut found: Vec<F> = matches.iter().map(|found| found.fingerprint).collect();
        assert!(matches.is_sorted_by_key(|found| found.distance));
        found.sort_unstable();
        assert_eq!(found, expected, "{query:?}");
        assert_eq!(answer, matches);
        assert_eq!(snapshot.nearest(query, Within::Rule).unwrap(), matches.first().copied());
        let within = |f: &&F| f.distance(query) <= truth.distance;
        let within = all.iter().filter(within).count();
        let exact = snapshot.query(query, truth.distance).unwrap();
        assert_eq!(exact.len(), within);
        found_some |= expected.len() > 1;
        refused_some |= expected.len() < within;
    }
    assert!(found_some && refused_some);
    let mut pairs = BTreeSet::new();
    let report = snapshot.pairs(Within::Rule).visit(|found| {
        let Found::Pairs(some) = found else { return ControlFlow::Continue(()) };
        for pair in some {
            assert!(pairs.insert((pair.a.fingerprint, pair.b.fingerprint)), "found twice");
        }
        ControlFlow::Continue(())
    });
    assert!(report.unwrap().next.is_none());
    let mut expected = BTreeSet::new();
    for (at, &a) in all.iter().enumerate() {
        let others = all[at + 1..].iter().filter(|&&b| truth.matches(a, b));
        expected.extend(others.map(|&b| (a, b)));
    }
    assert_eq!(pairs, expected);
    let list = queries.iter().map(|&fingerprint| Entry { fingerprint, id: DocId(1) }).collect();
    let mut joined = 0;
    let _ = snapshot.join_list(list, Within::Rule).visit(|some| {
        joined += some.len();
        ControlFlow::Continue(())
    });
    assert_eq!(joined, answers.matches().len());
    db.compact().unwrap();
    assert_eq!(db.query_batch(&queries, Within::Rule).unwrap(), answers);
}

#[test]
fn every_operation_finds_exactly_what_the_rule_accepts() {
    check::<u128>(options(Jaccard::at_least(0.8), 10_000_000));
    check::<u128>(may_scan(Jaccard::at_least(0.8), 10_000_000));
    check::<u128>(options(Jaccard::at_least(0.9).recall(0.9), 1_000));
    check::<u128>(options(Jaccard::at_least(0.85), 1_000_000_000));
    check::<u64>(options(Jaccard::at_least(0.95).recall(0.9), 1_000));
}

#[test]
fn two_documents_that_match_by_the_rule_are_never_both_inserted() {
    let mut rng = fastrand::Rng::with_seed(2);
    for batch in [1, 40, 2000] {
        let db = options::<u128>(Jaccard::at_least(0.8), 1 << 20).create("db").unwrap();
        let truth = Truth::of(&db);
        let centre = rng.u128(..);
        let errors = truth.errors::<u128>(&mut rng);
        let documents: Vec<(u128, u64)> =
            (0..2000).map(|id| (centre ^ errors[rng.usize(..errors.len())], id)).collect();
        let mut kept: Vec<u128> = Vec::new();
        for some in documents.chunks(batch) {
            let outcomes = match some {
                [(fingerprint, id)] => vec![db.insert_if_novel(*fingerprint, *id).unwrap()],
                _ => db.write(some).unless_near(Within::Rule).run().unwrap(),
            };
            for (&(fingerprint, _), outcome) in some.iter().zip(outcomes) {
                let nearest = kept.iter().filter(|&&k| truth.matches(k, fingerprint));
                let nearest = nearest.map(|k| k.distance(fingerprint)).min();
                match outcome {
                    Outcome::Duplicate(found) => assert_eq!(Some(found.distance), nearest),
                    _ => {
                        assert_eq!(nearest, None);
                        kept.push(fingerprint);
                    }
                }
            }
        }
        assert!(kept.len() > 10 && kept.len() < 1000, "{}", kept.len());
    }
}

#[test]
fn a_similarity_is_stored_and_must_agree_when_it_is_given_again() {
    let sim = Sim::new();
    let options = || Options::<u128>::default().storage(sim.clone());
    let jaccard = Jaccard::at_least(0.8).recall(0.9);
    let db = options().similar(jaccard).expected_entries(1 << 24).create("db").unwrap();
    let rule = db.description().rule.clone();
    db.close().unwrap();
    // For another number of entries, another rule would have been chosen.
    for options in [options(), options().similar(jaccard).expected_entries(7)] {
        let db = options.open("db").unwrap();
        assert_eq!(db.description().rule, rule);
        db.close().unwrap();
    }
    let distance = rule.distance();
    for other in [
        options().similar(Jaccard::at_least(0.8)),
        options().max_distance(3),
        options().max_distance(distance),
    ] {
        let message = other.open("db").unwrap_err().to_string();
        assert!(message.contains("similarity at least 0.8 (recall 0.9)"), "{message}");
    }
}

#[test]
fn a_similarity_that_cannot_be_found_is_refused_with_a_remedy() {
    let refused = |options: Options<u64>| options.in_memory().unwrap_err().to_string();
    let message = refused(Options::default().similar(Jaccard::at_least(0.8)));
    assert!(message.contains("use 128 bits"), "{message}");
    for (jaccard, what) in [
        (Jaccard::at_least(0.3), "expected 0.5 to 1"),
        (Jaccard::at_least(f64::NAN), "expected 0.5 to 1"),
        (Jaccard::at_least(0.9).recall(1.0), "expected 0.5 to 0.999"),
    ] {
        let message = refused(Options::default().similar(jaccard));
        assert!(message.contains(what), "{message}");
    }
    let both = Options::default().similar(Jaccard::at_least(0.95).recall(0.9)).max_distance(3);
    assert!(refused(both).contains("chooses its own distance"));
}

#[test]
fn the_recall_that_was_asked_for_is_reached_in_a_simulation() {
    let mut rng = fastrand::Rng::with_seed(1);
    for (expected, jaccard) in [
        (1 << 20, Jaccard::at_least(0.8)),
        (1 << 26, Jaccard::at_least(0.8)),
        (1 << 23, Jaccard::at_least(0.85).recall(0.98)),
    ] {
        let db = options::<u128>(jaccard, expected).create("db").unwrap();
        let (rule, truth) = (&db.description().rule, Truth::of(&db));
        assert!(rule.found_at(jaccard.similarity()) >= jaccard.expected_recall());
        assert!(rule.false_matches(expected) <= 1e-6);
        for similarity in [0.7, 0.8, 0.85, 0.9] {
            let wrong = |rng: &mut fastrand::Rng| rng.f64() < (1.0 - similarity) / 2.0;
            let rounds = 4000;
            let mut found = 0;
            for _ in 0..rounds {
                let error = (0..128).fold(0u128, |e, _| e << 1 | u128::from(wrong(&mut rng)));
                found += u32::from(truth.matches(0, error));
            }
            let (found, expected) =
                (f64::from(found) / f64::from(rounds), rule.found_at(similarity));
            // Four standard errors.
            let margin = 4.0 * (expected * (1.0 - expected) / f64::from(rounds)).sqrt() + 0.001;
            // The tails may lose one percent less than is computed.
            let range = expected - margin..expected + margin + 0.01;
            assert!(range.contains(&found), "{similarity}: {found}, not {expected}");
        }
    }
}

#[test]
fn up_to_its_exact_distance_a_rule_misses_nothing() {
    let mut rng = fastrand::Rng::with_seed(5);
    let db = options::<u128>(Jaccard::at_least(0.8), 1 << 24).create("db").unwrap();
    let (rule, truth) = (&db.description().rule, Truth::of(&db));
    let exact = rule.exact_distance();
    assert!(exact >= 5 && exact < rule.distance(), "{exact}");
    let errors: Vec<u128> = (0..100).flat_map(|_| truth.errors(&mut rng)).collect();
    let mut missed = errors.iter().filter(|&&error| !truth.matches(0, error));
    assert!(missed.all(|error| error.count_ones() > exact));
    let just_beyond = |error: &&u128| error.count_ones() == exact + 1 && !truth.matches(0, **error);
    assert!(errors.iter().any(|error| just_beyond(&error)), "{exact}, {rule:?}");
}

#[test]
fn a_layout_whose_tables_begin_alike_uses_one_of_them() {
    let layout = Layout::new(
        "twice",
        128,
        &[32, 32, 32, 32],
        &[vec![0, 1, 2, 3], vec![0, 2, 1, 3], vec![1, 2, 3, 0], vec![2, 3, 0, 1], vec![3, 0, 1, 2]],
    );
    let options = options::<u128>(Jaccard::at_least(0.8), 1 << 20).layout(layout.unwrap());
    let mut rng = fastrand::Rng::with_seed(3);
    let (db, all) = crowded(options, &mut rng);
    let truth = Truth::of(&db);
    assert_eq!(truth.tables.len(), 4);
    for &query in all.iter().step_by(11) {
        let found = db.query(query, Within::Rule).unwrap();
        let expected = all.iter().filter(|&&other| truth.matches(query, other)).count();
        assert_eq!(found.len(), expected);
    }
}

/// Errors of each weight up to `most`, in each region of the word and in all of it.
fn planted<F: Fingerprint>(most: u32, rng: &mut fastrand::Rng) -> Vec<F> {
    let mut errors = Vec::new();
    for weight in 0..=most {
        for window in [weight, 2 * weight, F::BITS / 4, F::BITS] {
            let window = window.clamp(weight.max(1), F::BITS);
            for _ in 0..3 {
                let mut error = F::ZERO;
                while error.count_ones() < weight {
                    error = error | F::ONE << rng.u32(..window);
                }
                errors.push(error.rotate_left(rng.u32(..F::BITS)));
            }
        }
    }
    errors
}

fn wide<F: Fingerprint>(max_distance: u32, layout: Option<&str>) {
    let mut rng = fastrand::Rng::with_seed(max_distance.into());
    let mut options = Options::<F>::default().max_distance(max_distance).expected_entries(1 << 24);
    if let Some(name) = layout {
        options = options.layout(Layout::preset(name, F::BITS).unwrap());
    }
    let options = options.storage(Sim::new()).background(false).never_scan();
    let db = options.create("db").unwrap();
    let centre = F::from_u128(rng.u128(..));
    let errors = planted::<F>(max_distance + 1, &mut rng);
    let all: BTreeSet<F> = errors.iter().map(|&error| centre ^ error).collect();
    let all: Vec<(F, u64)> = all.into_iter().zip(0..).collect();
    let (old, recent) = all.split_at(all.len() / 2);
    let _ = db.write(old).run().unwrap();
    db.flush().unwrap();
    let _ = db.write(recent).run().unwrap();
    let snapshot = db.snapshot();
    for distance in 0..=max_distance + 1 {
        for query in [centre, centre ^ errors[rng.usize(..errors.len())]] {
            let explain = snapshot.explain(query, &distance.into()).unwrap();
            assert!(!explain.segments[0].scanned || distance > 24, "{distance}");
            let expected = all.iter().filter(|(f, _)| f.distance(query) <= distance).count();
            assert_eq!(snapshot.query(query, distance).unwrap().len(), expected, "{distance}");
        }
    }
}

#[test]
fn wide_distances_are_answered_exactly_without_a_scan() {
    wide::<u128>(24, None);
    wide::<u128>(18, None);
    wide::<u64>(12, None);
    for layout in ["ring:26/26/26/25/25", "ring:19/19/18/18/18/18/18", "ring-4"] {
        wide::<u128>(16, Some(layout));
    }
    wide::<u64>(8, Some("ring:13/13/13/13/12"));
}
