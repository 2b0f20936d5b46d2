//! Databases: damaged folders, and sequences of calls.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use fpdb::storage::{Sim, Storage};
use fpdb::{
    Db, DocId, Entry, Fingerprint, Ids, Key, Layout, Options, Outcome, Sketch, Snapshot, Source,
    VerifyLevel, Within,
};

use crate::repair::{self, Files};

fn options<F: Fingerprint>(new: Options<F>, sim: &Arc<Sim>) -> Options<F> {
    new.storage(sim.clone()).memtable_entries(64).background(false).index_memory(0)
}

/// Returns the files of a database with two segments, tombstones, documents and a log.
fn base() -> Files {
    let sim = Sim::new();
    let layout = Layout::preset("half-2", 64).expect("a preset");
    let new =
        options(Db::options(), &sim).ids(Ids::Names).layout(layout).block_size(128).filter_bits(10);
    let db = new.create("sim").expect("a new database");
    let name = |i: u64| format!("https://example.org/{i}");
    let fingerprint = |i: u64| (i / 4).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 1 << (i % 4);
    let insert = |ids: std::ops::Range<u64>| {
        for i in ids {
            db.insert(fingerprint(i), &name(i)).expect("an insert");
        }
    };
    insert(0..60);
    db.flush().expect("a flush");
    insert(60..80);
    for i in (0..60).step_by(5) {
        assert!(db.remove_entry(fingerprint(i), DocId(i)).expect("a removal"));
    }
    db.flush().expect("a flush");
    insert(80..90);
    drop(db);
    files_of(&sim)
}

/// Returns the files of a database of sketches with two segments.
fn base_of_sketches() -> Files {
    let sim = Sim::new();
    let new = options(Options::sketches(), &sim);
    let db = new.create("sim").expect("a new database");
    for i in 0..90u64 {
        let stranger = u128::from(i / 4).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        let planes = [0, 1, 2, 3, 4, 5].map(|plane| stranger.rotate_left(21 * plane));
        let sketch = Sketch::of_parts(planes, 0, [0; 16]);
        let bit = u32::try_from(i % 4 * 31).expect("a bit");
        db.insert(sketch.with_flipped(bit), DocId(i)).expect("an insert");
        if i % 60 == 59 {
            db.flush().expect("a flush");
        }
    }
    db.close().expect("a close");
    files_of(&sim)
}

fn files_of(sim: &Sim) -> Files {
    let names = sim.list().expect("a folder").unwrap_or_default();
    names.into_iter().filter_map(|name| Some((name.clone(), sim.contents(&name)?))).collect()
}

/// Returns the files of a database with names and every kind of file but keys.
pub(crate) fn base_files() -> &'static Files {
    static BASE: OnceLock<Files> = OnceLock::new();
    BASE.get_or_init(base)
}

/// Returns the files of a database of sketches with unique ids.
pub(crate) fn base_files_of_sketches() -> &'static Files {
    static BASE: OnceLock<Files> = OnceLock::new();
    BASE.get_or_init(base_of_sketches)
}

/// Opens, verifies and repairs a database with one file damaged. The input is a byte of flags, the
/// number of the file, and changes: an offset (u16) from the beginning or the end, a length below
/// 16 and how the bytes change, and the bytes. The flags are 1 for right checksums, 2 for a
/// manifest and a copy that do not stand for each other, and 4 for sketches.
pub(crate) fn folder(input: &[u8]) {
    let [flags, file, changes @ ..] = input else { return };
    let is_of_sketches = flags & 4 == 4;
    let base = match is_of_sketches {
        true => base_files_of_sketches(),
        false => base_files(),
    };
    let mut files = base.clone();
    let index = usize::from(*file) % files.len();
    let Some(name) = files.keys().nth(index).cloned() else { return };
    if let Some(bytes) = files.get_mut(&name) {
        change(bytes, changes);
    }
    if flags & 1 == 1 {
        repair::file(&mut files, base, &name);
    }
    if flags & 2 == 2 {
        files.retain(|other, _| *other == name || !other.starts_with("MANIFEST"));
    }
    let sim = Sim::new();
    sim.create_root().expect("a folder");
    files.iter().for_each(|(name, bytes)| sim.set_contents(name, bytes));
    if is_of_sketches {
        let open = options(Options::sketches(), &sim);
        use_database(&open, |db| db.insert(Sketch::ZERO, DocId(1000)).map(|_| ()));
    } else {
        use_database(&options(Db::options(), &sim), |db| db.insert(7, "new").map(|_| ()));
    }
}

