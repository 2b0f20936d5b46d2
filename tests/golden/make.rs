//! Makes the golden databases.

use std::sync::Arc;

use fpdb::passages::Index;
use fpdb::storage::{Sim, Storage};
use fpdb::{
    Db, DocId, ExtractionName, Fingerprint, Ids, Jaccard, Key, Layout, OnDuplicate, Options,
    RecipeName, Sketch, Stamped,
};

use super::{Files, contents};

/// A database and what it holds.
pub(crate) struct Made {
    pub(crate) files: Files,
    pub(crate) contents: String,
}

type Make = fn() -> Made;

/// All golden databases. A later version of the format adds others.
pub(crate) const ALL: &[(&str, Make)] = &[
    ("empty", || finish(with(Db::options()), Closed::Yes, |_| {})),
    ("user-half-2", || finish(with(layout("half-2")).filter_bits(10), Closed::Yes, entries)),
    ("user-single-4096", || {
        let options = with(layout("single")).block_size(4096);
        finish(options, Closed::Yes, entries)
    }),
    ("user-paper-10", || finish(with(layout("paper-10")), Closed::Yes, entries)),
    ("user-log-only", || finish(with(layout("half-2")), Closed::No, |db| some(db, 0..40))),
    ("user-128-ring-4", || {
        let layout = Layout::preset("ring-4", 128).unwrap();
        finish(with(Options::bits128().layout(layout)).block_size(256), Closed::No, entries)
    }),
    ("user-many-ids", || finish(with(layout("half-2")), Closed::Yes, many_ids)),
    ("unique-half-2", || {
        finish(with(layout("half-2")).ids(Ids::Unique), Closed::Yes, |db| documents(db, false))
    }),
    ("names-ring-3", || {
        let options = with(layout("ring-3")).ids(Ids::Names).max_distance(5);
        finish(
            options.recipe(RecipeName::custom("r/1")).extraction(ExtractionName::custom("e/1")),
            Closed::No,
            |db| documents(db, true),
        )
    }),
    ("names-log-only", || {
        finish(with(layout("half-2")).ids(Ids::Names), Closed::No, |db| named(db, 0..30))
    }),
    ("sketches-unique", || {
        let options = with(Options::sketches().similar(Jaccard::at_least(0.9)));
        finish(options, Closed::Yes, |db| documents(db, false))
    }),
    ("sketches-names", || {
        finish(with(Options::sketches()).ids(Ids::Names), Closed::No, |db| documents(db, true))
    }),
    ("sketches-log-only", || {
        finish(with(Options::sketches()).ids(Ids::Names), Closed::No, |db| named(db, 0..10))
    }),
    ("distance-12", || finish(with(Db::options().max_distance(12)), Closed::Yes, entries)),
    ("user-many-blocks", || finish(with(layout("half-2")), Closed::Yes, many_blocks)),
    ("user-uneven-blocks", || finish(with(layout("single")), Closed::Yes, uneven_blocks)),
    ("user-ring-3-512", || {
        finish(with(layout("ring-3")).block_size(512).filter_bits(10), Closed::Yes, many_blocks)
    }),
    ("user-ring-4-1024", || {
        let options = with(layout("ring-4")).block_size(1024);
        finish(options, Closed::Yes, many_blocks)
    }),
    ("user-single-2048", || {
        finish(with(layout("single")).block_size(2048), Closed::Yes, many_blocks)
    }),
    ("names-long", || finish(with(layout("single")).ids(Ids::Names), Closed::Yes, long_names)),
    ("passages", passages),
    ("sketches-many-leaves", || {
        let options = Options::sketches().similar(Jaccard::at_least(0.95));
        finish(with(options), Closed::Yes, many_leaves)
    }),
];

fn layout(name: &str) -> Options<u64> {
    Db::options().layout(Layout::preset(name, 64).unwrap())
}

fn with<F: Fingerprint>(options: Options<F>) -> Options<F> {
    options.background(false).expected_entries(1000).threads(1)
}

