//! What the feature `tracing` reports. Each test subscribes for its own thread.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use fpdb::storage::{Fault, Sim, Storage};
use fpdb::{Db, Durability, Options};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Level, Metadata, Subscriber};

use crate::counting::Counting;

/// The message and the other fields of an event, as text.
#[derive(Debug, Clone)]
struct Event {
    level: Level,
    fields: BTreeMap<&'static str, String>,
}

impl Event {
    fn get(&self, field: &str) -> &str {
        self.fields.get(field).unwrap_or_else(|| panic!("no {field} in {self:?}"))
    }

    fn number(&self, field: &str) -> u64 {
        self.get(field).parse().unwrap()
    }
}

impl Visit for Event {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.fields.insert(field.name(), format!("{value:?}"));
    }
}

/// Keeps every event of this crate.
#[derive(Clone, Default)]
struct Events(Arc<Mutex<Vec<Event>>>);

impl Subscriber for Events {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "fpdb"
    }

    fn event(&self, event: &tracing::Event<'_>) {
        let mut kept = Event { level: *event.metadata().level(), fields: BTreeMap::new() };
        event.record(&mut kept);
        self.0.lock().unwrap().push(kept);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// Returns what `run` reports in this thread.
///
/// While only one subscriber lives, `tracing` asks the current thread's subscriber alone whether
/// anybody wants an event that happens for the first time, and remembers the answer. A test in
/// another thread, which has no subscriber, would answer "never" for all. Two that live as long as
/// the process make it ask every subscriber.
fn events(run: impl FnOnce()) -> Vec<Event> {
    static OTHERS: OnceLock<[Dispatch; 2]> = OnceLock::new();
    OTHERS.get_or_init(|| [(); 2].map(|()| Dispatch::new(Events::default())));
    let kept = Events::default();
    tracing::subscriber::with_default(kept.clone(), run);
    let events = kept.0.lock().unwrap();
    events.clone()
}

fn with_message<'e>(events: &'e [Event], message: &str) -> Vec<&'e Event> {
    events.iter().filter(|event| event.get("message") == message).collect()
}

fn one<'e>(events: &'e [Event], message: &str) -> &'e Event {
    let [event] = with_message(events, message)[..] else { panic!("{message}: {events:?}") };
    event
}

/// Options for a database on `sim` that does everything in the calling thread.
fn options(sim: &Arc<Sim>) -> Options {
    Db::options().storage(sim.clone() as Arc<dyn Storage>).background(false)
}

#[test]
fn open_is_reported_with_what_is_in_the_database() {
    let sim = Sim::new();
    let all = events(|| {
        let db = options(&sim).create("sim").unwrap();
        db.insert(7, 1).unwrap();
        db.close().unwrap();
        drop(options(&sim).open_read_only("sim").unwrap());
    });
    let [created, reader] = with_message(&all, "opened")[..] else { panic!("{all:?}") };
    assert_eq!(created.level, Level::INFO);
    assert_eq!((created.get("path"), created.get("read_only")), ("sim", "false"));
    assert_eq!((created.number("entries"), created.number("segments")), (0, 0));
    assert_eq!((reader.get("path"), reader.get("read_only")), ("sim", "true"));
    assert_eq!((reader.number("entries"), reader.number("segments")), (1, 1));
    assert_eq!(created.get("format"), "1.0");
    assert!(with_message(&all, "recovered").is_empty(), "the database was closed: {all:?}");
}

#[test]
fn recovery_is_reported_with_what_was_in_the_log() {
    let sim = Sim::new();
    let db = options(&sim).create("sim").unwrap();
    db.write(&[(7u64, 1u64), (8, 2)]).run().unwrap();
    db.insert(9, 3).unwrap();
    drop(db);
    sim.create("0000000000000099.log").unwrap();
    let all = events(|| drop(options(&sim).open("sim").unwrap()));
    let recovered = one(&all, "recovered");
    assert_eq!(recovered.level, Level::INFO);
    assert_eq!((recovered.number("commits"), recovered.number("operations")), (2, 3));
    assert_eq!((recovered.get("torn_tail"), recovered.number("orphans")), ("false", 1));
    assert_eq!(one(&all, "opened").number("entries"), 3);
}

