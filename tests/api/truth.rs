//! Real fingerprints, whose answers were found by comparing every pair.
//!
//! `tests/data/README.md` describes the data. `FPDB_FULL=1` runs every combination of layout, block
//! size, block code and way to load.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use fpdb::storage::Sim;
use fpdb::{Db, DocId, Entry, Fingerprint, Key, Layout, Match, Options};

use crate::common::entry;

/// Distances that the data has answers for.
const DISTANCES: [u32; 4] = [0, 3, 5, 8];

struct Query {
    fingerprint: u64,
    /// All matches within the largest distance.
    matches: Vec<Match>,
}

impl Query {
    fn expected(&self, distance: u32) -> &[Match] {
        &self.matches[..self.matches.partition_point(|m| m.distance <= distance)]
    }
}

struct Data {
    entries: Vec<Entry>,
    queries: Vec<Query>,
}

/// The data. Its answers are computed here and compared with those that came with it.
static DATA: LazyLock<Data> = LazyLock::new(|| {
    let entries: Vec<Entry> = (0..)
        .zip(read("fingerprints.u64le").as_chunks().0)
        .map(|(id, &bytes)| entry(u64::from_le_bytes(bytes), id))
        .collect();
    assert_eq!(entries.len(), 63_833);
    let table = String::from_utf8(read("queries.tsv")).unwrap();
    let queries: Vec<Query> =
        table.lines().skip(1).map(|line| read_query(line, &entries)).collect();
    assert_eq!(queries.len(), 501);
    Data { entries, queries }
});

fn read(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn read_query(line: &str, entries: &[Entry]) -> Query {
    let columns: Vec<&str> = line.split('\t').collect();
    let fingerprint = u64::parse(columns[0]).unwrap();
    let query = Query { fingerprint, matches: scan(entries, fingerprint) };
    for (distance, count) in DISTANCES.into_iter().zip(&columns[2..6]) {
        let expected: usize = count.parse().unwrap();
        assert_eq!(query.expected(distance).len(), expected, "{fingerprint:#x} within {distance}");
    }
    let pair = |text: &str| {
        let (id, distance) = text.split_once(':').unwrap();
        (DocId(id.parse().unwrap()), distance.parse::<u32>().unwrap())
    };
    let listed: BTreeMap<DocId, u32> =
        columns[6].split([',', ' ', ';']).filter(|text| !text.is_empty()).map(pair).collect();
    let found: BTreeMap<DocId, u32> =
        query.expected(3).iter().map(|m| (m.id, m.distance)).collect();
    assert_eq!(found, listed, "{fingerprint:#x}");
    query
}

fn scan(entries: &[Entry], fingerprint: u64) -> Vec<Match> {
    let near = |e: &Entry| {
        let distance = e.fingerprint.distance(fingerprint);
        Match { distance, fingerprint: e.fingerprint, id: e.id }
    };
    let mut matches: Vec<Match> = entries.iter().map(near).filter(|m| m.distance <= 8).collect();
    matches.sort_unstable();
    matches
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Bulk,
    Batches,
}

struct Case<'a> {
    data: &'a Data,
    layout: &'a str,
    block_size: usize,
    way: Way,
    sim: Arc<Sim>,
    /// Runs one query out of this many.
    stride: usize,
}

