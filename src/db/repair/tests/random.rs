//! Databases with random damage of all kinds.

use std::collections::HashSet;

use super::*;
use crate::ErrorKind;

/// A database to damage.
struct Intact<F> {
    ids: Ids,
    /// The files at some time before, at the end, and of a database that went another way.
    earlier: BTreeMap<String, Vec<u8>>,
    files: BTreeMap<String, Vec<u8>>,
    other: BTreeMap<String, Vec<u8>>,
    /// What the database said after each commit, and what the other one said.
    states: Vec<Contents<F>>,
    states_of_other: Vec<Contents<F>>,
}

/// Writes to a database, and adds what it says after each commit to `states`.
fn write<F: Fingerprint>(
    options: &Options<F>,
    ids: Ids,
    path: &Path,
    from: u64,
    states: &mut Vec<Contents<F>>,
) {
    let db: Db<F> = options.clone().open(path).unwrap();
    let name = |i: u64| format!("https://example.org/{i}");
    let commit = |states: &mut Vec<Contents<F>>, batch: &[(u64, u64)], remembers: bool| {
        let names: Vec<String> = batch.iter().map(|&(_, i)| name(i)).collect();
        let keyed = batch.iter().zip(&names).map(|(&(f, i), name)| match ids {
            Ids::Names => (fingerprint::<F>(f), Key::from(name.as_str())),
            _ => (fingerprint::<F>(f), Key::from(DocId(i))),
        });
        let keyed: Vec<_> = keyed.collect();
        let write = db.write(&keyed);
        let _ = match remembers && ids != Ids::User {
            true => write.unless_near(0).or_update(OnDuplicate::Remember).run().unwrap(),
            false => write.run().unwrap(),
        };
        states.push(contents(&db.snapshot()));
    };
    let batch = |range: std::ops::Range<u64>, shift: u64| -> Vec<(u64, u64)> {
        range.map(|i| (i.wrapping_add(shift), i)).collect()
    };
    commit(states, &batch(from..from + 300, 0), false);
    db.flush().unwrap();
    commit(states, &batch(from + 300..from + 350, 0), false);
    // Duplicates, of which some become originals, and new fingerprints.
    commit(states, &batch(from + 310..from + 330, 9000), false);
    commit(states, &batch(from + 350..from + 370, u64::MAX - 299), true);
    for i in (from..from + 300).step_by(17) {
        match ids {
            Ids::User => assert!(db.remove_entry(fingerprint(i), DocId(i)).unwrap()),
            Ids::Unique => assert!(db.remove(DocId(i)).unwrap()),
            Ids::Names => assert!(db.remove(&*name(i)).unwrap()),
        }
        states.push(contents(&db.snapshot()));
    }
    db.flush().unwrap();
    commit(states, &batch(from + 350..from + 360, 7000), true);
    commit(states, &batch(from + 370..from + 400, 0), false);
}

fn intact<F: Fingerprint>(options: &Options<F>, ids: Ids) -> Intact<F> {
    let folder = tempfile::tempdir().unwrap();
    let [path, copy] = ["db", "copy"].map(|name| folder.path().join(name));
    let options = options.clone().ids(ids).background(false);
    drop(options.clone().create(&path).unwrap());
    let mut states = Vec::new();
    write(&options, ids, &path, 0, &mut states);
    let earlier = files(&path);
    std::fs::create_dir(&copy).unwrap();
    earlier.iter().for_each(|(name, bytes)| std::fs::write(copy.join(name), bytes).unwrap());
    let mut states_of_other = Vec::new();
    write(&options, ids, &copy, 5000, &mut states_of_other);
    write(&options, ids, &path, 1000, &mut states);
    Intact { ids, earlier, files: files(&path), other: files(&copy), states, states_of_other }
}