#[test]
fn flush_and_compaction_are_reported_with_their_segments_and_bytes() {
    let db = options(&Sim::new()).create("sim").unwrap();
    let mut bytes_in = 0;
    let all = events(|| {
        for i in 0..2u64 {
            db.insert(i << 40, i).unwrap();
            db.insert(i << 20 | 1, i).unwrap();
            db.flush().unwrap();
        }
        bytes_in = db.stats().bytes_flushed;
        db.compact().unwrap();
    });
    let [first, second] = with_message(&all, "flushed")[..] else { panic!("{all:?}") };
    assert_eq!((first.level, first.get("path"), first.number("entries")), (Level::DEBUG, "sim", 2));
    assert_eq!(first.number("bytes") + second.number("bytes"), bytes_in);
    let compacted = one(&all, "compacted");
    assert_eq!((compacted.level, compacted.get("path")), (Level::DEBUG, "sim"));
    let inputs = format!("[{}, {}]", first.get("segment"), second.get("segment"));
    assert_eq!(compacted.get("inputs"), inputs);
    let output = compacted.get("outputs").trim_matches(['[', ']']).parse::<u64>().unwrap();
    assert!(output > second.number("segment"), "{compacted:?}");
    assert_eq!(compacted.number("bytes_in"), bytes_in);
    assert_eq!(compacted.number("bytes_out"), db.stats().bytes_compacted);
    for event in [first, second, compacted] {
        assert!(event.number("duration_us") < 60_000_000, "{event:?}");
    }
}

/// Holds up a flush for this long while a writer needs room, and returns the writer's events.
fn events_of_stalled_writer(hold: Duration) -> Vec<Event> {
    const SIZE: u64 = 8;
    let storage = Counting::new(Sim::new(), Duration::ZERO);
    let options = Db::options().storage(storage.clone() as Arc<dyn Storage>).memtable_entries(8);
    let db = options.durability(Durability::Buffered).create("sim").unwrap();
    storage.hold(Some(".t00"));
    let insert = |from: u64, to: u64| {
        let db = db.clone();
        move || {
            events(|| {
                for i in from..to {
                    db.insert(i << 32, i).unwrap();
                }
            })
        }
    };
    let before = thread::spawn(insert(0, 3 * SIZE)).join().unwrap();
    assert!(before.is_empty(), "delays are not events: {before:?}");
    storage.wait_for_held_call();
    let writer = thread::spawn(insert(3 * SIZE, 3 * SIZE + 1));
    thread::sleep(hold);
    storage.hold(None);
    writer.join().unwrap()
}

#[test]
fn long_stall_is_reported_by_the_writer_that_waited() {
    // On a busy machine, the writer may begin to wait only when the hold is nearly over.
    let is_long = |events: &Vec<Event>, hold: Duration| {
        let stalls = with_message(events, "a writer waited for flush and compaction");
        assert!(stalls.iter().all(|event| event.level == Level::WARN), "{stalls:?}");
        let micros = stalls.iter().map(|event| event.number("duration_us")).sum();
        Duration::from_micros(micros) >= hold / 2
    };
    let mut holds = [20, 100, 500, 2500, 12_500].map(Duration::from_millis).into_iter();
    assert!(holds.any(|hold| is_long(&events_of_stalled_writer(hold), hold)));
}

#[test]
fn failure_that_poisons_the_handle_is_reported_once() {
    let sim = Sim::new();
    let db = options(&sim).create("sim").unwrap();
    db.insert(6, 1).unwrap();
    let all = events(|| {
        sim.fail_at(sim.calls(), Fault::Error, false);
        db.insert(7, 1).unwrap_err();
        db.insert(7, 1).unwrap_err();
    });
    let poisoned = one(&all, "no more writes are accepted");
    assert_eq!((poisoned.level, all.len()), (Level::ERROR, 1));
    let error = poisoned.get("error");
    assert!(error.contains("injected fault") && error.contains("sim"), "{error}");
}

#[test]
fn failed_compaction_of_a_call_that_succeeds_is_reported() {
    let sim = Sim::new();
    let db = options(&sim).create("sim").unwrap();
    sim.set_free_space(2 << 20);
    let all = events(|| {
        for i in 0..2u64 {
            db.insert(i << 40, i).unwrap();
            db.flush().unwrap();
        }
    });
    let failed = one(&all, "flush or compaction failed");
    assert_eq!((failed.level, failed.get("path")), (Level::ERROR, "sim"));
    assert_eq!(Some(failed.get("error")), db.stats().background_error.as_deref());
}

#[test]
fn a_full_disk_is_reported_once_even_if_writes_succeed_in_between() {
    let sim = Sim::new();
    let db = options(&sim).create("sim").unwrap();
    let all = events(|| {
        for _ in 0..2 {
            sim.set_free_space(1000);
            (0..3).for_each(|i| drop(db.insert(i << 40, i).unwrap_err()));
            sim.set_free_space(1 << 30);
            db.insert(7, 7).unwrap();
            // What the write was granted in advance ends with the log.
            db.flush().unwrap();
        }
    });
    let refused = with_message(&all, "writes are refused");
    assert_eq!(refused.len(), 1, "{all:?}");
    assert_eq!(refused[0].level, Level::WARN);
    assert!(refused[0].get("error").contains("the disk is full"), "{all:?}");
    assert_eq!(db.stats().refused_writes, 6);
}
