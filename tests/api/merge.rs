//! Databases that are built of others: merged and rebuilt.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fpdb::storage::Sim;
use fpdb::{
    Db, DocId, Document, Entry, ErrorKind, Ids, Jaccard, Layout, MatchRule, OnDuplicate, Options,
    RecipeName, Sketch, Source, Stamped, Within,
};

use crate::common::{Oracle, Rng, assert_answers, assert_entries};

fn options(sim: &Arc<Sim>) -> Options {
    Options::default().storage(sim.clone()).memtable_entries(64).background(false).bulk_memory(1)
}

/// What a database says about its documents, by name, or by id as text.
fn documents(db: &Db) -> BTreeMap<String, Document> {
    let snapshot = db.snapshot();
    let all = snapshot.documents().unwrap().map(Result::unwrap);
    all.map(|(name, document)| (name.unwrap_or(document.id.to_string()), document)).collect()
}

fn entries(db: &Db) -> Oracle<u64> {
    Oracle(db.snapshot().iter().map(Result::unwrap).collect())
}

/// Inserts or updates a document, and keeps it even if it is a duplicate.
fn remember(db: &Db, fingerprint: u64, key: Stamped<'_>) {
    let write =
        db.write(&[(fingerprint, key)]).unless_near(3).or_update(OnDuplicate::Remember).run();
    assert_eq!(write.unwrap().len(), 1);
}

/// Fills a database with clusters, in several segments, with removals and updates.
fn filled(sim: &Arc<Sim>, path: &str, ids: Ids, seed: u64) -> Db {
    let db = options(sim).ids(ids).layout(Layout::preset("half-2", 64).unwrap());
    let db = db.create(path).unwrap();
    let mut rng = Rng::new(seed);
    let centres: Vec<u64> = (0..20).map(|_| rng.fingerprint()).collect();
    for i in 0..300 {
        let centre = rng.pick(&centres);
        let fingerprint = rng.near(centre, u32::try_from(i % 9).unwrap());
        let (number, stamp) = (rng.below(200) + 50 * seed, rng.below(9));
        match ids {
            Ids::Names => {
                let name = format!("https://a.example/{number}");
                let stamped = Stamped::new(&*name, stamp);
                if i % 4 == 0 {
                    remember(&db, fingerprint, stamped);
                } else {
                    db.insert(fingerprint, stamped).unwrap();
                }
            }
            Ids::Unique => drop(db.insert(fingerprint, Stamped::new(number, stamp)).unwrap()),
            _ => drop(db.insert(fingerprint, number).unwrap()),
        }
        if i % 10 == 9 {
            let gone = rng.below(200);
            match ids {
                Ids::Names => {
                    db.remove(&format!("https://a.example/{gone}")).unwrap();
                }
                _ => drop(db.remove(gone).unwrap()),
            }
        }
    }
    db
}

#[test]
fn rebuild_with_other_options_gives_the_same_answers() {
    for ids in [Ids::User, Ids::Unique, Ids::Names] {
        let sim = Sim::new();
        let db = filled(&sim, "a", ids, 1);
        let rebuilt = options(&sim)
            .layout(Layout::preset("ring-4", 64).unwrap())
            .max_distance(5)
            .block_size(1024)
            .filter_bits(0);
        let report = rebuilt.build("b", Source::databases(["a"])).unwrap();
        let copy = options(&sim).open("b").unwrap();
        let stats = copy.stats();
        assert_eq!((stats.layout.as_deref(), stats.max_distance), (Some("ring-4"), 5));
        assert_entries(&copy.snapshot(), &entries(&db));
        if ids != Ids::User {
            assert_eq!(documents(&copy), documents(&db));
            assert_eq!(report.written, db.stats().documents);
        }
        for Entry { fingerprint, .. } in db.snapshot().iter().map(Result::unwrap).take(30) {
            assert_answers(&copy.snapshot(), &entries(&db), fingerprint ^ 1, 6);
        }
        assert!(copy.verify(fpdb::VerifyLevel::Full).unwrap().errors.is_empty());
        // New ids follow those that were ever assigned.
        if ids == Ids::Names {
            let next = db.insert(1, "https://b.example/").unwrap();
            assert_eq!(copy.insert(1, "https://b.example/").unwrap(), next);
        }
    }
}

