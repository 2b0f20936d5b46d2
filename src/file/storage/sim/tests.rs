//! What the simulation can lose, what it never loses, and that tests with it notice a missing sync.

use std::collections::BTreeSet;

use super::*;
use crate::file::storage::Disk;

fn all() -> CrashLimits {
    CrashLimits { exhaustive: usize::MAX, ..CrashLimits::default() }
}

/// The distinct contents of `name` over all states after the last operation.
fn outcomes(sim: &Sim, name: &str) -> BTreeSet<Option<Vec<u8>>> {
    sim.crash_states(sim.operations(), all()).map(|state| state.contents(name)).collect()
}

fn some(bytes: &[u8]) -> Option<Vec<u8>> {
    Some(bytes.to_vec())
}

/// A folder with a durable, synced file.
fn with_file(name: &str, bytes: &[u8]) -> (Arc<Sim>, Arc<dyn WriteFile>) {
    let sim = Sim::new();
    sim.create_root().unwrap();
    let file = sim.create(name).unwrap();
    file.append(bytes).unwrap();
    file.sync().unwrap();
    sim.sync_dir().unwrap();
    (sim, file)
}

#[test]
fn synced_bytes_are_in_every_state() {
    let (sim, file) = with_file("a", b"synced");
    assert_eq!(outcomes(&sim, "a"), [some(b"synced")].into());
    file.append(&[7; 5000]).unwrap();
    sim.create("b").unwrap().append(b"x").unwrap();
    let found = outcomes(&sim, "a");
    assert!(found.len() > 60, "{}", found.len());
    assert!(found.iter().all(|bytes| bytes.as_ref().unwrap().starts_with(b"synced")));
}

#[test]
fn unsynced_append_may_be_lost_torn_or_leave_a_hole() {
    let (sim, file) = with_file("a", b"");
    file.append(&[7; 1024]).unwrap();
    let found = outcomes(&sim, "a");
    let torn = [[7; 512], [0; 512]].concat();
    let hole = [[0; 512], [7; 512]].concat();
    for expected in [&[][..], &[7; 1024], &torn, &hole, &[0; 1024]] {
        assert!(found.contains(&some(expected)), "{expected:?}");
    }
    // The three with holes come with zeros and with noise.
    assert_eq!(found.len(), 2 + 2 * 3);
    assert!(found.iter().flatten().all(|bytes| bytes.len() == 1024 || bytes.is_empty()));
}

#[test]
fn sector_is_written_all_or_nothing() {
    let (sim, file) = with_file("a", b"");
    file.append(b"one").unwrap();
    file.append(b"two").unwrap();
    let found = outcomes(&sim, "a");
    assert!(found.contains(&some(b"one\0\0\0")) && found.contains(&some(b"onetwo")));
    assert!(!found.contains(&some(b"\0\0\0two")), "the second carries the first");
    assert_eq!(
        found,
        found.iter().filter(|f| f.as_ref().unwrap().len() % 3 == 0).cloned().collect()
    );
}

#[test]
fn unwritten_bytes_may_come_from_an_older_file() {
    let (sim, _) = with_file("1.log", b"old frame");
    sim.remove("1.log").unwrap();
    let new = sim.create("2.log").unwrap();
    sim.sync_dir().unwrap();
    new.append(b"new").unwrap();
    assert!(outcomes(&sim, "2.log").contains(&some(b"old")));
}

#[test]
fn name_is_durable_only_after_a_sync_of_the_folder() {
    let sim = Sim::new();
    sim.create_root().unwrap();
    let file = sim.create("a").unwrap();
    file.append(b"x").unwrap();
    file.sync().unwrap();
    assert_eq!(outcomes(&sim, "a"), [None, some(b"x")].into());
    sim.sync_dir().unwrap();
    assert_eq!(outcomes(&sim, "a"), [some(b"x")].into());
}

#[test]
fn durable_name_may_have_an_empty_file() {
    let sim = Sim::new();
    sim.create_root().unwrap();
    sim.create("a").unwrap().append(b"x").unwrap();
    sim.sync_dir().unwrap();
    let found = outcomes(&sim, "a");
    assert!(found.contains(&some(b"")) && found.contains(&some(b"x")) && !found.contains(&None));
}

