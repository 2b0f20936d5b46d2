//! Documents: random operations on a database and on a plain map from keys to documents, at the
//! same time.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;

use fpdb::storage::{Sim, Storage};
use fpdb::{
    Db, DocId, Entry, ErrorKind, Fingerprint, Ids, Jaccard, Layout, Match, MatchRule, OnDuplicate,
    Options, Outcome, QueryOptions, Sketch, Snapshot, Stamped,
};

use crate::common::documents::{Known, Model, assert_documents, stamped};
use crate::common::{Rng, assert_answers, is_confirmed};

/// Prints on a panic which run to repeat.
struct Trace {
    seed: u64,
    bits: u32,
    ids: Ids,
    step: Cell<usize>,
}

impl Drop for Trace {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Self { seed, bits, ids, step } = self;
            eprintln!("failed: seed {seed}, {bits} bits, ids {ids}, step {}", step.get());
        }
    }
}

struct Run<F: Fingerprint> {
    rng: Rng,
    ids: Ids,
    distance: u32,
    memtable: usize,
    background: bool,
    storage: Arc<dyn Storage>,
    db: Option<Db<F>>,
    model: Model<F>,
    centres: Vec<F>,
    snapshots: Vec<(Snapshot<F>, Model<F>)>,
}

impl<F: Fingerprint> Run<F> {
    fn new(seed: u64, ids: Ids, background: bool) -> Self {
        let mut rng = Rng::new(seed);
        let storage: Arc<dyn Storage> = Sim::new().at(Path::new("db"));
        let (distance, memtable) = (rng.pick(&[0, 1, 3, 3, 6]), rng.pick(&[1, 5, 16, 64]));
        let layout = rng.pick(&["single", "half-2", "ring-4"]);
        let mut centres: Vec<F> = (0..5).map(|_| rng.fingerprint()).collect();
        centres.extend([F::ZERO, F::read_le(&vec![0xff; F::BYTES]).unwrap()]);
        let mut run = Self {
            rng,
            ids,
            distance,
            memtable,
            background,
            storage,
            db: None,
            model: Model::new(ids),
            centres,
            snapshots: Vec::new(),
        };
        let mut options = run.options().ids(ids);
        options = match Layout::preset(layout, F::BITS) {
            Ok(layout) => options.max_distance(distance).layout(layout),
            // Sketches that differ in fewer minima than there are bands share a band.
            Err(_) => {
                let similar = Jaccard::at_least(0.8);
                options.rule(&MatchRule::of_bands(similar, (16, 3), distance, 186).unwrap())
            }
        };
        run.db = Some(options.create("db").unwrap());
        run
    }

    fn options(&self) -> Options<F> {
        let options =
            Options::default().memtable_entries(self.memtable).background(self.background);
        options.storage(self.storage.clone())
    }

    fn db(&self) -> Db<F> {
        self.db.clone().unwrap()
    }

    fn is_named(&self) -> bool {
        self.ids == Ids::Names
    }

    fn fingerprint(&mut self) -> F {
        if self.rng.one_in(4) {
            return self.rng.fingerprint();
        }
        let centre = self.rng.pick(&self.centres);
        let weight = self.rng.below(u64::from(self.distance) + 3);
        self.rng.near(centre, u32::try_from(weight).unwrap())
    }

    /// Returns one of few keys, some of them long.
    fn key(&mut self) -> Vec<u8> {
        let number = self.rng.below(90);
        if !self.is_named() {
            let id = if number == 0 { u64::MAX } else { number << (number % 50) };
            return id.to_be_bytes().to_vec();
        }
        match number {
            0 => vec![b'x'; 65_535],
            1..4 => format!(
                "https://例.example/{}",
                "long/".repeat(900 + usize::try_from(number).unwrap())
            )
            .into(),
            _ => format!("https://{}.example/page/{number}", number % 7).into_bytes(),
        }
    }

    fn stamp(&mut self) -> Option<u64> {
        match self.rng.below(9) {
            0..4 => None,
            4 => Some(self.rng.pick(&[0, u64::MAX])),
            _ => Some(self.rng.below(20)),
        }
    }

