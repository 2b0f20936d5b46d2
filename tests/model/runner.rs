//! Runs random operations on a database and on the model at the same time.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fpdb::storage::{Disk, Sim, Storage};
use fpdb::{
    Db, DocId, Durability, Entry, Fingerprint, Layout, Match, Options, Outcome, Snapshot, Word,
};

use crate::common::{Oracle, Rng, assert_answers, assert_entries, is_confirmed};

/// The choices that are fixed for one run.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) seed: u64,
    pub(crate) steps: usize,
    /// A preset, or "auto".
    pub(crate) layout: &'static str,
    pub(crate) distance: u32,
    pub(crate) block_size: usize,
    pub(crate) filter_bits: u32,
    pub(crate) memtable: usize,
    pub(crate) bulk_memory: usize,
    pub(crate) background: bool,
    pub(crate) durability: Durability,
    /// Entries at the start: enough that queries use probes instead of scans.
    pub(crate) preload: usize,
    /// Ids of one fingerprint at the start.
    pub(crate) huge_group: u64,
}

impl Setup {
    /// Derives everything except the layout from the seed.
    pub(crate) fn new(seed: u64, layout: &'static str) -> Self {
        let mut rng = Rng::new(seed);
        Self {
            seed,
            steps: 200,
            layout,
            distance: rng.pick(&[0, 1, 2, 3, 3, 3, 4, 5, 6, 8, 12]),
            block_size: rng.pick(&[128, 1024]),
            filter_bits: rng.pick(&[0, 10]),
            memtable: rng.pick(&[1, 8, 13, 32, 64]),
            bulk_memory: rng.pick(&[1, 4096, 1 << 20]),
            background: false,
            durability: rng.pick(&[Durability::Sync, Durability::Every(Duration::from_millis(5))]),
            preload: rng.pick(&[0, 300, 1500]),
            huge_group: rng.pick(&[0, 0, 2000]),
        }
    }

    fn options<F: Word>(&self, storage: &Arc<dyn Storage>) -> Options<F> {
        let options = Options::default();
        // At 128 bits, tables of columns are searched, however few the entries are.
        let options = if F::BITS == 128 { options.never_scan() } else { options };
        options
            .memtable_entries(self.memtable)
            .bulk_memory(self.bulk_memory)
            .background(self.background)
            .durability(self.durability)
            .storage(storage.clone())
    }

    fn create<F: Word>(&self, storage: &Arc<dyn Storage>) -> Db<F> {
        let options = self
            .options::<F>(storage)
            .max_distance(self.distance)
            .block_size(self.block_size)
            .filter_bits(self.filter_bits);
        let options = match self.layout {
            "auto" => options,
            preset => options.layout(Layout::preset(preset, F::BITS).unwrap()),
        };
        options.create(storage.root()).unwrap()
    }
}

fn entry_of<F: Fingerprint>(found: &Match<F>) -> Entry<F> {
    Entry { fingerprint: found.fingerprint, id: found.id }
}

/// Prints on a panic which run to repeat.
struct Trace<'a> {
    setup: &'a Setup,
    bits: u32,
    step: Cell<usize>,
}

impl Drop for Trace<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed at {} bits, step {}: {:#x?}", self.bits, self.step.get(), self.setup);
        }
    }
}

pub(crate) fn run_on_sim<F: Word>(setup: &Setup) {
    run::<F>(setup, &Sim::new().at(Path::new("db")));
}

pub(crate) fn run_on_disk<F: Word>(setup: &Setup) {
    let folder = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Storage> = Arc::new(Disk::new(folder.path().join("db")));
    run::<F>(setup, &disk);
}

fn run<F: Word>(setup: &Setup, storage: &Arc<dyn Storage>) {
    let trace = Trace { setup, bits: F::BITS, step: Cell::new(0) };
    let mut run = Run::<F>::new(setup, storage);
    run.preload();
    run.check_all();
    for step in 1..=setup.steps {
        trace.step.set(step);
        run.step();
    }
    run.finish();
}