#[test]
fn rename_without_a_sync_of_the_folder_leaves_old_or_new() {
    let (sim, _) = with_file("current", b"old");
    let file = sim.create("tmp").unwrap();
    file.append(b"new").unwrap();
    file.sync().unwrap();
    sim.rename("tmp", "current").unwrap();
    assert_eq!(outcomes(&sim, "current"), [some(b"old"), some(b"new")].into());
    sim.sync_dir().unwrap();
    assert_eq!(outcomes(&sim, "current"), [some(b"new")].into());
    assert_eq!(outcomes(&sim, "tmp"), [None].into());
}

#[test]
fn operations_on_names_reach_the_disk_in_any_order() {
    let (sim, _) = with_file("a", b"");
    sim.remove("a").unwrap();
    drop(sim.create("b").unwrap());
    let lists: BTreeSet<_> = sim
        .crash_states(sim.operations(), all())
        .map(|state| state.list().unwrap().unwrap().concat())
        .collect();
    assert_eq!(lists, ["", "a", "ab", "b"].map(String::from).into());
}

#[test]
fn folder_is_lost_only_if_its_creation_is_not_synced() {
    let (sim, _) = with_file("a", b"x");
    assert!(sim.crash_states(0, all()).all(|state| state.list().unwrap().is_none()));
    assert_eq!(outcomes(&sim, "a"), [some(b"x")].into());
    sim.skip_syncs("create_root");
    assert_eq!(outcomes(&sim, "a"), [None, some(b"x")].into());
    sim.skip_no_more();
    assert_eq!(outcomes(&sim, "a"), [some(b"x")].into());
}

#[test]
fn sync_after_a_failed_sync_proves_nothing() {
    let (sim, file) = with_file("a", b"");
    file.append(b"one").unwrap();
    sim.fail_at(sim.calls(), Fault::Error, false);
    assert!(file.sync().is_err());
    file.sync().unwrap();
    file.append(&[1; 600]).unwrap();
    file.sync().unwrap();
    let found = outcomes(&sim, "a");
    assert!(found.contains(&some(&[&[0; 3][..], &[1; 600]].concat())), "still a hole");
    assert!(found.iter().all(|bytes| bytes.as_ref().unwrap().ends_with(&[1; 600])));
}

#[test]
fn state_can_be_used_and_crashed_again() {
    let (sim, file) = with_file("a", b"x");
    let _held = sim.lock().unwrap();
    let id = sim.fresh_id().unwrap();
    file.append(b"y").unwrap();
    for state in sim.crash_states(sim.operations(), all()) {
        let _unlocked = state.lock().unwrap();
        assert_eq!((state.operations() > 1, state.fresh_id().unwrap()), (false, id + 1));
        let before = state.contents("a");
        state.create("b").unwrap().append(b"z").unwrap();
        let again: Vec<_> = state.crash_states(state.operations(), all()).collect();
        assert!(again.len() > 2);
        for second in again {
            assert_eq!(second.contents("a"), before, "durable after the first crash");
            assert_eq!(second.describe().matches("crash after").count(), 2);
        }
        assert_eq!(sim.contents("b"), None, "a state is a world of its own");
    }
}

#[test]
fn states_differ_and_come_in_the_same_order_each_time() {
    let (sim, file) = with_file("a", b"x");
    for n in 0..12u8 {
        drop(sim.create(&format!("f{n}")).unwrap());
        file.append(&[n; 700]).unwrap();
    }
    let run = |seed| -> Vec<_> {
        let limits = CrashLimits { seed, samples: 500, ..CrashLimits::default() };
        sim.crash_states(sim.operations(), limits)
            .map(|state| (state.list().unwrap(), state.contents("a")))
            .collect()
    };
    let first = run(1);
    assert!(first.len() > 400, "{}", first.len());
    assert_eq!(first, run(1));
    assert_ne!(first, run(2));
    assert_eq!(first.iter().collect::<BTreeSet<_>>().len(), first.len());
    let full: Vec<String> = (0..12).map(|n| format!("f{n}")).collect();
    let kept = |n: usize| {
        first.iter().any(|(names, _)| {
            names.as_ref().unwrap().iter().filter(|name| *name != "a").count() == n
                && full[..n].iter().all(|name| names.as_ref().unwrap().contains(name))
        })
    };
    assert!((0..=12).all(kept), "every prefix is among them");
}

