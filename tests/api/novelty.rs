//! What counts as novel, and which keys a batch takes.

use std::borrow::Cow;

use fpdb::{Db, DocId, ErrorKind, Ids, Key, Match, Outcome};

/// All fingerprints at one distance from 0, the flipped bits spread over the width.
fn at_distance(distance: u32) -> u64 {
    (0..distance).map(|i| 1 << (i * 63 / distance.max(1))).sum()
}

#[test]
fn insert_can_use_a_smaller_distance_than_the_database() {
    let folder = tempfile::tempdir().unwrap();
    for own in [3, 6] {
        for distance in 0..=own {
            for apart in 0..=own + 1 {
                let path = folder.path().join(format!("{own}-{distance}-{apart}"));
                let db = Db::options().max_distance(own).create(path).unwrap();
                db.insert(0, 1).unwrap();
                if apart % 2 == 0 {
                    db.flush().unwrap();
                }
                let document = [(at_distance(apart), 2)];
                let outcomes = db.write(&document).unless_near(distance).run().unwrap();
                let is_novel = outcomes == [Outcome::Inserted(DocId(2))];
                assert_eq!(is_novel, apart > distance, "{own} {distance} {apart}");
                assert_eq!(db.snapshot().len(), 1 + u64::from(is_novel));
            }
        }
    }
}

#[test]
fn distance_of_a_batch_also_applies_among_its_own_documents() {
    let folder = tempfile::tempdir().unwrap();
    let db = Db::options().create(folder.path().join("db")).unwrap();
    let documents = [(0, 1), (at_distance(2), 2), (at_distance(3), 3)];
    let novelties = db.write(&documents).unless_near(1).run().unwrap();
    let inserted = novelties.iter().filter(|n| matches!(n, Outcome::Inserted(_))).count();
    assert_eq!(inserted, 3);
    let novelties = db.write(&documents).unless_near(3).run().unwrap();
    assert!(novelties.iter().all(|n| matches!(n, Outcome::Exists(m) if m.distance == 0)));
}

/// A program that repeats a call because the answer was lost must not take its own document for
/// another one.
#[test]
fn a_document_that_is_inserted_again_exists_and_is_no_duplicate() {
    for ids in [Ids::Names, Ids::Unique, Ids::User] {
        let db = Db::options().ids(ids).in_memory().unwrap();
        let key = |(number, name)| match ids {
            Ids::Names => Key::Name(name),
            _ => Key::from(number),
        };
        let [a, b, c] = [(0u64, "a"), (1, "b"), (2, "c")].map(key);
        // In databases with user ids, the nearest entry of an equal one is another one's.
        db.write(&[(7, a), (7, b)]).run().unwrap();
        let own = Match { distance: 0, fingerprint: 7, id: DocId(1) };
        let again = db.write(&[(7, b), (7, c), (7, b)]).unless_near(3).run().unwrap();
        assert_eq!(again[0], Outcome::Exists(own), "{ids:?}");
        assert!(matches!(again[1], Outcome::Duplicate(found) if found.id.0 == 0), "{ids:?}");
        assert_eq!(again[2], again[0]);
        assert!(!again[0].is_duplicate());
        let changed = db.insert_if_novel(!7, b).unwrap();
        let exists = Outcome::Exists(Match { distance: 64, ..own });
        assert_eq!(changed == exists, ids != Ids::User, "{ids:?}: {changed:?}");
    }
}