/// A database and its model.
struct Run<'a, F: Word> {
    setup: &'a Setup,
    storage: &'a Arc<dyn Storage>,
    rng: Rng,
    /// Always present, except between close and open.
    db: Option<Db<F>>,
    oracle: Oracle<F>,
    /// Centres of clusters.
    centres: Vec<F>,
    snapshots: Vec<(Snapshot<F>, Oracle<F>)>,
}

impl<'a, F: Word> Run<'a, F> {
    fn new(setup: &'a Setup, storage: &'a Arc<dyn Storage>) -> Self {
        let mut rng = Rng::new(setup.seed ^ 0x5eed);
        let mut centres: Vec<F> = (0..6).map(|_| rng.fingerprint()).collect();
        centres.extend([F::ZERO, F::MAX]);
        Self {
            setup,
            storage,
            rng,
            db: Some(setup.create(storage)),
            oracle: Oracle::default(),
            centres,
            snapshots: Vec::new(),
        }
    }

    fn db(&self) -> Db<F> {
        self.db.clone().unwrap()
    }

    /// Returns a fingerprint near a centre, at distances around the database's own.
    fn fingerprint(&mut self) -> F {
        let centre = self.rng.pick(&self.centres);
        let weight = self.rng.below(u64::from(self.setup.distance) + 3);
        self.rng.near(centre, u32::try_from(weight).unwrap())
    }

    /// Returns one of few ids, so that entries repeat; some are from both ends of the range.
    fn id(&mut self) -> u64 {
        match self.rng.below(40) {
            0 => u64::MAX,
            1 => self.rng.next(),
            _ => self.rng.below(12),
        }
    }

    /// Returns fingerprints near centres, with ids.
    fn documents(&mut self, count: usize) -> Vec<(F, DocId)> {
        (0..count).map(|_| (self.fingerprint(), DocId(self.id()))).collect()
    }

    /// Inserts into the model.
    fn insert(&mut self, fingerprint: F, id: DocId) -> DocId {
        self.oracle.0.insert(Entry { fingerprint, id });
        id
    }

    fn insert_if_novel(&mut self, fingerprint: F, id: DocId) -> Outcome<F> {
        let nearest = self.oracle.nearest(fingerprint, self.setup.distance);
        self.insert_unless(nearest, fingerprint, id)
    }

    fn insert_unless_confirmed(&mut self, fingerprint: F, id: DocId) -> Outcome<F> {
        let near = self.oracle.query(fingerprint, self.setup.distance).into_iter();
        let itself = Entry { fingerprint, id };
        let is_match =
            |m: &Match<F>| entry_of(m) == itself || is_confirmed(fingerprint, m.fingerprint);
        let nearest = near.filter(is_match).min_by_key(|m| (entry_of(m) != itself, *m));
        self.insert_unless(nearest, fingerprint, id)
    }

    /// Inserts into the model unless this is a duplicate.
    fn insert_unless(&mut self, near: Option<Match<F>>, fingerprint: F, id: DocId) -> Outcome<F> {
        match near {
            Some(_) if self.oracle.0.contains(&Entry { fingerprint, id }) => {
                Outcome::Exists(Match { distance: 0, fingerprint, id })
            }
            Some(found) => Outcome::Duplicate(found),
            None => Outcome::Inserted(self.insert(fingerprint, id)),
        }
    }

    fn preload(&mut self) {
        let spread = |run: &mut Self| match run.rng.one_in(2) {
            true => run.fingerprint(),
            false => run.rng.fingerprint(),
        };
        let mut fingerprints: Vec<F> = (0..self.setup.preload).map(|_| spread(self)).collect();
        let centre = self.centres[0];
        fingerprints.extend((0..self.setup.huge_group).map(|_| centre));
        for chunk in fingerprints.chunks(700) {
            let documents: Vec<(F, DocId)> =
                chunk.iter().map(|&f| (f, DocId(self.rng.below(5000)))).collect();
            self.insert_batch(&documents);
        }
    }