#[test]
fn state_describes_what_was_kept_and_lost() {
    let (sim, file) = with_file("a.log", b"x");
    file.append(&[1; 511]).unwrap();
    drop(sim.create("b").unwrap());
    let texts: Vec<_> =
        sim.crash_states(sim.operations(), all()).map(|state| state.describe()).collect();
    assert_eq!(
        texts[0],
        "crash after operation 7 (create b), seed 0: kept [size 1 of a.log], \
         lost [create b, bytes 1..512 of a.log], unwritten bytes are Zeros"
    );
    assert!(texts.iter().any(|text| text.contains("kept [create b, size 512 of a.log], lost []")));
}

#[test]
fn faults_hit_the_requested_call() {
    let (sim, file) = with_file("a", b"");
    sim.fail_at(sim.calls() + 1, Fault::Error, false);
    file.append(b"ab").unwrap();
    let error = sim.read("a", 1 << 20).unwrap_err();
    assert!(error.to_string().contains("injected"), "{error}");
    sim.read("a", 1 << 20).unwrap();

    sim.fail_at(sim.calls(), Fault::ShortWrite, false);
    assert!(file.append(b"cdef").is_err());
    assert_eq!(sim.read("a", 1 << 20).unwrap(), b"abcd");

    sim.fail_at(sim.calls(), Fault::ShortRead, true);
    let calls = sim.calls();
    assert!(file.append(b"").is_ok() && sim.sync_dir().is_ok());
    assert_eq!(sim.first_failed(), None);
    for _ in 0..2 {
        assert!(sim.read("a", 1 << 20).unwrap_err().to_string().contains("end of file"));
        assert!(sim.open("a").is_err());
    }
    assert_eq!(sim.first_failed(), Some(calls + 2));

    sim.fail_at(sim.calls(), Fault::Quota, false);
    let error = file.append(b"efgh").unwrap_err();
    assert!(error.to_string().contains("quota is used up"), "{error}");
    assert_eq!(sim.read("a", 1 << 20).unwrap(), b"abcdef");

    sim.fail_at(sim.calls(), Fault::NoSpace, true);
    for _ in 0..2 {
        assert_eq!(sim.read("a", 1 << 20).unwrap().len(), 6, "reads still work");
        let error = sim.create("b").unwrap_err();
        assert!(error.to_string().contains("the disk is full"), "{error}");
        assert!(file.append(b"").is_err() && file.sync().is_err() && sim.sync_dir().is_err());
    }
    sim.remove("a").unwrap();
    sim.fail_no_more();
    sim.create("b").unwrap();
}

#[test]
fn contents_can_be_replaced_durably_under_an_open_file() {
    let (sim, _) = with_file("a", b"sound");
    let opened = sim.open("a").unwrap();
    sim.set_contents("a", b"damaged");
    sim.set_contents("b", b"planted");
    let mut bytes = [0; 5];
    opened.read_at(0, &mut bytes).unwrap();
    assert_eq!((&bytes, sim.contents("a")), (b"sound", some(b"damaged")));
    assert_eq!(outcomes(&sim, "a"), [some(b"damaged")].into());
    assert_eq!(outcomes(&sim, "b"), [some(b"planted")].into());
}

#[test]
fn marks_keep_their_position_among_the_operations() {
    let (sim, file) = with_file("a", b"");
    sim.mark(1);
    file.append(b"x").unwrap();
    sim.mark(2);
    let n = sim.operations();
    assert_eq!(sim.marks(), [(n - 1, 1), (n, 2)]);
    let syncs = ["create_root", "create a", "append bytes 0..0 to a", "sync a", "sync_dir"];
    assert_eq!(sim.record()[..5], syncs);
}

/// A small protocol: the file `current` holds a whole value, swapped by a rename; each value names
/// a data file that must be there.
mod toy {
    use super::*;

    pub(super) const VALUES: u8 = 5;

    pub(super) fn create(storage: &dyn Storage) {
        storage.create_root().unwrap();
        swap(storage, 0);
    }

    pub(super) fn data_name(value: u8) -> String {
        format!("{value}.data")
    }