#[test]
fn batch_takes_owned_borrowed_and_copied_keys() {
    let folder = tempfile::tempdir().unwrap();
    let named = Db::options().ids(Ids::Names).create(folder.path().join("named")).unwrap();
    named.write(&[(1, String::from("owned"))]).run().unwrap();
    named.write(&[(2, "borrowed")]).run().unwrap();
    named.write(&[(3, Cow::from("either"))]).run().unwrap();
    let either = Cow::from("one");
    let id = named.insert(4, &either).unwrap();
    assert_eq!(named.snapshot().name(id).unwrap().as_deref(), Some("one"));
    assert_eq!(named.snapshot().name(DocId(0)).unwrap().as_deref(), Some("owned"));

    let numbered = Db::options().create(folder.path().join("numbered")).unwrap();
    numbered.write(&[(1, 10)]).run().unwrap();
    numbered.write(&[(2, DocId(20))]).run().unwrap();
    assert_eq!(numbered.snapshot().ids(2).unwrap(), [DocId(20)]);
}

#[test]
fn the_nearest_document_that_is_confirmed_makes_a_duplicate() {
    let db = Db::options().in_memory().unwrap();
    db.write(&[(0b0001, 1), (0b0011, 2), (0b0101, 3), (0b0111, 4)]).run().unwrap();
    let asked_with = |most: usize, confirmed: u64| {
        let mut asked = Vec::new();
        let outcomes = db
            .write(&[(0, 9)])
            .unless_near(3)
            .confirm(most, |own, other| {
                assert_eq!((own, other.given), (0, None));
                asked.push(other.found.id.0);
                Ok(other.found.id.0 == confirmed)
            })
            .before_commit(|_| Err(std::io::Error::other("only asked")))
            .run();
        assert_eq!(outcomes.unwrap_err().kind(), ErrorKind::Io);
        asked
    };
    assert_eq!(asked_with(9, 3), [1, 2, 3]);
    assert_eq!(asked_with(9, 5), [1, 2, 3, 4]);
    assert_eq!(asked_with(2, 3), [1, 2]);
    assert!(db.get(9).is_err() && db.snapshot().len() == 4);
}

#[test]
fn an_error_of_whoever_confirms_ends_the_write() {
    let db = Db::options().in_memory().unwrap();
    let refuse = |_, _| Err(std::io::ErrorKind::NotFound.into());
    let error = db.write(&[(7, 1), (6, 2)]).unless_near(3).confirm(9, refuse).run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(db.snapshot().is_empty());
}

#[test]
fn what_is_stored_while_it_is_asked_is_asked_about_too() {
    for ids in [Ids::User, Ids::Unique] {
        let db = Db::options().ids(ids).in_memory().unwrap();
        db.insert(0b0011, 1).unwrap();
        let mut asked = Vec::new();
        let outcomes = db
            .write(&[(0b0000, 9)])
            .unless_near(3)
            .confirm(9, |_, other| {
                asked.push(other.found.id.0);
                if other.found.id.0 == 1 {
                    // No lock is held yet.
                    db.write(&[(0b0111, 2), (0b0001, 3), (0b0101, 4)]).run().unwrap();
                }
                Ok(other.found.id.0 == 2)
            })
            .run()
            .unwrap();
        assert_eq!(outcomes[0].id(), DocId(2));
        assert!(outcomes[0].is_duplicate());
        assert_eq!(asked, [1, 3, 4, 2]);
    }
}

/// In a segment, in a memtable and in the batch before.
#[test]
fn an_entry_that_exists_needs_no_confirmation() {
    for is_flushed in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let db = Db::options().create(folder.path()).unwrap();
        db.insert(7, 5).unwrap();
        if is_flushed {
            db.flush().unwrap();
        }
        let mut asked = Vec::new();
        let outcomes = db
            .write(&[(7, 1), (7, 5), (7, 1)])
            .unless_near(3)
            .confirm(9, |own, _| {
                asked.push(own);
                Ok(false)
            })
            .run()
            .unwrap();
        let exists = |id| Outcome::Exists(Match { distance: 0, fingerprint: 7, id: DocId(id) });
        assert_eq!(outcomes, [Outcome::Inserted(DocId(1)), exists(5), exists(1)], "{is_flushed}");
        assert!(asked.iter().all(|own| [0, 2].contains(own)), "{asked:?}");
    }
}