#[test]
fn rebuild_without_options_keeps_the_settings() {
    let sim = Sim::new();
    let new = options(&sim)
        .max_distance(4)
        .block_size(512)
        .filter_bits(3)
        .recipe(RecipeName::custom("our-words/1"));
    let new = new.layout(Layout::preset("paper-10", 64).unwrap());
    new.create("a").unwrap().close().unwrap();
    let _ = options(&sim).build("b", Source::databases(["a"])).unwrap();
    let [a, b] = ["a", "b"].map(|path| options(&sim).open(path).unwrap());
    let settings = |db: &Db| {
        let stats = db.stats();
        (stats.layout, stats.max_distance, stats.block_size, stats.recipe)
    };
    assert_eq!(settings(&a), settings(&b));
    // A new distance has the layout that a new database would have.
    let _ = options(&sim).max_distance(1).build("c", Source::databases(["a"])).unwrap();
    let fresh = options(&sim).max_distance(1).create("d").unwrap();
    let c = options(&sim).open("c").unwrap();
    assert_eq!(
        (&c.description().layout, c.description().max_distance),
        (&fresh.description().layout, 1)
    );
}

#[test]
fn rebuild_of_sketches_has_the_rule_that_was_asked_for() {
    let sim = Sim::new();
    let options = || Options::sketches().storage(sim.clone()).background(false);
    let db = options().create("a").unwrap();
    let mut rng = Rng::new(7);
    let mut plane = |_| u128::from(rng.next()) << 64 | 5;
    let mut sketch = || Sketch::of_parts(std::array::from_fn(&mut plane), 0, [0; 16]);
    let sketches: Vec<Sketch> = (0..100).map(|_| sketch()).collect();
    for (id, &sketch) in (0..).zip(&sketches) {
        db.insert(sketch, DocId(id)).unwrap();
    }
    db.close().unwrap();
    let first = options().open("a").unwrap().description().rule;
    let at = |share| Jaccard::at_least(share);
    let rules = [
        first,
        // Other bands for the same similarity, and other parts one by one.
        MatchRule::of_bands(at(0.8), (13, 7), first.distance(), 186).unwrap(),
        MatchRule::of_bands(at(0.8), (10, 5), first.distance() + 1, 186).unwrap(),
        MatchRule::of_bands(at(0.7), (10, 5), first.distance(), 186).unwrap(),
        MatchRule::of_bands(at(0.8), (10, 5), first.distance(), 185).unwrap(),
    ];
    for (n, rule) in rules.iter().enumerate() {
        let out = format!("out {n}");
        let report = options().rule(rule).build(&out, Source::databases(["a"])).unwrap();
        assert_eq!((report.read, report.written), (100, 100));
        let built = options().rule(rule).open(&out).unwrap();
        assert_eq!(built.description().rule, *rule);
        assert_eq!(built.query(sketches[3], Within::Rule).unwrap()[0].id, DocId(3));
        assert!(built.verify(fpdb::VerifyLevel::Deep).unwrap().errors.is_empty());
        built.close().unwrap();
        // Whoever asks for another rule learns both.
        if *rule != first {
            let error = options().rule(&first).open(&out).unwrap_err().to_string();
            for shown in [rule, &first] {
                let ((bands, minima), distance) = (shown.bands().unwrap(), shown.distance());
                let shown =
                    format!("{shown} by {bands} bands of {minima} minima and distance {distance}");
                assert!(error.contains(&shown), "{error}");
            }
        }
    }
    // A similarity that is asked for later counts.
    let similar = options().rule(&rules[1]).similar(at(0.8));
    let _ = similar.build("similar", Source::databases(["a"])).unwrap();
    assert_eq!(options().open("similar").unwrap().description().rule, first);
}