/// Damages a file. Returns what was done.
fn damage<F>(
    intact: &Intact<F>,
    files: &mut BTreeMap<String, Vec<u8>>,
    random: &mut fastrand::Rng,
) -> String {
    let names: Vec<String> = files.keys().filter(|name| *name != "LOCK").cloned().collect();
    let Some(name) = random.choice(&names).cloned() else { return String::new() };
    let mut bytes = files[&name].clone();
    let at = random.usize(0..=bytes.len());
    let kind = random.u32(0..8);
    match kind {
        0 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << random.u32(0..8)),
        1 => bytes.iter_mut().skip(at).take(512).for_each(|byte| *byte = random.u8(..)),
        2 => bytes.truncate(at),
        3 => bytes.iter_mut().skip(16).for_each(|byte| *byte = 0),
        4 => bytes.extend(vec![0; at]),
        5 | 6 => {
            let source = if kind == 5 { &intact.earlier } else { &intact.other };
            match source.get(&name) {
                Some(other) => bytes.clone_from(other),
                None => bytes.clear(),
            }
        }
        _ => {
            files.remove(&name);
            return format!("{name} removed");
        }
    }
    files.insert(name.clone(), bytes);
    format!("{name}: damage {kind} at {at}")
}

fn check<F: Fingerprint>(options: &Options<F>, intact: &Intact<F>, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut files = intact.files.clone();
    let done: Vec<String> =
        (0..random.u32(1..6)).map(|_| damage(intact, &mut files, &mut random)).collect();
    let folder = tempfile::tempdir().unwrap();
    let [path, fixed] = ["broken", "fixed"].map(|name| folder.path().join(name));
    std::fs::create_dir(&path).unwrap();
    files.iter().for_each(|(name, bytes)| std::fs::write(path.join(name), bytes).unwrap());
    let what = format!("seed {seed}, {}: {done:?}", intact.ids);
    let is_whole = |name: &String| intact.files.get(name) == files.get(name);
    let report = match options.clone().build(&fixed, Source::damaged(&path)) {
        Ok(report) => report,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Corruption, "{what}: {error}");
            let say = |name: &&String| name.starts_with("MANIFEST") || kind_of(name) == "spare";
            let left: Vec<_> =
                intact.files.keys().filter(say).filter(|name| is_whole(name)).collect();
            assert!(left.is_empty(), "{what}: refused in spite of {left:?}: {error}");
            return;
        }
    };
    assert!(files == super::files(&path), "{what}: the source was changed");
    let db = options.clone().open_read_only(&fixed).unwrap();
    assert_eq!(db.snapshot().verify(VerifyLevel::Deep).unwrap().errors.len(), 0, "{what}");
    let found = contents(&db.snapshot());
    let opened = options.clone().background(false).open(&path);
    assert!(opened.is_ok() || !report.damage.is_empty(), "{what}: {:?}", opened.err());

    let expected = intact.states.last().unwrap();
    // What is cut off of a log is a shorter history.
    let is_shorter = || {
        files.keys().any(|name| kind_of(name) == "log" && !is_whole(name))
            && intact.states.contains(&found)
    };
    let is_told = !report.losses.is_empty();
    assert!(is_told || found == *expected || is_shorter(), "{what}: {report:?}");

    // Files of both together with a manifest of one of them are that one's.
    let has_other = done.iter().any(|done| done.contains("damage 6"));
    let of_other = intact.states_of_other.iter().filter(|_| has_other);
    let written: HashSet<_> = intact
        .states
        .iter()
        .chain(of_other)
        .flat_map(|state| {
            let entries = state.entries.iter().map(|entry| (None, entry.id, entry.fingerprint));
            let documents = &state.documents;
            let named = documents.iter().map(|(name, d)| (name.clone(), d.id, d.fingerprint));
            let by_id = documents.iter().map(|(_, d)| (None, d.id, d.fingerprint));
            entries.chain(named).chain(by_id).collect::<Vec<_>>()
        })
        .collect();
    for entry in &found.entries {
        let is_written = written.contains(&(None, entry.id, entry.fingerprint));
        assert!(is_written, "{what}: {entry:?} was never written");
    }
    for (name, document) in &found.documents {
        let name = name.clone().filter(|name| !name.starts_with("(lost name of id "));
        let is_written = written.contains(&(name.clone(), document.id, document.fingerprint));
        assert!(is_written, "{what}: {name:?} {document:?} was never written");
    }
}

/// `FPDB_DAMAGED` is the number of databases of each kind.
#[test]
fn repair_of_random_damage_adds_nothing_and_reports_what_is_missing() {
    let count = std::env::var("FPDB_DAMAGED").map_or(60, |count| count.parse().unwrap());
    for (options, ids, _) in all_64() {
        let intact = intact(&options, ids);
        (0..count).for_each(|seed| check(&options, &intact, seed));
    }
    let options = Options::sketches();
    let intact = intact(&options, Ids::Names);
    (0..count).for_each(|seed| check(&options, &intact, seed));
}
