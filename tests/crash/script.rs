//! The steps of a workload: a string with one letter per step, and documents from a seed.

use std::marker::PhantomData;
use std::sync::Arc;

use fpdb::storage::Sim;
use fpdb::{Durability, Fingerprint, Ids, Jaccard, Layout, MatchRule, OnDuplicate, Options};

use super::combine::Way;
use super::documents::StampedDoc;

/// A document: its fingerprint, and its id or the number in its name.
pub(crate) type Doc<F> = (F, u64);

/// The greatest distance of all databases here.
pub(crate) const DISTANCE: u32 = 3;

/// The layout of a database of sketches.
pub(crate) const BANDS: &str = "bands";

/// The folders of the database, of its copy, and of the result of a merge or rebuild.
pub(crate) const ROOT: &str = "sim";
pub(crate) const COPY: &str = "copy";
pub(crate) const OUT: &str = "out";

/// Splitmix64.
#[derive(Debug, Clone)]
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap()
    }

    /// Returns true with probability `share`.
    pub(crate) fn chance(&mut self, share: f64) -> bool {
        (self.next() >> 11) as f64 / ((1u64 << 53) as f64) < share
    }

    /// Returns a fingerprint with up to `most` of its bits flipped.
    pub(crate) fn near<F: Fingerprint>(&mut self, fingerprint: F, most: usize) -> F {
        let flips = self.below(most + 1);
        (0..flips).fold(fingerprint, |near, _| {
            near.with_flipped(u32::try_from(self.below(F::BITS as usize)).unwrap())
        })
    }

    /// Returns the choices for the part of a test that these numbers identify.
    pub(crate) fn of(numbers: &[u64]) -> Self {
        numbers.iter().fold(Self(0), |random, number| Self(Self(random.0 ^ number).next()))
    }

    pub(crate) fn fingerprint<F: Fingerprint>(&mut self) -> F {
        let words = (0..F::BYTES.div_ceil(8)).flat_map(|_| self.next().to_le_bytes());
        F::read_le(&words.collect::<Vec<u8>>()).unwrap()
    }
}

/// The kind of database that a workload is run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Setup<F> {
    pub(crate) layout: &'static str,
    pub(crate) ids: Ids,
    pub(crate) durability: Durability,
    pub(crate) memtable: usize,
    pub(crate) block_size: usize,
    /// The most documents of a segment of sketches.
    pub(crate) segment: u64,
    width: PhantomData<F>,
}

impl<F: Fingerprint> Setup<F> {
    pub(crate) const fn new(layout: &'static str, ids: Ids, durability: Durability) -> Self {
        let (memtable, block_size, segment) = (4, 128, u64::MAX);
        Self { layout, ids, durability, memtable, block_size, segment, width: PhantomData }
    }

    pub(crate) const fn block_size(self, block_size: usize) -> Self {
        Self { block_size, ..self }
    }

    pub(crate) const fn segment(self, segment: u64) -> Self {
        Self { segment, ..self }
    }

    pub(crate) const fn memtable(self, memtable: usize) -> Self {
        Self { memtable, ..self }
    }

    pub(crate) fn options(&self, sim: &Arc<Sim>) -> Options<F> {
        let options = Options::<F>::default();
        let options = match Layout::preset(self.layout, F::BITS) {
            Ok(layout) => options.layout(layout).max_distance(DISTANCE).block_size(self.block_size),
            // Sketches that differ in fewer minima than there are bands share a band.
            Err(_) => {
                let (similar, bands) = (Jaccard::at_least(0.8), (DISTANCE + 1, 3));
                options.rule(&MatchRule::of_bands(similar, bands, DISTANCE, 186).unwrap())
            }
        };
        options
            .ids(self.ids)
            // So few entries would be scanned.
            .never_scan()
            .durability(self.durability)
            .memtable_entries(self.memtable)
            .segment_documents(self.segment)
            // The least memory: what does not fit is sorted on disk.
            .bulk_memory(1)
            .background(false)
            .storage(sim.clone())
    }
}

/// Every fifth name is longer than a sector.
pub(crate) fn name_of(key: u64) -> String {
    let padding = if key % 5 == 4 { 700 } else { 3 };
    format!("https://例子/{key}{}", "-".repeat(padding))
}

pub(crate) fn key_of(name: &str) -> Option<u64> {
    name.strip_prefix("https://例子/")?.trim_end_matches('-').parse().ok()
}

/// One call of the workload.
#[derive(Debug, Clone)]
pub(crate) enum Step<F> {
    Insert(Vec<Doc<F>>),
    InsertIfNovel(Vec<Doc<F>>),
    /// An entry, by its position among all issued ones.
    Remove(Doc<F>),
    Upsert(Vec<StampedDoc<F>>, OnDuplicate),
    Touch(u64, u64),
    RemoveByKey(u64),
    Expire(u64),
    Load(Vec<Doc<F>>),
    Flush,
    Compact,
    Sync,
    Backup,
    Combine(Way),
    /// A rebuild in which this call of the storage fails.
    FailToRebuild(usize),
    Close,
    Drop,
    /// The process ends without another operation; what it wrote can still be read.
    Kill,
}