/// An index of passages: a segment, after removals, and a log.
fn passages() -> Made {
    let sim = Sim::new();
    let options = with(Db::options()).storage(sim.clone());
    let index = Index::create_with_seed("sim", 20, 0x5eed, options).unwrap();
    let words = |from: u64, to: u64| (from..to).map(|n| format!("w{n} ")).collect::<String>();
    // The last words are common.
    let texts: Vec<_> =
        (0..30).map(|i| words(100 * i, 100 * i + 10 * i) + &words(9000, 9060)).collect();
    let insert = |documents: std::ops::Range<u64>| {
        let texts = documents.clone().map(|i| &*texts[usize::try_from(i).unwrap()]);
        index.insert(&documents.map(DocId).zip(texts).collect::<Vec<_>>()).unwrap();
    };
    insert(0..20);
    index.database().flush().unwrap();
    assert_eq!(index.remove(&[(DocId(3), &texts[3]), (DocId(15), &texts[15])]).unwrap(), [true; 2]);
    insert(20..25);
    index.database().flush().unwrap();
    insert(25..30);
    let contents = contents(&index.database().snapshot(), Ids::User);
    drop(index);
    Made { files: files(&sim), contents }
}

enum Closed {
    Yes,
    No,
}

/// Creates a database, fills it, and returns its files.
fn finish<F: Fingerprint>(options: Options<F>, closed: Closed, fill: impl Fn(&Db<F>)) -> Made {
    let sim = Sim::new();
    let db = options.storage(sim.clone()).create("sim").unwrap();
    fill(&db);
    let ids = db.description().ids;
    let contents = contents(&db.snapshot(), ids);
    match closed {
        Closed::Yes => db.close().unwrap(),
        Closed::No => drop(db),
    }
    Made { files: files(&sim), contents }
}

fn files(sim: &Arc<Sim>) -> Files {
    let names = sim.list().unwrap().unwrap();
    names.into_iter().filter_map(|name| Some((name.clone(), sim.contents(&name)?))).collect()
}

/// Fingerprints of which each third is alone, and the others are a few bits from each other.
/// Sketches are of sets of all sizes, four similar ones each.
fn fingerprint<F: Fingerprint>(i: u64) -> F {
    if F::BITS == Sketch::BITS {
        return F::read_le(&sketch(i).to_bytes()).unwrap();
    }
    let spread = |i: u64| (i / 3).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let lower = spread(i ^ 0x55).rotate_left(17);
    let bytes = (u128::from(spread(i)) << 64 | u128::from(lower)).to_le_bytes();
    // At 64 bits, the upper half.
    let bytes = if F::BYTES == 8 { &bytes[8..] } else { &bytes[..] };
    let flipped = u32::try_from(i % 3 * 20).unwrap();
    F::read_le(bytes).unwrap().with_flipped(flipped)
}