    fn step(&mut self) {
        match self.rng.below(100) {
            0..12 => self.step_insert(),
            12..22 => self.step_novel(),
            22..48 => self.step_upsert(),
            48..60 => self.step_upsert_batch(),
            60..64 => self.step_remove(),
            64..70 => self.step_remove_by_key(),
            70..75 => self.step_touch(),
            75..77 => self.step_expire(),
            77..80 => self.db().flush().unwrap(),
            80..83 => self.step_compact(),
            83..87 => self.step_snapshot(),
            87..90 => self.step_reopen(),
            90..92 => self.step_verify(),
            _ => self.check_somewhere(),
        }
        let stats = self.db().stats();
        let (documents, duplicates) = (self.model.documents.len(), self.model.duplicates());
        assert_eq!((stats.documents, stats.duplicates), (documents as u64, duplicates as u64));
        assert_eq!(stats.entries, (documents - duplicates) as u64);
    }

    fn step_insert(&mut self) {
        let (key, fingerprint, stamp) = (self.key(), self.fingerprint(), self.stamp());
        let id = self.db().insert(fingerprint, stamped(&key, stamp, self.ids)).unwrap();
        assert_eq!(id, self.model.put(&key, fingerprint, stamp));
    }

    fn step_novel(&mut self) {
        let (key, fingerprint, stamp) = (self.key(), self.fingerprint(), self.stamp());
        let within = self.rng.pick(&[0, self.distance, self.distance + 1]);
        let given = stamped(&key, stamp, self.ids);
        let (db, documents) = (self.db(), [(fingerprint, given)]);
        let mut write = db.write(&documents).unless_near(within);
        self.model.confirms = self.rng.one_in(2);
        if self.model.confirms {
            write = write.confirm(usize::MAX, |own, other| {
                assert_eq!((own, other.given), (0, None));
                Ok(is_confirmed(fingerprint, other.found.fingerprint))
            });
        }
        let outcomes = write.run().unwrap();
        assert_eq!(outcomes[0], self.model.insert_if_novel(&key, fingerprint, stamp, within));
        self.model.confirms = false;
    }

    /// Returns a distance, and what becomes of the key of a duplicate.
    fn condition(&mut self) -> (u32, OnDuplicate) {
        let choices = [OnDuplicate::Keep, OnDuplicate::Remove, OnDuplicate::Remember];
        let within = self.rng.pick(&[0, 1, self.distance, self.distance, self.distance]);
        (within, self.rng.pick(&choices))
    }

    fn step_upsert(&mut self) {
        let (key, mut fingerprint, stamp) = (self.key(), self.fingerprint(), self.stamp());
        if let Some(known) = self.model.documents.get(&key) {
            match self.rng.below(3) {
                0 => fingerprint = known.fingerprint,
                1 => fingerprint = self.rng.near(known.fingerprint, 1),
                _ => {}
            }
        }
        let (distance, on_duplicate) = self.condition();
        let given = stamped(&key, stamp, self.ids);
        let outcome = match (distance == self.distance, on_duplicate) {
            (true, OnDuplicate::Keep) => self.db().upsert_if_novel(fingerprint, given).unwrap(),
            _ => {
                let documents = [(fingerprint, given)];
                let db = self.db();
                let write = db.write(&documents).unless_near(distance).or_update(on_duplicate);
                write.run().unwrap()[0]
            }
        };
        let expected = self.model.upsert(&key, fingerprint, stamp, distance, on_duplicate);
        assert_eq!(outcome, expected);
        self.check_key(&key);
    }