impl Case<'_> {
    fn options(&self) -> Options<u64> {
        let options = Db::options().storage(self.sim.clone()).index_memory(0);
        options.memtable_entries(20_000).bulk_memory(1 << 20)
    }

    fn load(&self) -> Db {
        let layout = Layout::preset(self.layout, 64).unwrap();
        let options = self.options().layout(layout).block_size(self.block_size);
        let db = options.create("sim").unwrap();
        match self.way {
            Way::Bulk => {
                let report = db.bulk_load(self.data.entries.iter().copied().map(Ok)).unwrap();
                assert_eq!(report.inserted, self.data.entries.len() as u64);
            }
            Way::Batches => {
                for chunk in self.data.entries.chunks(5000) {
                    let keys: Vec<(u64, Key<'_>)> =
                        chunk.iter().map(|e| (e.fingerprint, Key::from(e.id))).collect();
                    db.write(&keys).run().unwrap();
                }
            }
        }
        db
    }

    /// Compares all answers; `keeps` selects the entries that are left.
    fn check(&self, db: &Db, when: &str, keeps: impl Fn(DocId) -> bool) {
        let snapshot = db.snapshot();
        let kept = self.data.entries.iter().filter(|e| keeps(e.id)).count();
        assert_eq!(snapshot.len(), kept as u64, "{when}");
        for query in self.data.queries.iter().step_by(self.stride) {
            for distance in DISTANCES {
                let expected = query.expected(distance).iter().filter(|m| keeps(m.id)).copied();
                let found = snapshot.query(query.fingerprint, distance).unwrap();
                assert!(
                    found.iter().copied().eq(expected),
                    "{} {} {:?} {when}: {:#x} within {distance} gives {found:?}",
                    self.layout,
                    self.block_size,
                    self.way,
                    query.fingerprint
                );
            }
        }
    }

    fn run(&self) {
        let all = |_| true;
        let mut db = self.load();
        self.check(&db, "after loading", all);
        db.flush().unwrap();
        self.check(&db, "after a flush", all);
        for id in (0..self.data.entries.len()).filter(|id| id % 2 == 1) {
            let e = self.data.entries[id];
            assert!(db.remove_entry(e.fingerprint, e.id).unwrap());
        }
        let half = |id: DocId| id.0.is_multiple_of(2);
        self.check(&db, "with half removed", half);
        drop(db);
        db = self.options().open("sim").unwrap();
        self.check(&db, "after a restart", half);
        db.compact().unwrap();
        self.check(&db, "after a compaction", half);
        db.close().unwrap();
        db = self.options().open("sim").unwrap();
        self.check(&db, "after a close", half);
        drop(db);
        db = self.options().index_memory(1 << 30).open("sim").unwrap();
        db.warm().unwrap();
        let stats = db.stats();
        assert!(stats.index_loaded_bytes > 8 * stats.entries);
        self.check(&db, "with decoded tables", half);
        let report = db.verify(fpdb::VerifyLevel::Full).unwrap();
        assert!(report.errors.is_empty(), "{:?}", report.errors);
    }
}

fn full() -> bool {
    std::env::var("FPDB_FULL").is_ok_and(|v| v == "1")
}

fn run(layout: &str, block_size: usize, way: Way, stride: usize) {
    let stride = if full() { 1 } else { stride };
    Case { data: &DATA, layout, block_size, way, sim: Sim::new(), stride }.run();
}

/// Distances beyond what a layout is made for may take longer plans or scans, but stay exact.
#[test]
fn answers_on_real_fingerprints_are_exact_in_small_blocks() {
    if full() {
        for layout in Layout::preset_names() {
            run(layout, 128, Way::Bulk, 1);
            run(layout, 128, Way::Batches, 1);
        }
    } else {
        for layout in ["half-2", "ring-3", "paper-10"] {
            run(layout, 128, Way::Bulk, 4);
        }
        run("single", 128, Way::Batches, 25);
    }
}

#[test]
fn answers_on_real_fingerprints_are_exact_in_large_blocks() {
    if full() {
        for layout in Layout::preset_names() {
            run(layout, 1024, Way::Bulk, 1);
            run(layout, 1024, Way::Batches, 1);
        }
    } else {
        for layout in ["ring-4", "paper-4", "paper-16", "paper-20"] {
            run(layout, 1024, Way::Bulk, 4);
        }
        run("half-2", 1024, Way::Batches, 4);
    }
}

/// Each pair within the distance is found twice, once from each side, and each entry finds itself.
#[test]
fn batch_query_finds_every_pair_of_real_fingerprints() {
    let histogram = String::from_utf8(read("pair_histogram.tsv")).unwrap();
    let pairs = histogram.lines().skip(1).map(|line| line.split_once('\t').unwrap());
    let pairs: BTreeMap<u32, usize> =
        pairs.map(|(d, pairs)| (d.parse().unwrap(), pairs.parse().unwrap())).collect();

    let data = &*DATA;
    let db = Db::options().storage(Sim::new()).create("sim").unwrap();
    let _ = db.bulk_load(data.entries.iter().copied().map(Ok)).unwrap();
    let queries: Vec<u64> = data.entries.iter().map(|e| e.fingerprint).collect();
    let mut found = BTreeMap::<u32, usize>::new();
    for m in db.snapshot().query_batch(&queries, 3).unwrap().matches() {
        *found.entry(m.distance).or_default() += 1;
    }
    for distance in 0..=3 {
        let itself = if distance == 0 { queries.len() } else { 0 };
        assert_eq!(found[&distance], 2 * pairs[&distance] + itself, "at distance {distance}");
    }
}