/// Reads and changes a database. Everything may fail, but nothing may panic, hang or take much
/// memory.
fn use_database<F: Fingerprint>(options: &Options<F>, insert: impl Fn(&Db<F>) -> fpdb::Result<()>) {
    if let Ok(reader) = options.clone().open_read_only("sim") {
        read(&reader.snapshot());
    }
    if let Ok(db) = options.clone().open("sim") {
        read(&db.snapshot());
        let _ = insert(&db);
        let _ = db.remove_entry(F::ZERO, DocId(0));
        let _ = db.flush();
        let _ = db.compact();
        let _ = db.close();
    }
    drop(options.clone().verify("sim", VerifyLevel::Full));
    let _ = options.clone().build("repaired", Source::damaged("sim"));
}

fn change(bytes: &mut Vec<u8>, changes: &[u8]) {
    let mut rest = changes;
    while let [low, high, how, after @ ..] = rest {
        let offset = usize::from(u16::from_le_bytes([*low, *high]));
        let (new, others) = after.split_at(usize::from(how & 15).min(after.len()));
        rest = others;
        let at = if how & 16 == 0 { offset } else { bytes.len().saturating_sub(offset) };
        match how >> 5 {
            0..=3 => bytes.iter_mut().skip(at).zip(new).for_each(|(byte, &new)| *byte = new),
            4 | 5 => bytes.iter_mut().skip(at).zip(new).for_each(|(byte, &new)| *byte ^= new),
            6 => bytes.truncate(at),
            _ => bytes.extend_from_slice(new),
        }
    }
}

fn read<F: Fingerprint>(snapshot: &Snapshot<F>) {
    let entries: Vec<Entry<F>> = snapshot.iter().take(1000).map_while(Result::ok).collect();
    let some = entries.iter().step_by(16).map(|entry| entry.fingerprint);
    let ones = F::read_le(&[0xff; 96]).unwrap_or(F::ZERO);
    for query in some.chain([F::ZERO, ones]) {
        for within in [Within::Distance(0), Within::Distance(3), Within::Rule] {
            let _ = snapshot.query(query, within);
            let _ = snapshot.nearest(query, within);
        }
        let _ = snapshot.ids(query);
    }
    let _ = snapshot.query_batch(&[F::ZERO, ones], 3);
    for id in [0, 3, 61, 75, 85, u64::MAX] {
        let _ = snapshot.name(DocId(id));
    }
    drop(snapshot.verify(VerifyLevel::Full));
}

