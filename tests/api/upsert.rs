//! Threads that update the same documents at the same time: the outcomes and the final state are
//! the same as if one thread had made these calls one after another.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use fpdb::storage::Sim;
use fpdb::{Db, Durability, Ids, OnDuplicate, Options, Outcome, Snapshot, Stamped};

use crate::common::Rng;
use crate::common::documents::{Known, Model, assert_documents, stamped};

const THREADS: u64 = 8;
const CALLS: u64 = 250;
const DISTANCE: u32 = 3;

/// A call and what it returned.
#[derive(Debug)]
struct Call {
    documents: Vec<(u64, Vec<u8>, Option<u64>)>,
    /// `None` for `insert_if_novel`.
    on_duplicate: Option<OnDuplicate>,
    within: u32,
    returned: Vec<Outcome>,
}

/// The documents and fingerprints of all threads.
struct Choices {
    centres: Vec<u64>,
    ids: Ids,
}

impl Choices {
    fn key(&self, rng: &mut Rng) -> Vec<u8> {
        let number = rng.below(24);
        match self.ids {
            Ids::Names => format!("https://a.example/{number}").into_bytes(),
            _ => number.to_be_bytes().to_vec(),
        }
    }

    /// Makes up a call, without what it returns.
    fn call(&self, rng: &mut Rng) -> Call {
        let count = if rng.one_in(3) { rng.within(2, 5) } else { 1 };
        let document = |rng: &mut Rng| {
            let weight = rng.pick(&[0, 0, 1, 2, 4]);
            let centre = rng.pick(&self.centres);
            let fingerprint = rng.near(centre, weight);
            let stamp = (!rng.one_in(3)).then(|| rng.below(50));
            (fingerprint, self.key(rng), stamp)
        };
        let documents = (0..count).map(|_| document(rng)).collect();
        let rules = [OnDuplicate::Keep, OnDuplicate::Remove, OnDuplicate::Remember].map(Some);
        let on_duplicate = if rng.one_in(6) { None } else { rng.pick(&rules) };
        let within = rng.pick(&[0, 1, DISTANCE, DISTANCE]);
        Call { documents, on_duplicate, within, returned: Vec::new() }
    }
}