    fn insert_batch(&mut self, documents: &[(F, DocId)]) {
        let outcomes = self.db().write(documents).run().unwrap();
        let outcome =
            |&(f, id): &(F, DocId)| match self.oracle.0.contains(&Entry { fingerprint: f, id }) {
                true => Outcome::Unchanged(id),
                false => Outcome::Inserted(self.insert(f, id)),
            };
        let expected: Vec<Outcome<F>> = documents.iter().map(outcome).collect();
        assert_eq!(outcomes, expected);
    }

    fn step(&mut self) {
        match self.rng.below(100) {
            0..20 => self.step_insert(),
            20..30 => self.step_insert_batch(),
            30..45 => self.step_novel(),
            45..53 => self.step_novel_batch(),
            53..70 => self.step_remove(),
            70..80 => self.check_somewhere(),
            80..84 => self.step_snapshot(),
            84..87 => self.check_snapshot(),
            87..89 => self.db().flush().unwrap(),
            89..90 => assert!(self.db().warm().is_ok()),
            90..92 => self.step_compact(),
            92..95 => self.step_bulk_load(),
            95..96 => self.db().sync().unwrap(),
            96..98 => self.step_reopen(),
            98..99 => self.step_verify(),
            _ => self.check_all(),
        }
        assert_eq!(self.db().stats().entries, self.oracle.0.len() as u64);
    }

    fn step_insert(&mut self) {
        let (fingerprint, key) = self.documents(1)[0];
        let id = self.db().insert(fingerprint, key).unwrap();
        assert_eq!(id, self.insert(fingerprint, key));
        self.check(fingerprint);
    }

    fn step_insert_batch(&mut self) {
        let count = self.rng.below(40);
        let documents = self.documents(usize::try_from(count).unwrap());
        self.insert_batch(&documents);
    }

    fn step_novel(&mut self) {
        let (mut fingerprint, key) = self.documents(1)[0];
        if self.rng.one_in(3) {
            fingerprint = self.rng.fingerprint();
            self.centres.push(fingerprint);
        }
        let novelty = self.db().insert_if_novel(fingerprint, key).unwrap();
        assert_eq!(novelty, self.insert_if_novel(fingerprint, key), "{fingerprint:#x?}");
    }

    fn step_novel_batch(&mut self) {
        let count = self.rng.below(20);
        let mut documents = self.documents(usize::try_from(count).unwrap());
        // Clusters that start within the batch.
        let centre: F = self.rng.fingerprint();
        for (fingerprint, _) in documents.iter_mut().skip(3) {
            if self.rng.one_in(2) {
                let weight = self.rng.below(u64::from(self.setup.distance) + 2);
                *fingerprint = self.rng.near(centre, u32::try_from(weight).unwrap());
            }
        }
        let (db, before) = (self.db(), self.oracle.clone());
        let mut write = db.write(&documents).unless_near(self.setup.distance);
        let confirms = self.rng.one_in(2);
        if confirms {
            write = write.confirm(usize::MAX, |own, other| {
                match other.given {
                    Some(other) => assert!(other < own),
                    None => assert!(before.0.contains(&entry_of(&other.found))),
                }
                Ok(is_confirmed(documents[own].0, other.found.fingerprint))
            });
        }
        let novelties = write.run().unwrap();
        let outcome = |&(f, key): &(F, DocId)| match confirms {
            true => self.insert_unless_confirmed(f, key),
            false => self.insert_if_novel(f, key),
        };
        let expected: Vec<Outcome<F>> = documents.iter().map(outcome).collect();
        assert_eq!(novelties, expected, "{documents:#x?}");
    }

