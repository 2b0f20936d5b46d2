//! Documents: refused arguments, remembered duplicates, ids, expiry, read-only handles, and
//! snapshots.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fpdb::storage::Sim;
use fpdb::{
    Db, DocId, ErrorKind, Ids, Key, Match, OnDuplicate, Options, Outcome, QueryOptions, Result,
    Stamped,
};

const REMEMBER: OnDuplicate = OnDuplicate::Remember;

fn options(sim: &std::sync::Arc<Sim>, ids: Ids) -> Options<u64> {
    Db::options().storage(sim.clone()).ids(ids).max_distance(3).background(false)
}

fn create(ids: Ids) -> Db {
    options(&Sim::new(), ids).create("sim").unwrap()
}

/// Returns fingerprints that are far from one another.
fn far(n: u64) -> u64 {
    (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn upsert(db: &Db, fingerprint: u64, key: &str, on_duplicate: OnDuplicate) -> Outcome {
    db.write(&[(fingerprint, key)]).unless_near(3).or_update(on_duplicate).run().unwrap()[0]
}

/// Checks that all results are errors about an argument, with these words.
#[track_caller]
fn assert_refused(results: Vec<Result<()>>, words: &str) {
    for (n, result) in results.into_iter().enumerate() {
        let error = result.expect_err(&format!("result {n}"));
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{n}: {error:?}");
        assert!(error.to_string().contains(words), "{n}: {error}");
    }
}

/// Makes every call that takes a key.
fn with_key(db: &Db, key: Key<'_>) -> Vec<Result<()>> {
    let batch = [(1, key)];
    vec![
        db.insert(1, key).map(drop),
        db.write(&batch).run().map(drop),
        db.insert_if_novel(1, key).map(drop),
        db.upsert_if_novel(1, key).map(drop),
        db.write(&batch).unless_near(3).or_update(OnDuplicate::Keep).run().map(drop),
        db.touch(key, 1).map(drop),
        db.get(key).map(drop),
        db.snapshot().get(key).map(drop),
        db.snapshot().documents_after(key).map(drop),
    ]
}

#[test]
fn key_of_the_wrong_kind_is_refused_and_the_message_names_the_right_one() {
    let names = create(Ids::Names);
    assert_refused(with_key(&names, Key::from(7)), "give a name instead of an id");
    let unique = create(Ids::Unique);
    let mut refused = with_key(&unique, Key::from("a"));
    refused.extend([unique.remove("a").map(drop)]);
    assert_refused(refused, "give an id instead of a name");
    assert_eq!((names.stats().documents, unique.stats().documents), (0, 0));
}

#[test]
fn empty_and_overlong_names_are_refused_and_their_batch_with_them() {
    let db = create(Ids::Names);
    let long = "n".repeat(65_536);
    for name in ["", &*long] {
        let mut refused = with_key(&db, Key::from(name));
        refused.push(db.remove(name).map(drop));
        refused.push(db.write(&[(7, "fits"), (8, name)]).run().map(drop));
        assert_refused(refused, "a name must have 1 to 65535 bytes");
    }
    assert_eq!(db.stats().documents, 0);
    let (shortest, longest) = ("n", &long[1..]);
    let ids = [shortest, longest].map(|name| db.insert(1, name).unwrap());
    assert_eq!(ids, [DocId(0), DocId(1)], "no number is lost to a refused name");
    db.flush().unwrap();
    for (id, name) in ids.into_iter().zip([shortest, longest]) {
        assert_eq!(db.get(name).unwrap().map(|found| found.id), Some(id));
        assert_eq!(db.snapshot().name(id).unwrap().as_deref(), Some(name));
    }
}

#[test]
fn database_with_user_ids_says_that_it_keeps_no_documents() {
    let db = create(Ids::User);
    db.insert(1, 7).unwrap();
    let recent = QueryOptions::within(0).since(3);
    let refused = || {
        vec![
            db.upsert_if_novel(1, 7).map(drop),
            db.write(&[(1, 7)]).unless_near(3).or_update(OnDuplicate::Keep).run().map(drop),
            db.insert(1, Stamped::new(8, 1)).map(drop),
            db.insert_if_novel(far(9), Stamped::new(8, 1)).map(drop),
            db.touch(7, 1).map(drop),
            db.expire(1).map(drop),
            db.get(7).map(drop),
            db.snapshot().documents().map(drop),
            db.snapshot().query(1, recent).map(drop),
        ]
    };
    let words = "create it with unique ids or with names";
    assert_refused(refused(), words);
    db.flush().unwrap();
    assert_refused(refused(), words);
    assert_eq!((db.snapshot().len(), db.snapshot().name(DocId(7)).unwrap()), (1, None));
    assert_eq!(db.snapshot().names(&[DocId(7), DocId(8)]).unwrap(), [None, None]);
    // Without documents, an id may have several entries, which are removed together.
    db.insert(2, 7).unwrap();
    assert!(db.remove(7).unwrap());
    assert!(db.snapshot().is_empty() && !db.remove(7).unwrap());
}

#[test]
fn expiry_without_stamps_removes_nothing() {
    for ids in [Ids::Names, Ids::Unique] {
        let db = create(ids);
        let report = db.expire(u64::MAX).unwrap();
        assert_eq!((report.examined, report.removed), (0, 0));
        let key = |n: u64, name: &'static str| match ids {
            Ids::Names => Key::from(name),
            _ => Key::from(n),
        };
        db.insert(far(0), key(0, "a")).unwrap();
        for _ in 0..2 {
            assert_eq!(db.expire(u64::MAX).unwrap().removed, 0);
            db.flush().unwrap();
        }
        db.insert(far(1), Stamped { key: key(1, "b"), stamp: Some(4) }).unwrap();
        let report = db.expire(5).unwrap();
        assert_eq!((report.examined, report.removed), (2, 1));
        // What has no stamp never expires.
        assert!(db.get(key(0, "a")).unwrap().is_some() && db.get(key(1, "b")).unwrap().is_none());
    }
}

fn numbered(count: u64) -> (std::sync::Arc<Sim>, Db) {
    let sim = Sim::new();
    let db = options(&sim, Ids::Names).memtable_entries(500).create("sim").unwrap();
    let names: Vec<String> = (0..count).map(|n| format!("https://a.example/{n:05}")).collect();
    let batch: Vec<(u64, Stamped<'_>)> =
        (0..).zip(&names).map(|(n, name)| (far(n), Stamped::new(name, n))).collect();
    for part in batch.chunks(200) {
        db.write(part).run().unwrap();
    }
    (sim, db)
}

#[test]
fn expiry_of_everything_in_several_commits_leaves_an_empty_database() {
    let (sim, db) = numbered(3000);
    let snapshot = db.snapshot();
    let full = db.stats().bytes_total;
    let report = db.expire(2500).unwrap();
    assert_eq!((report.examined, report.removed), (3000, 2500));
    assert_eq!((db.stats().documents, db.snapshot().len()), (500, 500));
    assert_eq!(db.expire(u64::MAX).unwrap().removed, 500);
    assert_eq!((db.stats().documents, db.snapshot().len()), (0, 0));
    assert_eq!(snapshot.documents().unwrap().map(Result::unwrap).count(), 3000);
    drop(snapshot);
    db.compact().unwrap();
    let left = db.stats().bytes_total;
    assert!(left < full / 20, "{left} of {full} bytes are left");
    db.close().unwrap();
    let db = options(&sim, Ids::Names).open("sim").unwrap();
    assert_eq!(db.snapshot().documents().unwrap().count(), 0);
    assert_eq!(db.insert(1, "new").unwrap(), DocId(3000));
}

#[test]
fn expiry_of_long_names_commits_after_few_of_them() {
    let sim = Sim::new();
    let db = options(&sim, Ids::Names).create("sim").unwrap();
    for n in 0..20 {
        db.insert(far(n), Stamped::new(&*format!("{n:060000}"), n)).unwrap();
    }
    db.flush().unwrap();
    assert_eq!(db.expire(20).unwrap().removed, 20);
    drop(db);
    let db = options(&sim, Ids::Names).open("sim").unwrap();
    assert_eq!((db.recovery().commits, db.stats().documents), (10, 0));
}

#[test]
fn cancelled_expiry_has_removed_some_documents_and_can_be_repeated() {
    let (_, db) = numbered(3000);
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let watched = db.on_progress(move |progress| {
        counted.fetch_add(1, Ordering::Relaxed);
        if progress.done > 1500 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(watched.expire(2800).unwrap_err().kind(), ErrorKind::Cancelled);
    let (left, calls) = (db.stats().documents, calls.load(Ordering::Relaxed));
    assert!(calls > 1 && (200..=3000).contains(&left), "{calls} calls, {left} documents");
    assert_eq!(db.snapshot().len(), left);
    assert_eq!(db.expire(2800).unwrap().removed, left - 200);
    assert!(db.verify(fpdb::VerifyLevel::Full).unwrap().errors.is_empty());
}

#[test]
fn document_that_was_stamped_again_does_not_expire() {
    let (_, db) = numbered(10);
    assert!(db.touch("https://a.example/00003", 100).unwrap());
    assert!(!db.touch("https://a.example/absent", 100).unwrap());
    let unchanged = |id| Outcome::Unchanged(DocId(id));
    assert_eq!(upsert(&db, far(4), "https://a.example/00004", REMEMBER), unchanged(4));
    let again = Stamped::new("https://a.example/00005", 50);
    assert_eq!(db.upsert_if_novel(far(5), again).unwrap(), unchanged(5));
    assert_eq!(db.expire(50).unwrap().removed, 8);
    let left: Vec<Option<u64>> =
        db.snapshot().documents().unwrap().map(|document| document.unwrap().1.stamp).collect();
    assert_eq!(left, [Some(100), Some(50)]);
}

/// A clock may step back, and the writes of two crawlers may arrive in another order.
#[test]
fn no_write_lowers_a_stamp_and_a_document_written_anew_has_a_lower_one() {
    for remember in [false, true] {
        let db = if remember { with_duplicate() } else { create(Ids::Names) };
        let fingerprint = if remember { 0b0001 } else { 0b1111 << 32 };
        let key = if remember { "b" } else { "c" };
        let at = |stamp| Stamped::new(key, stamp);
        let stamp = || db.get(key).unwrap().unwrap().stamp;
        let update = |fingerprint, stamp, choice| {
            let documents = [(fingerprint, at(stamp))];
            db.write(&documents).unless_near(3).or_update(choice).run().unwrap().remove(0)
        };
        let _ = update(fingerprint, 200, OnDuplicate::Remember);
        assert_eq!(stamp(), Some(200));
        for choice in [OnDuplicate::Keep, OnDuplicate::Remember] {
            for fingerprint in [fingerprint, 0b0010, 0b1010_1010 << 48] {
                let _ = update(fingerprint, 100, choice);
                assert_eq!(stamp(), Some(200), "{choice:?} {fingerprint:#b}");
            }
        }
        assert!(db.touch(key, 100).unwrap());
        db.insert(fingerprint, at(150)).unwrap();
        assert_eq!(stamp(), Some(200));
        db.flush().unwrap();
        assert!(db.touch(key, 199).unwrap());
        assert_eq!(stamp(), Some(200));
        db.insert(fingerprint, at(201)).unwrap();
        assert_eq!(stamp(), Some(201));
        assert!(db.remove(key).unwrap());
        db.insert(fingerprint, at(7)).unwrap();
        assert_eq!(stamp(), Some(7));
    }
}

/// A document `a`, and `b` that is remembered as its duplicate.
fn with_duplicate() -> Db {
    let db = create(Ids::Names);
    assert_eq!(upsert(&db, 0b0000, "a", REMEMBER), Outcome::Inserted(DocId(0)));
    assert!(matches!(upsert(&db, 0b0001, "b", REMEMBER), Outcome::Duplicate(m) if m.id.0 == 0));
    let b = db.get("b").unwrap().unwrap();
    assert_eq!((b.fingerprint, b.id, b.duplicate_of), (1, DocId(1), Some(DocId(0))));
    let stats = db.stats();
    assert_eq!((stats.documents, stats.duplicates, stats.entries), (2, 1, 1));
    assert!(!db.snapshot().contains(1).unwrap());
    db
}

#[test]
fn remembered_duplicate_is_unchanged_while_its_original_is_there() {
    let db = with_duplicate();
    for _ in 0..2 {
        assert_eq!(upsert(&db, 1, "b", REMEMBER), unchanged_duplicate_of(DocId(0), 0b0000));
        db.compact().unwrap();
    }
    assert_eq!(db.stats().duplicates, 1);
}

/// Returns the outcome for `b`, whose fingerprint is 1.
fn unchanged_duplicate_of(id: DocId, fingerprint: u64) -> Outcome {
    let of = Match { distance: (fingerprint ^ 1).count_ones(), fingerprint, id };
    let outcome = Outcome::UnchangedDuplicate { id: DocId(1), of };
    assert!(outcome.is_duplicate() && outcome.id() == DocId(1));
    outcome
}

#[test]
fn remembered_duplicate_that_is_written_again_is_one_of_the_nearest_document() {
    let db = with_duplicate();
    let c = db.insert(0b0111, "c").unwrap();
    let again = |db: &Db| upsert(db, 1, "b", REMEMBER);
    assert_eq!(again(&db), unchanged_duplicate_of(DocId(0), 0b0000));
    // Its original goes, but another document is near.
    assert!(db.remove("a").unwrap());
    assert_eq!(db.get("b").unwrap().unwrap().duplicate_of, Some(DocId(0)), "not written again");
    assert_eq!(again(&db), unchanged_duplicate_of(c, 0b0111));
    assert_eq!(db.get("b").unwrap().unwrap().duplicate_of, Some(c));
    // A nearer one takes its place, whatever else is chosen for new duplicates.
    let d = db.insert(0b0011, "d").unwrap();
    let write = db.write(&[(1, "b")]).unless_near(3).or_update(OnDuplicate::Remove).run().unwrap();
    assert_eq!(write, [unchanged_duplicate_of(d, 0b0011)]);
    db.flush().unwrap();
    assert_eq!(db.get("b").unwrap().unwrap().duplicate_of, Some(d));
    assert!(db.verify(fpdb::VerifyLevel::Full).unwrap().errors.is_empty());
}

#[test]
fn remembered_duplicate_becomes_an_original_once_its_original_is_gone() {
    let ways: [fn(&Db); 3] = [
        |db| assert!(db.remove("a").unwrap()),
        |db| {
            let updated = upsert(db, far(1), "a", REMEMBER);
            assert!(matches!(updated, Outcome::Updated { from: 0, .. }));
        },
        |db| {
            assert!(db.touch("a", 1).unwrap() && db.touch("b", 2).unwrap());
            assert_eq!(db.expire(2).unwrap().removed, 1);
        },
    ];
    for lose_the_original in ways {
        let db = with_duplicate();
        lose_the_original(&db);
        db.flush().unwrap();
        let b = db.get("b").unwrap().unwrap();
        assert_eq!((b.id, b.duplicate_of), (DocId(1), Some(DocId(0))), "not written again");
        assert_eq!(db.query(1, 0).unwrap(), []);
        let updated = Outcome::Updated { id: DocId(1), from: 1, distance: 0 };
        assert_eq!(upsert(&db, 1, "b", REMEMBER), updated);
        let b = db.get("b").unwrap().unwrap();
        assert_eq!((b.fingerprint, b.id, b.duplicate_of), (1, DocId(1), None));
        assert_eq!(db.query(1, 0).unwrap().len(), 1);
        assert_eq!(upsert(&db, 1, "b", REMEMBER), Outcome::Unchanged(DocId(1)));
        db.compact().unwrap();
        assert_eq!(db.stats().duplicates, 0);
        assert!(db.verify(fpdb::VerifyLevel::Full).unwrap().errors.is_empty());
    }
}

#[test]
fn remembered_duplicate_is_removed_by_name_by_id_and_by_expiry_but_not_by_entry() {
    for way in 0..3 {
        let db = with_duplicate();
        assert!(!db.remove_entry(1, DocId(1)).unwrap());
        assert!(db.touch("b", 5).unwrap());
        match way {
            0 => assert!(db.remove("b").unwrap()),
            1 => assert!(db.remove(DocId(1)).unwrap()),
            _ => assert_eq!(db.expire(6).unwrap().removed, 1),
        }
        assert_eq!(db.get("b").unwrap(), None);
        let stats = db.stats();
        assert_eq!((stats.documents, stats.duplicates, stats.entries), (1, 0, 1));
    }
}

#[test]
fn ids_of_removed_names_are_never_reused() {
    let sim = Sim::new();
    let open = || options(&sim, Ids::Names).open_or_create("sim").unwrap();
    for next in 0..12 {
        let db = open();
        assert_eq!(db.insert(far(next), "again").unwrap(), DocId(next));
        if next % 2 == 0 {
            db.flush().unwrap();
        }
        assert!(db.remove("again").unwrap());
        if next % 3 == 0 {
            db.compact().unwrap();
            assert_eq!(db.stats().documents, 0);
        }
        if next % 4 == 0 {
            db.close().unwrap();
        }
    }
    assert_eq!(open().snapshot().names(&[DocId(0), DocId(11)]).unwrap(), [None, None]);
}

#[test]
fn names_of_several_ids_are_in_their_order_and_unknown_ids_have_none() {
    let (_, db) = numbered(1200);
    assert!(db.remove(DocId(600)).unwrap());
    let ids = [u64::MAX, 1199, 0, 600, 1199, 1200, 77].map(DocId);
    let name = |n: u64| Some(format!("https://a.example/{n:05}"));
    let expected = [None, name(1199), name(0), None, name(1199), None, name(77)];
    assert_eq!(db.snapshot().names(&ids).unwrap(), expected);
    assert_eq!(db.snapshot().names(&[]).unwrap(), Vec::<Option<String>>::new());
    let unique = create(Ids::Unique);
    unique.insert(1, 7).unwrap();
    assert_eq!(unique.snapshot().names(&[DocId(7)]).unwrap(), [None]);
}

#[test]
fn snapshot_keeps_its_documents_while_the_database_goes_on() {
    let (_, db) = numbered(1000);
    let snapshot = db.snapshot();
    let before: Vec<_> = snapshot.documents().unwrap().map(Result::unwrap).collect();
    assert_eq!(db.expire(300).unwrap().removed, 300);
    for n in 300..700 {
        let name = format!("https://a.example/{n:05}");
        match n % 3 {
            0 => assert!(db.remove(&name).unwrap()),
            1 => assert!(db.touch(&name, 1 << 40).unwrap()),
            _ => drop(db.insert(!far(n), &name).unwrap()),
        }
    }
    db.compact().unwrap();
    assert!(snapshot.documents().unwrap().map(Result::unwrap).eq(before.iter().cloned()));
    for (name, document) in before.iter().step_by(7) {
        let name = name.as_deref().unwrap();
        assert_eq!(snapshot.get(name).unwrap(), Some(*document));
        assert_eq!(snapshot.name(document.id).unwrap().as_deref(), Some(name));
        assert_eq!(snapshot.query(document.fingerprint, 0).unwrap().len(), 1);
    }
    assert_eq!(snapshot.query(far(999), QueryOptions::within(0).since(999)).unwrap().len(), 1);
    assert!(snapshot.query(far(999), QueryOptions::within(0).since(1000)).unwrap().is_empty());
    assert!(snapshot.verify(fpdb::VerifyLevel::Full).unwrap().errors.is_empty());
}

#[test]
fn read_only_handle_sees_documents_and_their_changes_after_a_refresh() {
    let (sim, db) = numbered(700);
    let reader = options(&sim, Ids::Names).open_read_only("sim").unwrap();
    let (kept, gone) = ("https://a.example/00650", "https://a.example/00001");
    let of = |name: &str| reader.snapshot().get(name).unwrap().map(|document| document.fingerprint);
    assert_eq!((of(kept), of(gone), of("new")), (Some(far(650)), Some(far(1)), None));
    assert_eq!(reader.snapshot().documents().unwrap().count(), 700);
    assert!(matches!(upsert(&db, far(800), kept, REMEMBER), Outcome::Updated { .. }));
    assert!(matches!(upsert(&db, far(800) ^ 1, "new", REMEMBER), Outcome::Duplicate(_)));
    assert!(db.remove(gone).unwrap());
    assert_eq!((of(kept), of(gone), of("new")), (Some(far(650)), Some(far(1)), None));
    for flushed in [false, true] {
        if flushed {
            db.compact().unwrap();
        }
        assert!(reader.refresh().unwrap());
        assert_eq!((of(kept), of(gone)), (Some(far(800)), None));
        assert_eq!(reader.snapshot().get("new").unwrap().unwrap().duplicate_of, Some(DocId(650)));
        assert_eq!(reader.snapshot().get(kept).unwrap().map(|found| found.id), Some(DocId(650)));
        assert!(
            reader.snapshot().get("new").unwrap().is_some()
                && reader.snapshot().get(gone).unwrap().is_none()
        );
        let ids = [1, 650, 700].map(DocId);
        let names = [None, Some(kept.to_owned()), Some("new".to_owned())];
        assert_eq!(reader.snapshot().names(&ids).unwrap(), names);
        assert_eq!((reader.stats().documents, reader.stats().duplicates), (700, 1));
        assert!(reader.snapshot().verify(fpdb::VerifyLevel::Full).unwrap().errors.is_empty());
    }
}

#[test]
fn documents_after_a_key_are_those_with_greater_keys_in_segments_and_in_memory() {
    let sim = Sim::new();
    let options = options(&sim, Ids::Names).block_size(512).memtable_entries(64);
    let db = options.create("sim").unwrap();
    let (mut rng, mut known) = (fastrand::Rng::with_seed(1), std::collections::BTreeMap::new());
    for n in 0..600 {
        let name = format!("run{}/{:03}", rng.u32(..4), rng.u32(..400));
        if rng.u32(..4) == 0 {
            assert_eq!(db.remove(&name).unwrap(), known.remove(&name).is_some());
        } else {
            db.insert(far(n), &name).unwrap();
            known.insert(name, far(n));
        }
        match n {
            200 | 450 => db.flush().map(drop).unwrap(),
            300 => db.compact().map(drop).unwrap(),
            _ => {}
        }
    }
    let snapshot = db.snapshot();
    db.insert(7, "run1/later").unwrap();
    let keys = (0..400).step_by(7).flat_map(|n| (0..4).map(move |run| format!("run{run}/{n:03}")));
    for key in keys.chain(["a", "run", "run1/", "run3/999", "z"].map(str::to_owned)) {
        let found = snapshot.documents_after(&key).unwrap().map(|document| {
            let (name, document) = document.unwrap();
            (name.unwrap(), document.fingerprint)
        });
        let expected = known.iter().filter(|it| **it.0 > *key).map(|it| (it.0.clone(), *it.1));
        assert!(found.eq(expected), "{key}");
    }
}

#[test]
fn documents_after_an_id_are_those_with_greater_ids() {
    let db = create(Ids::Unique);
    for id in [1, 300, 70_000, 1 << 40] {
        db.insert(far(id), id).unwrap();
    }
    for (after, expected) in [(0, 4), (1, 3), (299, 3), (300, 2), (1 << 40, 0), (u64::MAX, 0)] {
        assert_eq!(db.snapshot().documents_after(after).unwrap().count(), expected, "{after}");
    }
}