#[test]
fn merge_of_user_ids_is_the_union_of_all_entries() {
    let sim = Sim::new();
    let sources =
        [("a", 1), ("b", 2), ("c", 3)].map(|(path, seed)| filled(&sim, path, Ids::User, seed));
    let report = options(&sim).build("out", Source::databases(["a", "b", "c"])).unwrap();
    let mut expected = Oracle::default();
    sources.iter().for_each(|db| expected.0.extend(entries(db).0));
    let merged = options(&sim).open("out").unwrap();
    assert_entries(&merged.snapshot(), &expected);
    assert_eq!(report.written, expected.0.len() as u64);
    assert_eq!(report.read, sources.iter().map(|db| db.stats().entries).sum::<u64>());
}

#[test]
fn merge_takes_the_newest_of_documents_with_the_same_key() {
    for ids in [Ids::Unique, Ids::Names] {
        let sim = Sim::new();
        let sources =
            [("a", 1), ("b", 2), ("c", 3)].map(|(path, seed)| filled(&sim, path, ids, seed));
        let _ = options(&sim).build("out", Source::databases(["a", "b", "c"])).unwrap();
        let merged = options(&sim).open("out").unwrap();
        let (mut expected, mut raised) = (BTreeMap::<String, Document>::new(), 0);
        for db in &sources {
            for (key, mut document) in documents(db) {
                if ids == Ids::Names {
                    document.id.0 += raised;
                }
                let there = expected.get(&key).copied();
                let id = there.map_or(document.id, |there| there.id);
                if there.is_none_or(|there| there.stamp <= document.stamp) {
                    expected.insert(key, with_id(document, id));
                }
            }
            // The next id that the source would have assigned.
            raised += if ids == Ids::Names { db.insert(5, "a new name").unwrap().0 } else { 0 };
        }
        let found = documents(&merged);
        assert_eq!(found.len(), expected.len());
        for (key, document) in &found {
            let wanted = expected[key];
            let parts = |d: Document| (d.fingerprint, d.id, d.stamp, d.duplicate_of.is_some());
            assert_eq!(parts(*document), parts(wanted), "{key}");
        }
        let originals = found.values().filter(|d| d.duplicate_of.is_none());
        let expected = originals.map(|d| Entry { fingerprint: d.fingerprint, id: d.id });
        assert_entries(&merged.snapshot(), &Oracle(expected.collect()));
        assert!(merged.verify(fpdb::VerifyLevel::Full).unwrap().errors.is_empty());
        if ids == Ids::Names {
            assert_eq!(merged.insert(5, "one more").unwrap(), DocId(raised));
        }
    }
}

fn with_id(mut document: Document, id: DocId) -> Document {
    document.id = id;
    document
}

#[test]
fn remembered_duplicate_refers_to_the_new_id_of_its_original() {
    let sim = Sim::new();
    let a = options(&sim).ids(Ids::Names).create("a").unwrap();
    for name in ["x", "original"] {
        a.insert(name.len() as u64 * 0xffff, name).unwrap();
    }
    let b = options(&sim).ids(Ids::Names).create("b").unwrap();
    for (fingerprint, name) in [(8 * 0xffff, "original"), (1 << 40, "another")] {
        b.insert(fingerprint, name).unwrap();
        let copy = format!("copy of {name}");
        remember(&b, fingerprint ^ 1, Stamped::from(&*copy));
    }
    let _ = options(&sim).build("out", Source::databases(["a", "b"])).unwrap();
    let merged = options(&sim).open("out").unwrap();
    for name in ["original", "another"] {
        let copy = merged.get(&*format!("copy of {name}")).unwrap().unwrap();
        assert_eq!(copy.duplicate_of, merged.get(name).unwrap().map(|found| found.id), "{name}");
    }
    assert_eq!(merged.get("original").unwrap().map(|found| found.id), Some(DocId(1)));
}

