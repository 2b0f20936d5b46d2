//! Compares batches with single queries. Regions are tiny here, so that small tables have many.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::base::error::Error;
use crate::file::storage::Sim;
use crate::query::Batch;
use crate::{Db, DocId, Entry, Ids, Key, Layout, Options, Outcome, Within, Word};

struct Rng(fastrand::Rng);

impl Rng {
    fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    fn below(&mut self, n: usize) -> usize {
        self.0.usize(..n)
    }

    fn fingerprint<F: Word>(&mut self) -> F {
        F::from_u128(self.0.u128(..))
    }

    /// A value with `weight` bits set, all of them in a narrow range of the word or anywhere.
    fn error<F: Word>(&mut self, weight: u32) -> F {
        let bits = F::BITS as usize;
        let width = if self.below(2) == 0 { weight as usize + self.below(12) } else { bits };
        let (start, mut error) = (self.below(bits), F::ZERO);
        while error.count_ones() < weight {
            let bit = (start + self.below(width.min(bits))) % bits;
            error = error | F::ONE << u32::try_from(bit).unwrap();
        }
        error
    }
}

#[derive(Clone, Copy)]
struct Setup {
    layout: &'static str,
    distance: u32,
    count: usize,
    queries: usize,
    filter_bits: u32,
    threads: usize,
}

/// Uniform fingerprints, families of near neighbours, and a run that shares its leading bits.
fn fingerprints<F: Word>(rng: &mut Rng, count: usize) -> Vec<F> {
    let hot: F = rng.fingerprint::<F>() & F::prefix_mask(F::BITS / 2);
    let mut all: Vec<F> = Vec::with_capacity(count);
    while all.len() < count {
        let centre = rng.fingerprint::<F>();
        match rng.below(4) {
            0 => {
                let size = 1 << rng.below(6);
                all.extend((0..size).map(|i| centre ^ rng.error(i % 9)));
            }
            1 => all.extend((0..8).map(|_| hot | rng.fingerprint::<F>() >> (F::BITS / 2))),
            _ => all.push(centre),
        }
    }
    all.truncate(count);
    all
}

/// Stored fingerprints with up to distance + 1 bits flipped, random ones, and repeated queries.
fn queries<F: Word>(rng: &mut Rng, all: &[F], setup: Setup) -> Vec<F> {
    let mut queries: Vec<F> = Vec::with_capacity(setup.queries);
    while queries.len() < setup.queries {
        let weight = u32::try_from(queries.len()).unwrap() % (setup.distance + 2);
        queries.push(match rng.below(5) {
            0 => rng.fingerprint(),
            1 if !queries.is_empty() => queries[rng.below(queries.len())],
            _ => all[rng.below(all.len())] ^ rng.error(weight),
        });
    }
    queries
}

