//! Real fingerprints with answers found by looking at every pair.
//!
//! The data is no part of the repository: where it is missing these tests say so and pass.
//! `FPDB_FULL=1` runs the whole product of layouts, block sizes and ways to load.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use fpdb::storage::Sim;
use fpdb::{Db, DocId, Entry, Fingerprint, Key, Layout, Match, Options};

use crate::common::entry;

/// Distances that the data has answers for.
const DISTANCES: [u32; 4] = [0, 3, 5, 8];

struct Query {
    asked: u64,
    /// All matches within the greatest distance.
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

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data")
}

/// The data, its answers computed here and compared with those that came with it.
fn data() -> Option<&'static Data> {
    static DATA: OnceLock<Option<Data>> = OnceLock::new();
    DATA.get_or_init(load).as_ref()
}

fn load() -> Option<Data> {
    let (Ok(bytes), Ok(table)) = (
        std::fs::read(folder().join("fp_dev.u64le")),
        std::fs::read_to_string(folder().join("fp_dev_queries.tsv")),
    ) else {
        // Not by a macro, whose output the harness keeps to itself.
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!(
                "skipped: no fp_dev.u64le and fp_dev_queries.tsv in {}\n",
                folder().display()
            ),
        );
        return None;
    };
    let entries: Vec<Entry> = (0..)
        .zip(bytes.as_chunks().0)
        .map(|(id, &bytes)| entry(u64::from_le_bytes(bytes), id))
        .collect();
    let queries = table.lines().skip(1).map(|line| read_query(line, &entries)).collect();
    Some(Data { entries, queries })
}

fn read_query(line: &str, entries: &[Entry]) -> Query {
    let columns: Vec<&str> = line.split('\t').collect();
    let asked = u64::parse(columns[0]).unwrap();
    let query = Query { asked, matches: search(entries, asked) };
    for (distance, count) in DISTANCES.into_iter().zip(&columns[2..6]) {
        let expected: usize = count.parse().unwrap();
        assert_eq!(query.expected(distance).len(), expected, "{asked:#x} within {distance}");
    }
    let pair = |text: &str| {
        let (id, distance) = text.split_once(':').unwrap();
        (DocId(id.parse().unwrap()), distance.parse::<u32>().unwrap())
    };
    let listed: BTreeMap<DocId, u32> =
        columns[6].split([',', ' ', ';']).filter(|text| !text.is_empty()).map(pair).collect();
    let found: BTreeMap<DocId, u32> =
        query.expected(3).iter().map(|m| (m.id, m.distance)).collect();
    assert_eq!(found, listed, "{asked:#x}");
    query
}

fn search(entries: &[Entry], asked: u64) -> Vec<Match> {
    let near = |e: &Entry| {
        let distance = e.fingerprint.distance(asked);
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
    /// Every how many queries one is asked.
    stride: usize,
}

impl Case<'_> {
    fn options(&self) -> Options<u64> {
        Db::options().storage(self.sim.clone()).memtable_entries(20_000).bulk_memory(1 << 20)
    }

    fn load(&self) -> Db {
        let layout = Layout::preset(self.layout, 64).unwrap();
        let db = self.options().layout(layout).block_size(self.block_size).create("sim").unwrap();
        match self.way {
            Way::Bulk => {
                let report = db.bulk_load(self.data.entries.iter().copied().map(Ok)).unwrap();
                assert_eq!(report.inserted, self.data.entries.len() as u64);
            }
            Way::Batches => {
                for chunk in self.data.entries.chunks(5000) {
                    let keys: Vec<(u64, Key<'_>)> =
                        chunk.iter().map(|e| (e.fingerprint, Key::from(e.id))).collect();
                    db.insert_batch(&keys).unwrap();
                }
            }
        }
        db
    }

    /// Compares all answers; `keeps` says which entries are left.
    fn check(&self, db: &Db, when: &str, keeps: impl Fn(DocId) -> bool) {
        let snapshot = db.snapshot();
        let kept = self.data.entries.iter().filter(|e| keeps(e.id)).count();
        assert_eq!(snapshot.len(), kept as u64, "{when}");
        for query in self.data.queries.iter().step_by(self.stride) {
            for distance in DISTANCES {
                let expected = query.expected(distance).iter().filter(|m| keeps(m.id)).copied();
                let found = snapshot.query(query.asked, distance).unwrap();
                assert!(
                    found.iter().copied().eq(expected),
                    "{} {} {:?} {when}: {:#x} within {distance} gives {found:?}",
                    self.layout,
                    self.block_size,
                    self.way,
                    query.asked
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
            assert!(db.remove(e.fingerprint, e.id).unwrap());
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
        let report = db.verify().unwrap();
        assert!(report.errors.is_empty(), "{:?}", report.errors);
    }
}

fn full() -> bool {
    std::env::var("FPDB_FULL").is_ok_and(|v| v == "1")
}

fn run(layout: &str, block_size: usize, way: Way, stride: usize) {
    if let Some(data) = data() {
        let stride = if full() { 1 } else { stride };
        Case { data, layout, block_size, way, sim: Sim::new(), stride }.run();
    }
}

/// What is asked beyond what a layout is made for may take long plans or scans, and be right.
#[test]
fn answers_on_real_fingerprints_are_exact_in_small_blocks() {
    if full() {
        for layout in Layout::preset_names() {
            run(layout, 128, Way::Bulk, 1);
            run(layout, 128, Way::Batches, 1);
        }
    } else {
        for layout in ["half-2", "ring-3", "quad-8", "paper-10"] {
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
        for layout in ["ring-4", "tri-6", "biplane-11", "paper-4", "paper-16", "paper-20"] {
            run(layout, 1024, Way::Bulk, 4);
        }
        run("half-2", 1024, Way::Batches, 4);
    }
}