    fn step_upsert_batch(&mut self) {
        let count = self.rng.below(25);
        let mut texts: Vec<(F, Vec<u8>, Option<u64>)> = Vec::new();
        for _ in 0..count {
            // Often a key or a fingerprint of the batch again.
            let before = (!texts.is_empty() && self.rng.one_in(3)).then(|| {
                texts[usize::try_from(self.rng.below(texts.len() as u64)).unwrap()].clone()
            });
            let (mut key, mut fingerprint) = (self.key(), self.fingerprint());
            if let Some((earlier, earlier_key, _)) = before {
                match self.rng.below(3) {
                    0 => key = earlier_key,
                    1 => fingerprint = self.rng.near(earlier, 1),
                    _ => (key, fingerprint) = (earlier_key, earlier),
                }
            }
            texts.push((fingerprint, key, self.stamp()));
        }
        let documents: Vec<(F, Stamped<'_>)> =
            texts.iter().map(|(f, key, stamp)| (*f, stamped(key, *stamp, self.ids))).collect();
        let (distance, on_duplicate) = self.condition();
        let mut seen = Vec::new();
        let is_abandoned = self.rng.one_in(8);
        let (db, before) = (self.db(), self.model.oracle());
        let mut write =
            db.write(&documents).unless_near(distance).or_update(on_duplicate).before_commit(
                |outcomes| {
                    seen = outcomes.to_vec();
                    if is_abandoned { Err(std::io::Error::other("abandoned")) } else { Ok(()) }
                },
            );
        self.model.confirms = self.rng.one_in(2);
        if self.model.confirms {
            write = write.confirm(usize::MAX, |own, other| {
                let (fingerprint, id) = (other.found.fingerprint, other.found.id);
                match other.given {
                    Some(other) => assert!(other < own && documents[other].0 == fingerprint),
                    None => assert!(before.0.contains(&Entry { fingerprint, id })),
                }
                Ok(is_confirmed(documents[own].0, fingerprint))
            });
        }
        let outcomes = write.run();
        if is_abandoned {
            assert_eq!(outcomes.unwrap_err().kind(), ErrorKind::Io);
            self.model.confirms = false;
            return;
        }
        let model = &mut self.model;
        let expected: Vec<Outcome<F>> = texts
            .iter()
            .map(|(f, key, stamp)| model.upsert(key, *f, *stamp, distance, on_duplicate))
            .collect();
        assert_eq!(seen, expected);
        assert_eq!(outcomes.unwrap(), expected);
        self.model.confirms = false;
    }

    fn step_remove(&mut self) {
        let known: Vec<Entry<F>> = self.model.entries().collect();
        let entry = match known.is_empty() || self.rng.one_in(4) {
            true => Entry { fingerprint: self.fingerprint(), id: DocId(self.rng.below(9)) },
            false => self.rng.pick(&known),
        };
        let removed = self.db().remove_entry(entry.fingerprint, entry.id).unwrap();
        assert_eq!(removed, self.model.remove_entry(entry));
    }

    fn step_remove_by_key(&mut self) {
        let key = self.key();
        let known = self.model.documents.get(&key).copied();
        let removed = match (self.ids, self.rng.one_in(2)) {
            (Ids::Names, true) => self.db().remove(std::str::from_utf8(&key).unwrap()),
            (Ids::Names, false) => {
                let id = known.map_or(DocId(self.model.next_id + 3), |known| known.id);
                self.db().remove(id)
            }
            _ => self.db().remove(u64::from_be_bytes(key[..].try_into().unwrap())),
        };
        assert_eq!(removed.unwrap(), known.is_some());
        self.model.documents.remove(&key);
        self.check_key(&key);
    }

    fn step_touch(&mut self) {
        let (key, stamp) = (self.key(), self.rng.below(20));
        let touched = self.db().touch(stamped(&key, None, self.ids).key, stamp).unwrap();
        assert_eq!(touched, self.model.touch(&key, stamp));
        self.check_key(&key);
    }

    fn step_expire(&mut self) {
        let before = self.rng.below(22);
        let (documents, has_stamps) = (self.model.documents.len(), self.model.has_stamps());
        match self.db.clone().unwrap().expire(before) {
            Ok(report) => {
                assert_eq!(report.examined, documents as u64);
                assert_eq!(report.removed, self.model.expire(before));
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::InvalidArgument);
                assert!(!has_stamps && documents > 0);
            }
        }
    }