/// Makes two bulk-loaded segments, a flushed segment that removes some of their entries, and a
/// memtable that removes more.
fn fill<F: Word>(db: &Db<F>, rng: &mut Rng, all: &[F]) {
    let entry = |(id, &fingerprint): (u64, &F)| Ok(crate::Entry { fingerprint, id: DocId(id) });
    let old = all.len() * 3 / 4;
    let _ = db.bulk_load((0..).zip(&all[..old / 2]).map(entry)).unwrap();
    let _ = db.bulk_load((0..).zip(&all[old / 3..old]).map(entry)).unwrap();
    for (part, flushed) in [(old..old + (all.len() - old) / 2, true), (old..all.len(), false)] {
        let batch: Vec<(F, Key<'_>)> =
            (7..).zip(&all[part]).map(|(id, &f)| (f, Key::from(DocId(id)))).collect();
        db.write(&batch).run().unwrap();
        for _ in 0..all.len() / 50 {
            let at = rng.below(old / 2);
            db.remove_entry(all[at], DocId(at as u64)).unwrap();
        }
        if flushed {
            db.flush().unwrap();
        }
    }
}

fn check<F: Word>(options: Options<F>, setup: Setup) {
    let mut rng = Rng::new(setup.count as u64 ^ u64::from(setup.distance) << 20);
    let layout = Layout::preset(setup.layout, F::BITS).unwrap();
    let options = options.layout(layout).block_size(128).filter_bits(setup.filter_bits);
    let options = options.max_distance(3).storage(Sim::new()).threads(setup.threads);
    let db = options.background(false).create("batch").unwrap();
    let all = fingerprints(&mut rng, setup.count);
    fill(&db, &mut rng, &all);
    let snapshot = db.snapshot();
    let queries = queries(&mut rng, &all, setup);
    let answers = snapshot.query_batch(&queries, setup.distance).unwrap();
    assert_eq!(answers.len(), queries.len());
    let mut matches = 0;
    for (number, (query, answer)) in queries.iter().zip(answers.iter()).enumerate() {
        let expected = snapshot.query(*query, setup.distance).unwrap();
        matches += expected.len();
        let Setup { layout, distance, .. } = setup;
        assert_eq!(answer, expected, "{layout}, k = {distance}, query {number}");
    }
    // Few queries may all be far from every entry.
    let enough = queries.len() < 15 || matches > queries.len() / 4;
    assert!(enough, "{matches} matches for {} queries", queries.len());
}

const SETUP: Setup =
    Setup { layout: "half-2", distance: 3, count: 3000, queries: 600, filter_bits: 0, threads: 1 };

#[test]
fn batch_equals_single_queries_in_every_layout() {
    for &layout in Layout::preset_names() {
        check(Db::options(), Setup { layout, count: 1500, queries: 300, ..SETUP });
    }
}

#[test]
fn batch_equals_single_queries_at_every_distance() {
    for distance in 0..=10 {
        for layout in ["single", "half-2", "ring-4"] {
            let setup = Setup { layout, distance, count: 1500, queries: 200, ..SETUP };
            check(Db::options(), setup);
            check(Options::bits128(), Setup { layout: "half-2", ..setup });
        }
    }
}

#[test]
fn batch_of_any_size_equals_single_queries() {
    for queries in [1, 2, 15, 16, 17, 40, 100, 2000] {
        for filter_bits in [0, 10] {
            for count in [40, 6000] {
                let setup = Setup { count, queries, filter_bits, ..SETUP };
                check(Db::options(), setup);
                check(Options::bits128(), Setup { threads: 3, ..setup });
            }
        }
    }
}

#[test]
fn a_scan_for_a_batch_is_cancelled_long_before_its_end() {
    let db = Db::options().in_memory().unwrap();
    let scattered = (0..30_000).map(|i: u64| i * 6_700_417 % (1 << 26));
    let entries = scattered.map(|fingerprint| Ok(Entry { fingerprint, id: DocId(fingerprint) }));
    let _ = db.bulk_load(entries).unwrap();
    // No entry is within the distance of any of them, but each is compared with all.
    let queries: Vec<u64> = (0..100).map(|i: u64| !i).collect();
    let checks = AtomicUsize::new(0);
    let check = &|| match checks.fetch_add(1, Ordering::Relaxed) {
        0 | 1 => Ok(()),
        _ => Err(Error::invalid("enough")),
    };
    let (distance, nearest, most, threads) = (30, false, usize::MAX, 1);
    let batch = Batch { queries: &queries, within: distance.into(), nearest, most, threads, check };
    assert!(db.snapshot().reader().read(|view| view.sweep(&batch)).is_err());
    assert_eq!(checks.into_inner(), 3);
}

#[test]
fn empty_batch_and_empty_database_give_empty_answers() {
    let db = Db::options().storage(Sim::new()).create("empty").unwrap();
    assert!(db.query_batch(&[], 3).unwrap().is_empty());
    assert_eq!(db.query_batch(&[], 3).unwrap().offsets(), [0]);
    assert_eq!(db.query_batch(&[5; 40], 3).unwrap().offsets(), [0; 41]);
}

/// Inserts the documents that are novel in one batch, and in another database one after the other.
fn check_insert_if_novel(ids: Ids, queries: usize) {
    let setup = Setup { queries, ..SETUP };
    let mut rng = Rng::new(queries as u64);
    let all: Vec<u64> = fingerprints(&mut rng, setup.count);
    let key = |id: usize| format!("page {id}");
    let fingerprints = self::queries(&mut rng, &all, setup);
    let keys: Vec<String> = (0..all.len() + queries).map(key).collect();
    let documents: Vec<(u64, Key<'_>)> = (0..)
        .zip(all.iter().chain(&fingerprints))
        .zip(&keys)
        .map(|((id, &fingerprint), name)| match ids {
            Ids::Names => (fingerprint, Key::from(name.as_str())),
            _ => (fingerprint, Key::from(DocId(id))),
        })
        .collect();
    let (old, new) = documents.split_at(all.len());
    let [together, one_by_one] = ["together", "one by one"].map(|folder| {
        let options = Db::options().storage(Sim::new()).ids(ids).background(false);
        let db = options.create(folder).unwrap();
        db.write(&old[..old.len() / 2]).run().unwrap();
        db.flush().unwrap();
        db.write(&old[old.len() / 2..]).run().unwrap();
        db
    });
    let snapshot = together.snapshot();
    assert!(
        snapshot.reader().read(|view| view.sweep_pays(queries, Within::Distance(3))),
        "a batch of {queries} is not swept"
    );
    let novelties = together.write(new).unless_near(3).run().unwrap();
    for (&(fingerprint, key), novelty) in new.iter().zip(&novelties) {
        assert_eq!(*novelty, one_by_one.insert_if_novel(fingerprint, key).unwrap());
    }
    let duplicates = novelties.iter().filter(|found| matches!(found, Outcome::Duplicate(_)));
    let duplicates = duplicates.count();
    assert!(duplicates > queries / 4 && duplicates < queries, "{duplicates} of {queries}");
}

#[test]
fn large_batch_of_insert_if_novel_decides_as_one_by_one() {
    check_insert_if_novel(Ids::User, 2000);
    check_insert_if_novel(Ids::Names, 2000);
    check_insert_if_novel(Ids::Unique, 2000);
}