    pub(super) fn swap(storage: &dyn Storage, value: u8) {
        let data = storage.create(&data_name(value)).unwrap();
        data.append(&[value + 1; 1500]).unwrap();
        data.sync().unwrap();
        storage.sync_dir().unwrap();
        let tmp = storage.create("current.tmp").unwrap();
        tmp.append(&[value; 600]).unwrap();
        tmp.sync().unwrap();
        storage.rename("current.tmp", "current").unwrap();
        storage.sync_dir().unwrap();
        if value > 0 {
            storage.remove(&data_name(value - 1)).unwrap();
        }
    }

    /// The value, if the folder is whole.
    pub(super) fn read(storage: &dyn Storage) -> std::result::Result<Option<u8>, String> {
        let Ok(current) = storage.read("current", 1 << 20) else { return Ok(None) };
        let value = *current.first().ok_or("empty")?;
        if current != [value; 600] {
            return Err("torn".into());
        }
        let data = storage.read(&data_name(value), 1 << 20).map_err(|e| e.to_string())?;
        if data == [value + 1; 1500] { Ok(Some(value)) } else { Err("data".into()) }
    }

    /// Runs the protocol; after which operation each value was acknowledged.
    pub(super) fn run(sim: &Sim) -> Vec<usize> {
        create(sim);
        let mut acknowledged = vec![sim.operations()];
        for value in 1..VALUES {
            swap(sim, value);
            acknowledged.push(sim.operations());
        }
        acknowledged
    }

    /// Looks at every state after every operation: how many there are, and those that break the
    /// promise.
    pub(super) fn check(sim: &Sim, acknowledged: &[usize]) -> (usize, Vec<String>) {
        let (mut states, mut broken) = (0, Vec::new());
        for at in 0..=sim.operations() {
            let least =
                acknowledged.iter().rposition(|&n| n <= at).and_then(|v| u8::try_from(v).ok());
            for state in sim.crash_states(at, CrashLimits::default()) {
                states += 1;
                match read(&*state) {
                    Ok(found) if found >= least => {}
                    other => broken.push(format!("{other:?} {}", state.describe())),
                }
            }
        }
        (states, broken)
    }
}

#[test]
fn correct_protocol_survives_in_every_state() {
    let sim = Sim::new();
    let acknowledged = toy::run(&sim);
    let (states, broken) = toy::check(&sim, &acknowledged);
    assert_eq!(broken, [""; 0]);
    assert!(states > 300, "{states}");
    let folder = tempfile::tempdir().unwrap();
    let disk = Disk::new(folder.path().join("toy"));
    toy::create(&disk);
    toy::swap(&disk, 1);
    assert_eq!(toy::read(&disk), Ok(Some(1)), "the same on a disk");
}

#[test]
fn every_omitted_sync_and_rename_is_noticed() {
    let sim = Sim::new();
    let acknowledged = toy::run(&sim);
    let record = sim.record();
    let (mut syncs, mut renames) = (0, 0);
    for (n, label) in record.iter().enumerate() {
        let is_rename = label.starts_with("rename");
        if !is_rename && !label.starts_with("sync") && label != "create_root" {
            continue;
        }
        sim.skip_operation(n);
        let (_, broken) = toy::check(&sim, &acknowledged);
        assert!(!broken.is_empty(), "operation {n} ({label}) is not missed");
        sim.skip_no_more();
        (syncs, renames) = (syncs + usize::from(!is_rename), renames + usize::from(is_rename));
    }
    assert_eq!((syncs, renames), (1 + 4 * usize::from(toy::VALUES), toy::VALUES.into()));
    for label in ["create_root", "sync_dir", "sync current.tmp", "sync 3.data"] {
        sim.skip_syncs(label);
        assert!(!toy::check(&sim, &acknowledged).1.is_empty(), "{label}");
        sim.skip_no_more();
    }
}

#[test]
fn rename_that_removes_its_target_first_is_noticed() {
    let sim = Sim::new();
    let acknowledged = toy::run(&sim);
    let record = sim.record();
    let renames = record.iter().enumerate().filter(|(_, label)| label.starts_with("rename"));
    // The first one replaces nothing.
    for (n, label) in renames.skip(1) {
        sim.split_rename(n);
        assert!(!toy::check(&sim, &acknowledged).1.is_empty(), "operation {n} ({label})");
        sim.skip_no_more();
    }
}