    fn step_compact(&mut self) {
        let report = self.db().compact().unwrap();
        assert!(report.segments_after <= 1, "{report:?}");
        self.check_all();
    }

    fn step_snapshot(&mut self) {
        if self.snapshots.len() == 3 {
            let (snapshot, model) = self.snapshots.remove(0);
            assert_documents(&snapshot, &model);
        }
        self.snapshots.push((self.db().snapshot(), self.model.clone()));
    }

    fn step_reopen(&mut self) {
        self.snapshots.clear();
        match (self.db.take(), self.rng.one_in(2)) {
            (Some(db), true) => db.close().unwrap(),
            (db, _) => drop(db),
        }
        self.db = Some(self.options().open("db").unwrap());
        self.check_all();
    }

    fn step_verify(&mut self) {
        let report = self.db().verify(fpdb::VerifyLevel::Deep).unwrap();
        assert!(report.errors.is_empty(), "{:?}", report.errors);
    }

    fn check_key(&self, key: &[u8]) {
        let found = self.db().get(stamped(key, None, self.ids).key).unwrap();
        assert_eq!(found.as_ref().map(Known::of), self.model.documents.get(key).copied());
    }

    fn check_somewhere(&mut self) {
        let (key, query, since) = (self.key(), self.fingerprint(), self.rng.below(20));
        self.check_key(&key);
        let snapshot = self.db().snapshot();
        let model = &self.model;
        assert_answers(&snapshot, &model.oracle(), query, self.distance + 1);
        let is_recent =
            |m: &Match<F>| model.documents.values().any(|d| d.id == m.id && d.stamp >= Some(since));
        let recent: Vec<Match<F>> =
            model.oracle().query(query, self.distance).into_iter().filter(is_recent).collect();
        let options = QueryOptions::within(self.distance).since(since);
        assert_eq!(snapshot.query(query, options).unwrap(), recent);
        let first = snapshot.query(query, options.limit(1)).unwrap();
        assert_eq!(first.first(), recent.first());
    }

    fn check_all(&self) {
        assert_documents(&self.db().snapshot(), &self.model);
    }

    fn finish(mut self) {
        self.check_all();
        self.step_verify();
        self.step_compact();
        self.step_verify();
        self.step_reopen();
        self.db().close().unwrap();
    }
}

fn run<F: Fingerprint>(seed: u64, ids: Ids, background: bool) {
    let trace = Trace { seed, bits: F::BITS, ids, step: Cell::new(0) };
    let mut run = Run::<F>::new(seed, ids, background);
    for step in 1..=200 {
        trace.step.set(step);
        run.step();
    }
    run.finish();
}

fn rounds(salt: u64, default: u64, run: impl Fn(u64)) {
    let number = |name| std::env::var(name).map(|n| n.parse::<u64>().expect("a number"));
    let first = number("FPDB_SEED").unwrap_or(0);
    let rounds = number("FPDB_ROUNDS").unwrap_or(default);
    (first..first + rounds).for_each(|round| run(salt << 32 | round));
}

#[test]
fn documents_with_names_equal_the_model() {
    rounds(11, 8, |seed| run::<u64>(seed, Ids::Names, false));
    rounds(12, 6, |seed| run::<u128>(seed, Ids::Names, false));
    rounds(17, 6, |seed| run::<Sketch>(seed, Ids::Names, false));
}

#[test]
fn documents_with_unique_ids_equal_the_model() {
    rounds(13, 8, |seed| run::<u64>(seed, Ids::Unique, false));
    rounds(14, 6, |seed| run::<u128>(seed, Ids::Unique, false));
    rounds(18, 6, |seed| run::<Sketch>(seed, Ids::Unique, false));
}

#[test]
fn documents_equal_the_model_while_flush_and_compaction_run_in_the_background() {
    rounds(15, 6, |seed| {
        let ids = if seed % 2 == 0 { Ids::Names } else { Ids::Unique };
        run::<u64>(seed, ids, true);
        run::<Sketch>(seed, ids, true);
    });
}