/// Makes steps and remembers the documents that they used.
#[derive(Debug, Clone)]
pub(crate) struct Scribe<F> {
    random: Random,
    centres: [F; 3],
    issued: Vec<Doc<F>>,
    next_key: u64,
    ids: Ids,
}

impl<F: Fingerprint> Scribe<F> {
    /// Keys start at `first_key`, so that they are new.
    pub(crate) fn new(setup: &Setup<F>, seed: u64, first_key: u64) -> Self {
        let mut random = Random(seed);
        let centres = [(); 3].map(|()| random.fingerprint());
        Self { random, centres, issued: Vec::new(), next_key: first_key, ids: setup.ids }
    }

    /// Adds these to the issued documents.
    pub(crate) fn knows(mut self, docs: impl IntoIterator<Item = Doc<F>>) -> Self {
        self.issued.extend(docs);
        self
    }

    /// Most documents are near one of three centres; some are repeated.
    fn doc(&mut self) -> Doc<F> {
        if !self.issued.is_empty() && self.random.below(8) == 0 {
            return self.issued[self.random.below(self.issued.len())];
        }
        let centre = match self.random.below(4) {
            3 => self.random.fingerprint(),
            centre => self.centres[centre],
        };
        let doc = (self.random.near(centre, 5), self.next_key);
        self.next_key += 1;
        self.issued.push(doc);
        doc
    }

    fn docs(&mut self, count: usize) -> Vec<Doc<F>> {
        (0..count).map(|_| self.doc()).collect()
    }

    /// Most documents to update are issued ones with another fingerprint, which is often near.
    fn update(&mut self) -> StampedDoc<F> {
        let (mut fingerprint, mut key) = self.doc();
        if self.random.below(4) > 0 {
            let issued = self.issued[self.random.below(self.issued.len())];
            key = issued.1;
            if self.random.below(2) == 0 {
                fingerprint = self.random.near(issued.0, 2);
            }
        }
        self.issued.push((fingerprint, key));
        let stamp = (self.random.below(3) > 0).then(|| self.stamp());
        ((fingerprint, key), stamp)
    }

    fn stamp(&mut self) -> u64 {
        self.random.below(12) as u64
    }

    fn updates(&mut self, count: usize, on_duplicate: OnDuplicate) -> Step<F> {
        Step::Upsert((0..count).map(|_| self.update()).collect(), on_duplicate)
    }

    /// Returns an issued key.
    fn key(&mut self) -> u64 {
        if self.issued.is_empty() {
            return 99;
        }
        self.issued[self.random.below(self.issued.len())].1
    }

    pub(crate) fn script(&mut self, letters: &str) -> Vec<Step<F>> {
        letters.chars().map(|letter| self.step(letter)).collect()
    }

    fn step(&mut self, letter: char) -> Step<F> {
        if self.ids != Ids::User
            && let Some(step) = self.document_step(letter)
        {
            return step;
        }
        match letter {
            'i' => Step::Insert(self.docs(1)),
            'b' => Step::Insert(self.docs(3)),
            'n' | 'p' | 'P' | 'q' => Step::InsertIfNovel(self.docs(1)),
            'N' | 'Q' => Step::InsertIfNovel(self.docs(4)),
            'r' | 'v' | 'e' if self.issued.is_empty() => Step::Remove((F::ZERO, 99)),
            'r' | 'v' | 'e' => Step::Remove(self.issued[self.random.below(self.issued.len())]),
            'l' => Step::Load(self.docs(6)),
            // More than can be sorted in memory.
            'L' => Step::Load(self.docs(200)),
            'f' => Step::Flush,
            'c' => Step::Compact,
            's' | 't' => Step::Sync,
            'u' => Step::Backup,
            'w' => Step::Combine(Way::Rebuild),
            'm' => Step::Combine(Way::Merge),
            'W' => Step::FailToRebuild(40),
            'x' => Step::Close,
            'd' => Step::Drop,
            'k' => Step::Kill,
            other => panic!("no step is called {other}"),
        }
    }
}

impl<F: Fingerprint> Scribe<F> {
    /// Returns the step if it is a different one in databases that keep documents.
    fn document_step(&mut self, letter: char) -> Option<Step<F>> {
        Some(match letter {
            'p' => self.updates(1, OnDuplicate::Keep),
            'P' => self.updates(1, OnDuplicate::Remove),
            'q' => self.updates(1, OnDuplicate::Remember),
            'Q' => self.updates(4, OnDuplicate::Remember),
            't' => Step::Touch(self.key(), self.stamp()),
            'v' => Step::RemoveByKey(self.key()),
            'e' => Step::Expire(self.random.below(6) as u64),
            // They cannot be bulk loaded.
            'l' | 'L' => Step::Insert(self.docs(3)),
            _ => return None,
        })
    }
}

/// A workload of random letters, from a seed.
pub(crate) fn random_letters(seed: u64, steps: usize) -> String {
    const LETTERS: &[u8] = b"iiiibbnnnnNNrrrpppPqqqQQttvvefclssxdk";
    let mut random = Random(seed);
    (0..steps).map(|_| char::from(LETTERS[random.below(LETTERS.len())])).collect()
}