    /// Returns mostly an entry that exists.
    fn step_remove(&mut self) {
        let near = self.fingerprint();
        let live = self.oracle.query(near, self.setup.distance + 2);
        let entry = match live.is_empty() || self.rng.one_in(5) {
            true => Entry { fingerprint: near, id: DocId(self.id()) },
            false => {
                let found = self.rng.pick(&live);
                Entry { fingerprint: found.fingerprint, id: found.id }
            }
        };
        let removed = self.db().remove_entry(entry.fingerprint, entry.id).unwrap();
        assert_eq!(removed, self.oracle.0.remove(&entry), "remove {entry:#x?}");
        self.check(entry.fingerprint);
    }

    fn step_snapshot(&mut self) {
        if self.snapshots.len() == 4 {
            let oldest = self.snapshots.remove(0);
            self.check_pair(&oldest);
        }
        self.snapshots.push((self.db().snapshot(), self.oracle.clone()));
    }

    fn check_snapshot(&mut self) {
        if !self.snapshots.is_empty() {
            let index = self.rng.below(self.snapshots.len() as u64);
            let (snapshot, oracle) = self.snapshots[usize::try_from(index).unwrap()].clone();
            self.check_pair(&(snapshot, oracle));
        }
    }

    fn check_pair(&mut self, (snapshot, oracle): &(Snapshot<F>, Oracle<F>)) {
        let query = self.fingerprint();
        assert_answers(snapshot, oracle, query, self.setup.distance + 2);
        assert_entries(snapshot, oracle);
    }

    fn step_compact(&mut self) {
        let report = self.db().compact().unwrap();
        assert!(report.segments_after <= 1, "{report:?}");
        let stats = self.db().stats();
        assert_eq!((stats.removed, stats.memtable_entries), (0, 0));
        self.check_all();
    }

    fn step_bulk_load(&mut self) {
        let count = self.rng.below(300);
        let entries: Vec<Entry<F>> = (0..count)
            .map(|_| Entry { fingerprint: self.fingerprint(), id: DocId(self.id()) })
            .collect();
        let loaded = self.db().bulk_load(entries.iter().copied().map(Ok));
        let new = entries.iter().filter(|&&e| self.oracle.0.insert(e)).count();
        let report = loaded.unwrap();
        assert_eq!((report.read, report.inserted), (count, new as u64));
        self.check_somewhere();
    }

    fn step_reopen(&mut self) {
        let closed = self.rng.one_in(2);
        match (self.db.take(), closed) {
            (Some(db), true) => db.close().unwrap(),
            (db, _) => drop(db),
        }
        let db = self.setup.options::<F>(self.storage).open(self.storage.root()).unwrap();
        let recovery = db.recovery();
        assert!(!recovery.torn_tail, "{recovery:?}");
        assert!(!closed || recovery.commits == 0, "{recovery:?}");
        self.db = Some(db);
        self.check_all();
    }

    fn step_verify(&mut self) {
        let report = self.db().verify(fpdb::VerifyLevel::Deep).unwrap();
        assert!(report.errors.is_empty(), "{:?}", report.errors);
    }

    fn check_somewhere(&mut self) {
        let query = if self.rng.one_in(8) { self.rng.fingerprint() } else { self.fingerprint() };
        self.check(query);
    }

    fn check(&mut self, query: F) {
        assert_answers(&self.db().snapshot(), &self.oracle, query, self.setup.distance + 2);
    }

    fn check_all(&mut self) {
        let db = self.db();
        let snapshot = db.snapshot();
        assert_entries(&snapshot, &self.oracle);
        for query in self.centres.iter().copied().take(10).collect::<Vec<F>>() {
            let distance = self.setup.distance;
            let expected = self.oracle.query(query, distance);
            assert_eq!(db.query(query, distance).unwrap(), expected, "{query:#x?}");
        }
    }

    fn finish(mut self) {
        self.check_all();
        self.step_verify();
        self.step_compact();
        self.step_verify();
        self.step_reopen();
        for pair in std::mem::take(&mut self.snapshots) {
            self.check_pair(&pair);
        }
        self.db().close().unwrap();
    }
}