/// Makes the call. Returns its place among all calls, which is counted under the writer's lock.
/// `None` if it was abandoned.
fn make(db: &Db, ids: Ids, call: &mut Call, order: &AtomicU64, abandon: bool) -> Option<u64> {
    let documents = call.documents.iter();
    let documents: Vec<(u64, Stamped<'_>)> =
        documents.map(|(f, key, stamp)| (*f, stamped(key, *stamp, ids))).collect();
    let mut place = None;
    let mut before_commit = || {
        if abandon {
            return Err(std::io::Error::other("abandoned"));
        }
        place = Some(order.fetch_add(1, Ordering::Relaxed));
        Ok(())
    };
    let write = db.write(&documents).unless_near(call.within);
    let write = match call.on_duplicate {
        Some(on_duplicate) => write.or_update(on_duplicate),
        None => write,
    };
    let returned = write.before_commit(|_| before_commit()).run();
    match returned {
        Ok(returned) => call.returned = returned,
        Err(error) => assert!(abandon, "{error}"),
    }
    place
}

fn replay(model: &mut Model<u64>, call: &Call) -> Vec<Outcome> {
    let documents = call.documents.iter();
    match call.on_duplicate {
        Some(on_duplicate) => {
            let upsert = |(f, key, stamp): &(u64, Vec<u8>, Option<u64>)| {
                model.upsert(key, *f, *stamp, call.within, on_duplicate)
            };
            documents.map(upsert).collect()
        }
        None => {
            let insert = |(f, key, stamp): &(u64, Vec<u8>, Option<u64>)| {
                model.insert_if_novel(key, *f, *stamp, call.within)
            };
            documents.map(insert).collect()
        }
    }
}

/// Returns the documents by their keys.
fn documents(snapshot: &Snapshot) -> BTreeMap<Vec<u8>, Known<u64>> {
    let documents = snapshot.documents().unwrap().map(Result::unwrap);
    documents
        .map(|(name, document)| {
            let key = name.map_or(document.id.0.to_be_bytes().to_vec(), String::into_bytes);
            (key, Known::of(&document))
        })
        .collect()
}

fn outcomes_are_those_of_one_thread(ids: Ids, durability: Durability) {
    let sim = Sim::new();
    let options = || -> Options<u64> { Db::options().storage(sim.clone()).memtable_entries(16) };
    let create = options().ids(ids).durability(durability).max_distance(DISTANCE);
    let db = create.create("sim").unwrap();
    let mut rng = Rng::new(5);
    let choices = Choices { centres: (0..10).map(|_| rng.fingerprint()).collect(), ids };
    let (order, ended) = (AtomicU64::new(0), AtomicBool::new(false));
    let (mut calls, seen) = thread::scope(|scope| {
        let run = |thread: u64| {
            let (db, choices, order) = (db.clone(), &choices, &order);
            move || {
                let mut rng = Rng::new(100 + thread);
                let mut made = Vec::new();
                for _ in 0..CALLS {
                    let mut call = choices.call(&mut rng);
                    let abandon = rng.one_in(20);
                    let place = make(&db, ids, &mut call, order, abandon);
                    made.extend(place.map(|place| (place, call)));
                }
                made
            }
        };
        let reader = scope.spawn(|| {
            let mut seen = Vec::new();
            while !ended.load(Ordering::Relaxed) {
                seen.push(documents(&db.snapshot()));
            }
            seen
        });
        let threads: Vec<_> = (0..THREADS).map(|t| scope.spawn(run(t))).collect();
        let calls = threads.into_iter().flat_map(|t| t.join().unwrap()).collect::<Vec<_>>();
        ended.store(true, Ordering::Relaxed);
        (calls, reader.join().unwrap())
    });
    calls.sort_by_key(|(place, _)| *place);
    let mut model = Model::<u64>::new(ids);
    let mut seen = seen.iter().peekable();
    let mut kinds = BTreeMap::<&str, usize>::new();
    while seen.next_if(|seen| **seen == model.documents).is_some() {}
    for (place, call) in &calls {
        let expected = replay(&mut model, call);
        assert_eq!(call.returned, expected, "call {place}: {call:?}");
        let name = |outcome: &Outcome| match outcome {
            Outcome::Inserted(_) => "inserted",
            Outcome::Unchanged(_) => "unchanged",
            Outcome::UnchangedDuplicate { .. } => "unchanged",
            Outcome::Updated { .. } => "updated",
            Outcome::Duplicate(_) => "duplicate",
            Outcome::Exists(_) => "exists",
        };
        expected.iter().for_each(|outcome| *kinds.entry(name(outcome)).or_default() += 1);
        // A snapshot shows what was there after some call, and later ones no less.
        while seen.next_if(|seen| **seen == model.documents).is_some() {}
    }
    assert_eq!(seen.count(), 0, "snapshots show states that no call has left");
    assert!(kinds.len() == 5 && kinds.values().all(|&count| count > 5), "{kinds:?}");
    assert!(db.stats().generation > 20, "there was hardly any flush: {:?}", db.stats());
    assert_documents(&db.snapshot(), &model);
    db.close().unwrap();
    let db = options().open("sim").unwrap();
    assert_documents(&db.snapshot(), &model);
    assert!(db.verify(fpdb::VerifyLevel::Full).unwrap().errors.is_empty());
}

#[test]
fn concurrent_updates_of_names_agree_with_a_serial_execution() {
    outcomes_are_those_of_one_thread(Ids::Names, Durability::Sync);
    outcomes_are_those_of_one_thread(Ids::Names, Durability::Buffered);
}

#[test]
fn concurrent_updates_of_unique_ids_agree_with_a_serial_execution() {
    outcomes_are_those_of_one_thread(Ids::Unique, Durability::Sync);
    outcomes_are_those_of_one_thread(Ids::Unique, Durability::Buffered);
}