/// Calls a database in the order that the input says, and compares it with a set.
pub(crate) fn api(input: &[u8]) {
    let Some((&settings, calls)) = input.split_first() else { return };
    let sim = Sim::new();
    let named = settings & 1 == 1;
    let names = Layout::preset_names();
    let layout = Layout::preset(names[usize::from(settings >> 2) % names.len()], 64);
    let kind = if named { Ids::Names } else { Ids::User };
    let new =
        options(Db::options(), &sim).layout(layout.expect("a preset")).ids(kind).block_size(128);
    let mut db = new.memtable_entries(16).create("sim").expect("a new database");
    let mut model: BTreeSet<Entry> = BTreeSet::new();
    // The entries of the documents that have these numbers in their names.
    let mut documents: BTreeMap<u64, Entry> = BTreeMap::new();
    let mut ids = 0;
    let mut put = |documents: &mut BTreeMap<u64, Entry>, number, fingerprint| {
        let old = documents.get(&number).copied();
        let id = old.map_or(DocId(ids), |old| old.id);
        ids += u64::from(old.is_none());
        let new = Entry { fingerprint, id };
        documents.insert(number, new);
        (old, new)
    };
    // Few fingerprints, near each other, so that everything happens to the same ones.
    let fingerprint = |low: u8, high: u8| u64::from(low & 7) | u64::from(high) << 40;
    for call in calls.chunks_exact(3).take(200) {
        let [what, low, high] = *call else { return };
        let fingerprint = fingerprint(low, high);
        let id = DocId(u64::from(low >> 3));
        match what % 16 {
            0..=5 if named => {
                let found = db.insert(fingerprint, &format!("name {id}")).expect("an insert");
                let (old, new) = put(&mut documents, id.0, fingerprint);
                assert_eq!(found, new.id);
                if let Some(old) = old {
                    model.remove(&old);
                }
                model.insert(new);
            }
            0..=5 => {
                db.insert(fingerprint, id).expect("an insert");
                model.insert(Entry { fingerprint, id });
            }
            6..=8 => {
                let id =
                    model.range(Entry { fingerprint, id: DocId(0) }..).next().map_or(id, |e| e.id);
                let entry = Entry { fingerprint, id };
                assert_eq!(
                    db.remove_entry(fingerprint, id).expect("a removal"),
                    model.remove(&entry)
                );
                documents.retain(|_, document| *document != entry);
            }
            9 => db.flush().expect("a flush"),
            10 => {
                db.compact().expect("a compaction");
            }
            11 => {
                drop(db);
                db = options(Db::options(), &sim)
                    .memtable_entries(16)
                    .open("sim")
                    .expect("a database");
            }
            12 => {
                db.close().expect("a close");
                db = options(Db::options(), &sim)
                    .memtable_entries(16)
                    .open("sim")
                    .expect("a database");
            }
            13 => {
                let name = format!("name {id}");
                let key = if named { Key::Name(&name) } else { Key::Id(id) };
                let outcome = db.insert_if_novel(fingerprint, key).expect("an insert");
                let is_near = !near(&model, fingerprint, 3).is_empty();
                let existing = match named {
                    true => documents.get(&id.0).copied(),
                    false => model.get(&Entry { fingerprint, id }).copied(),
                };
                if let Some(own) = existing {
                    let found = Entry { fingerprint: own.fingerprint, id: outcome.id() };
                    assert!(matches!(outcome, Outcome::Exists(_)) && found == own);
                } else if is_near {
                    assert!(outcome.is_duplicate());
                } else {
                    let mut new = Entry { fingerprint, id };
                    if named {
                        (_, new) = put(&mut documents, id.0, fingerprint);
                    }
                    assert_eq!(outcome, Outcome::Inserted(new.id));
                    model.insert(new);
                }
            }
            _ => {
                let distance = u32::from(low >> 3) % 4;
                let found = db.query(fingerprint, distance).expect("an answer");
                let mut found: Vec<Entry> =
                    found.iter().map(|m| Entry { fingerprint: m.fingerprint, id: m.id }).collect();
                found.sort_unstable();
                assert_eq!(found, near(&model, fingerprint, distance));
            }
        }
    }
    let all: Vec<Entry> = db.snapshot().iter().map(|entry| entry.expect("an entry")).collect();
    assert!(all.iter().eq(&model), "{all:?} instead of {model:?}");
    let report = db.verify(VerifyLevel::Full).expect("a verification");
    assert!(report.errors.is_empty(), "{:?}", report.errors);
}

fn near(model: &BTreeSet<Entry>, fingerprint: u64, distance: u32) -> Vec<Entry> {
    let is_near = |e: &&Entry| (e.fingerprint ^ fingerprint).count_ones() <= distance;
    model.iter().filter(is_near).copied().collect()
}