fn sketch(i: u64) -> Sketch {
    const SIZES: [u64; 9] = [5, 12, 25, 40, 200, 200, 600, 2_040, 4_095];
    let (group, place) = (i / 4, i % 4);
    let size = SIZES[usize::try_from(group % 9).unwrap()];
    let first = (group << 32) + place * size / 20;
    let value = |n: u64| {
        let n = (n ^ n >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (n ^ n >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93) ^ n >> 31
    };
    let values: Vec<u64> = (first..first + size + place).map(value).collect();
    let mut minima = [u64::MAX; 128];
    for &value in &values {
        let minimum = &mut minima[usize::try_from(value >> 57).unwrap()];
        *minimum = value.min(*minimum);
    }
    for (turn, minimum) in (1..).zip(&mut minima).filter(|it| *it.1 == u64::MAX) {
        *minimum = values.iter().map(|value| value.rotate_left(turn)).min().unwrap();
    }
    Sketch::new(minima, &values)
}

fn some<F: Fingerprint>(db: &Db<F>, ids: std::ops::Range<u64>) {
    let batch: Vec<_> = ids.map(|i| (fingerprint::<F>(i), DocId(i * i))).collect();
    let _ = db.write(&batch).run().unwrap();
}

/// Two segments, the second with removals, and a log.
fn entries<F: Fingerprint>(db: &Db<F>) {
    some(db, 0..200);
    db.flush().unwrap();
    some(db, 200..260);
    for i in (0..200).step_by(9) {
        assert!(db.remove_entry(fingerprint(i), DocId(i * i)).unwrap());
    }
    db.flush().unwrap();
    some(db, 260..275);
}

/// Fingerprints with one to many ids, up to the greatest.
fn many_ids(db: &Db) {
    let ids = |i: u64| (0..1 + i % 5 * (i % 7)).map(move |n| DocId(n << (i % 64)));
    let batch: Vec<_> = (0..60).flat_map(|i| ids(i).map(move |id| (fingerprint(i), id))).collect();
    let _ = db.write(&batch).run().unwrap();
    db.insert(fingerprint::<u64>(7), DocId(u64::MAX)).unwrap();
}

/// Hundreds of blocks, of which many are alike in their leading bits, and thousands of ids.
fn many_blocks(db: &Db) {
    let crowded = (0..500).map(|i| 0x1234_5678_9a00_0000 | (i * i * 57));
    let all = (0..1500).map(fingerprint::<u64>).chain(crowded);
    let ids = |i: u64| (0..1 + i % 3).map(move |n| DocId(i * 1000 + n));
    let batch: Vec<_> = (0..).zip(all).flat_map(|(i, f)| ids(i).map(move |id| (f, id))).collect();
    let _ = db.write(&batch).run().unwrap();
}

/// Leaves below an inner node, and so many rows that their keys have buckets.
fn many_leaves(db: &Db<Sketch>) {
    let batch: Vec<_> = (0..700).map(|i| (fingerprint(i), DocId(i * i))).collect();
    let _ = db.write(&batch).run().unwrap();
}

/// Blocks with few and with many fingerprints, all with one id.
fn uneven_blocks(db: &Db) {
    let all = (0..3000).chain((0..900).map(fingerprint::<u64>));
    let batch: Vec<_> = all.map(|fingerprint| (fingerprint, DocId(7))).collect();
    let _ = db.write(&batch).run().unwrap();
}

/// Leaves and an inner node of several pages, and a segment with nothing but removals.
fn long_names(db: &Db) {
    let letter = |n: u64| {
        let random = n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
        char::from(b'!' + (random[5] ^ random[6]) % 90)
    };
    let long = |i: u64| (0..9000).map(|n| letter(9000 * i + n)).collect::<String>();
    let names = [long(0), long(1), long(2), long(2) + "x"].into_iter();
    let names: Vec<String> = names.chain((0..40).map(|i| format!("{i}"))).collect();
    let batch: Vec<_> = (0..).map(fingerprint).zip(names.iter().map(String::as_str)).collect();
    let _ = db.write(&batch).run().unwrap();
    db.flush().unwrap();
    for name in &names[4..20] {
        assert!(db.remove(name.as_str()).unwrap());
    }
}

fn named<F: Fingerprint>(db: &Db<F>, documents: std::ops::Range<u64>) {
    for i in documents {
        db.insert(fingerprint::<F>(i), name(i).as_str()).unwrap();
    }
}

fn name(i: u64) -> String {
    match i % 11 {
        0 => format!(
            "https://例え.example/{i}/{}",
            "very-long-".repeat(usize::try_from(i).unwrap() % 30)
        ),
        1 => format!("{i}"),
        _ => format!("https://www.example.org/a/page?number={i}"),
    }
}

/// Two segments and a log, with stamps, updates, removals and duplicates.
fn documents<F: Fingerprint>(db: &Db<F>, has_names: bool) {
    let names: Vec<String> = (0..300).map(name).collect();
    let key = |i: u64| match has_names {
        true => Key::from(names[usize::try_from(i).unwrap()].as_str()),
        false => Key::from(DocId(i)),
    };
    let write = |of: std::ops::Range<u64>, moved: u64| {
        let stamped = |i: u64| match i % 4 {
            0 => Stamped::from(key(i)),
            _ => Stamped::new(key(i), 1_700_000_000 + i),
        };
        let batch: Vec<_> = of.map(|i| (fingerprint::<F>(i + moved), stamped(i))).collect();
        let _ = db.write(&batch).run().unwrap();
    };
    write(0..150, 0);
    db.flush().unwrap();
    write(150..200, 0);
    write(20..30, 1000);
    for i in (0..150).step_by(13) {
        assert!(db.remove(key(i)).unwrap());
    }
    let copies: Vec<_> = (200..220).map(|i| (fingerprint::<F>(i - 100), key(i))).collect();
    let remember = db.write(&copies).unless_near(0).or_update(OnDuplicate::Remember);
    let _ = remember.run().unwrap();
    db.flush().unwrap();
    write(230..240, 0);
    assert!(db.touch(key(150), 1_800_000_000).unwrap());
    assert!(db.remove(key(151)).unwrap());
}