#[test]
fn databases_that_do_not_fit_together_are_refused_and_nothing_is_left() {
    let sim = Sim::new();
    let make = |path: &str, change: fn(Options) -> Options| {
        change(options(&sim)).create(path).unwrap().close().unwrap();
    };
    make("a", |o| o.recipe(RecipeName::custom("our-words/1")).extraction("main/1"));
    make("other recipe", |o| o.recipe(RecipeName::custom("our-jieba/1")).extraction("main/1"));
    make("other extraction", |o| o.recipe(RecipeName::custom("our-words/1")).extraction("strip/1"));
    make("other ids", |o| {
        o.recipe(RecipeName::custom("our-words/1")).extraction("main/1").ids(Ids::Names)
    });
    Options::bits128().storage(sim.clone()).create("wide").unwrap().close().unwrap();
    for (other, kind, word) in [
        ("other recipe", ErrorKind::Unsupported, "our-jieba/1"),
        ("other extraction", ErrorKind::Unsupported, "strip/1"),
        ("other ids", ErrorKind::InvalidArgument, "names"),
        ("wide", ErrorKind::Unsupported, "128"),
        ("nowhere", ErrorKind::NotFound, "no database"),
    ] {
        let error = options(&sim).build("out", Source::databases(["a", other])).unwrap_err();
        assert_eq!(error.kind(), kind, "{other}");
        let message = error.to_string();
        assert!(message.contains(word) && message.contains(other), "{message}");
    }
    let refused = |options: Options, out: &str, sources: &[&str]| {
        let error = options.build(out, Source::databases(sources)).unwrap_err();
        assert!(error.path().is_some(), "{error}");
        error.kind()
    };
    assert_eq!(refused(options(&sim), "out", &[]), ErrorKind::InvalidArgument);
    assert_eq!(refused(options(&sim), "other recipe", &["a"]), ErrorKind::AlreadyExists);
    assert_eq!(refused(options(&sim), "a", &["a"]), ErrorKind::AlreadyExists);
    for changed in
        [options(&sim).ids(Ids::Names), options(&sim).recipe(RecipeName::custom("our-jieba/1"))]
    {
        assert_eq!(refused(changed, "out", &["a"]), ErrorKind::InvalidArgument);
    }
    assert!(sim.folder("out").contents("MANIFEST").is_none());
}

#[test]
fn cancelled_merge_leaves_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let [a, out] = ["a", "out"].map(|name| folder.path().join(name));
    let db = Db::options().ids(Ids::Names).create(&a).unwrap();
    for i in 0..5000u64 {
        db.insert(u64::wrapping_mul(i, 0x9e37_79b9_7f4a_7c15), &format!("{i}")).unwrap();
    }
    let calls = AtomicUsize::new(1);
    let options = Db::options().on_progress(move |_| match calls.fetch_add(1, Ordering::Relaxed) {
        3 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    let cancelled = options.build(&out, Source::databases([&a]));
    assert_eq!(cancelled.unwrap_err().kind(), ErrorKind::Cancelled);
    assert!(!out.exists());
    assert_eq!(Db::options().build(&out, Source::databases([&a])).unwrap().written, 5000);
}

#[test]
fn a_rebuilt_database_without_documents_does_not_use_their_ids_again() {
    let folder = tempfile::tempdir().unwrap();
    let [first, rebuilt] = ["first", "rebuilt"].map(|name| folder.path().join(name));
    let db = Db::options().ids(Ids::Names).create(&first).unwrap();
    for name in ["a", "b"] {
        db.insert(7, name).unwrap();
        assert!(db.remove(name).unwrap());
    }
    db.close().unwrap();
    let _ = Db::options().build(&rebuilt, Source::databases([&first])).unwrap();
    for path in [&first, &rebuilt] {
        assert_eq!(Db::open(path).unwrap().insert(9, "c").unwrap(), DocId(2), "{path:?}");
    }
}
